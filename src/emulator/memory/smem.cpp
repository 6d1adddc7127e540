#include "emulator/launch.h"
#include "emulator/memory/atomics.h"
#include "emulator/memory/bind_memory.h"
#include "emulator/memory/lane_access.h"

#include <algorithm>
#include <string_view>

namespace asmevo::emulator {

namespace {

// Operands. src[0]: base pair or buffer descriptor, src[1]: SGPR offset (kind none: none), src[2].reg: data to store.
// aux: immediate offset. dst, dstDwords: loaded registers or atomic result.

std::uint64_t offsetOf(const Wave& wave, const Op* op) {
  return op->aux + (isNone(op->src[1]) ? 0u : wave.scalar32(op->src[1]));
}

/// The two low address bits are ignored (CDNA3 ISA, "Scalar memory").
std::uint64_t addressOf(const Wave& wave, const Op* op) {
  return (wave.pair(op->src[0].reg) + offsetOf(wave, op)) & ~std::uint64_t{3};
}

bool failed(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t address) {
  wave.fail(op, ErrorKind::fault,
            fmt::format("scalar {} of {} bytes at {:#x} ({})",
                        shape.atomic  ? "atomic"
                        : shape.store ? "store"
                                      : "load",
                        shape.bytes, address, wave.memory->describe(address)));
  return false;
}

void loadScalar(Wave& wave, const Op* op) {
  const std::uint64_t address = addressOf(wave, op);
  const AccessShape shape{op->dstDwords * 4u, false, false};
  const std::uint8_t* from = wave.memory->host(address, shape.bytes);
  if (!from) [[unlikely]] {
    failed(wave, op, shape, address);
    return;
  }
  if (wave.reports) [[unlikely]]
    reportScalar(wave, op, shape, address);
  std::memcpy(&wave.sgpr[op->dst], from, shape.bytes);
  ASMEVO_NEXT(wave, op);
}

/// Guest address of a buffer offset and how many bytes from there are in range.
struct BufferSpan {
  std::uint64_t address = 0;
  std::uint64_t inRange = 0;
  BufferSpan(const Wave& wave, const Op* op) {
    const std::uint32_t* word = &wave.sgpr[op->src[0].reg];
    const std::uint64_t stride = word[1] >> 16 & 0x3fff;
    const std::uint64_t bytes = word[2] * std::max<std::uint64_t>(stride, 1);
    const std::uint64_t offset = offsetOf(wave, op) & ~std::uint64_t{3};
    address = ((word[0] | std::uint64_t{word[1] & 0xffff} << 32) & ~std::uint64_t{3}) + offset;
    inRange = offset < bytes ? bytes - offset : 0;
  }
};

void loadScalarBuffer(Wave& wave, const Op* op) {
  const BufferSpan span(wave, op);
  const AccessShape shape{op->dstDwords * 4u, false, false};
  const std::uint64_t bytes = std::min<std::uint64_t>(shape.bytes, span.inRange / 4 * 4);
  std::uint32_t loaded[16]{};
  if (bytes != 0) {
    const std::uint8_t* from = wave.memory->host(span.address, bytes);
    if (!from) [[unlikely]] {
      failed(wave, op, shape, span.address);
      return;
    }
    std::memcpy(loaded, from, bytes);
  }
  if (wave.reports) [[unlikely]]
    reportScalar(wave, op, {static_cast<unsigned>(bytes), false, false}, span.address);
  std::memcpy(&wave.sgpr[op->dst], loaded, shape.bytes);
  ASMEVO_NEXT(wave, op);
}

template <bool Buffer> void storeScalar(Wave& wave, const Op* op) {
  AccessShape shape{op->src[2].dwords * 4u, true, false};
  std::uint64_t address = addressOf(wave, op), bytes = shape.bytes;
  if constexpr (Buffer) {
    const BufferSpan span(wave, op);
    address = span.address;
    bytes = std::min<std::uint64_t>(bytes, span.inRange / 4 * 4);
  }
  if (bytes != 0) {
    std::uint8_t* to = wave.memory->hostForStore(address, bytes);
    if (!to) [[unlikely]] {
      failed(wave, op, shape, address);
      return;
    }
    if (wave.reports) [[unlikely]]
      reportScalar(wave, op, {static_cast<unsigned>(bytes), true, false}, address);
    std::memcpy(to, &wave.sgpr[op->src[2].reg], bytes);
  }
  ASMEVO_NEXT(wave, op);
}

template <bool Buffer> void atomicScalar(Wave& wave, const Op* op) {
  const AtomicForm& form = *static_cast<const AtomicForm*>(op->extra);
  const AccessShape shape{form.bytes, true, true};
  std::uint64_t address = addressOf(wave, op);
  bool inRange = true;
  if constexpr (Buffer) {
    const BufferSpan span(wave, op);
    address = span.address;
    inRange = span.inRange >= form.bytes;
  }
  std::uint64_t old = 0;
  if (inRange) {
    std::uint8_t* at = address % form.bytes == 0 ? wave.memory->hostForStore(address, form.bytes) : nullptr;
    if (!at) [[unlikely]] {
      failed(wave, op, shape, address);
      return;
    }
    if (wave.reports) [[unlikely]]
      reportScalar(wave, op, shape, address);
    const unsigned dwords = form.bytes / 4;
    const auto operand = [&](unsigned first) -> std::uint64_t {
      return dwords == 2 ? wave.pair(op->src[2].reg + first) : wave.sgpr[op->src[2].reg + first];
    };
    old = applyAtomic(form, at, operand(0), form.dataOperands == 2 ? operand(dwords) : 0, wave.mode, true);
  }
  if (op->dstDwords != 0)
    std::memcpy(&wave.sgpr[op->dst], &old, form.bytes);
  ASMEVO_NEXT(wave, op);
}

/// Where a scalar scratch access goes (CDNA3 ISA 8.1.1): base + offset + 64 * SGPR offset. An address in the private
/// aperture is one of the wave's scratch as the hardware keeps it: dword d of all 64 lanes, then dword d + 1. Null:
/// outside.
std::uint8_t* scratchDword(Wave& wave, std::uint64_t address, bool store) {
  if (address >> 32 != privateBase >> 32)
    return const_cast<std::uint8_t*>(store ? wave.memory->hostForStore(address, 4) : wave.memory->host(address, 4));
  const std::uint64_t dword = (address & 0xffffffff) / 4, lane = dword % 64, offset = dword / 64 * 4;
  return offset + 4 <= wave.scratchPerLane ? wave.scratch + lane * wave.scratchPerLane + offset : nullptr;
}

template <bool Store> void scratchScalar(Wave& wave, const Op* op) {
  const unsigned dwords = Store ? op->src[2].dwords : op->dstDwords;
  const AccessShape shape{4 * dwords, Store, false};
  const std::uint64_t scaled = isNone(op->src[1]) ? 0 : std::uint64_t{wave.scalar32(op->src[1])} * 64;
  const std::uint64_t address = (wave.pair(op->src[0].reg) + op->aux + scaled) & ~std::uint64_t{3};
  std::uint32_t values[4]{};
  for (unsigned k = 0; k < dwords; ++k) {
    std::uint8_t* at = scratchDword(wave, address + 4 * k, Store);
    if (!at) {
      failed(wave, op, shape, address + 4 * k);
      return;
    }
    if constexpr (Store)
      std::memcpy(at, &wave.sgpr[op->src[2].reg + k], 4);
    else
      std::memcpy(&values[k], at, 4);
  }
  if (wave.reports) [[unlikely]]
    reportScalar(wave, op, shape, address);
  if constexpr (!Store)
    std::memcpy(&wave.sgpr[op->dst], values, 4 * dwords);
  ASMEVO_NEXT(wave, op);
}

/// Counters that advance with the wave's own instructions, so that runs repeat. The real-time one ticks at 100 MHz
/// beside a 2.1 GHz clock at 4 cycles an instruction.
constexpr std::uint64_t cyclesPerInstruction = 4, cyclesPerTick = 21, clockStart = 1'000'000;

template <std::uint64_t Divider> void readClock(Wave& wave, const Op* op) {
  const std::uint64_t executed = wave.instructions + static_cast<std::uint64_t>(op - wave.runStart);
  wave.setPair(op->dst, (clockStart + executed * cyclesPerInstruction) / Divider);
  ASMEVO_NEXT(wave, op);
}

void nothing(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

/// "sbase, offset": an SGPR, an immediate, or an SGPR and offset:imm.
Status bindAddress(const isa::Instruction& inst, OperandReader& reader, unsigned baseDwords, Op& op) {
  ASMEVO_CHECK(reader.takeScalar(op.src[0], baseDwords));
  if (isNone(op.src[0]))
    return refused("{}: no base address", inst.base);
  op.aux = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  const isa::Operand* offset = reader.peek();
  if (offset && offset->kind == isa::OperandKind::imm)
    op.aux = static_cast<std::uint64_t>(offset->imm);
  else if (offset)
    ASMEVO_CHECK(reader.takeScalar(op.src[1], 1));
  return {};
}

} // namespace

Status bindScalarMemory(const isa::Instruction& inst, const BindContext& context, Op& op) {
  std::string_view name = inst.base;
  OperandReader reader(inst, context);
  op.dstDwords = 0;
  if (name == "s_memtime" || name == "s_memrealtime") {
    if (!reader.takeDestination(op))
      return refused("{} without a destination", name);
    op.fn = name == "s_memtime" ? readClock<1> : readClock<cyclesPerTick>;
    return {};
  }
  if (name.starts_with("s_dcache_") || name.starts_with("s_atc_probe")) {
    op.fn = nothing;
    return {};
  }
  if (name.starts_with("s_scratch_load_dword")) {
    if (!reader.takeDestination(op) || op.dstDwords > 4 || op.dst + op.dstDwords > isa::sreg::count)
      return refused("{}: no destination it can have", inst.base);
    op.fn = scratchScalar<false>;
    return bindAddress(inst, reader, 2, op);
  }
  if (name.starts_with("s_scratch_store_dword")) {
    ASMEVO_CHECK(reader.takeScalar(op.src[2], 1));
    if (isNone(op.src[2]) || op.src[2].dwords > 4)
      return refused("{}: no data register", inst.base);
    op.fn = scratchScalar<true>;
    return bindAddress(inst, reader, 2, op);
  }
  const bool buffer = name.starts_with("s_buffer_");
  name.remove_prefix(buffer ? 9 : 2);
  const unsigned baseDwords = buffer ? 4 : 2;
  if (name.starts_with("load_dword")) {
    if (!reader.takeDestination(op) || op.dstDwords > 16 || op.dst + op.dstDwords > isa::sreg::count)
      return refused("{}: no destination it can have", inst.base);
    op.fn = buffer ? loadScalarBuffer : loadScalar;
    return bindAddress(inst, reader, baseDwords, op);
  }
  if (name.starts_with("store_dword")) {
    ASMEVO_CHECK(reader.takeScalar(op.src[2], 1));
    op.fn = buffer ? storeScalar<true> : storeScalar<false>;
    return bindAddress(inst, reader, baseDwords, op);
  }
  if (name.starts_with("atomic_")) {
    const AtomicForm* form = findMemoryAtomic(name.substr(7));
    if (!form || form->floating)
      return refused("{} is not modelled", inst.base);
    const unsigned dwords = form->bytes / 4 * form->dataOperands;
    if (reader.takeDestination(op)) {
      if (op.dstDwords < dwords)
        return refused("{}: data register range is too small", inst.base);
      op.src[2].kind = SrcKind::sgpr;
      op.src[2].reg = op.dst;
    } else {
      ASMEVO_CHECK(reader.takeScalar(op.src[2], dwords));
    }
    op.extra = form;
    op.fn = buffer ? atomicScalar<true> : atomicScalar<false>;
    return bindAddress(inst, reader, baseDwords, op);
  }
  return refused("{} is not modelled", inst.base);
}

} // namespace asmevo::emulator
