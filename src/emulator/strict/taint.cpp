#include "emulator/strict/taint.h"

#include "emulator/alu/plan.h"
#include "emulator/memory/lane_access.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

namespace asmevo::emulator {

namespace {

using isa::InstClass;
using isa::Operand;
using isa::OperandKind;
using isa::RegUnit;
namespace sreg = isa::sreg;

bool isScalarState(RegUnit unit) {
  return unit == sreg::execLo || unit == sreg::execHi || unit == sreg::mode || unit == sreg::hwreg;
}

bool takesCarry(std::string_view base) {
  return base.starts_with("v_addc_") || base.starts_with("v_subb") || base.starts_with("v_div_fmas");
}

std::string neverWritten(Origin origin) {
  return fmt::format("{}, which nothing has written", originName(origin));
}

unsigned firstLane(std::uint64_t mask) {
  return mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask));
}

std::uint32_t laneNumber(const Wave& wave, const Src& src) {
  return wave.scalar32(src) & 63;
}

} // namespace

std::string originName(Origin origin) {
  return origin == fromLds ? "LDS" : origin == fromScratch ? "scratch memory" : isa::regUnitName(origin);
}

void LdsTaint::reset(std::size_t ldsBytes) {
  size = marked = ldsBytes;
  bytes.assign(size, 1);
  origins.assign(size / 4 + 1, fromLds);
}

std::uint32_t LdsTaint::at(std::uint64_t address, unsigned count) const {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < count; ++i)
    if (address + i < size)
      result |= std::uint32_t{bytes[address + i]} << i;
  return result;
}

void LdsTaint::set(std::uint64_t address, unsigned count, bool tainted, Origin origin) {
  for (unsigned i = 0; i < count && address + i < size; ++i) {
    marked = marked - bytes[address + i] + (tainted ? 1 : 0);
    bytes[address + i] = tainted;
  }
  if (tainted && address < size)
    origins[address / 4] = origin;
}

Taint::Taint(const Wave& wave, LdsTaint& lds) : lds(lds), accumOffset(wave.code->accumOffset()) {
  for (unsigned i = 0; i < vectors && i < wave.vgprCount; ++i)
    setVector(isa::vgprUnit(i), ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, isa::vgprUnit(i));
  const std::uint64_t active = wave.exec();
  setVector(isa::vgprUnit(0), active, 0, 0, 0);
  for (unsigned i = 0; i < sreg::flatScratchLo; ++i)
    if (i >= 64 || (wave.initialSgprs >> i & 1) == 0)
      setScalar(i, ~0u, static_cast<Origin>(i));
  for (const unsigned i : {sreg::vccLo, sreg::vccHi, sreg::m0, sreg::scc})
    setScalar(i, ~0u, static_cast<Origin>(i));
  scratch.assign(std::size_t{wave.scratchPerLane} / 4 * 64, true);
}

void Taint::setVector(RegUnit unit, std::uint64_t written, std::uint64_t lowMarks, std::uint64_t highMarks,
                      Origin origin) {
  const unsigned i = unit - isa::vgprBase;
  low[i] = (low[i] & ~written) | (lowMarks & written);
  high[i] = (high[i] & ~written) | (highMarks & written);
  if (((lowMarks | highMarks) & written) != 0)
    vectorOrigin[i] = origin;
  if ((low[i] | high[i]) != 0)
    marked.set(unit);
  else
    marked.reset(unit);
}

void Taint::setScalar(unsigned index, std::uint32_t marks, Origin origin) {
  if (index >= bits.size())
    return;
  bits[index] = marks;
  if (marks != 0) {
    scalarOrigin[index] = origin;
    marked.set(index);
  } else {
    marked.reset(index);
  }
}

void Taint::setScalars(unsigned index, unsigned dwords, Bits marks) {
  for (unsigned i = 0; i < dwords; ++i)
    setScalar(index + i, static_cast<std::uint32_t>(dwords <= 2 ? marks.mask >> (32 * i) : marks.mask), marks.origin);
}

Taint::Lanes Taint::vectorUnit(RegUnit unit) const {
  const unsigned i = unit - isa::vgprBase;
  return {low[i] | high[i], vectorOrigin[i]};
}

