/// `run --strict`: the case under each delivery of memory operations, and what the passes find.
#pragma once

#include "cli/command.h"
#include "device/device.h"
#include "emulator/strict.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace asmevo::cli {

/// Prints the first few findings, a line each.
void printFindings(const std::vector<emulator::StrictFinding>& findings);
nlohmann::ordered_json toJson(const std::vector<emulator::StrictFinding>& findings);

/// The deliveries that --strict=NAME asks for: one, or with "all" every one.
Result<std::vector<emulator::Delivery>> deliveriesOf(const std::string& name);

/// The strict passes over one case.
class StrictPasses {
 public:
  /// One pass for each delivery, none when there is none. Gives the result of the first.
  static Result<StrictPasses> run(const std::vector<emulator::Delivery>& deliveries, device::LoadedKernel& kernel,
                                  const dispatch::Case& launch, const emulator::RunOptions& options);
  const emulator::RunResult& first() const { return passes.front().result; }
  /// Any finding, or buffers that differ between passes.
  bool clean() const;
  void print() const;
  nlohmann::ordered_json toJson() const;

 private:
  struct Pass {
    emulator::Delivery delivery;
    emulator::RunResult result;
    std::vector<std::string> differing; ///< buffers unlike the first pass's
  };
  std::vector<Pass> passes;
};

} // namespace asmevo::cli
