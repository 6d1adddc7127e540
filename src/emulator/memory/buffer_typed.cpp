/// buffer_*_format_* and tbuffer_*_format_*: accesses that convert between a format in memory and registers (CDNA3 ISA
/// 9.1.4, 9.1.6).
#include "emulator/memory/bind_memory.h"
#include "emulator/memory/buffer_format.h"
#include "emulator/memory/buffer_resource.h"
#include "emulator/memory/lane_access.h"

#include <string_view>

namespace asmevo::emulator {

namespace {

struct TypedPlan {
  bool fromInstruction = false; ///< MTBUF: the format stands in the instruction and DST_SEL is the identity
  std::uint8_t dataFormat = 0, numberFormat = 0;
  Resolver resolve = nullptr;
  std::uint8_t components = 1; ///< of the opcode: _x to _xyzw
  bool half = false;           ///< d16: two components to a register, lower half first
  bool high = false;           ///< d16_hi_x: the upper half of the register
};

constexpr std::uint8_t selectZero = 0, selectOne = 1, selectFirst = 4;

/// The format of an access and how its components go to the opcode's; stops the wave when there is none.
struct Access {
  std::optional<BufferFormat> format;
  std::array<std::uint8_t, 4> select{4, 5, 6, 7};
  bool unbound = false;

  Access(const Wave& wave, const Op* op, const TypedPlan& plan) {
    const BufferResource resource(wave, op->src[2].reg);
    unbound = resource.unbound();
    format = plan.fromInstruction ? BufferFormat::of(plan.dataFormat, plan.numberFormat)
                                  : BufferFormat::of(resource.dataFormat, resource.numberFormat);
    if (unbound)
      format = BufferFormat::of(4, 4); // any will do: no lane gets to memory
    if (!plan.fromInstruction)
      select = resource.select;
    else if (format)
      for (unsigned i = format->components; i < 4; ++i)
        select[i] = selectZero;
  }
};

bool refuse(Wave& wave, const Op* op, std::string_view what) {
  wave.fail(op, ErrorKind::refused, fmt::format("{}, which is not modelled", what));
  return false;
}

std::uint32_t oneOf(const BufferFormat& format) {
  return format.isFloat() ? 0x3f800000u : 1u;
}

/// Register bits of a component in the d16 forms.
std::uint32_t narrowed(const BufferFormat& format, std::uint32_t value) {
  return format.isFloat() ? halfFromFloat(std::bit_cast<float>(value)) : value & 0xffff;
}
std::uint32_t widened(const BufferFormat& format, std::uint32_t half) {
  if (format.isFloat())
    return std::bit_cast<std::uint32_t>(floatFromHalf(static_cast<std::uint16_t>(half)));
  return format.number == NumberFormat::sint ? static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(half)})
                                             : half;
}

void loadTyped(Wave& wave, const Op* op) {
  const auto& plan = *static_cast<const TypedPlan*>(op->extra);
  const Access typed(wave, op, plan);
  if (!typed.format)
    return void(refuse(wave, op, "a pair of data and number format that has no meaning"));
  const BufferFormat& format = *typed.format;
  if (plan.half && format.bits[0] == 32 && !format.isFloat())
    return void(refuse(wave, op, "16-bit registers for a 32-bit integer format"));
  for (unsigned i = 0; i < plan.components; ++i)
    if (typed.select[i] > selectOne && typed.select[i] - selectFirst >= format.components)
      return void(refuse(wave, op, "DST_SEL of a component that the format lacks"));
  const AccessShape shape{format.bytes, false, false, true};
  LaneAccess access;
  if (!plan.resolve(wave, op, shape, access)) [[unlikely]]
    return;
  if (wave.reports) [[unlikely]]
    reportVector(wave, op, shape, access);
  forLanes(access.exec, [&](unsigned lane) {
    const bool in = access.allValid || (access.valid[0] >> lane & 1);
    std::uint32_t registers[4]{};
    for (unsigned i = 0; i < plan.components; ++i) {
      const std::uint8_t select = typed.select[i];
      std::uint32_t value = select == selectOne && !typed.unbound ? oneOf(format) : 0;
      if (in && select >= selectFirst)
        value = decodeComponent(format, select - selectFirst, hostPointer(access.at[lane]));
      if (plan.half)
        registers[i / 2] |= narrowed(format, value) << (plan.high ? 16 : 16 * (i % 2));
      else
        registers[i] = value;
    }
    for (unsigned i = 0; i < op->dstDwords; ++i)
      wave.lanes(op->dst + i)[lane] = registers[i];
  });
  ASMEVO_NEXT(wave, op);
}