unsigned Taint::firstRegister(const Operand& operand) const {
  return isa::vgprBase + operand.index + (operand.kind == OperandKind::agpr ? accumOffset : 0);
}

/// Bits of a scalar operand, two dwords at most.
Taint::Bits Taint::scalarOf(const Operand& operand) const {
  Bits result;
  if (operand.kind != OperandKind::sgpr)
    return result;
  if (operand.index == 253)
    return {bits[sreg::scc] != 0 ? ~std::uint64_t{0} : 0, scalarOrigin[sreg::scc]};
  for (unsigned i = 0; i < operand.dwords && operand.index + i < bits.size(); ++i)
    if (const std::uint64_t own = bits[operand.index + i]; own != 0)
      result = {result.mask | own << (32 * (i & 1)), scalarOrigin[operand.index + i]};
  return result;
}

/// Lanes of any operand, or of one half of its registers; scalar ones are the same in all.
Taint::Lanes Taint::operandLanes(const Operand& operand, unsigned chosen) const {
  Lanes result;
  if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr) {
    for (unsigned k = 0; k < operand.dwords; ++k) {
      const unsigned i = firstRegister(operand) + k - isa::vgprBase;
      const std::uint64_t own = (chosen & 1 ? low[i] : 0) | (chosen & 2 ? high[i] : 0);
      if (own != 0)
        result = {result.mask | own, vectorOrigin[i]};
    }
    return result;
  }
  const Bits scalarMarks = scalarOf(operand);
  const std::uint64_t used = operand.dwords != 1 || chosen == 3 ? ~std::uint64_t{0} : chosen == 1 ? 0xffff : 0xffff0000;
  return {(scalarMarks.mask & used) != 0 ? ~std::uint64_t{0} : 0, scalarMarks.origin};
}

/// Moves and bit operations, each half of the result by itself.
void Taint::halves(const Wave& wave, const OpInfo& info, const Op* op) {
  const std::vector<Operand>& operands = op->inst->operands;
  const std::string_view base = op->inst->base;
  std::array<Lanes, 2> result;
  const auto add = [&](unsigned half, Lanes lanes) {
    if (lanes.mask != 0)
      result[half] = {result[half].mask | lanes.mask, lanes.origin};
  };
  const auto constant = [&](std::size_t i) -> std::optional<std::uint32_t> {
    if (i >= operands.size())
      return std::nullopt;
    if (operands[i].kind == OperandKind::imm)
      return static_cast<std::uint32_t>(operands[i].imm);
    if (operands[i].kind == OperandKind::sgpr && scalarOf(operands[i]).mask == 0 && operands[i].index < sreg::scc)
      return wave.sgpr[operands[i].index];
    return std::nullopt;
  };
  // Operand i, shifted left or right by a constant; by an unknown amount, all over.
  const auto shifted = [&](std::size_t i, std::optional<std::uint32_t> left, bool right) {
    const Lanes lower = operandLanes(operands[i], 1), upper = operandLanes(operands[i], 2);
    const unsigned by = left ? *left & 31 : 0;
    const bool cross = !left || by % 16 != 0;
    if (!left || by < 16) {
      add(0, lower);
      add(1, upper);
    }
    if (cross || by == 16)
      add(right ? 0 : 1, right ? upper : lower);
  };
  // Operand i, of which only the bits of a mask count.
  const auto masked = [&](std::size_t i, std::optional<std::uint32_t> mask) {
    if (!mask || (*mask & 0xffff) != 0)
      add(0, operandLanes(operands[i], 1));
    if (!mask || (*mask >> 16) != 0)
      add(1, operandLanes(operands[i], 2));
  };
  if (base == "v_lshlrev_b32" || base == "v_lshrrev_b32") {
    shifted(2, constant(1), base == "v_lshrrev_b32");
    const Lanes amount = operandLanes(operands[1]);
    add(0, amount);
    add(1, amount);
  } else if (base == "v_lshl_or_b32") {
    shifted(1, constant(2), false);
    const Lanes amount = operandLanes(operands[2]);
    add(0, amount);
    add(1, amount);
    masked(3, std::nullopt);
  } else if (base == "v_and_b32" || base == "v_and_or_b32") {
    masked(1, constant(2));
    masked(2, constant(1));
    if (base == "v_and_or_b32")
      masked(3, std::nullopt);
  } else if (base == "v_perm_b32") {
    // Selector bytes 0 to 3 are bytes of the second source, 4 to 7 of the first (CDNA3 ISA, V_PERM_B32).
    const std::optional<std::uint32_t> selector = constant(3);
    const Lanes unknown = operandLanes(operands[3]);
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned from = selector ? *selector >> (8 * byte) & 0xff : 0;
      for (unsigned source = 0; source < 8; ++source)
        if (!selector || from == source || (from >= 8 && from <= 11))
          add(byte / 2, operandLanes(operands[source < 4 ? 2 : 1], source % 4 < 2 ? 1 : 2));
      add(byte / 2, unknown);
    }
  } else {
    for (std::size_t i = 1; i < operands.size(); ++i)
      masked(i, std::nullopt);
  }
  const std::uint64_t written = wave.exec();
  info.writes.forEach([&](RegUnit unit) {
    if (unit >= isa::vgprBase)
      setVector(unit, written, result[0].mask, result[1].mask,
                (result[0].mask & written) != 0 ? result[0].origin : result[1].origin);
  });
}

