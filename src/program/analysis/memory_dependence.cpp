#include "program/analysis/memory_dependence.h"

#include "program/analysis/call_closure.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;

struct ScalarRange {
  std::int64_t begin = 0, end = 0; ///< bytes from the base
};

/// Bytes that a scalar load or store touches relative to its base register pair; nothing if it cannot be told.
std::optional<ScalarRange> scalarRange(const Instruction& inst) {
  if (inst.cls != InstClass::smem || inst.isAtomic() || inst.operands.size() != 3 || inst.base.starts_with("s_buffer"))
    return std::nullopt;
  const Operand& data = inst.operands[0];
  const Operand& base = inst.operands[1];
  const Operand& offset = inst.operands[2];
  if (data.kind != OperandKind::sgpr || base.kind != OperandKind::sgpr || base.dwords != 2 ||
      offset.kind != OperandKind::imm)
    return std::nullopt;
  // The immediate is a signed 21-bit byte offset, printed as such (CDNA3 ISA, SMEM).
  return ScalarRange{offset.imm, offset.imm + std::int64_t{data.dwords} * 4};
}

} // namespace

MemoryEffect memoryEffect(const Instruction& inst) {
  MemoryEffect effect;
  std::uint8_t spaces = 0;
  switch (inst.cls) {
  case InstClass::smem:
    if (inst.base.starts_with("s_mem")) { // s_memtime, s_memrealtime: clocks
      effect.ordered = true;
      return effect;
    }
    spaces = space::global;
    break;
  case InstClass::vmem: // a buffer descriptor can describe scratch too
    spaces = space::global | space::scratch;
    break;
  case InstClass::global:
    spaces = space::global;
    break;
  case InstClass::flat:
    spaces = space::global | space::lds | space::scratch;
    break;
  case InstClass::scratch:
    spaces = space::scratch;
    break;
  case InstClass::lds: {
    const bool gds = inst.mods.gds || inst.base.starts_with("ds_gws_");
    spaces = gds ? space::gds : space::lds;
    effect.ordered = gds;
    break;
  }
  case InstClass::message: // s_setprio, s_sleep and the like move no data and signal nobody
    effect.ordered = inst.base.starts_with("s_sendmsg") || inst.base.starts_with("s_dcache") ||
                     inst.base == "s_icache_inv" || inst.base == "s_trap" || inst.base == "s_wakeup";
    return effect;
  case InstClass::barrier:
  case InstClass::jump:
  case InstClass::unknown:
    effect.ordered = true;
    return effect;
  default:
    return effect;
  }
  if (inst.isLdsDma()) {
    effect.reads = space::global;
    effect.writes = space::lds;
  } else {
    if (inst.mayLoad)
      effect.reads = spaces;
    if (inst.mayStore)
      effect.writes = spaces;
  }
  const bool cacheControl = inst.cls == InstClass::vmem && !inst.mayLoad && !inst.mayStore;
  effect.ordered |=
      cacheControl || inst.isAtomic() || (inst.cls != InstClass::smem && (inst.mods.sc0 || inst.mods.sc1));
  return effect;
}

bool mayDepend(const Instruction& first, const Instruction& second, bool sameBases) {
  const MemoryEffect a = memoryEffect(first), b = memoryEffect(second);
  if (!a.any() || !b.any())
    return false;
  if ((a.ordered && b.any()) || (b.ordered && a.any()))
    return true;
  const bool conflict = (a.writes & (b.reads | b.writes)) != 0 || (b.writes & a.reads) != 0;
  if (!conflict)
    return false;
  if (!sameBases)
    return true;
  const auto rangeA = scalarRange(first), rangeB = scalarRange(second);
  if (!rangeA || !rangeB || first.operands[1].index != second.operands[1].index)
    return true;
  return rangeA->begin < rangeB->end && rangeB->begin < rangeA->end;
}

