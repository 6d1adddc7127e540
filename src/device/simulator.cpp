#include "device/device.h"

#include "isa/shared_codec.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace asmevo::device {
namespace {

/// Wave-instructions of a traced sample, which is kept in memory. A sample that takes more than the first is made
/// smaller; one workgroup that takes more than the second waits for others.
constexpr std::uint64_t sampleInstructions = 8'000'000, workgroupInstructions = 64'000'000;

/// What loading a kernel costs, done once: the emulator's pre-decoded form, and the instructions for the timing model.
/// Usable from several threads.
class PreparedKernel {
 public:
  static Result<std::shared_ptr<PreparedKernel>> create(const object::CodeObject& object, const std::string& kernelName,
                                                        std::shared_ptr<isa::SharedCodec> decoder);

  Result<emulator::RunResult> launch(const dispatch::Case& launch, const emulator::RunOptions& options) const {
    if (!exact)
      return refused("{}: code for {} is timed, not run: its 8-bit floats and matrix arithmetic are not modelled",
                     launch.name, target.processor);
    return runnable->run(launch, options);
  }
  timing::Launch shapeOf(const dispatch::Case& launch) const;
  Result<TracedCase> trace(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups);
  Result<TracedCase> sample(const dispatch::Case& launch, const timing::Chip& chip);
  const object::Target& builtFor() const { return target; }

 private:
  struct Code {
    std::uint64_t address;
    Bytes bytes;
  };

  PreparedKernel() = default;
  using Traces = std::vector<emulator::WorkgroupTrace>;
  /// Runs these workgroups alone.
  Result<Traces> runAlone(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups,
                          std::uint64_t instructions) const;
  /// Runs them alone if they can, else among all others.
  Result<Traces> runTraced(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups) const;
  TracedCase tracedCase(const dispatch::Case& launch, Traces traces);
  /// Decodes what the traces ran, at the offsets they name: linear decoding would trip over data between functions.
  void decodeTraced(const std::vector<emulator::WorkgroupTrace>& traces);

  std::shared_ptr<const emulator::Kernel> runnable;
  bool exact = true; ///< false: good for traces only
  object::Target target;
  object::KernelDescriptor descriptor;
  std::uint32_t ldsBytes = 0;
  std::vector<Code> code; ///< executable sections
  std::mutex decoding;    ///< guards decoded; taken before the decoder's own lock
  std::shared_ptr<isa::SharedCodec> decoder;
  std::vector<isa::InstRef> decoded; ///< by dword from the emulator's code address
};

Result<std::shared_ptr<PreparedKernel>> PreparedKernel::create(const object::CodeObject& object,
                                                               const std::string& kernelName,
                                                               std::shared_ptr<isa::SharedCodec> decoder) {
  if (object.elfType() == llvm::ELF::ET_REL)
    return refused("{} is relocatable: link it first (asmevo extract FILE --link -o OUT)", object.name());
  ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(kernelName));
  std::shared_ptr<PreparedKernel> prepared(new PreparedKernel);
  prepared->exact = object.target().processor != "gfx950";
  ASMEVO_TRY(prepared->runnable,
             emulator::Kernel::prepare(object, kernel->name, emulator::bestSimdLevel(),
                                       prepared->exact ? emulator::Purpose::run : emulator::Purpose::trace, decoder));
  prepared->decoder = std::move(decoder);
  prepared->target = object.target();
  prepared->descriptor = kernel->descriptor;
  prepared->ldsBytes = kernel->descriptor.groupSegmentSize();
  if (kernel->metadata)
    prepared->ldsBytes = std::max(prepared->ldsBytes, kernel->metadata->groupSegmentFixedSize);
  for (const object::Section* section : object.codeSections()) {
    const auto contents = object.contents(*section);
    prepared->code.push_back({section->address, Bytes(contents.begin(), contents.end())});
  }
  return prepared;
}

