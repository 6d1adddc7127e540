#include "emulator/memory/bind_memory.h"
#include "emulator/memory/data_parts.h"

#include <string_view>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

constexpr std::size_t addressModes = 5;
enum AddressMode : std::size_t { globalMode, globalScalarMode, flatMode, scratchMode, bufferMode };

/// One data part under every address part.
struct DataForm {
  std::array<Handler, addressModes> handlers{};
  unsigned dataDwords = 0; ///< of a store's data register range
  bool store = false;
};

template <class D> constexpr std::array<Handler, addressModes> everyMode() {
  return {memoryOp<resolveGlobal, D>, memoryOp<resolveGlobalScalar, D>, memoryOp<resolveFlat, D>,
          memoryOp<resolveScratch, D>, memoryOp<resolveBuffer, D>};
}

template <class D> DataForm load() {
  return {everyMode<D>(), 0, false};
}
template <class D> DataForm store(unsigned dwords) {
  return {everyMode<D>(), dwords, true};
}

/// By the name behind "buffer_", "flat_", "global_" or "scratch_".
const std::unordered_map<std::string_view, DataForm>& dataForms() {
  using U8 = std::uint8_t;
  using S8 = std::int8_t;
  using U16 = std::uint16_t;
  using S16 = std::int16_t;
  static const std::unordered_map<std::string_view, DataForm> table = {
      {"load_dword", load<LoadDwords<1>>()},
      {"load_dwordx2", load<LoadDwords<2>>()},
      {"load_dwordx3", load<LoadDwords<3>>()},
      {"load_dwordx4", load<LoadDwords<4>>()},
      {"load_ubyte", load<LoadSmall<U8>>()},
      {"load_sbyte", load<LoadSmall<S8>>()},
      {"load_ushort", load<LoadSmall<U16>>()},
      {"load_sshort", load<LoadSmall<S16>>()},
      {"load_ubyte_d16", load<LoadSmall<U8, Part::low>>()},
      {"load_ubyte_d16_hi", load<LoadSmall<U8, Part::high>>()},
      {"load_sbyte_d16", load<LoadSmall<S8, Part::low>>()},
      {"load_sbyte_d16_hi", load<LoadSmall<S8, Part::high>>()},
      {"load_short_d16", load<LoadSmall<U16, Part::low>>()},
      {"load_short_d16_hi", load<LoadSmall<U16, Part::high>>()},
      {"store_dword", store<StoreDwords<1>>(1)},
      {"store_dwordx2", store<StoreDwords<2>>(2)},
      {"store_dwordx3", store<StoreDwords<3>>(3)},
      {"store_dwordx4", store<StoreDwords<4>>(4)},
      {"store_byte", store<StoreSmall<U8>>(1)},
      {"store_byte_d16_hi", store<StoreSmall<U8, 16>>(1)},
      {"store_short", store<StoreSmall<U16>>(1)},
      {"store_short_d16_hi", store<StoreSmall<U16, 16>>(1)},
  };
  return table;
}

/// Memory to LDS at M0[15:0] + instruction offset + 4 * lane (facts of the production kernels: aiter_dispatch.md;
/// CDNA3 ISA, "Buffer load to LDS"). T decides width and extension; lanes out of range deliver 0.
template <Resolver R, class T> void loadToLds(Wave& wave, const Op* op) {
  LaneAccess access;
  const AccessShape shape{sizeof(T), false, false};
  if (!R(wave, op, shape, access)) [[unlikely]]
    return;
  const std::uint32_t base = (wave.sgpr[isa::sreg::m0] & 0xffff) + static_cast<std::uint32_t>(op->aux);
  if (wave.reports) [[unlikely]] {
    reportVector(wave, op, shape, access, true);
    reportLdsDma(wave, op, access.exec, base);
  }
  if (access.contiguous && sizeof(T) == 4 && std::uint64_t{base} + 256 <= wave.ldsBytes) {
    std::memcpy(wave.lds + base, hostPointer(access.at[0]), 256);
    ASMEVO_NEXT(wave, op);
  }
  forLanes(access.exec, [&](unsigned lane) {
    const std::uint64_t to = std::uint64_t{base} + 4 * lane;
    if (to + 4 > wave.ldsBytes)
      return;
    const bool in = access.allValid || (access.valid[0] >> lane & 1);
    const std::uint32_t value =
        in ? static_cast<std::uint32_t>(static_cast<std::int64_t>(readHost<T>(access.at[lane]))) : 0;
    std::memcpy(wave.lds + to, &value, 4);
  });
  ASMEVO_NEXT(wave, op);
}

template <class T> constexpr std::array<Handler, addressModes> everyLdsMode() {
  return {loadToLds<resolveGlobal, T>, loadToLds<resolveGlobalScalar, T>, loadToLds<resolveFlat, T>,
          loadToLds<resolveScratch, T>, loadToLds<resolveBuffer, T>};
}

const std::array<Handler, addressModes>* ldsLoadForm(std::string_view type) {
  static const std::unordered_map<std::string_view, std::array<Handler, addressModes>> table = {
      {"dword", everyLdsMode<std::uint32_t>()}, {"ubyte", everyLdsMode<std::uint8_t>()},
      {"sbyte", everyLdsMode<std::int8_t>()},   {"ushort", everyLdsMode<std::uint16_t>()},
      {"sshort", everyLdsMode<std::int16_t>()},
  };
  const auto found = table.find(type);
  return found == table.end() ? nullptr : &found->second;
}

