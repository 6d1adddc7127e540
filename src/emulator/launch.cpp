#include "emulator/launch.h"

#include <algorithm>
#include <cstring>

namespace asmevo::emulator {

namespace {

constexpr std::uint32_t ldsGranule = 512; ///< CDNA3: 64 KB per CU, allocated in 128 dwords
constexpr std::uint32_t maxWorkItems = 1024;
constexpr std::uint64_t maxWorkgroups = std::uint64_t{1} << 32;
constexpr unsigned simdsPerCu = 4, registersPerSimd = 512, wavesPerSimd = 8;
constexpr std::uint32_t dynamicStackBytes = 16384; ///< per lane, for kernels whose call depth is not known
constexpr std::uint64_t maxScratchPerGroup = std::uint64_t{1} << 30;
constexpr unsigned userSgprLimit = 16;
constexpr std::uint64_t preloadEntryOffset = 256; ///< the loading prologue that firmware with preload skips
constexpr std::uint32_t modeDx10Clamp = 1u << 8, modeIeee = 1u << 9;

/// A pattern that is NaN as f32 and in both halves as f16 and bf16, and differs from element to element.
std::uint32_t poison(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + index * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return 0x7fc07fc0u | (static_cast<std::uint32_t>(z >> 16) & 0x803f803fu);
}

template <class T> void put(std::span<std::uint8_t> bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

} // namespace

void writePacket(const dispatch::Case& launch, const object::Kernel& kernel, const CodeImage& image,
                 std::uint64_t kernargAddress, std::span<std::uint8_t> region) {
  constexpr std::uint16_t kernelDispatchHeader = 2 | 2 << 9 | 2 << 11; // type, system-scope acquire and release fences
  // hsa_kernel_dispatch_packet_t
  put<std::uint16_t>(region, 0, kernelDispatchHeader);
  put<std::uint16_t>(region, 2, 3); // dimensions
  for (std::size_t d = 0; d < 3; ++d) {
    put(region, 4 + 2 * d, static_cast<std::uint16_t>(launch.workgroupSize[d]));
    put(region, 12 + 4 * d, launch.gridSize[d]);
  }
  put(region, 24, kernel.descriptor.privateSegmentSize());
  put(region, 28, kernel.descriptor.groupSegmentSize() + launch.dynamicLdsBytes);
  put(region, 32, image.guestAddress(kernel.descriptorAddress));
  put(region, 40, kernargAddress);
  // amd_queue_t: group_segment_aperture_base_hi and private_segment_aperture_base_hi
  put(region, queueOffset + 64, static_cast<std::uint32_t>(sharedBase >> 32));
  put(region, queueOffset + 68, static_cast<std::uint32_t>(privateBase >> 32));
}

Result<LaunchShape> LaunchShape::of(const dispatch::Case& launch, const object::Kernel& kernel,
                                    const object::Target& target) {
  LaunchShape shape;
  shape.workgroupSize = launch.workgroupSize;
  shape.gridSize = launch.gridSize;
  std::uint64_t items = 1, groups = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    if (launch.workgroupSize[d] == 0 || launch.gridSize[d] == 0)
      return badInput("{}: workgroup_size and grid_size must be positive", launch.name);
    items = std::min<std::uint64_t>(items * launch.workgroupSize[d], maxWorkItems + 1);
    shape.groups[d] = (std::uint64_t{launch.gridSize[d]} + launch.workgroupSize[d] - 1) / launch.workgroupSize[d];
    if (shape.groups[d] > maxWorkgroups / groups)
      return refused("{}: more than {} workgroups", launch.name, maxWorkgroups);
    groups *= shape.groups[d];
  }
  if (items > maxWorkItems)
    return badInput("{}: a workgroup has at most {} work-items", launch.name, maxWorkItems);
  if (kernel.metadata && kernel.metadata->maxFlatWorkgroupSize != 0 && items > kernel.metadata->maxFlatWorkgroupSize)
    return badInput("{}: kernel '{}' is built for workgroups of at most {} work-items, the dispatch has {}",
                    launch.name, kernel.name, kernel.metadata->maxFlatWorkgroupSize, items);
  const std::uint64_t lds = std::uint64_t{kernel.descriptor.groupSegmentSize()} + launch.dynamicLdsBytes;
  const std::uint32_t ldsLimit = target.processor == "gfx950" ? 160 << 10 : 64 << 10;
  if (lds > ldsLimit)
    return badInput("{}: {} bytes of LDS ({} static + {} dynamic), the limit is {}", launch.name, lds,
                    kernel.descriptor.groupSegmentSize(), launch.dynamicLdsBytes, ldsLimit);
  shape.ldsBytes = static_cast<std::uint32_t>((lds + ldsGranule - 1) / ldsGranule * ldsGranule);
  const std::uint64_t waves = (items + 63) / 64;
  const unsigned vgprs = kernel.descriptor.allocatedVgprs(target);
  const std::uint64_t perSimd = vgprs == 0 ? wavesPerSimd : std::min(wavesPerSimd, registersPerSimd / vgprs);
  if (waves > simdsPerCu * perSimd)
    return badInput("{}: {} waves of {} vector registers do not fit one compute unit", launch.name, waves, vgprs);
  return shape;
}

Result<LaunchState> LaunchState::create(const LaunchShape& shape, const object::Kernel& kernel, const CodeImage& image,
                                        GuestMemory& memory, const RunOptions& options, const object::Target& target) {
  const object::KernelDescriptor& descriptor = kernel.descriptor;
  LaunchState state;
  state.shape = shape;
  state.image = &image;
  state.memory = &memory;
  state.options = options;
  state.vgprs = descriptor.allocatedVgprs(target);
  if (state.vgprs == 0 || state.vgprs > registersPerSimd)
    return badInput("kernel '{}' allocates {} vector registers", kernel.name, state.vgprs);

  if (options.poisonState) {
    for (std::size_t i = 0; i < state.scalars.size(); ++i)
      state.scalars[i] = poison(options.poisonSeed, i);
    state.registerPoison.resize(std::size_t{state.vgprs} * 64);
    for (std::size_t i = 0; i < state.registerPoison.size(); ++i)
      state.registerPoison[i] = poison(options.poisonSeed, 1000 + i);
  } else {
    state.registerPoison.assign(std::size_t{state.vgprs} * 64, 0);
  }
  state.ldsPoison.resize(shape.ldsBytes);
  for (std::size_t at = 0; options.poisonState && at < state.ldsPoison.size(); at += 4)
    put(std::span(state.ldsPoison), at, poison(options.poisonSeed, 100'000 + at));

  const std::uint64_t packet = memory.regions()[1].address, kernarg = memory.regions()[2].address;
  unsigned next = 0;
  const auto pass64 = [&](bool enabled, std::uint64_t value) {
    if (!enabled)
      return;
    std::memcpy(&state.scalars[next], &value, 8);
    next += 2;
  };
  if (descriptor.enablePrivateSegmentBuffer())
    return refused("kernel '{}' asks for a private segment buffer, which gfx942 code does not use", kernel.name);
  pass64(descriptor.enableDispatchPtr(), packet);
  pass64(descriptor.enableQueuePtr(), packet + queueOffset);
  pass64(descriptor.enableKernargPtr(), kernarg);
  pass64(descriptor.enableDispatchId(), 0);
  pass64(descriptor.enableFlatScratchInit(), 0);
  const bool dynamicStack = descriptor.usesDynamicStack() || (kernel.metadata && kernel.metadata->usesDynamicStack);
  state.scratchPerLane = std::max(descriptor.privateSegmentSize(), dynamicStack ? dynamicStackBytes : 0u);
  state.scratchPerLane = (state.scratchPerLane + 3) / 4 * 4;
  if (state.scratchPerLane > maxScratchPerGroup / maxWorkItems)
    return refused("kernel '{}' asks for {} bytes of scratch per work-item", kernel.name, state.scratchPerLane);
  if (descriptor.enablePrivateSegmentSize())
    state.scalars[next++] = state.scratchPerLane;

  state.entry = image.guestAddress(kernel.entryAddress);
  const unsigned preload = descriptor.kernargPreload() & 0x7f, preloadOffset = descriptor.kernargPreload() >> 7;
  if (preload != 0) {
    if (next + preload > userSgprLimit)
      return badInput("kernel '{}' preloads {} dwords of arguments into {} free SGPRs", kernel.name, preload,
                      userSgprLimit - next);
    const std::span<const std::uint8_t> segment = memory.contents(memory.regions()[2]);
    for (unsigned i = 0; i < preload; ++i) {
      const std::size_t at = std::size_t{preloadOffset + i} * 4;
      std::uint32_t value = 0;
      if (at + 4 <= segment.size())
        std::memcpy(&value, segment.data() + at, 4);
      state.scalars[next++] = value;
    }
    state.entry += preloadEntryOffset;
  }
  if (next > descriptor.userSgprCount())
    return badInput("kernel '{}' enables {} user SGPRs but declares {}", kernel.name, next, descriptor.userSgprCount());
  state.passedSgprs = next;
  state.firstSystemSgpr = descriptor.userSgprCount();
  for (unsigned d = 0; d < 3; ++d)
    state.passesId[d] = descriptor.workgroupId(d);
  state.passesInfo = descriptor.workgroupInfo();
  state.workitemIdMode = descriptor.workitemIdMode();
  state.mode =
      descriptor.floatMode() | (descriptor.dx10Clamp() ? modeDx10Clamp : 0) | (descriptor.ieeeMode() ? modeIeee : 0);
  if (!image.opAt(state.entry, plainStream))
    return badInput("kernel '{}' has its entry at {:#x}, outside the code", kernel.name, kernel.entryAddress);
  return state;
}

std::uint64_t LaunchState::bytesPerGroup() const {
  const std::uint64_t items = std::uint64_t{shape.workgroupSize[0]} * shape.workgroupSize[1] * shape.workgroupSize[2];
  return shape.ldsBytes + (items + 63) / 64 * 64 * (std::uint64_t{vgprs} * 4 + scratchPerLane);
}

void LaunchState::start(Workgroup& group, std::uint64_t index, std::uint64_t* coverage, Watch* watch) const {
  group.index = index;
  group.id = {static_cast<std::uint32_t>(index % shape.groups[0]),
              static_cast<std::uint32_t>(index / shape.groups[0] % shape.groups[1]),
              static_cast<std::uint32_t>(index / shape.groups[0] / shape.groups[1])};
  // The last workgroup of a dimension holds what is left of the grid.
  std::array<std::uint32_t, 3> size{};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint64_t begin = std::uint64_t{group.id[d]} * shape.workgroupSize[d];
    size[d] = static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.workgroupSize[d], shape.gridSize[d] - begin));
  }
  const unsigned items = size[0] * size[1] * size[2];
  const unsigned waves = (items + 63) / 64;
  const std::size_t waveRegisters = std::size_t{vgprs} * 64, waveScratch = std::size_t{scratchPerLane} * 64;
  group.registers.ensure(waveRegisters * waves);
  group.lds.ensure(std::max<std::size_t>(shape.ldsBytes, 64));
  group.scratch.ensure(std::max<std::size_t>(waveScratch * waves, 64));
  std::copy(ldsPoison.begin(), ldsPoison.end(), group.lds.get());
  if (waveScratch != 0)
    for (std::size_t at = 0; at < waveScratch * waves; at += 4) {
      const std::uint32_t value = options.poisonState ? poison(options.poisonSeed, 200'000 + at) : 0;
      std::memcpy(group.scratch.get() + at, &value, 4);
    }

  const bool traced = options.traceWorkgroups.contains(index);
  group.trace.reset();
  if (traced) {
    group.trace.emplace();
    group.trace->index = index;
    group.trace->id = group.id;
    group.trace->waves.resize(waves);
  }
  group.waves.clear();
  group.waves.resize(waves);
  for (unsigned w = 0; w < waves; ++w) {
    Wave& wave = group.waves[w];
    wave.vgpr = group.registers.get() + waveRegisters * w;
    wave.scratch = group.scratch.get() + waveScratch * w;
    wave.lds = group.lds.get();
    wave.group = &group;
    wave.trace = traced ? &group.trace->waves[w] : nullptr;
    wave.coverage = coverage;
    wave.watch = watch;
    wave.reports = traced || watch;
    startWave(wave, group, size, w, waves);
  }
}

void LaunchState::startWave(Wave& wave, const Workgroup& group, const std::array<std::uint32_t, 3>& size,
                            unsigned number, unsigned waves) const {
  std::memcpy(wave.sgpr, scalars.data(), sizeof wave.sgpr);
  std::memcpy(wave.vgpr, registerPoison.data(), registerPoison.size() * 4);
  wave.vgprCount = vgprs;
  wave.scc = options.poisonState ? static_cast<std::uint32_t>(options.poisonSeed & 1) : 0;
  wave.mode = mode;
  wave.fastMfma = options.fastMfma;
  wave.ldsBytes = shape.ldsBytes;
  wave.memory = memory;
  wave.waveInGroup = number;
  wave.scratchPerLane = scratchPerLane;
  wave.code = image;
  wave.codeAddress = image->codeBegin();
  wave.codeBegin = image->opAt(image->codeBegin(), plainStream);
  wave.stream = wave.watch ? observedStream : wave.trace || wave.coverage ? instrumentedStream : plainStream;
  wave.resume = image->opAt(entry, wave.stream);

  unsigned next = firstSystemSgpr;
  for (std::size_t d = 0; d < 3; ++d)
    if (passesId[d])
      wave.sgpr[next++] = group.id[d];
  if (passesInfo)
    wave.sgpr[next++] = (number == 0 ? 1u << 31 : 0u) | waves;
  const auto below = [](unsigned count) { return (std::uint64_t{1} << count) - 1; };
  wave.initialSgprs = below(passedSgprs) | (below(next) & ~below(firstSystemSgpr));

  const unsigned items = size[0] * size[1] * size[2], first = number * 64;
  const unsigned active = std::min(64u, items - first);
  wave.setPair(isa::sreg::execLo, active == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << active) - 1);
  for (unsigned lane = 0; lane < active; ++lane) {
    const unsigned item = first + lane;
    std::uint32_t id = item % size[0];
    if (workitemIdMode >= 1)
      id |= item / size[0] % size[1] << 10;
    if (workitemIdMode >= 2)
      id |= item / size[0] / size[1] << 20;
    wave.vgpr[lane] = id;
  }
}

} // namespace asmevo::emulator