timing::Launch PreparedKernel::shapeOf(const dispatch::Case& launch) const {
  timing::Launch shape;
  unsigned items = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    items *= launch.workgroupSize[d];
    shape.grid[d] = (std::uint64_t{launch.gridSize[d]} + launch.workgroupSize[d] - 1) / launch.workgroupSize[d];
    shape.workgroups *= shape.grid[d];
  }
  shape.wavesPerWorkgroup = (items + 63) / 64;
  shape.vgprs = descriptor.allocatedVgprs(target);
  shape.sgprs = descriptor.allocatedSgprs(target);
  shape.ldsBytes = ldsBytes + launch.dynamicLdsBytes;
  return shape;
}

void PreparedKernel::decodeTraced(const std::vector<emulator::WorkgroupTrace>& traces) {
  const isa::SharedCodec::Use use(*decoder);
  const std::uint64_t base = runnable->codeAddress();
  for (const emulator::WorkgroupTrace& workgroup : traces)
    for (const emulator::WaveTrace& wave : workgroup.waves)
      for (const std::uint32_t offset : wave.path) {
        const std::size_t index = offset / 4;
        if (index < decoded.size() && decoded[index])
          continue;
        const std::uint64_t address = base + offset;
        for (const Code& section : code) {
          if (address < section.address || address - section.address >= section.bytes.size())
            continue;
          if (index >= decoded.size())
            decoded.resize(index + 1);
          decoded[index] = use.decode(std::span(section.bytes).subspan(address - section.address));
          break;
        }
      }
}

Result<PreparedKernel::Traces> PreparedKernel::runAlone(const dispatch::Case& launch,
                                                        const std::vector<std::uint64_t>& workgroups,
                                                        std::uint64_t instructions) const {
  emulator::RunOptions options;
  options.traceWorkgroups.insert(workgroups.begin(), workgroups.end());
  options.onlyWorkgroups = workgroups;
  options.fastMfma = true; // paths and addresses count, not values to the bit
  options.onlyTraces = true;
  options.maxInstructions = instructions;
  ASMEVO_TRY(emulator::RunResult run, runnable->run(launch, options));
  return std::move(run.traces);
}

Result<PreparedKernel::Traces> PreparedKernel::runTraced(const dispatch::Case& launch,
                                                         const std::vector<std::uint64_t>& workgroups) const {
  auto traces = runAlone(launch, workgroups, workgroupInstructions);
  if (traces || traces.error().kind != ErrorKind::fault)
    return traces;
  // Alone, a workgroup that waits for another one waits forever: run them all.
  emulator::RunOptions options;
  options.traceWorkgroups.insert(workgroups.begin(), workgroups.end());
  options.fastMfma = true;
  options.onlyTraces = true;
  ASMEVO_TRY(emulator::RunResult run, runnable->run(launch, options));
  return std::move(run.traces);
}

TracedCase PreparedKernel::tracedCase(const dispatch::Case& launch, Traces traces) {
  TracedCase traced;
  traced.target = target;
  traced.shape = shapeOf(launch);
  traced.accumOffset = descriptor.accumOffset(target);
  traced.codeAddress = runnable->codeAddress();
  traced.traces = std::move(traces);
  const std::lock_guard lock(decoding);
  decodeTraced(traced.traces);
  traced.code = decoded;
  return traced;
}

Result<TracedCase> PreparedKernel::trace(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups) {
  ASMEVO_TRY(Traces traces, runTraced(launch, workgroups));
  return tracedCase(launch, std::move(traces));
}

Result<TracedCase> PreparedKernel::sample(const dispatch::Case& launch, const timing::Chip& chip) {
  const timing::Launch shape = shapeOf(launch);
  std::vector<std::uint64_t> workgroups = timing::sampleWorkgroups(chip, target, shape);
  auto traces = runAlone(launch, workgroups, sampleInstructions);
  if (!traces && traces.error().kind == ErrorKind::fault) {
    // Long workgroups, of which fewer have to do, or such that wait for each other.
    if (const auto one = runAlone(launch, {workgroups.front()}, workgroupInstructions)) {
      std::uint64_t length = 1;
      for (const emulator::WaveTrace& wave : one->front().waves)
        length += wave.path.size();
      const std::uint64_t most = std::clamp<std::uint64_t>(2 * sampleInstructions / length, 4, workgroups.size());
      workgroups = timing::sampleWorkgroups(chip, target, shape, static_cast<unsigned>(most));
    }
    traces = runTraced(launch, workgroups);
  }
  if (!traces)
    return traces.error();
  if (const std::vector<std::uint64_t> more = timing::widerSample(shape, *traces); !more.empty())
    if (auto others = runAlone(launch, more, sampleInstructions)) {
      std::ranges::move(*others, std::back_inserter(*traces));
      std::ranges::sort(*traces, {}, &emulator::WorkgroupTrace::index);
    }
  return tracedCase(launch, *std::move(traces));
}