void nothing(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

std::string_view afterPrefix(std::string_view name) {
  const std::size_t at = name.find('_');
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

/// Address operands that follow the data: FLAT family "vaddr[, data][, saddr|off]".
Status bindFlatOperands(const isa::Instruction& inst, OperandReader& reader, unsigned dataDwords, AddressMode& mode,
                        Op& op) {
  const isa::Operand* address = reader.peek();
  const unsigned given = address ? address->dwords : 0;
  ASMEVO_CHECK(reader.takeVector(op.src[0], 1));
  if (dataDwords != 0)
    ASMEVO_CHECK(reader.takeVector(op.src[1], dataDwords));
  if (inst.cls != isa::InstClass::flat && !reader.done())
    ASMEVO_CHECK(reader.takeScalar(op.src[2], inst.cls == isa::InstClass::scratch ? 1 : 2));
  op.aux = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  switch (inst.cls) {
  case isa::InstClass::flat:
    mode = flatMode;
    break;
  case isa::InstClass::scratch:
    mode = scratchMode;
    return {};
  default:
    mode = isNone(op.src[2]) ? globalMode : globalScalarMode;
  }
  if (isNone(op.src[0]) || given < (mode == globalScalarMode ? 1u : 2u))
    return refused("{}: no address register", inst.base);
  return {};
}

} // namespace

Status bindBufferOperands(const isa::Instruction& inst, OperandReader& reader, Op& op) {
  const unsigned addresses = unsigned{inst.mods.offen} + unsigned{inst.mods.idxen};
  ASMEVO_CHECK(reader.takeVector(op.src[0], addresses));
  if (addresses != 0 && isNone(op.src[0]))
    return refused("{}: no address register", inst.base);
  ASMEVO_CHECK(reader.takeScalar(op.src[2], 4));
  if (isNone(op.src[2]))
    return refused("{}: no resource descriptor", inst.base);
  ASMEVO_CHECK(reader.takeScalarValue(op.src[3]));
  op.src[3].dwords =
      static_cast<std::uint8_t>((inst.mods.offen ? bufferOffen : 0) | (inst.mods.idxen ? bufferIdxen : 0));
  op.aux = static_cast<std::uint64_t>(inst.mods.offset);
  return {};
}

Status bindVectorMemory(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const std::string_view name = afterPrefix(inst.base);
  const bool buffer = inst.cls == isa::InstClass::vmem;
  if (buffer && (name == "wbl2" || name == "inv" || name == "wbinvl1" || name == "wbinvl1_vol")) {
    op.fn = nothing;
    return {};
  }
  if (buffer && name.find("format_") != std::string_view::npos)
    return bindTypedBuffer(inst, context, op);
  if (inst.mods.tfe)
    return refused("{}: tfe is not modelled", inst.base);

  OperandReader reader(inst, context);
  AddressMode mode = bufferMode;

  // Loads to LDS have no data register: "buffer_load_dword ... lds" and "global_load_lds_dword".
  const bool named = name.starts_with("load_lds_");
  if (named || (buffer && inst.mods.lds)) {
    const auto* form = ldsLoadForm(name.substr(named ? 9 : name.starts_with("load_") ? 5 : 0));
    if (!form)
      return refused("{} to LDS is not modelled", inst.base);
    ASMEVO_CHECK(buffer ? bindBufferOperands(inst, reader, op) : bindFlatOperands(inst, reader, 0, mode, op));
    op.fn = (*form)[mode];
    return {};
  }

  if (name.starts_with("atomic_")) {
    const AtomicForm* form = findMemoryAtomic(name.substr(7));
    if (!form)
      return refused("{} is not modelled", inst.base);
    const unsigned dwords = form->bytes / 4 * form->dataOperands;
    const bool returns = reader.takeDestination(op);
    if (buffer) {
      // The one data range is also the destination.
      if (returns) {
        op.src[1].kind = SrcKind::vgpr;
        op.src[1].reg = op.dst;
        if (op.dstDwords < dwords)
          return refused("{}: data register range is too small", inst.base);
      } else {
        ASMEVO_CHECK(reader.takeVector(op.src[1], dwords));
      }
      ASMEVO_CHECK(bindBufferOperands(inst, reader, op));
    } else {
      ASMEVO_CHECK(bindFlatOperands(inst, reader, dwords, mode, op));
    }
    if (isNone(op.src[1]))
      return refused("{}: no data register", inst.base);
    op.extra = form;
    static constexpr auto plain = everyMode<MemoryAtomic<false>>(), returning = everyMode<MemoryAtomic<true>>();
    op.fn = (returns ? returning : plain)[mode];
    return {};
  }

  const auto found = dataForms().find(name);
  if (found == dataForms().end())
    return refused("{} is not modelled", inst.base);
  const DataForm& form = found->second;
  const bool hasDestination = reader.takeDestination(op);
  if (hasDestination == form.store)
    return refused("{}: unexpected operands", inst.base);
  if (buffer) {
    if (form.store)
      ASMEVO_CHECK(reader.takeVector(op.src[1], form.dataDwords));
    ASMEVO_CHECK(bindBufferOperands(inst, reader, op));
  } else {
    ASMEVO_CHECK(bindFlatOperands(inst, reader, form.dataDwords, mode, op));
  }
  if (form.store && isNone(op.src[1]))
    return refused("{}: no data register", inst.base);
  op.fn = form.handlers[mode];
  return {};
}

} // namespace asmevo::emulator