void storeTyped(Wave& wave, const Op* op) {
  const auto& plan = *static_cast<const TypedPlan*>(op->extra);
  const Access typed(wave, op, plan);
  if (!typed.format)
    return void(refuse(wave, op, "a pair of data and number format that has no meaning"));
  const BufferFormat& format = *typed.format;
  if (plan.components < format.components && !typed.unbound)
    return void(refuse(wave, op, "a store of fewer components than the format has"));
  for (unsigned i = 0; i < format.components && !typed.unbound; ++i)
    if (typed.select[i] != selectFirst + i)
      return void(refuse(wave, op, "a store with DST_SEL other than the identity"));
  const AccessShape shape{format.bytes, true, false, true};
  LaneAccess access;
  if (!plan.resolve(wave, op, shape, access)) [[unlikely]]
    return;
  if (wave.reports) [[unlikely]]
    reportVector(wave, op, shape, access);
  const std::uint64_t lanes = access.allValid ? access.exec : access.valid[0];
  bool inexact = false;
  forLanes(lanes, [&](unsigned lane) {
    for (unsigned i = 0; i < format.components; ++i) {
      const std::uint32_t* from = wave.lanes(op->src[1].reg + (plan.half ? i / 2 : i));
      const std::uint32_t value =
          plan.half ? widened(format, from[lane] >> (plan.high ? 16 : 16 * (i % 2)) & 0xffff) : from[lane];
      const auto code = encodeComponent(format, i, value);
      inexact |= !code;
      if (code)
        placeComponent(format, i, *code, hostPointer(access.at[lane]));
    }
  });
  if (inexact)
    return void(refuse(wave, op, "a store of a number that its format cannot hold exactly"));
  ASMEVO_NEXT(wave, op);
}

} // namespace

Status bindTypedBuffer(const isa::Instruction& inst, const BindContext& context, Op& op) {
  std::string_view name = inst.base;
  TypedPlan plan;
  plan.resolve = atLevel(context.simd, &scalar::vectorHandlers, &avx2::vectorHandlers, &avx512::vectorHandlers)->buffer;
  plan.fromInstruction = name.starts_with("tbuffer_");
  // MTBUF: DFMT in 22:19 and NFMT in 25:23; the default is not printed.
  plan.dataFormat = static_cast<std::uint8_t>((inst.encoding[2] | inst.encoding[3] << 8) >> 3 & 15);
  plan.numberFormat = static_cast<std::uint8_t>((inst.encoding[2] | inst.encoding[3] << 8) >> 7 & 7);
  const bool load = name.find("_load_") != std::string_view::npos;
  plan.half = name.find("_d16") != std::string_view::npos;
  plan.high = name.find("_d16_hi") != std::string_view::npos;
  const std::string_view parts = name.substr(name.rfind('_') + 1);
  if (parts.empty() || parts.size() > 4 || std::string_view("xyzw").substr(0, parts.size()) != parts)
    return refused("{} is not modelled", inst.base);
  plan.components = static_cast<std::uint8_t>(parts.size());
  if (inst.mods.lds || inst.mods.tfe)
    return refused("{}: lds and tfe are not modelled for typed accesses", inst.base);
  const unsigned dwords = plan.half ? (plan.components + 1u) / 2 : plan.components;
  OperandReader reader(inst, context);
  if (load) {
    if (!reader.takeDestination(op) || !op.dstIsVgpr || op.dstDwords < dwords)
      return refused("{}: no destination of its size", inst.base);
    op.dstDwords = static_cast<std::uint8_t>(dwords);
  } else {
    ASMEVO_CHECK(reader.takeVector(op.src[1], dwords));
    if (isNone(op.src[1]))
      return refused("{}: no data register", inst.base);
  }
  ASMEVO_CHECK(bindBufferOperands(inst, reader, op));
  op.src[3].dwords |= bufferTyped;
  op.extra = context.arena->make(plan);
  op.fn = load ? loadTyped : storeTyped;
  return {};
}

} // namespace asmevo::emulator