namespace {

constexpr std::uint32_t lanesPerWave = 64;

std::size_t bytesOf(const Operand& operand) {
  return std::size_t{operand.dwords} * 4;
}

/// Bytes of one lane's access by the mnemonic's size; at least what the instruction touches.
std::int64_t accessBytes(const Instruction& inst) {
  std::size_t registers = 0;
  for (const Operand& operand : inst.operands)
    if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr)
      registers = std::max(registers, bytesOf(operand));
  struct Size {
    std::string_view part;
    std::int64_t bytes;
  };
  // Wider names first. Sub-dword accesses count as the dword at their address, which is more.
  constexpr Size sizes[] = {{"dwordx4", 16}, {"b128", 16}, {"dwordx3", 12}, {"b96", 12}, {"dwordx2", 8},
                            {"b64", 8},      {"u64", 8},   {"i64", 8},      {"f64", 8},  {"_x2", 8}};
  for (const Size& size : sizes)
    if (inst.base.find(size.part) != std::string::npos)
      return size.bytes;
  // "dword", "b32", "ubyte" and the like; formats and unknown names by their registers.
  const bool plain = inst.base.find("format") == std::string::npos && inst.base.find("_tr_") == std::string::npos;
  return plain && registers <= 8 ? 4 : std::max<std::int64_t>(16, static_cast<std::int64_t>(registers));
}

/// The addresses that instructions form, at the point where a walk stands.
class AddressReader {
 public:
  AddressReader(const Instruction& i, const ValueNumbers& v) : inst(i), values(v) {}