/// Lanes of one dword of an operand; those of a single-dword one for any k.
Taint::Lanes Taint::operandDword(const Operand& operand, unsigned k) const {
  k = std::min<unsigned>(k, operand.dwords - 1u);
  if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr)
    return vectorUnit(static_cast<RegUnit>(firstRegister(operand) + k));
  if (operand.kind != OperandKind::sgpr || operand.index + k >= bits.size() || bits[operand.index + k] == 0)
    return {};
  return {~std::uint64_t{0}, scalarOrigin[operand.index + k]};
}

/// Two-dword results of which the lower does not need all of the sources.
void Taint::wide(Wave& wave, const OpInfo& info) {
  const isa::Instruction& inst = *info.op->inst;
  std::array<Lanes, 2> result;
  unsigned source = 0;
  for (const Operand& operand : inst.operands) {
    if (operand.isDef)
      continue;
    for (unsigned k = 0; k < result.size(); ++k) {
      const auto add = [&](unsigned dword) {
        if (const Lanes own = operandDword(operand, dword); own.mask != 0)
          result[k] = {result[k].mask | own.mask, own.origin};
      };
      if (info.flow == Flow::wideLow) {
        for (unsigned lower = 0; lower <= k; ++lower)
          add(lower);
      } else {
        const unsigned select = k == 0 ? inst.mods.opSel : inst.mods.opSelHi;
        add(inst.base == "v_mov_b64" ? k : select >> source & 1);
      }
    }
    ++source;
  }
  const Operand& destination = inst.operands.front();
  for (unsigned k = 0; k < result.size() && k < destination.dwords; ++k)
    setVector(static_cast<RegUnit>(firstRegister(destination) + k), wave.exec(), result[k].mask, result[k].mask,
              result[k].origin);
  const std::uint64_t any = (result[0].mask | result[1].mask) & wave.exec();
  for (const Operand& operand : inst.operands)
    if (operand.isDef && operand.kind == OperandKind::sgpr)
      setScalars(operand.index, operand.dwords, {any, result[1].mask != 0 ? result[1].origin : result[0].origin});
}

