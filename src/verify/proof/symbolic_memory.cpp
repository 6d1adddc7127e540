// Loads and stores. A load is a function of the memory it sees and of its address, dword by dword, so that wide and
// narrow loads of the same bytes are the same terms; buffer range checks go by dword too (CDNA3 ISA 9.1.5.1). Atomics,
// LDS DMA, formats and everything with cache-scope bits are left to SymbolicExecutor::opaque.
#include "program/analysis/memory_dependence.h"
#include "verify/proof/symbolic.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace asmevo::verify {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;

namespace {

/// The data part of a load or store.
struct DataShape {
  unsigned dwords = 1; ///< whole dwords; of smaller accesses 1
  unsigned bytes = 4;  ///< 1 or 2 for smaller accesses
  bool isSigned = false;
  enum class Half : std::uint8_t { none, low, high } half = Half::none; ///< d16
};

std::optional<DataShape> dataShape(std::string_view type) {
  DataShape s;
  if (type == "dword" || type == "b32")
    return s;
  if (type == "dwordx2" || type == "b64")
    return DataShape{2};
  if (type == "dwordx3" || type == "b96")
    return DataShape{3};
  if (type == "dwordx4" || type == "b128")
    return DataShape{4};
  if (type.ends_with("_d16_hi")) {
    s.half = DataShape::Half::high;
    type.remove_suffix(7);
  } else if (type.ends_with("_d16")) {
    s.half = DataShape::Half::low;
    type.remove_suffix(4);
  }
  const auto small = [&](unsigned bytes, bool isSigned) {
    s.bytes = bytes;
    s.isSigned = isSigned;
    return s;
  };
  if (type == "ubyte" || type == "u8" || type == "byte" || type == "b8")
    return small(1, false);
  if (type == "sbyte" || type == "i8")
    return small(1, true);
  if (type == "ushort" || type == "u16" || type == "short" || type == "b16")
    return small(2, false);
  if (type == "sshort" || type == "i16")
    return small(2, true);
  return std::nullopt;
}

bool isVector(const Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

/// A small value as a register holds it.
TermId extended(TermTable& t, TermId raw, const DataShape& shape) {
  const std::uint32_t unused = 32 - 8 * shape.bytes;
  TermId value = unused == 0      ? raw
                 : shape.isSigned ? t.sar(t.shl(raw, t.word(unused)), t.word(unused))
                                  : t.and_(raw, t.word(~0u >> unused));
  if (shape.half == DataShape::Half::low)
    value = t.and_(value, t.word(0xffff));
  else if (shape.half == DataShape::Half::high)
    value = t.shl(value, t.word(16));
  return value;
}

} // namespace

bool SymbolicExecutor::scalarMemory(const Instruction& inst, program::Place place, SymbolicState& state) {
  std::string_view name = inst.base;
  const bool buffer = name.starts_with("s_buffer_load_dword");
  if ((!buffer && !name.starts_with("s_load_dword")) || program::memoryEffect(inst).ordered)
    return false;
  const auto& operands = inst.operands;
  if (operands.size() < 2 || operands[0].kind != OperandKind::sgpr || operands[1].kind != OperandKind::sgpr)
    return false;
  const unsigned dwords = operands[0].dwords, base = operands[1].index;
  if (operands[0].index + dwords > 128u || base + (buffer ? 4u : 2u) > 128u)
    return false;
  TermId offset = t.wide(static_cast<std::uint64_t>(std::int64_t{inst.mods.offset}));
  if (operands.size() > 2) {
    if (operands[2].kind == OperandKind::imm)
      offset = t.wide(static_cast<std::uint64_t>(operands[2].imm));
    else if (operands[2].kind == OperandKind::sgpr && operands[2].index < 128)
      offset = t.add(offset, t.zext(state.units[operands[2].index]));
    else
      return false;
  }
  const TermId aligned = t.wide(~std::uint64_t{3});
  const TermId memory = memorySeen(state, program::space::global, place);
  std::vector<TermId> values;
  for (unsigned k = 0; k < dwords; ++k) {
    std::vector<TermId> parts;
    if (buffer) {
      parts = {state.units[base], state.units[base + 1], state.units[base + 2],
               t.add(t.and_(offset, aligned), t.wide(4 * k))};
    } else {
      parts = {t.add(t.and_(t.add(scalarPair(state, base), offset), aligned), t.wide(4 * k))};
    }
    const std::string_view kind = buffer ? "sb4" : "g4";
    state.accesses.push_back({t.apply(fmt::format("access {}", kind), Sort::memory, parts), t.truth(true)});
    parts.insert(parts.begin(), memory);
    values.push_back(t.load(kind, Sort::word, parts));
  }
  for (unsigned k = 0; k < dwords; ++k)
    state.units[operands[0].index + k] = values[k];
  return true;
}

bool SymbolicExecutor::vectorMemory(const Instruction& inst, program::Place place, SymbolicState& state) {
  const program::MemoryEffect memoryEffect = program::memoryEffect(inst);
  if (memoryEffect.ordered || inst.mods.lds || inst.mods.tfe || inst.isLdsDma())
    return false;
  const std::size_t underscore = inst.base.find('_');
  std::string_view name = std::string_view(inst.base).substr(underscore + 1);
  const bool store = name.starts_with("store_");
  if (!store && !name.starts_with("load_"))
    return false;
  const auto shape = dataShape(name.substr(store ? 6 : 5));
  if (!shape)
    return false;

  const auto& operands = inst.operands;
  std::size_t at = 0;
  unsigned data = 0;
  const auto takeVector = [&](unsigned dwords, unsigned& first) {
    if (at >= operands.size() || !isVector(operands[at]) || operands[at].dwords < dwords)
      return false;
    first = physical(operands[at++]);
    return true;
  };
  if (!store && !takeVector(shape->dwords, data))
    return false;
  const bool buffer = inst.cls == InstClass::vmem;
  if (buffer && store && !takeVector(shape->dwords, data))
    return false;

  const auto immediate = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  std::string kind;
  std::vector<TermId> parts; // the last one counts bytes
  if (buffer) {
    const unsigned addresses = unsigned{inst.mods.offen} + unsigned{inst.mods.idxen};
    unsigned first = 0;
    if (addresses != 0 && !takeVector(addresses, first))
      return false;
    if (addresses == 0 && at < operands.size() && operands[at].kind == OperandKind::off)
      ++at;
    if (at + 1 >= operands.size() || operands[at].kind != OperandKind::sgpr || operands[at].index + 4u > 128u)
      return false;
    const unsigned resource = operands[at++].index;
    const Operand& soffset = operands[at++];
    TermId scalarOffset = 0;
    if (soffset.kind == OperandKind::imm)
      scalarOffset = t.word(static_cast<std::uint32_t>(soffset.imm));
    else if (soffset.kind == OperandKind::sgpr && soffset.index < 128)
      scalarOffset = state.units[soffset.index];
    else
      return false;
    for (unsigned k = 0; k < 4; ++k)
      parts.push_back(state.units[resource + k]);
    parts.push_back(scalarOffset);
    parts.push_back(inst.mods.idxen ? vectorValue(state, first) : t.word(0));
    TermId offset = t.wide(immediate);
    if (inst.mods.offen)
      offset = t.add(offset, t.zext(vectorValue(state, first + (inst.mods.idxen ? 1u : 0u))));
    parts.push_back(offset);
    kind = inst.mods.idxen ? "bi" : "b";
  } else {
    unsigned address = 0;
    const bool hasAddress = at < operands.size() && isVector(operands[at]);
    const unsigned given = hasAddress ? operands[at].dwords : 0;
    if (hasAddress)
      takeVector(1, address);
    else if (inst.cls == InstClass::scratch && at < operands.size() && operands[at].kind == OperandKind::off)
      ++at;
    else
      return false;
    if (store && !takeVector(shape->dwords, data))
      return false;
    const bool hasScalar = at < operands.size() && operands[at].kind == OperandKind::sgpr;
    if (hasScalar && operands[at].index + (inst.cls == InstClass::scratch ? 1u : 2u) > 128u)
      return false;
    const unsigned scalar = hasScalar ? operands[at].index : 0;
    switch (inst.cls) {
    case InstClass::global: {
      if (!hasScalar && given < 2)
        return false;
      const TermId base = hasScalar ? t.add(scalarPair(state, scalar), t.zext(vectorValue(state, address)))
                                    : t.pack(vectorValue(state, address), vectorValue(state, address + 1));
      parts = {t.add(base, t.wide(immediate))};
      kind = "g";
      break;
    }
    case InstClass::flat:
      if (given < 2 || shape->dwords != 1)
        return false;
      // The aperture is chosen before the offset is added.
      parts = {t.pack(vectorValue(state, address), vectorValue(state, address + 1)), t.wide(immediate)};
      kind = "f";
      break;
    case InstClass::scratch: {
      TermId offset = t.word(static_cast<std::uint32_t>(immediate));
      if (hasAddress)
        offset = t.add(offset, vectorValue(state, address));
      if (hasScalar)
        offset = t.add(offset, state.units[scalar]);
      parts = {offset};
      kind = "p";
      break;
    }
    default:
      return false;
    }
  }
  kind += fmt::format("{}", shape->bytes);
  const TermId lanes = active(state);
  const Sort offsetSort = t.at(parts.back()).sort;
  if (store) {
    std::vector<TermId> arguments{lanes};
    arguments.insert(arguments.end(), parts.begin(), parts.end());
    for (unsigned k = 0; k < shape->dwords; ++k) {
      TermId value = vectorValue(state, data + k);
      if (shape->half == DataShape::Half::high)
        value = t.shr(value, t.word(16));
      if (shape->bytes != 4)
        value = t.demanded(value, ~0u >> (32 - 8 * shape->bytes));
      arguments.push_back(t.select(lanes, value, t.word(0))); // what other lanes hold is not stored
    }
    if (t.constantOf(lanes) != 0)
      addEffect(state, t.apply(fmt::format("store {} {}", kind, shape->dwords), Sort::memory, arguments, true), 0,
                memoryEffect.writes, false, place);
    return true;
  }
  const TermId memory = memorySeen(state, memoryEffect.reads, place);
  std::vector<TermId> values;
  for (unsigned k = 0; k < shape->dwords; ++k) {
    std::vector<TermId> arguments = parts;
    arguments.back() = t.add(arguments.back(), t.constant(offsetSort, 4 * k));
    state.accesses.push_back({t.apply("access " + kind, Sort::memory, arguments), lanes});
    arguments.insert(arguments.begin(), memory);
    values.push_back(extended(t, t.load(kind, Sort::word, arguments), *shape));
  }
  for (unsigned k = 0; k < shape->dwords; ++k)
    writeVector(state, data + k, lanes, values[k]);
  return true;
}

bool SymbolicExecutor::ldsMemory(const Instruction& inst, program::Place place, SymbolicState& state) {
  std::string_view name = inst.base;
  const program::MemoryEffect memoryEffect = program::memoryEffect(inst);
  const bool store = name.starts_with("ds_write");
  if (memoryEffect.ordered || inst.mods.gds || (!store && !name.starts_with("ds_read")))
    return false;
  name.remove_prefix(store ? 8 : 7);
  unsigned pairUnit = 0; // read2, write2: bytes that the two offsets count in
  if (name.starts_with("2")) {
    const bool apart = name.starts_with("2st64_");
    name.remove_prefix(apart ? 6 : 2);
    pairUnit = (name == "b64" ? 8 : 4) * (apart ? 64 : 1);
  } else if (name.starts_with("_")) {
    name.remove_prefix(1);
  } else {
    return false;
  }
  const auto shape = dataShape(name);
  if (!shape)
    return false;
  const auto& operands = inst.operands;
  const unsigned elements = pairUnit != 0 ? 2 : 1;
  std::size_t at = 0;
  const auto isRange = [&](unsigned dwords) {
    return at < operands.size() && isVector(operands[at]) && operands[at].dwords >= dwords;
  };
  unsigned destination = 0;
  if (!store) {
    if (!isRange(shape->dwords * elements))
      return false;
    destination = physical(operands[at++]);
  }
  if (!isRange(1))
    return false;
  const TermId base = vectorValue(state, physical(operands[at++]));
  const TermId lanes = active(state);
  const TermId memory = store ? 0 : memorySeen(state, memoryEffect.reads, place);
  std::vector<TermId> loaded;
  for (unsigned e = 0; e < elements; ++e) {
    const std::uint32_t offset = pairUnit == 0 ? static_cast<std::uint32_t>(inst.mods.offset)
                                               : pairUnit * (e == 0 ? inst.mods.offset0 : inst.mods.offset1);
    const TermId address = t.add(base, t.word(offset));
    state.ldsWidths.emplace_back(address, shape->dwords * shape->bytes);
    const std::string kind = fmt::format("l{}", shape->bytes);
    if (store) {
      if (!isRange(shape->dwords))
        return false;
      const unsigned data = physical(operands[at++]);
      // With equal offsets there is one access, of the first data operand (CDNA3 ISA 11.3.1).
      if (e == 1 && inst.mods.offset0 == inst.mods.offset1)
        break;
      std::vector<TermId> arguments{lanes, address};
      for (unsigned k = 0; k < shape->dwords; ++k) {
        TermId value = vectorValue(state, data + k);
        if (shape->half == DataShape::Half::high)
          value = t.shr(value, t.word(16));
        if (shape->bytes != 4)
          value = t.demanded(value, ~0u >> (32 - 8 * shape->bytes));
        arguments.push_back(t.select(lanes, value, t.word(0)));
      }
      if (t.constantOf(lanes) != 0)
        addEffect(state, t.apply(fmt::format("store {} {}", kind, shape->dwords), Sort::memory, arguments, true), 0,
                  memoryEffect.writes, false, place);
      continue;
    }
    for (unsigned k = 0; k < shape->dwords; ++k)
      loaded.push_back(
          extended(t, t.load(kind, Sort::word, std::array{memory, t.add(address, t.word(4 * k))}), *shape));
  }
  for (unsigned k = 0; k < loaded.size(); ++k)
    writeVector(state, destination + k, lanes, loaded[k]);
  return true;
}

bool SymbolicExecutor::laneExchange(const Instruction& inst, SymbolicState& state) {
  const std::string_view base = inst.base;
  const bool swizzle = base.starts_with("ds_swizzle"), pull = base.starts_with("ds_bpermute");
  if (!swizzle && !pull && !base.starts_with("ds_permute"))
    return false;
  const auto& operands = inst.operands;
  if (operands.size() < (swizzle ? 2u : 3u) || !isVector(operands[0]) || !isVector(operands[1]))
    return false;
  const TermId lanes = active(state);
  const unsigned destination = physical(operands[0]);
  const TermId first = vectorValue(state, physical(operands[1]));
  // Bytes 0 and 1 of a DS encoding are its offset, however it is printed.
  const std::uint32_t offset = inst.encoding[0] | std::uint32_t{inst.encoding[1]} << 8;
  TermId value = 0;
  if (swizzle) {
    if (offset >= 0xc000) {
      value = t.apply(fmt::format("swizzle {:#x}", offset), Sort::word, std::array{first, lanes}, true);
    } else {
      std::string table = "lanes";
      for (unsigned lane = 0; lane < 64; ++lane) {
        // Quad mode, or and/or/xor masks within 32 lanes (CDNA3 ISA, DS_SWIZZLE_B32).
        const unsigned from =
            offset >= 0x8000
                ? lane / 4 * 4 + (offset >> 2 * (lane % 4) & 3)
                : lane / 32 * 32 + ((((lane % 32 & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) & 31);
        table += fmt::format(" {}", from);
      }
      value = t.permuted(table, first, lanes);
    }
  } else {
    if (!isVector(operands[2]))
      return false;
    const TermId number = t.and_(t.shr(t.add(first, t.word(offset)), t.word(2)), t.word(63));
    value = t.apply(pull ? "bpermute" : "permute", Sort::word,
                    std::array{number, vectorValue(state, physical(operands[2])), lanes}, true);
  }
  writeVector(state, destination, lanes, value);
  return true;
}

} // namespace asmevo::verify
