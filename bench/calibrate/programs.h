/// Our own versions of the programs measured on an MI300A (programs/*.hip): for each size their inputs and launches.
#pragma once

#include "device/device.h"
#include "support/result.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace asmevo::calibrate {

/// A range [first, second) of elements.
using ElementRange = std::pair<std::uint64_t, std::uint64_t>;

/// A device buffer of 32-bit elements.
struct PlanBuffer {
  std::string name;
  std::uint64_t elements = 0;
  std::function<std::uint32_t(std::uint64_t)> value; ///< of an element; none: zero
  /// The elements that a workgroup reads, for buffers whose contents decide addresses or the path taken. The contents
  /// of others do not matter for time: they stay zero where only time is asked for.
  std::function<std::vector<ElementRange>(std::uint64_t workgroup)> steers;
};

struct PlanArgument {
  std::string buffer; ///< a pointer; empty: `bytes`
  Bytes bytes;
  PlanArgument(const char* name) : buffer(name) {}
  /// A scalar of 4 or 8 bytes.
  template <class T>
    requires std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)
  PlanArgument(T value) : bytes(sizeof value) {
    std::memcpy(bytes.data(), &value, sizeof value);
  }
};

struct PlanLaunch {
  std::string kernel;
  std::array<std::uint32_t, 3> workgroup{1, 1, 1}, groups{1, 1, 1};
  std::vector<PlanArgument> arguments;
  std::uint32_t dynamicLdsBytes = 0;
  double weight = 1;
  double migratedBytes = 0; ///< that it touches after another XCD wrote them in the launch before
};

/// A program at a size.
struct Plan {
  std::string object; ///< programs/<object>.hip
  std::vector<PlanBuffer> buffers;
  std::vector<PlanLaunch> launches; ///< the whole sequence
  /// What stands for the sequence's time: launches that differ little are represented by some of them, long loops by
  /// two shorter ones whose difference is the time of the rest. Weights add up to that.
  std::vector<PlanLaunch> timed;
  double copies = 0, copiedBytes = 0, synchronizations = 0; ///< of the host within the measured time
};

/// Names in order. Sizes are written as in the measured data ("1024x1024_mask3").
std::vector<std::string> programNames();
/// Errors: an unknown program, a size that the program does not take.
Result<Plan> planOf(const std::string& program, const std::string& size);

/// The case of a launch with its inputs whole, for running it.
dispatch::Case wholeCase(const Plan& plan, const PlanLaunch& launch);
/// The same for timing: buffers take address space only, but for what `workgroups` need.
dispatch::Case sparseCase(const Plan& plan, const PlanLaunch& launch, const std::vector<std::uint64_t>& workgroups);

} // namespace asmevo::calibrate