/// Lanes that depend on anything marked, lane by lane. Masks with a bit per lane count for their lanes only.
Taint::Lanes Taint::sourcesOf(const OpInfo& info) const {
  const isa::Instruction& inst = *info.op->inst;
  isa::RegSet sources = info.reads;
  Lanes result;
  const auto add = [&](Lanes lanes) {
    if (lanes.mask != 0)
      result = {result.mask | lanes.mask, lanes.origin};
  };
  if (info.keepsLow || info.keepsHigh || info.selectsHalves) {
    if (info.keepsLow || info.keepsHigh)
      sources.remove(info.writes);
    unsigned i = 0;
    for (const Operand& operand : inst.operands) {
      if (operand.isDef)
        continue;
      add(operandLanes(operand, i < info.sourceHalves.size() ? info.sourceHalves[i] : 3));
      ++i;
      for (unsigned k = 0; k < operand.dwords; ++k)
        sources.reset(operand.kind == OperandKind::sgpr ? operand.index + k : firstRegister(operand) + k);
    }
  }
  if (takesCarry(inst.base)) {
    const Operand& last = inst.operands.back();
    Operand mask = last;
    if (last.kind != OperandKind::sgpr || last.dwords != 2) {
      mask.kind = OperandKind::sgpr;
      mask.index = sreg::vccLo;
      mask.dwords = 2;
    }
    const Bits carried = scalarOf(mask);
    add({carried.mask, carried.origin});
    sources.reset(mask.index);
    sources.reset(mask.index + 1u);
  }
  sources &= marked;
  sources.forEach([&](RegUnit unit) {
    if (unit >= isa::vgprBase)
      add(vectorUnit(unit));
    else if (!isScalarState(unit))
      add({~std::uint64_t{0}, scalarOrigin[unit]});
  });
  return result;
}

void Taint::writeLanes(const OpInfo& info, std::uint64_t written, Lanes lanes) {
  info.writes.forEach([&](RegUnit unit) {
    if (unit < isa::vgprBase)
      return;
    const unsigned i = unit - isa::vgprBase;
    setVector(unit, written, info.keepsLow ? low[i] : lanes.mask, info.keepsHigh ? high[i] : lanes.mask,
              (lanes.mask & written) != 0 ? lanes.origin : vectorOrigin[i]);
  });
}

void Taint::step(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) {
  switch (op->inst->cls) {
  case InstClass::branch:
  case InstClass::jump:
    branch(wave, info, op, log);
    return;
  case InstClass::salu:
    scalar(wave, info, op);
    return;
  case InstClass::valu:
    vector(wave, info, op);
    return;
  case InstClass::mfma:
    matrix(info);
    return;
  default:
    break;
  }
  if (info.flow == Flow::memory)
    memory(wave, info, op, log);
}

void Taint::branch(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) {
  const auto report = [&](Origin origin) {
    log.add("", "uninitialised_branch", op, op, wave, 0,
            [&] { return fmt::format("{} depends on {}", quoted(wave, op), neverWritten(origin)); });
  };
  const auto mask = [&](unsigned index, std::uint64_t value) {
    const std::uint64_t marks = bits[index] | std::uint64_t{bits[index + 1]} << 32;
    // A bit that is known to be set decides.
    if (marks != 0 && (value & ~marks) == 0)
      report(bits[index] != 0 ? scalarOrigin[index] : scalarOrigin[index + 1]);
  };
  const std::string_view base = op->inst->base;
  if (op->inst->cls == InstClass::jump) {
    const isa::RegSet sources = info.reads & marked;
    bool reported = false;
    sources.forEach([&](RegUnit unit) {
      if (!reported && unit < isa::vgprBase && !isScalarState(unit)) {
        reported = true;
        report(scalarOrigin[unit]);
      }
    });
    for (const Operand& operand : op->inst->operands)
      if (operand.isDef && operand.kind == OperandKind::sgpr)
        setScalars(operand.index, operand.dwords, {});
    return;
  }
  if (base.starts_with("s_cbranch_scc")) {
    if (bits[sreg::scc] != 0)
      report(scalarOrigin[sreg::scc]);
  } else if (base.starts_with("s_cbranch_vcc")) {
    mask(sreg::vccLo, wave.vcc());
  } else if (base.starts_with("s_cbranch_exec")) {
    mask(sreg::execLo, wave.exec());
  }
}