class SimulatedKernel final : public LoadedKernel {
 public:
  SimulatedKernel(std::shared_ptr<PreparedKernel> kernel, std::shared_ptr<const timing::Chip> onChip)
      : prepared(std::move(kernel)), chip(std::move(onChip)) {}

  Result<emulator::RunResult> launch(const dispatch::Case& launch, const emulator::RunOptions& options) override {
    return prepared->launch(launch, options);
  }
  Result<timing::Estimate> time(const dispatch::Case& launch) override {
    ASMEVO_TRY(const TracedCase traced, sample(launch, *chip));
    return traced.estimate(*chip);
  }
  timing::Launch shapeOf(const dispatch::Case& launch) const override { return prepared->shapeOf(launch); }
  Result<TracedCase> trace(const dispatch::Case& launch, const std::vector<std::uint64_t>& workgroups) override {
    return prepared->trace(launch, workgroups);
  }
  Result<TracedCase> sample(const dispatch::Case& launch, const timing::Chip& onChip) override {
    return prepared->sample(launch, onChip);
  }
  const object::Target& target() const override { return prepared->builtFor(); }

 private:
  std::shared_ptr<PreparedKernel> prepared;
  std::shared_ptr<const timing::Chip> chip;
};

class Simulator final : public Device {
 public:
  explicit Simulator(timing::Chip description)
      : described(std::make_shared<const timing::Chip>(std::move(description))) {}

  std::string name() const override { return "sim:" + described->name; }
  bool modelled() const override { return true; }
  const timing::Chip* chip() const override { return described.get(); }

  Result<std::unique_ptr<LoadedKernel>> load(const object::CodeObject& object, const std::string& kernel) override {
    // Kernels still loaded somewhere are shared: a search loads its baseline over and over.
    const std::lock_guard lock(loading);
    std::erase_if(loaded, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<PreparedKernel>& slot = loaded[{sha256Hex(object.bytes()), kernel}];
    std::shared_ptr<PreparedKernel> prepared = slot.lock();
    if (!prepared) {
      std::shared_ptr<isa::SharedCodec>& decoder = decoders[object.target().id()];
      if (!decoder)
        decoder = std::make_shared<isa::SharedCodec>();
      ASMEVO_TRY(prepared, PreparedKernel::create(object, kernel, decoder));
      slot = prepared;
    }
    return std::unique_ptr<LoadedKernel>(std::make_unique<SimulatedKernel>(std::move(prepared), described));
  }

 private:
  std::shared_ptr<const timing::Chip> described;
  std::mutex loading;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<PreparedKernel>> loaded;
  std::map<std::string, std::shared_ptr<isa::SharedCodec>> decoders; ///< by target; wave32 kernels are refused before
};

} // namespace

Result<timing::Estimate> TracedCase::estimate(const timing::Chip& chip, timing::Timeline* timeline) const {
  ASMEVO_TRY(timing::Estimate result, timing::estimate(chip, target, shape, code, accumOffset, traces, timeline));
  result.codeAddress = codeAddress;
  return result;
}

Result<timing::Bound> TracedCase::bound(const timing::Chip& chip, const timing::Estimate& estimate) const {
  return timing::bound(chip, target, shape, code, accumOffset, traces, estimate);
}

Result<std::unique_ptr<Device>> makeSimulator(const std::string& chip) {
  ASMEVO_TRY(timing::Chip description, timing::loadChip(chip));
  return std::unique_ptr<Device>(std::make_unique<Simulator>(std::move(description)));
}

} // namespace asmevo::device
