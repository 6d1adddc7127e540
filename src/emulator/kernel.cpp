#include "emulator/emulator.h"

#include "emulator/bind.h"
#include "emulator/code_image.h"
#include "emulator/debug/bounds_checker.h"
#include "emulator/launch.h"
#include "emulator/observe/watch.h"
#include "emulator/race/race_detector.h"
#include "emulator/scheduler.h"
#include "emulator/strict/strict_checker.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

namespace asmevo::emulator {

namespace {

Status checkTarget(const object::CodeObject& object, const object::Kernel& kernel, Purpose purpose) {
  const object::Target& target = object.target();
  // As the Linux driver sets an MI300X up: ECC on, no XNACK replay.
  const object::Target device{"gfx942", object::Feature::off, object::Feature::on, 0};
  object::Target successor = device;
  successor.processor = "gfx950";
  const bool traceable = purpose == Purpose::trace && !object::whyNotOn(target, successor);
  if (const auto reason = object::whyNotOn(target, device); reason && !traceable)
    return refused("{} does not run on the modelled {}: {}", object.name(), device.id(), *reason);
  if (kernel.descriptor.isWave32())
    return refused("kernel '{}' asks for wave32, which {} does not have", kernel.name, target.processor);
  return {};
}

/// A run that breaks off says what strict mode had found by then: often the cause.
Error withFindings(Error error, const std::vector<std::unique_ptr<FindingObserver>>& judges) {
  constexpr std::size_t shown = 3;
  std::size_t listed = 0;
  for (const auto& judge : judges)
    for (const StrictFinding& finding : judge->findings())
      if (listed++ < shown)
        error.message += fmt::format("\n  found before: {}: {}", finding.rule, finding.message);
  if (listed > shown)
    error.message += fmt::format("\n  and {} more findings", listed - shown);
  return error;
}

class PreparedKernel final : public Kernel {
 public:
  PreparedKernel(std::shared_ptr<const CodeImage> image, object::Kernel kernel, object::Target target)
      : image(std::move(image)), kernel(std::move(kernel)), target(std::move(target)) {}

  std::uint64_t imageBytes() const override { return image->bytes().size(); }
  std::uint64_t codeAddress() const override { return image->objectAddress(image->codeBegin()); }

  Result<RunResult> run(const dispatch::Case& launch, const RunOptions& options) const override {
    ASMEVO_TRY(const LaunchShape shape, LaunchShape::of(launch, kernel, target));
    ASMEVO_TRY(GuestMemory memory, layout(launch, options.imageSpan));
    ASMEVO_TRY(const LaunchState state, LaunchState::create(shape, kernel, *image, memory, options, target));

    WorkgroupOrder order{shape.workgroups(), {}};
    if (!options.onlyWorkgroups.empty()) {
      for (const std::uint64_t index : options.onlyWorkgroups)
        if (index < shape.workgroups())
          order.chosen.push_back(index);
      order.count = order.chosen.size();
    }
    if (options.coverage || !options.traceWorkgroups.empty())
      image->instrument();
    const std::shared_ptr<StrictKnowledge> knowledge = options.strict ? borrow(options.strict->llvmDistances) : nullptr;
    const std::vector<std::unique_ptr<FindingObserver>> judges = judgesOf(options, knowledge);
    std::vector<Observer*> observers;
    for (const auto& judge : judges)
      observers.push_back(judge.get());
    observers.insert(observers.end(), options.observers.begin(), options.observers.end());
    std::optional<Watch> watch;
    if (!observers.empty()) {
      image->observe();
      watch.emplace(std::move(observers));
    }
    RunOptions schedule = options;
    schedule.waveToBarrier |= options.strict && options.strict->delivery == Delivery::waveToBarrier;
    Result<ScheduleResult> scheduled =
        runWorkgroups(state, order, image->codeDwords(), schedule, watch ? &*watch : nullptr);
    if (!scheduled)
      return withFindings(std::move(scheduled.error()), judges);
    ScheduleResult& ran = *scheduled;

    RunResult result;
    result.brokenOff = watch && watch->stopRequested();
    result.waveInstructions = ran.waveInstructions;
    result.waves = ran.waves;
    result.lds = ran.lds;
    result.traces = std::move(ran.traces);
    if (!options.onlyTraces)
      result.guardViolations = memory.checkGuards();
    for (std::size_t i = 0; i < launch.buffers.size() && !options.onlyTraces; ++i) {
      const std::span<std::uint8_t> contents =
          memory.contents(memory.regions()[firstBuffer + i]).first(launch.buffers[i].initial.size());
      result.buffers.emplace_back(contents.begin(), contents.end());
    }
    for (std::size_t i = 0; i < ran.coverage.size(); ++i)
      if (ran.coverage[i] != 0)
        result.coverage.emplace_back(codeAddress() + i * 4, ran.coverage[i]);
    for (const auto& judge : judges) {
      std::ranges::move(judge->findings(), std::back_inserter(result.findings));
      std::ranges::move(judge->notes(), std::back_inserter(result.strictNotes));
    }
    return result;
  }

 private:
  static constexpr std::size_t codeRegion = 0, packetRegion = 1, kernargRegion = 2, firstBuffer = 3;