void Taint::vector(Wave& wave, const OpInfo& info, const Op* op) {
  const std::vector<Operand>& operands = op->inst->operands;
  std::uint64_t written = wave.exec();
  Lanes lanes;
  switch (info.flow) {
  case Flow::none:
    break;
  case Flow::halves:
    if (wave.gprIdx == 0) {
      halves(wave, info, op);
      return;
    }
    lanes = sourcesOf(info);
    break;
  case Flow::wideLow:
  case Flow::pairs:
    wide(wave, info);
    return;
  case Flow::readLane:
  case Flow::readFirstLane: {
    const Lanes source = operandLanes(operands[1]);
    std::uint64_t lane = firstLane(wave.exec());
    std::uint64_t selected = source.mask;
    Origin origin = source.origin;
    if (info.flow == Flow::readLane) {
      lane = laneNumber(wave, op->src[1]);
      if (const Bits selector = scalarOf(operands[2]); selector.mask != 0) {
        selected = ~std::uint64_t{0};
        origin = selector.origin;
      }
    }
    setScalars(operands[0].index, 1, {selected >> lane & 1 ? ~std::uint64_t{0} : 0, origin});
    return;
  }
  case Flow::writeLane: {
    const Bits value = scalarOf(operands[1]);
    const std::uint64_t lane = std::uint64_t{1} << laneNumber(wave, op->src[1]);
    writeLanes(info, lane, {value.mask != 0 ? lane : 0, value.origin});
    return;
  }
  case Flow::dpp: {
    const AluPlan& plan = *static_cast<const AluPlan*>(op->extra);
    bool first = true;
    written &= plan.dppRows & (plan.dppZero ? ~std::uint64_t{0} : plan.dppValid);
    for (const Operand& operand : operands) {
      if (operand.isDef)
        continue;
      Lanes own = operandLanes(operand);
      if (first) {
        std::uint64_t moved = 0;
        for (unsigned lane = 0; lane < 64; ++lane)
          if (plan.dppValid >> lane & 1)
            moved |= (own.mask >> plan.dppLane[lane] & 1) << lane;
        own.mask = moved;
        first = false;
      }
      if (own.mask != 0)
        lanes = {lanes.mask | own.mask, own.origin};
    }
    if (op->inst->base.starts_with("v_fmac") || op->inst->base.starts_with("v_mac"))
      if (const Lanes own = operandLanes(operands[0]); own.mask != 0)
        lanes = {lanes.mask | own.mask, own.origin};
    break;
  }
  case Flow::select: {
    const Bits mask = scalarOf(operands.back());
    const std::uint64_t chosen =
        operands.back().kind == OperandKind::sgpr ? wave.pair(operands.back().index) : wave.vcc();
    const Lanes no = operandLanes(operands[1]), yes = operandLanes(operands[2]);
    lanes.mask = mask.mask | (yes.mask & chosen) | (no.mask & ~chosen);
    lanes.origin = mask.mask & written ? mask.origin : yes.mask & chosen & written ? yes.origin : no.origin;
    break;
  }
  case Flow::allLanes:
    lanes = sourcesOf(info);
    lanes.mask = lanes.mask != 0 ? ~std::uint64_t{0} : 0;
    break;
  default:
    lanes = sourcesOf(info);
  }
  writeLanes(info, written, lanes);
  // Compare masks and carries: a bit for each lane, 0 for inactive ones.
  const Bits result{lanes.mask & written, lanes.origin};
  for (const Operand& operand : operands)
    if (operand.isDef && operand.kind == OperandKind::sgpr)
      setScalars(operand.index, operand.dwords, result);
  if (info.writes.test(sreg::execLo))
    setScalars(sreg::execLo, 2, result);
}

void Taint::matrix(const OpInfo& info) {
  const std::vector<Operand>& operands = info.op->inst->operands;
  if (operands.size() < 4)
    return;
  Lanes factors = operandLanes(operands[1]);
  if (const Lanes b = operandLanes(operands[2]); b.mask != 0)
    factors = {factors.mask | b.mask, b.origin};
  const bool sparse = info.op->inst->base.find("smfmac") != std::string::npos;
  if (sparse)
    if (const Lanes index = operandLanes(operands[3]); index.mask != 0)
      factors = {factors.mask | index.mask, index.origin};
  const Operand& accumulator = sparse ? operands[0] : operands[3];
  const bool isRegister = accumulator.kind == OperandKind::vgpr || accumulator.kind == OperandKind::agpr;
  const std::uint64_t everywhere = factors.mask != 0 ? ~std::uint64_t{0} : 0;
  std::array<Lanes, 32> sums{};
  const unsigned dwords = std::min<unsigned>(operands[0].dwords, sums.size());
  for (unsigned k = 0; k < dwords; ++k) {
    sums[k] = {everywhere, factors.origin};
    if (isRegister && k < accumulator.dwords)
      if (const Lanes own = vectorUnit(static_cast<RegUnit>(firstRegister(accumulator) + k)); own.mask != 0)
        sums[k] = {everywhere | own.mask, own.origin};
  }
  for (unsigned k = 0; k < dwords; ++k)
    setVector(static_cast<RegUnit>(firstRegister(operands[0]) + k), ~std::uint64_t{0}, sums[k].mask, sums[k].mask,
              sums[k].origin);
}

