// MI300A: minimum milliseconds of launch sequences of small HIP programs (sarchlab/mgpusim, gpu_perf_scripts).
#include "dataset.h"
#include "programs.h"

#include "support/file_io.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace asmevo::calibrate {
namespace {

constexpr double leastMicroseconds = 8; ///< shorter rows are launch floor

class Mi300a final : public Dataset {
 public:
  std::string name() const override { return "mi300a"; }
  std::string chip() const override { return "mi300a"; }

  Result<std::vector<Row>> rows() override {
    ASMEVO_TRY(const Bytes bytes, readFile(ASMEVO_SOURCE_DIR "/bench/calibrate/data/mi300a_measured.csv"));
    std::istringstream text(std::string(bytes.begin(), bytes.end()));
    const std::vector<std::string> known = programNames();
    std::vector<Row> result;
    std::string line;
    std::getline(text, line); // kernel,size,min_ms,clean
    while (std::getline(text, line)) {
      std::istringstream fields(line);
      std::string program, size, milliseconds, clean;
      if (!std::getline(fields, program, ',') || !std::getline(fields, size, ',') ||
          !std::getline(fields, milliseconds, ',') || !std::getline(fields, clean))
        return badInput("mi300a_measured.csv: '{}' has not four fields", line);
      const double microseconds = std::strtod(milliseconds.c_str(), nullptr) * 1000;
      if (clean.starts_with('1') && microseconds >= leastMicroseconds && std::ranges::count(known, program))
        result.push_back({program, size, microseconds});
    }
    return result;
  }

  Result<Sequence> sequence(const Row& row, const timing::Chip& chip) override {
    ASMEVO_TRY(const Plan plan, planOf(row.program, row.size));
    Sequence sequence;
    sequence.launchCount = static_cast<double>(plan.launches.size());
    sequence.copies = plan.copies;
    sequence.copiedBytes = plan.copiedBytes;
    sequence.synchronizations = plan.synchronizations;
    double footprint = 0;
    for (const PlanBuffer& buffer : plan.buffers)
      footprint += static_cast<double>(buffer.elements) * 4;
    for (const PlanLaunch& launch : plan.timed) {
      ASMEVO_TRY(device::LoadedKernel * kernel, loaded(plan.object, launch.kernel));
      const timing::Launch shape = kernel->shapeOf(sparseCase(plan, launch, {}));
      const auto sample = timing::sampleWorkgroups(chip, kernel->target(), shape);
      ASMEVO_TRY(device::TracedCase traced, kernel->trace(sparseCase(plan, launch, sample), sample));
      traced.shape.footprintBytes = footprint;
      sequence.launches.push_back({std::move(traced), launch.weight, launch.migratedBytes});
    }
    return sequence;
  }

  std::vector<FreeParameter> freeParameters() const override {
    // HBM: from below what streams reach (2.7 to 3.7 TB/s) to what MI300X with the same memory was measured at: its
    // peak would fit the calibrated programs a little better, but neither relu nor vcopy's counters, which are not
    // fitted. One XCD streams 338 B/clk by others' measurements. The dispatch rate is left at that of the traces: the
    // rows hardly tell 8 from 16 clk.
    return {{"launch.floorMicroseconds", 2, 5},
            {"hbm.bytesPerSecond", 3e12, 4.65e12},
            {"fabric.bytesPerClkPerXcd", 320, 400}};
  }

  HostCosts hostCosts() const override {
    // Copies as the memcopy_h2d rows have them: 2 to 512 MB go at 58 GB/s, 1 MB at 17 GB/s (through a staging buffer).
    HostCosts costs;
    costs.copyBytesPerMicrosecond = 58000;
    costs.stagedBytesPerMicrosecond = 17000;
    costs.stagedMost = 1 << 20;
    const auto bytes = readFile(hostCostsFile());
    const auto json = bytes ? nlohmann::json::parse(bytes->begin(), bytes->end(), nullptr, false) : nlohmann::json();
    for (const FreeHostCost& cost : freeHostCosts())
      if (json.is_object() && json.contains(cost.name) && json[cost.name].is_number())
        costs.*cost.member = json[cost.name].get<double>();
    return costs;
  }
  std::vector<FreeHostCost> freeHostCosts() const override {
    return {{"chainedMicroseconds", &HostCosts::chainedMicroseconds, 0, 3},
            {"copyMicroseconds", &HostCosts::copyMicroseconds, 0, 25},
            {"synchronizeMicroseconds", &HostCosts::synchronizeMicroseconds, 0, 25},
            {"migrationNanosecondsPerKb", &HostCosts::migrationNanosecondsPerKb, 0, 2}};
  }
  std::string hostCostsFile() const override { return ASMEVO_SOURCE_DIR "/bench/calibrate/data/mi300a_host.json"; }
  std::size_t fitRowsPerProgram() const override { return 5; }

 private:
  /// A kernel of one of our programs; lives as long as the dataset.
  Result<device::LoadedKernel*> loaded(const std::string& object, const std::string& kernel) {
    std::unique_ptr<device::LoadedKernel>& slot = kernels[object + "/" + kernel];
    if (!slot) {
      if (!simulator) {
        ASMEVO_TRY(simulator, device::makeSimulator(chip()));
      }
      const std::string path = ASMEVO_BINARY_DIR "/calibrate/" + object + ".co";
      ASMEVO_TRY(const object::CodeObject code, object::CodeObject::load(path));
      ASMEVO_TRY(slot, simulator->load(code, kernel));
    }
    return slot.get();
  }

  std::unique_ptr<device::Device> simulator;
  std::map<std::string, std::unique_ptr<device::LoadedKernel>> kernels;
};

} // namespace

std::unique_ptr<Dataset> makeMi300a() {
  return std::make_unique<Mi300a>();
}

} // namespace asmevo::calibrate
