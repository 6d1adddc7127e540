/// The one interface to something that runs code objects.
#pragma once

#include "dispatch/dispatch.h"
#include "emulator/emulator.h"
#include "object/code_object.h"
#include "support/result.h"
#include "timing/bound.h"
#include "timing/timing.h"

#include <memory>
#include <string>

namespace asmevo::device {

/// What an estimate needs of a case. Of a chip's numbers only its topology is in it, by the choice of workgroups.
struct TracedCase {
  object::Target target;
  timing::Launch shape;
  unsigned accumOffset = 0;
  std::vector<isa::InstRef> code; ///< by dword from the code address
  std::uint64_t codeAddress = 0;
  std::vector<emulator::WorkgroupTrace> traces;

  /// `timeline`, where given, gets the run of the CU that the estimate stands on.
  Result<timing::Estimate> estimate(const timing::Chip& chip, timing::Timeline* timeline = nullptr) const;
  /// Of the estimate on that chip.
  Result<timing::Bound> bound(const timing::Chip& chip, const timing::Estimate& estimate) const;
};

/// A kernel loaded on a device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// Runs one case and reads every buffer back.
  virtual Result<emulator::RunResult> launch(const dispatch::Case& launch, const emulator::RunOptions& options) = 0;
  /// Cycles of one case. On the simulator: modelled.
  virtual Result<timing::Estimate> time(const dispatch::Case& launch) = 0;
  /// What the timing model is told of a case, and traces of these of its workgroups (timing::sampleWorkgroups names
  /// those that stand for all): an estimate's two halves, so that the second can be repeated with other numbers.
  virtual timing::Launch shapeOf(const dispatch::Case& launch) const = 0;
  virtual Result<TracedCase> trace(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups) = 0;
  /// As `trace`, of workgroups that stand for all on `chip`: more of them where they differ, fewer where they are long.
  virtual Result<TracedCase> sample(const dispatch::Case& launch, const timing::Chip& chip) = 0;
  virtual const object::Target& target() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;                        ///< "sim:mi300x"
  virtual bool modelled() const = 0;                           ///< times come from a model
  virtual const timing::Chip* chip() const { return nullptr; } ///< what it models; null where times are measured
  virtual Result<std::unique_ptr<LoadedKernel>> load(const object::CodeObject& object, const std::string& kernel) = 0;
};

/// The embedded device: emulator and timing model of a chip ("mi300x", ... or a chip file).
Result<std::unique_ptr<Device>> makeSimulator(const std::string& chip);

} // namespace asmevo::device