void Taint::scalar(Wave& wave, const OpInfo& info, const Op* op) {
  const std::vector<Operand>& operands = op->inst->operands;
  const std::string_view base = op->inst->base;
  const auto any = [&] {
    Bits result;
    const isa::RegSet sources = info.reads & marked;
    sources.forEach([&](RegUnit unit) {
      if (unit < isa::vgprBase && unit != sreg::mode && unit != sreg::hwreg)
        result = {~std::uint64_t{0}, scalarOrigin[unit]};
    });
    return result;
  };
  const auto writeScc = [&](Bits result, std::uint64_t knownOnes) {
    if (info.writes.test(sreg::scc))
      setScalar(sreg::scc, result.mask != 0 && knownOnes == 0 ? ~0u : 0u, result.origin);
  };
  if (operands.empty() || info.flow == Flow::scalar || info.flow == Flow::none || !operands[0].isDef) {
    const Bits result = info.flow == Flow::scalar ? any() : Bits{};
    for (const Operand& operand : operands)
      if (operand.isDef && operand.kind == OperandKind::sgpr)
        setScalars(operand.index, operand.dwords, result);
    writeScc(result, 0);
    return;
  }
  const unsigned dwords = operands[0].dwords;
  const std::uint64_t width = dwords == 1 ? 0xffffffff : ~std::uint64_t{0};
  const auto value = [&](unsigned i) {
    return (dwords == 1 ? std::uint64_t{wave.scalar32(op->src[i])} : wave.scalar64(op->src[i])) & width;
  };
  const auto marks = [&](unsigned i) { return i < operands.size() ? scalarOf(operands[i]) : Bits{}; };
  const auto merged = [](std::uint64_t mask, Bits a, Bits b) { return Bits{mask, a.mask != 0 ? a.origin : b.origin}; };
  const bool inverted = base.find("n2_") != std::string_view::npos;
  if (info.flow == Flow::saveExec || info.flow == Flow::saveExecAnd) {
    const Bits source = marks(1);
    const Bits exec{bits[sreg::execLo] | std::uint64_t{bits[sreg::execHi]} << 32,
                    bits[sreg::execLo] != 0 ? scalarOrigin[sreg::execLo] : scalarOrigin[sreg::execHi]};
    std::uint64_t mask = source.mask | exec.mask;
    if (info.flow == Flow::saveExecAnd) {
      // andn2: source & ~exec.
      const std::uint64_t a = value(0), b = inverted ? ~wave.exec() : wave.exec();
      mask = (source.mask & (b | exec.mask)) | (exec.mask & (a | source.mask));
    }
    const Bits result = merged(mask, source, exec);
    setScalars(operands[0].index, 2, exec);
    setScalars(sreg::execLo, 2, result);
    writeScc(result, 0);
    return;
  }
  const Bits first = marks(1), second = marks(2);
  Bits result;
  std::uint64_t ones = 0;
  switch (info.flow) {
  case Flow::scalarSelect:
    result = bits[sreg::scc] != 0 ? Bits{width, scalarOrigin[sreg::scc]} : wave.scc ? first : second;
    break;
  case Flow::bitAnd: {
    const std::uint64_t a = value(0), b = inverted ? ~value(1) & width : value(1);
    result = merged((first.mask & (b | second.mask)) | (second.mask & (a | first.mask)), first, second);
    ones = a & b & ~result.mask;
    break;
  }
  case Flow::bitOr: {
    const std::uint64_t a = value(0), b = inverted ? ~value(1) & width : value(1);
    result = merged((first.mask & (~b | second.mask)) | (second.mask & (~a | first.mask)), first, second);
    ones = (a | b) & ~result.mask;
    break;
  }
  default: // bits
    result = merged(first.mask | second.mask, first, second);
    if (base.starts_with("s_cmov"))
      result = any();
  }
  result.mask &= width;
  setScalars(operands[0].index, dwords, result);
  writeScc(result, base.starts_with("s_nand") || base.starts_with("s_nor") ? 0 : ones);
}

