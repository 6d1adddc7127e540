/// The one interface to something that runs code objects.
#pragma once

#include "dispatch/dispatch.h"
#include "emulator/emulator.h"
#include "object/code_object.h"
#include "support/result.h"
#include "timing/timing.h"

#include <memory>
#include <string>

namespace asmevo::device {

/// A kernel loaded on a device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// Runs one case and reads every buffer back.
  virtual Result<emulator::RunResult> launch(const dispatch::Case& launch, const emulator::RunOptions& options) = 0;
  /// Cycles of one case. On the simulator: modelled.
  virtual Result<timing::Estimate> time(const dispatch::Case& launch) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0; ///< "sim:mi300x"
  virtual bool modelled() const = 0;    ///< times come from a model
  virtual Result<std::unique_ptr<LoadedKernel>> load(const object::CodeObject& object, const std::string& kernel) = 0;
};

/// The embedded device: emulator and timing model of a chip ("mi300x", ... or a chip file).
Result<std::unique_ptr<Device>> makeSimulator(const std::string& chip);

} // namespace asmevo::device