  std::optional<MemoryAddress> read() {
    switch (inst.cls) {
    case InstClass::smem:
      return scalar() ? std::optional(address) : std::nullopt;
    case InstClass::vmem:
      return buffer() ? std::optional(address) : std::nullopt;
    case InstClass::global:
    case InstClass::scratch:
      return globalOrScratch() ? std::optional(address) : std::nullopt;
    case InstClass::lds:
      return lds() ? std::optional(address) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

 private:
  bool addBase(const Operand& operand) {
    if (operand.kind != OperandKind::sgpr && operand.kind != OperandKind::vgpr)
      return false;
    for (unsigned i = 0; i < operand.dwords; ++i) {
      const auto value = values.operand(operand, i);
      if (!value)
        return false;
      address.base.push_back(*value);
    }
    return true;
  }
  bool addOffset(const Operand& operand) {
    const auto value = values.operand(operand);
    if (value)
      address.offset = sum(address.offset, *value);
    return value.has_value();
  }

  // s_load data, base, offset [offset:imm]; s_buffer_load data, resource, offset.
  bool scalar() {
    if (inst.isAtomic() || inst.operands.size() != 3 || inst.operands[0].kind != OperandKind::sgpr)
      return false;
    address.space = inst.base.starts_with("s_buffer") ? MemoryAddress::Space::buffer : MemoryAddress::Space::scalar;
    address.ranges = {{inst.mods.offset, inst.mods.offset + static_cast<std::int64_t>(bytesOf(inst.operands[0]))}};
    return addBase(inst.operands[1]) && addOffset(inst.operands[2]);
  }

  // [data,] voffset or off, resource, soffset. Without an index the offset alone says where; ADD_TID would add one.
  bool buffer() {
    const auto resource = std::find_if(inst.operands.begin(), inst.operands.end(), [](const Operand& operand) {
      return operand.kind == OperandKind::sgpr && operand.dwords == 4;
    });
    if (resource == inst.operands.begin() || resource == inst.operands.end() || inst.mods.idxen || inst.isLdsDma() ||
        inst.base.starts_with("image_") || inst.base.starts_with("tensor_") || resource + 1 == inst.operands.end())
      return false;
    constexpr std::uint32_t addTid = 1u << 23; // of word 3 (CDNA3 ISA, "Buffer Resource Descriptor")
    const auto word3 = values.operand(*resource, 3);
    if (!word3 || !word3->isConstant() || (word3->constant & addTid) != 0)
      return false;
    address.space = MemoryAddress::Space::buffer;
    address.ranges = {{inst.mods.offset, inst.mods.offset + accessBytes(inst)}};
    const Operand& vector = *(resource - 1);
    if (inst.mods.offen ? !addOffset(vector) : vector.kind != OperandKind::off)
      return false;
    return addBase(*resource) && addOffset(*(resource + 1));
  }

  // global_load data, vaddr, saddr|off; global_store vaddr, data, saddr|off; scratch likewise, vaddr may be off.
  bool globalOrScratch() {
    if (inst.isLdsDma() || inst.operands.empty())
      return false;
    const bool scratch = inst.cls == InstClass::scratch;
    address.space = scratch ? MemoryAddress::Space::scratch : MemoryAddress::Space::global;
    address.ranges = {{inst.mods.offset, inst.mods.offset + accessBytes(inst)}};
    const Operand& base = inst.operands.back();
    const auto vector =
        std::find_if(inst.operands.begin(), inst.operands.end(), [](const Operand& operand) { return !operand.isDef; });
    if (vector == inst.operands.end() || &*vector == &base)
      return false;
    if (scratch) {
      for (const Operand* part : {&*vector, &base})
        if (part->kind != OperandKind::off && !addOffset(*part))
          return false;
      return true;
    }
    if (base.kind == OperandKind::off)
      return vector->dwords == 2 && addBase(*vector);
    return addBase(base) && addOffset(*vector);
  }

  // ds_read data, addr; ds_write addr, data...
  bool lds() {
    if (inst.mods.gds || inst.base.starts_with("ds_gws_") || (!inst.mayLoad && !inst.mayStore) ||
        inst.base.find("addtid") != std::string::npos || inst.base == "ds_append" || inst.base == "ds_consume" ||
        inst.base.find("bvh") != std::string::npos || inst.base.starts_with("lds_"))
      return false;
    const auto vector =
        std::find_if(inst.operands.begin(), inst.operands.end(), [](const Operand& operand) { return !operand.isDef; });
    if (vector == inst.operands.end() || vector->dwords != 1)
      return false;
    address.space = MemoryAddress::Space::lds;
    const std::string_view base = inst.base;
    const bool two = base.find("read2") != std::string_view::npos || base.find("write2") != std::string_view::npos ||
                     base.find("wrxchg2") != std::string_view::npos ||
                     base.find("load_2addr") != std::string_view::npos ||
                     base.find("store_2addr") != std::string_view::npos;
    const std::int64_t bytes = accessBytes(inst);
    if (two) {
      const std::int64_t unit = bytes * (base.find("st64") != std::string_view::npos ? 64 : 1);
      for (const std::uint8_t offset : {inst.mods.offset0, inst.mods.offset1})
        address.ranges.push_back({offset * unit, offset * unit + bytes});
    } else {
      address.ranges = {{inst.mods.offset, inst.mods.offset + bytes}};
    }
    return addOffset(*vector);
  }

  const Instruction& inst;
  const ValueNumbers& values;
  MemoryAddress address;
};

/// Do two ranges meet at some multiple of 2^32?
bool meet(const MemoryAddress::Range& a, const MemoryAddress::Range& b, std::int64_t distance) {
  constexpr std::int64_t ring = std::int64_t{1} << 32;
  // b starts `gap` bytes after a does, anywhere on the ring.
  const std::int64_t gap = (((b.begin - a.begin + distance) % ring) + ring) % ring;
  return gap < a.end - a.begin || ring - gap < b.end - b.begin;
}

bool rangesMeet(const MemoryAddress& a, const MemoryAddress& b, std::int64_t distance) {
  return std::any_of(a.ranges.begin(), a.ranges.end(), [&](const MemoryAddress::Range& x) {
    return std::any_of(b.ranges.begin(), b.ranges.end(),
                       [&](const MemoryAddress::Range& y) { return meet(x, y, distance); });
  });
}

} // namespace

MemoryDependence::MemoryDependence(const Program& p, const Function& function, unsigned accumOffset, bool linearIds)
    : program(p) {
  const ValueNumbers numbers(p, function, accumOffset, linearIds,
                             [&](Place place, const Instruction& inst, const ValueNumbers& values) {
                               auto address = AddressReader(inst, values).read();
                               if (!address)
                                 return;
                               const auto note = [&](const LinearForm& form) {
                                 for (const auto& [symbol, factor] : form.terms)
                                   uniform[symbol] = values.isUniform({0, {{symbol, 1}}});
                               };
                               note(address->offset);
                               for (const LinearForm& form : address->base)
                                 note(form);
                               addresses.emplace(place, *std::move(address));
                             });
}

const MemoryAddress* MemoryDependence::addressOf(Place place) const {
  const auto found = addresses.find(place);
  return found == addresses.end() ? nullptr : &found->second;
}

bool MemoryDependence::areDisjoint(Place first, Place second) const {
  const MemoryAddress *a = addressOf(first), *b = addressOf(second);
  if (!a || !b || a->space != b->space || a->base != b->base)
    return false;
  const auto isUniform = [&](const LinearForm& form) {
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) { return uniform.at(term.first); });
  };
  // Lanes have scratch of their own.
  const bool perLane = a->space == MemoryAddress::Space::scratch;
  if (!perLane && !std::all_of(a->base.begin(), a->base.end(), isUniform))
    return false;
  std::uint32_t stride = 0;
  LinearForm rest = a->offset;
  const auto lane =
      std::find_if(rest.terms.begin(), rest.terms.end(), [](const auto& term) { return term.first == laneSymbol; });
  if (lane != rest.terms.end()) {
    stride = lane->second;
    rest.terms.erase(lane);
  }
  const LinearForm difference = sum(b->offset, a->offset, ~0u);
  if (!difference.isConstant() || (!perLane && !isUniform(rest)))
    return false;
  if (perLane || stride == 0)
    return !rangesMeet(*a, *b, difference.constant);
  for (std::int64_t apart = 1 - std::int64_t{lanesPerWave}; apart < std::int64_t{lanesPerWave}; ++apart)
    if (rangesMeet(*a, *b, difference.constant + apart * std::int64_t{stride}))
      return false;
  return true;
}

