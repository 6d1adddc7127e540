/// What a calibration needs of a set of measurements: the measured rows, how each is launched, which numbers of the
/// chip file are free. One Dataset per measured machine.
#pragma once

#include "device/device.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace asmevo::calibrate {

/// One measured number.
struct Row {
  std::string program; ///< what is split into calibrated-on and unseen: a program, a code object
  std::string size;    ///< problem size as the source writes it
  double microseconds = 0;
};

/// What a sequence of launches costs beyond its kernels' own times, which is all that the timing model knows. The chip
/// file has only the first launch (launch.floorMicroseconds).
struct HostCosts {
  double chainedMicroseconds = 0;     ///< each launch of a sequence after its first, beyond the kernel's own time
  double synchronizeMicroseconds = 0; ///< each wait of the host for the device
  double copyMicroseconds = 0;        ///< each host to device copy, beyond its bytes
  double copyBytesPerMicrosecond = 1, stagedBytesPerMicrosecond = 1; ///< of large copies; of small, staged ones
  double stagedMost = 0;                                             ///< bytes of the largest staged copy
  /// Lines that a launch of a sequence touches after another XCD wrote them in the launch before: the cost of fetching
  /// them away, in nanoseconds per KB. More lines than the Infinity Cache has are not tracked.
  double migrationNanosecondsPerKb = 0;

  double copyRate(double bytes) const {
    return bytes <= stagedMost ? stagedBytesPerMicrosecond : copyBytesPerMicrosecond;
  }
};

/// A launch of a sequence, or of a shortened one of which several are combined.
struct SequenceLaunch {
  device::TracedCase traced;
  double weight = 1;        ///< how often its time counts; negative where a difference is extrapolated
  double migratedBytes = 0; ///< see HostCosts
};

/// How a row is modelled: floor + chained launches + copies + weighted sum of the launches' times.
struct Sequence {
  std::vector<SequenceLaunch> launches;
  double launchCount = 1; ///< real launches, those that are not modelled (memset) too
  double copies = 0, copiedBytes = 0, synchronizations = 0;
};

/// A free parameter of the fit: a key of the chip file and the range that is searched.
struct FreeParameter {
  std::string key;
  double low = 0, high = 0;
};

/// A free member of HostCosts.
struct FreeHostCost {
  std::string name;
  double HostCosts::* member = nullptr;
  double low = 0, high = 0;
};

/// A row with what the model says.
struct Outcome {
  Row row;
  double modelled = 0; ///< microseconds
  bool calibrated = false;
  double error() const { return modelled / row.microseconds - 1; } ///< signed, relative
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::string name() const = 0;
  virtual std::string chip() const = 0; ///< name of the built-in chip that it calibrates
  /// The rows that count, in the order of the source.
  virtual Result<std::vector<Row>> rows() = 0;
  /// Traces of a row's launches on the topology of `chip`. The row is one of rows().
  virtual Result<Sequence> sequence(const Row& row, const timing::Chip& chip) = 0;
  virtual std::vector<FreeParameter> freeParameters() const = 0;
  virtual HostCosts hostCosts() const { return {}; }
  virtual std::vector<FreeHostCost> freeHostCosts() const { return {}; }
  /// Where fitted host costs are kept; empty: nowhere.
  virtual std::string hostCostsFile() const { return {}; }
  /// Rows of a calibrated program that a fit evaluates (0: all); chosen evenly over its rows.
  virtual std::size_t fitRowsPerProgram() const { return 0; }
  /// What is special to this data, as lines for the report (rank correlation, picks).
  virtual std::vector<std::string> remarks(const std::vector<Outcome>&) const { return {}; }
};

/// Names: "mi300a", "mi308x".
std::vector<std::string> datasetNames();
/// `objects`: where the measured code objects lie, for data sets whose objects are not built here.
Result<std::unique_ptr<Dataset>> makeDataset(const std::string& name, const std::string& objects = {});

std::unique_ptr<Dataset> makeMi300a();
/// `objects`: a checkout of ROCm/aiter, or the folder of the six code objects; empty: .cache/aiter.
std::unique_ptr<Dataset> makeMi308x(const std::string& objects = {});

} // namespace asmevo::calibrate