/// Addresses, and the results of loads that need no look at memory.
void Taint::memory(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) {
  const std::uint64_t exec = info.isScalarMemory ? 1 : wave.exec();
  Lanes address;
  if (op->src[0].kind == SrcKind::vgpr)
    for (unsigned k = 0; k < op->src[0].dwords; ++k)
      if (const Lanes own = vectorUnit(isa::vgprUnit(op->src[0].reg + k)); (own.mask & exec) != 0)
        address = {address.mask | (own.mask & exec), own.origin};
  isa::RegSet scalars = info.reads & marked;
  if (info.isScalarMemory && info.mayStore)
    for (unsigned k = 0; k < op->src[2].dwords; ++k)
      scalars.reset(op->src[2].reg + k);
  scalars.forEach([&](RegUnit unit) {
    if (unit < isa::vgprBase && unit != sreg::mode && unit != sreg::hwreg)
      address = {exec, scalarOrigin[unit]};
  });
  if (address.mask != 0)
    log.add("", "uninitialised_address", op, op, wave, firstLane(address.mask), [&] {
      return fmt::format("the address of {} depends on {}", quoted(wave, op), neverWritten(address.origin));
    });
  if (op->dstDwords == 0 || !info.writes.any())
    return;
  if (info.isScalarMemory)
    setScalars(op->dst, op->dstDwords, {});
  else if (info.isLds && info.wholeWave)
    crossbar(wave, info, op);
  else if (op->dstIsVgpr)
    writeLanes(info, exec, {});
}

/// ds_swizzle, ds_permute, ds_bpermute: data from other lanes.
void Taint::crossbar(Wave& wave, const OpInfo& info, const Op* op) {
  const bool permutes = op->inst->base != "ds_swizzle_b32";
  const Src& data = op->src[permutes ? 1 : 0];
  const Lanes source = vectorUnit(isa::vgprUnit(data.reg));
  const std::uint64_t exec = wave.exec();
  std::uint64_t moved = (source.mask & exec) != 0 ? ~std::uint64_t{0} : 0;
  if (op->inst->base == "ds_bpermute_b32") {
    const std::uint32_t* from = wave.lanes(op->src[0].reg);
    moved = 0;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const std::uint32_t other = (from[lane] + static_cast<std::uint32_t>(op->aux)) / 4 % 64;
      moved |= (source.mask & exec) >> other & 1 ? std::uint64_t{1} << lane : 0;
    }
  } else if (!permutes && op->extra) {
    const auto& lanes = *static_cast<const std::array<std::uint8_t, 64>*>(op->extra);
    moved = 0;
    for (unsigned lane = 0; lane < 64; ++lane)
      moved |= ((source.mask & exec) >> lanes[lane] & 1) << lane;
  }
  writeLanes(info, exec, {moved, source.origin});
}