bool MemoryDependence::mayDepend(Place first, Place second) const {
  const Instruction& a = *program.blocks[first.block].instrs[first.index].inst;
  const Instruction& b = *program.blocks[second.block].instrs[second.index].inst;
  if (!program::mayDepend(a, b, /*sameBases=*/false))
    return false;
  return memoryEffect(a).ordered || memoryEffect(b).ordered || !areDisjoint(first, second);
}

std::optional<std::uint64_t> constantLdsEnd(const Program& program, const Function& function) {
  std::uint64_t end = 0;
  const CallClosure closure = callClosure(program, function, UnknownCallees::leaveOut);
  if (closure.unknownCallee)
    return std::nullopt;
  for (const Function* f : closure.functions) {
    // Registers of the two files do not mix in LDS addresses, so any border will do.
    const MemoryDependence memory(program, *f, 256);
    for (const BlockId id : f->blocks)
      for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
        const Instruction& inst = *program.blocks[id].instrs[i].inst;
        const MemoryEffect effect = memoryEffect(inst);
        if (((effect.reads | effect.writes) & space::lds) == 0)
          continue;
        const MemoryAddress* address = memory.addressOf({id, static_cast<std::uint32_t>(i)});
        if (!address || address->space != MemoryAddress::Space::lds)
          return std::nullopt;
        const auto& terms = address->offset.terms;
        const bool strided = terms.size() == 1 && terms[0].first == laneSymbol && terms[0].second < (1u << 20);
        if (!terms.empty() && !strided)
          return std::nullopt;
        const std::uint64_t last = std::uint64_t{address->offset.constant} +
                                   (strided ? std::uint64_t{terms[0].second} * (lanesPerWave - 1) : 0);
        for (const auto& range : address->ranges)
          end = std::max(end, last + static_cast<std::uint64_t>(range.end));
      }
  }
  return end;
}

} // namespace asmevo::program