  /// Knowledge that no run under way uses; it comes back to the pool by itself.
  std::shared_ptr<StrictKnowledge> borrow(bool llvmDistances) const {
    const std::lock_guard guard(poolLock);
    auto& pool = llvmDistances ? poolWithLlvm : poolByManual;
    for (const auto& known : pool)
      if (known.use_count() == 1)
        return known;
    return pool.emplace_back(makeStrictKnowledge(kernel, target, llvmDistances));
  }

  /// What a strict run is judged by. The first delivers memory, so that the others see what it does.
  std::vector<std::unique_ptr<FindingObserver>> judgesOf(const RunOptions& options,
                                                         std::shared_ptr<StrictKnowledge> knowledge) const {
    std::vector<std::unique_ptr<FindingObserver>> judges;
    if (!options.strict)
      return judges;
    judges.push_back(makeStrictChecker(*options.strict, std::move(knowledge)));
    if (options.strict->races) {
      judges.push_back(makeRaceDetector());
      judges.push_back(makeBoundsChecker());
    }
    return judges;
  }

  /// The guest's memory with everything in it: code, packet and queue, kernarg segment, the case's buffers.
  Result<GuestMemory> layout(const dispatch::Case& launch, std::uint64_t imageSpan) const {
    std::map<std::string, std::uint64_t> addresses;
    for (const dispatch::Buffer& buffer : launch.buffers)
      addresses[buffer.name] = 0;
    ASMEVO_TRY(const Bytes draft, dispatch::buildKernarg(launch, kernel, addresses));
    std::vector<Region> regions;
    regions.push_back({"<code>", 0, image->bytes().size(), image->readOnlyBytes(), imageSpan});
    regions.push_back({"<dispatch packet>", 0, packetRegionBytes, 0, 0});
    regions.push_back({std::string(kernargRegionName), 0, std::max<std::uint64_t>(draft.size(), 16), 0, 0});
    for (const dispatch::Buffer& buffer : launch.buffers)
      regions.push_back({buffer.name, 0, std::max<std::uint64_t>(buffer.initial.size(), buffer.sparseBytes), 0, 0});
    ASMEVO_TRY(GuestMemory memory, GuestMemory::create(std::move(regions)));

    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      addresses[launch.buffers[i].name] = memory.regions()[firstBuffer + i].address;
    ASMEVO_TRY(const Bytes kernarg, dispatch::buildKernarg(launch, kernel, addresses));
    std::copy(image->bytes().begin(), image->bytes().end(), memory.contents(memory.regions()[codeRegion]).begin());
    std::copy(kernarg.begin(), kernarg.end(), memory.contents(memory.regions()[kernargRegion]).begin());
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      const dispatch::Buffer& buffer = launch.buffers[i];
      const std::span<std::uint8_t> contents = memory.contents(memory.regions()[firstBuffer + i]);
      if (!buffer.shared || !memory.mapShared(memory.regions()[firstBuffer + i], *buffer.shared))
        std::copy(buffer.initial.begin(), buffer.initial.end(), contents.begin());
      for (const dispatch::SparsePiece& piece : buffer.pieces) {
        if (piece.offset > contents.size() || contents.size() - piece.offset < piece.bytes.size())
          return badInput("buffer '{}' has a piece outside itself", buffer.name);
        std::copy(piece.bytes.begin(), piece.bytes.end(), contents.subspan(piece.offset).begin());
      }
      for (const dispatch::PointerElement& pointer : buffer.pointers) {
        const auto target = addresses.find(pointer.buffer);
        if (target == addresses.end())
          return badInput("buffer '{}' points into '{}', which does not exist", buffer.name, pointer.buffer);
        if (pointer.byteOffset > contents.size() || contents.size() - pointer.byteOffset < 8)
          return badInput("buffer '{}' has a pointer element outside itself", buffer.name);
        const std::uint64_t value = target->second + pointer.offset;
        std::memcpy(contents.data() + pointer.byteOffset, &value, 8);
      }
    }
    writePacket(launch, kernel, *image, memory.regions()[kernargRegion].address,
                memory.contents(memory.regions()[packetRegion]));
    return memory;
  }

  std::shared_ptr<const CodeImage> image;
  object::Kernel kernel;
  object::Target target;
  mutable std::mutex poolLock; ///< guards the pools
  mutable std::vector<std::shared_ptr<StrictKnowledge>> poolByManual, poolWithLlvm;
};

} // namespace

Result<std::shared_ptr<const Kernel>> Kernel::prepare(const object::CodeObject& object, const std::string& kernelName,
                                                      SimdLevel simd, Purpose purpose,
                                                      std::shared_ptr<isa::SharedCodec> codec) {
  if (object.elfType() == llvm::ELF::ET_REL)
    return refused("{} is relocatable: link it first (asmevo extract FILE --link -o OUT)", object.name());
  ASMEVO_TRY(const object::Kernel* found, object.findKernel(kernelName));
  ASMEVO_CHECK(checkTarget(object, *found, purpose));
  if (simd > bestSimdLevel())
    return refused("this machine lacks the vector instructions asked for");
  ASMEVO_TRY(std::shared_ptr<const CodeImage> image, CodeImage::load(object, *found, simd, std::move(codec)));
  return std::shared_ptr<const Kernel>(std::make_shared<PreparedKernel>(std::move(image), *found, object.target()));
}

} // namespace asmevo::emulator