void Taint::access(Wave& wave, const OpInfo& info, const Op* op, const AccessEvent& event, unsigned element,
                   FindingLog& log) {
  if (event.space == Space::scalar) {
    if (event.load)
      return;
    for (unsigned k = 0; k < op->src[2].dwords; ++k)
      if (bits[op->src[2].reg + k] != 0) {
        storesMarked(wave, op, scalarOrigin[op->src[2].reg + k], 0, log);
        return;
      }
    return;
  }
  const unsigned dwords = (event.bytes + 3u) / 4u;
  if (event.load) {
    if (event.space != Space::global && !event.ldsDma)
      load(wave, info, op, event, element * dwords);
    return;
  }
  if (event.ldsDma) {
    if (lds.any())
      forLanes(event.valid[0], [&](unsigned lane) { lds.set(event.address[lane], 4, false, 0); });
    return;
  }
  const Src& data = op->src[info.isLds && element != 0 ? 2 : 1];
  const bool highHalf = event.bytes < 4 && op->inst->base.ends_with("_hi");
  for (unsigned k = 0; k < dwords; ++k) {
    Lanes stored;
    std::uint64_t lowMarks = 0, highMarks = 0;
    if (data.kind == SrcKind::vgpr) {
      const unsigned reg = data.reg + k;
      stored.origin = vectorOrigin[reg];
      lowMarks = highHalf ? high[reg] : low[reg];
      highMarks = event.bytes < 4 ? 0 : high[reg];
      stored.mask = (lowMarks | highMarks) & event.valid[k];
    }
    if (event.space == Space::global) {
      if (stored.mask != 0)
        storesMarked(wave, op, stored.origin, firstLane(stored.mask), log);
      continue;
    }
    const unsigned width = std::min(4u, event.bytes - 4 * k);
    if (event.space == Space::scratch) {
      storeScratch(wave, event, k, stored);
      continue;
    }
    if (stored.mask == 0 && !lds.any())
      continue;
    forLanes(event.valid[k], [&](unsigned lane) {
      const std::uint64_t at = event.address[lane] + 4 * k;
      const bool lower = lowMarks >> lane & 1, upper = highMarks >> lane & 1;
      if (event.atomic && (lower || upper || lds.at(at, width) == 0)) {
        if (lower || upper)
          lds.set(at, width, true, stored.origin);
        return;
      }
      if (event.atomic)
        return;
      lds.set(at, std::min(width, 2u), lower, stored.origin);
      if (width > 2)
        lds.set(at + 2, width - 2, upper, stored.origin);
    });
  }
}

void Taint::storesMarked(Wave& wave, const Op* op, Origin origin, unsigned lane, FindingLog& log) {
  log.add("", "uninitialised_store", op, op, wave, lane,
          [&] { return fmt::format("{} stores what depends on {}", quoted(wave, op), neverWritten(origin)); });
}

void Taint::storeScratch(const Wave& wave, const AccessEvent& event, unsigned k, Lanes stored) {
  const std::size_t perLane = wave.scratchPerLane / 4;
  forLanes(event.valid[k], [&](unsigned lane) {
    const std::size_t at = lane * perLane + event.address[lane] / 4 + k;
    if (at < scratch.size())
      scratch[at] = stored.mask >> lane & 1;
  });
}

/// From LDS or scratch into registers from op->dst + `first` on.
void Taint::load(const Wave& wave, const OpInfo& info, const Op* op, const AccessEvent& event, unsigned first) {
  const unsigned dwords = (event.bytes + 3u) / 4u;
  const std::size_t perLane = wave.scratchPerLane / 4;
  for (unsigned k = 0; k < dwords && first + k < op->dstDwords; ++k) {
    const RegUnit unit = isa::vgprUnit(op->dst + first + k);
    std::uint64_t lower = 0, upper = 0;
    Origin origin = event.space == Space::lds ? fromLds : fromScratch;
    const unsigned width = std::min(4u, event.bytes - 4 * k);
    if (event.space == Space::scratch) {
      forLanes(event.valid[k], [&](unsigned lane) {
        const std::size_t at = lane * perLane + event.address[lane] / 4 + k;
        const std::uint64_t mark = at < scratch.size() && scratch[at];
        lower |= mark << lane;
      });
      upper = lower;
    } else if (lds.any()) {
      forLanes(event.valid[k], [&](unsigned lane) {
        const std::uint64_t at = event.address[lane] + 4 * k;
        const std::uint32_t found = lds.at(at, width);
        if (found == 0)
          return;
        origin = lds.originAt(at);
        lower |= std::uint64_t{(found & 3) != 0} << lane;
        upper |= std::uint64_t{(found >> 2) != 0} << lane;
      });
    }
    const unsigned i = unit - isa::vgprBase;
    if (info.load.kind == LoadForm::Kind::small) {
      lower |= upper;
      upper = info.load.isSigned ? lower : 0;
    }
    setVector(unit, event.exec, info.keepsLow ? low[i] : lower,
              info.keepsHigh  ? high[i]
              : info.keepsLow ? lower
                              : upper,
              origin);
  }
}

} // namespace asmevo::emulator
