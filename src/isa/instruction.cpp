#include "isa/instruction.h"

#include "isa/waitcnt.h"

#include <algorithm>

namespace asmevo::isa {

namespace {

void addRange(RegSet& set, const RegRange& range, unsigned accumOffset) {
  std::size_t first = range.first;
  if (range.file == RegRange::File::vgpr)
    first += vgprBase;
  else if (range.file == RegRange::File::agpr)
    first += vgprBase + accumOffset;
  const std::size_t limit = range.file == RegRange::File::scalar ? sreg::count : regUnitCount;
  for (std::size_t unit = first; unit < std::min(first + range.count, limit); ++unit)
    set.set(unit);
}

} // namespace

std::string_view className(InstClass c) {
  switch (c) {
  case InstClass::unknown:
    return "unknown";
  case InstClass::salu:
    return "salu";
  case InstClass::smem:
    return "smem";
  case InstClass::valu:
    return "valu";
  case InstClass::mfma:
    return "mfma";
  case InstClass::vmem:
    return "vmem";
  case InstClass::flat:
    return "flat";
  case InstClass::global:
    return "global";
  case InstClass::scratch:
    return "scratch";
  case InstClass::lds:
    return "lds";
  case InstClass::branch:
    return "branch";
  case InstClass::jump:
    return "jump";
  case InstClass::endpgm:
    return "endpgm";
  case InstClass::barrier:
    return "barrier";
  case InstClass::waitcnt:
    return "waitcnt";
  case InstClass::nop:
    return "nop";
  case InstClass::message:
    return "message";
  }
  return "unknown";
}

RegSet Instruction::reads(unsigned accumOffset) const {
  RegSet set;
  for (const auto& range : readRanges)
    addRange(set, range, accumOffset);
  return set;
}

RegSet Instruction::writes(unsigned accumOffset) const {
  RegSet set;
  for (const auto& range : writeRanges)
    addRange(set, range, accumOffset);
  return set;
}

RegSet Instruction::kills(unsigned accumOffset) const {
  RegSet set;
  for (const auto& range : writeRanges)
    if (range.kills)
      addRange(set, range, accumOffset);
  return set;
}

bool Instruction::readsExec() const {
  return std::any_of(readRanges.begin(), readRanges.end(), [](const RegRange& range) {
    return range.file == RegRange::File::scalar && range.first <= sreg::execHi &&
           range.first + range.count > sreg::execLo;
  });
}

WaitCount Instruction::waitCount() const {
  return base == "s_waitcnt" ? decodeWaitcnt(simm16) : noWait;
}

bool Instruction::isAtomic() const {
  switch (cls) {
  case InstClass::smem:
  case InstClass::vmem:
  case InstClass::flat:
  case InstClass::global:
    return base.find("_atomic_") != std::string::npos;
  case InstClass::lds:
    // Every DS operation that both reads and writes memory is a read-modify-write; swizzles and permutes are neither.
    return mayLoad && mayStore && base.find("swizzle") == std::string::npos &&
           base.find("permute") == std::string::npos;
  default:
    return false;
  }
}

bool Instruction::isLdsDma() const {
  return (cls == InstClass::vmem && mods.lds) ||
         ((cls == InstClass::global || cls == InstClass::scratch) &&
          (base.find("_load_lds_") != std::string::npos || base.find("_load_async_to_lds_") != std::string::npos));
}

bool Instruction::entersGprIdxMode() const {
  return base == "s_set_gpr_idx_on" || base == "s_set_gpr_idx_mode" || choosesVgprBank;
}

bool Instruction::leavesFunction() const {
  return cls == InstClass::jump || base == "s_trap";
}

bool isPureAlu(const Instruction& inst) {
  const auto starts = [&](std::string_view prefix) { return std::string_view(inst.base).starts_with(prefix); };
  const bool alu = inst.cls == InstClass::salu || inst.cls == InstClass::valu || inst.cls == InstClass::mfma;
  return alu && !inst.mayLoad && !inst.mayStore && !starts("s_getpc") && !starts("s_setreg") && !starts("s_getreg") &&
         !starts("s_set_gpr_idx") && !starts("s_setvskip") && !starts("s_movrel") && !starts("v_movrel") &&
         !starts("s_sethalt") && !starts("s_cbranch");
}

} // namespace asmevo::isa
