#include "program/analysis/memory_dependence.h"

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

} // namespace asmevo::program
