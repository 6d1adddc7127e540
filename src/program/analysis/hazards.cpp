#include "program/analysis/hazards.h"

#include "isa/matrix_cost.h"
#include "program/analysis/hazard_traits.h"

#include <algorithm>
#include <map>

namespace asmevo::program {

namespace {

using isa::DppCtrl;
using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using isa::RegRange;
using isa::RegSet;
using isa::SdwaSel;
namespace sreg = isa::sreg;
using hazard::Matrix;
using hazard::Traits;
using hazard::vectorWrites;

constexpr std::string_view ruleNames[] = {
    "none",
    "setreg-getreg",
    "setreg-vskip",
    "setreg-trapsts",
    "valu-vccz",
    "valu-lane-select",
    "valu-div-fmas",
    "store-data",
    "valu-sgpr-vmem",
    "salu-m0",
    "valu-dpp",
    "valu-exec-dpp",
    "valu-sgpr-valu",
    "valu-exec-valu",
    "valu-readlane",
    "dest-select",
    "transcendental",
    "permlane",
    "valu-mfma",
    "exec-mfma",
    "dot-product",
    "mfma-srcc",
    "mfma-srcab",
    "mfma-vector",
    "mfma-source-overwrite",
    "dgemm-fma64",
    "dgemm-between",
    "accumulator-move",
    "accumulator-between",
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Matrix matrixOf(const Instruction& inst) {
  if (inst.cls != InstClass::mfma)
    return Matrix::none;
  // v_mfma_<result>_<M>x<N>x<K>[_<blocks>b]_<source>; gfx90a writes the source type without underscore.
  const std::string_view base = inst.base;
  if (contains(base, "smfmac") || base.ends_with("xf32"))
    return Matrix::xdl;
  if (base.ends_with("f64"))
    return Matrix::dgemm;
  return base.ends_with("f32") ? Matrix::sgemm : Matrix::xdl;
}

bool isTranscendental(std::string_view base) {
  for (const std::string_view name : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (base.starts_with(name))
      return true;
  return false;
}

bool touchesScalar(const std::vector<RegRange>& ranges, unsigned first, unsigned count) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const RegRange& range) {
    return range.file == RegRange::File::scalar && range.first < first + count &&
           first < unsigned{range.first} + range.count;
  });
}

/// First unit of a register operand in RegSet numbering; AGPRs follow accum_offset.
std::size_t firstUnit(const Operand& operand, unsigned accumOffset) {
  switch (operand.kind) {
  case OperandKind::vgpr:
    return isa::vgprBase + operand.index;
  case OperandKind::agpr:
    return isa::vgprBase + accumOffset + operand.index;
  default:
    return operand.index;
  }
}

bool isVectorRegister(const Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

bool overlaps(const Operand& a, const Operand& b, unsigned accumOffset) {
  if (isVectorRegister(a) != isVectorRegister(b) ||
      (!isVectorRegister(a) && (a.kind != OperandKind::sgpr || b.kind != OperandKind::sgpr)))
    return false;
  const std::size_t x = firstUnit(a, accumOffset), y = firstUnit(b, accumOffset);
  return x < y + b.dwords && y < x + a.dwords;
}

bool same(const Operand& a, const Operand& b, unsigned accumOffset) {
  return isVectorRegister(a) && isVectorRegister(b) && a.dwords == b.dwords &&
         firstUnit(a, accumOffset) == firstUnit(b, accumOffset);
}

/// Does `inst` write a unit that `operand` covers?
bool writesOperand(const Instruction& inst, const Operand& operand, unsigned accumOffset) {
  return std::any_of(inst.operands.begin(), inst.operands.end(),
                     [&](const Operand& def) { return def.isDef && overlaps(def, operand, accumOffset); });
}

bool readsAny(const Instruction& inst, const RegSet& set, unsigned accumOffset) {
  return inst.reads(accumOffset).intersects(set);
}

RegSet scalarWrites(const Instruction& inst, unsigned accumOffset) {
  RegSet scalars;
  scalars.setRange(0, sreg::vccHi + 1);
  return inst.writes(accumOffset) & scalars;
}

class Pair {
 public:
  Pair(const Instruction& p, const Instruction& c, const Traits& pt, const Traits& ct, unsigned accum, HazardTarget t)
      : producer(p), consumer(c), from(pt), to(ct), accumOffset(accum), target(t) {}

  Hazard required() {
    if (producer.cls == InstClass::salu)
      scalarProducer();
    if (from.valu)
      valuProducer();
    if (from.matrix != Matrix::none)
      isGfx908() ? oldMatrixProducer() : matrixProducer();
    if (isGfx908() && (from.accWrite || from.accRead))
      accumulatorMove();
    if (producer.mayStore && from.vectorMemory)
      storeProducer();
    return result;
  }

 private:
  void need(unsigned states, HazardRule rule, bool llvmOnly = false) {
    if (states > result.states || (states == result.states && result.llvmOnly && !llvmOnly))
      result = {states, rule, llvmOnly};
  }
  bool isGfx940() const { return target != HazardTarget::gfx90a && target != HazardTarget::gfx908; }
  bool isGfx908() const { return target == HazardTarget::gfx908; }

  // Table 11, rows 1 to 4, 10, 14 to 16.
  void scalarProducer() {
    const bool setreg = producer.base.starts_with("s_setreg");
    const unsigned written = producer.simm16 & 0x3f;
    if (setreg && (consumer.base.starts_with("s_getreg") || consumer.base.starts_with("s_setreg")) &&
        (consumer.simm16 & 0x3f) == written)
      need(2, HazardRule::setregGetreg);
    constexpr unsigned modeId = 1, trapstsId = 3; // CDNA3 ISA, "Hardware Register Values"
    if (producer.base == "s_setvskip" && consumer.base.starts_with("s_getreg") && (consumer.simm16 & 0x3f) == modeId)
      need(2, HazardRule::setregVskip);
    const unsigned offset = (producer.simm16 >> 6) & 0x1f, size = (producer.simm16 >> 11) + 1;
    const bool setsVskip = setreg && written == modeId && offset <= 28 && 28 < offset + size;
    if (setsVskip && (to.valu || to.memory || to.matrix != Matrix::none))
      need(2, HazardRule::setregVskip);
    if (setreg && written == trapstsId && consumer.base.starts_with("s_rfe"))
      need(1, HazardRule::setregTrapsts);
    if (!from.writesM0)
      return;
    const std::string_view base = consumer.base;
    const bool gds = consumer.mods.gds || base.starts_with("ds_gws_");
    if (gds || base.starts_with("s_sendmsg") || contains(base, "addtid") || base.starts_with("s_movrel") ||
        consumer.isLdsDma())
      need(1, HazardRule::saluM0, consumer.isLdsDma() && consumer.cls == InstClass::vmem);
  }

  // Table 11, row 8. The manual exempts BUFFER with an SGPR offset; LLVM change 197267 does not for this family.
  void storeProducer() {
    const Operand* data = storeData();
    if (!data || data->dwords <= 2 || !writesOperand(consumer, *data, accumOffset))
      return;
    const bool scalarOffset = producer.cls == InstClass::vmem && producer.operands.back().kind == OperandKind::sgpr;
    const bool valuWriter = to.valu || to.matrix != Matrix::none;
    need(valuWriter && isGfx940() && !scalarOffset ? 2 : 1, HazardRule::wideStoreData);
  }

  /// The operand with the data: the first vector register of a buffer store, the last of a flat, global or scratch one.
  const Operand* storeData() const {
    const auto& operands = producer.operands;
    if (producer.cls == InstClass::vmem) {
      const auto found = std::find_if(operands.begin(), operands.end(), isVectorRegister);
      return found == operands.end() ? nullptr : &*found;
    }
    const auto found = std::find_if(operands.rbegin(), operands.rend(), isVectorRegister);
    return found == operands.rend() ? nullptr : &*found;
  }

  void valuProducer() {
    if (from.writesScalar)
      valuScalarResult();
    if (from.writesExec)
      valuExecResult();
    if (from.writesVgpr)
      valuVectorResult();
  }

  // Table 11, rows 5 to 7, 9, 17.
  void valuScalarResult() {
    if (to.valu) {
      for (const Operand& operand : consumer.operands)
        if (operand.kind == OperandKind::sgpr && !operand.isDef &&
            ((from.writesVcc && operand.index == 251) || (from.writesExec && operand.index == 252)))
          need(5, HazardRule::valuVccz);
      if (from.writesVcc && consumer.base.starts_with("v_div_fmas"))
        need(4, HazardRule::valuDivFmas);
    }
    const RegSet scalars = scalarWrites(producer, accumOffset);
    if (!scalars.any() || !readsAny(consumer, scalars, accumOffset))
      return;
    if (to.vectorMemory)
      need(5, HazardRule::valuSgprVmem);
    if (!to.valu)
      return;
    const bool selectsLane = consumer.base.starts_with("v_readlane") || consumer.base.starts_with("v_writelane");
    if (selectsLane && writesOperand(producer, consumer.operands.back(), accumOffset))
      need(4, HazardRule::valuLaneSelect);
    if (isGfx940())
      for (std::size_t i = 0; i < consumer.operands.size(); ++i)
        if (!consumer.operands[i].isDef && consumer.operands[i].kind == OperandKind::sgpr &&
            writesOperand(producer, consumer.operands[i], accumOffset))
          need(2, HazardRule::valuSgprValu, /*llvmOnly=*/isCarryIn(i));
  }

  /// The last operand of add/subtract with carry and of v_cndmask is a mask per lane, not a constant: row 17 asks for
  /// nothing there. LLVM keeps 2 all the same.
  bool isCarryIn(std::size_t index) const {
    const std::string_view base = consumer.base;
    const bool takesCarry = base.starts_with("v_addc_") || base.starts_with("v_subb") || base.starts_with("v_cndmask");
    return takesCarry && index + 1 == consumer.operands.size();
  }

  // Table 11, rows 12 and 18; table 37 for MFMA.
  void valuExecResult() {
    if (to.dpp)
      need(5, HazardRule::valuExecDpp);
    if (to.matrix != Matrix::none || (isGfx908() && to.accWrite))
      need(4, HazardRule::execMfma);
    if (!to.valu || !isGfx940())
      return;
    if (to.laneAccess)
      need(4, HazardRule::valuExecValu);
    if (to.permlane && target != HazardTarget::gfx940)
      need(4, HazardRule::permlane);
    for (const Operand& operand : consumer.operands)
      if (operand.kind == OperandKind::sgpr && !operand.isDef && operand.index <= sreg::execHi &&
          operand.index + unsigned{operand.dwords} > sreg::execLo)
        need(2, HazardRule::valuExecValu);
  }

  void valuVectorResult() {
    if (!to.valu && !to.memory && to.matrix == Matrix::none)
      return;
    const RegSet results = vectorWrites(producer, accumOffset);
    const bool reads = readsAny(consumer, results, accumOffset);
    if (to.dpp && reads) // row 11; only SRC0 goes through DPP, LLVM counts every operand and the old destination
      need(2, HazardRule::valuDpp, !readsAsFirstSource());
    if (isGfx908()) {
      if ((to.matrix != Matrix::none || to.accWrite) && reads && !from.accWrite)
        need(2, HazardRule::valuMfma);
      return;
    }
    if (to.matrix != Matrix::none && reads)
      need(from.dot ? 3 : 2, from.dot ? HazardRule::dotProduct : HazardRule::valuMfma);
    if (isGfx940() && to.valu && reads) {
      if (consumer.base.starts_with("v_readlane") || consumer.base.starts_with("v_readfirstlane"))
        need(1, HazardRule::valuReadlane); // row 19
      if (from.movesResult)
        need(1, HazardRule::destSelect); // row 20
      if (from.trans && !to.trans)
        need(1, HazardRule::transcendental); // row 21
      if (to.permlane && target != HazardTarget::gfx940)
        need(2, HazardRule::permlane);
    }
    if (from.dot)
      dotResult(results, reads);
  }

  bool readsAsFirstSource() const {
    const auto source = std::find_if(consumer.operands.begin(), consumer.operands.end(),
                                     [](const Operand& operand) { return !operand.isDef; });
    return source != consumer.operands.end() && writesOperand(producer, *source, accumOffset);
  }

  // Table 37: dot products forward to SrcC of the same opcode only.
  void dotResult(const RegSet& results, bool reads) {
    if (!to.valu && !to.memory)
      return;
    const bool sameOpcode = producer.opcode == consumer.opcode;
    bool readsAsMultiplier = false;
    for (std::size_t i = 1; i < consumer.operands.size() && i < 3; ++i)
      readsAsMultiplier |= !consumer.operands[i].isDef && writesOperand(producer, consumer.operands[i], accumOffset);
    const bool overwrites = to.valu && consumer.writes(accumOffset).intersects(results);
    if (sameOpcode ? readsAsMultiplier : (reads || overwrites))
      need(3, HazardRule::dotProduct);
  }

  void matrixProducer() {
    if (producer.operands.size() < 4 || from.passes == 0)
      return;
    const Operand& result0 = producer.operands[0];
    if (to.matrix != Matrix::none && consumer.operands.size() >= 4) {
      for (std::size_t i = 1; i < consumer.operands.size(); ++i) {
        const Operand& operand = consumer.operands[i];
        if (operand.isDef || !overlaps(result0, operand, accumOffset))
          continue;
        const bool sparse = contains(consumer.base, "smfmac");
        if (i == 3 && !sparse)
          need(srcCStates(same(result0, operand, accumOffset)), HazardRule::mfmaSrcC);
        else
          need(multiplierStates(), HazardRule::mfmaSrcAB);
      }
      // SMFMAC accumulates in its destination.
      if (contains(consumer.base, "smfmac") && overlaps(result0, consumer.operands[0], accumOffset))
        need(srcCStates(same(result0, consumer.operands[0], accumOffset)), HazardRule::mfmaSrcC);
      return;
    }
    if (to.valu || to.memory) {
      const RegSet results = vectorWrites(producer, accumOffset);
      const bool reads = readsAny(consumer, results, accumOffset);
      const bool overwrites = to.valu && consumer.writes(accumOffset).intersects(results);
      if (reads || overwrites)
        need(vectorStates(reads), HazardRule::mfmaVector);
    }
    if (to.valu && from.matrix == Matrix::xdl && isVectorRegister(producer.operands[3]) &&
        writesOperand(consumer, producer.operands[3], accumOffset))
      need(from.passes - 1, HazardRule::mfmaSourceOverwrite);
    if (from.matrix == Matrix::dgemm && (consumer.base == "v_fma_f64" || consumer.base == "v_fmac_f64"))
      need(2, HazardRule::dgemmFma64);
  }

  /// gfx908 (LLVM GCNHazardRecognizer): results and addends are in AGPRs, which only MFMA and V_ACCVGPR_* touch.
  void oldMatrixProducer() {
    if (producer.operands.size() < 4 || from.passes == 0)
      return;
    const Operand& result0 = producer.operands[0];
    const unsigned n = from.passes;
    if (to.matrix != Matrix::none)
      for (std::size_t i = 1; i < consumer.operands.size(); ++i) {
        const Operand& operand = consumer.operands[i];
        if (!overlaps(result0, operand, accumOffset))
          continue;
        if (i != 3)
          need(4, HazardRule::mfmaSrcAB);
        else if (!same(result0, operand, accumOffset))
          need(n, HazardRule::mfmaSrcC);
      }
    if (to.accRead && readsAny(consumer, vectorWrites(producer, accumOffset), accumOffset))
      need(n + 2, HazardRule::accumulatorMove);
    if (!to.accWrite)
      return;
    if (writesOperand(consumer, result0, accumOffset))
      need(n - 1, HazardRule::accumulatorMove);
    if (isVectorRegister(producer.operands[3]) && writesOperand(consumer, producer.operands[3], accumOffset) && n > 2)
      need(n - 3, HazardRule::mfmaSourceOverwrite);
  }

  void accumulatorMove() {
    const RegSet results = vectorWrites(producer, accumOffset);
    if (from.accRead) {
      if (to.memory && readsAny(consumer, results, accumOffset))
        need(2, HazardRule::accumulatorMove);
      return;
    }
    if (to.accRead && readsAny(consumer, results, accumOffset))
      need(3, HazardRule::accumulatorMove);
    if (to.matrix == Matrix::none)
      return;
    for (std::size_t i = 1; i < consumer.operands.size(); ++i)
      if (writesOperand(producer, consumer.operands[i], accumOffset))
        need(i == 3 ? 1 : 3, HazardRule::accumulatorMove);
  }

  bool isGfx950() const { return target == HazardTarget::gfx950; }

  unsigned srcCStates(bool exact) const {
    const unsigned n = from.passes;
    // Forwarding of an exactly equal accumulator holds along one opcode only (LLVM issue 218363).
    if (exact && producer.opcode == consumer.opcode) {
      if (from.smallDgemm)
        return 4;
      return isGfx940() && n == 2 ? 2 : 0;
    }
    switch (from.matrix) {
    case Matrix::dgemm:
      return from.smallDgemm ? 4 : isGfx950() ? 17 : 9;
    case Matrix::sgemm:
      return n;
    default:
      if (!isGfx940())
        return to.matrix == Matrix::dgemm ? n + 1 : n;
      return isGfx950() && n > 2 ? n + 2 : n + 1;
    }
  }

  unsigned multiplierStates() const {
    switch (from.matrix) {
    case Matrix::dgemm:
      return from.smallDgemm ? 6 : isGfx950() ? 19 : 11;
    case Matrix::sgemm:
      return isGfx940() ? from.passes + 2 : from.passes + 3;
    default:
      return isGfx950() && from.passes > 2 ? from.passes + 4 : from.passes + 3;
    }
  }

  unsigned vectorStates(bool reads) const {
    if (from.matrix != Matrix::dgemm)
      return multiplierStates();
    if (to.memory)
      return from.smallDgemm ? 9 : 18;
    if (from.smallDgemm)
      return 6;
    return isGfx950() && reads ? 19 : 11;
  }

  const Instruction& producer;
  const Instruction& consumer;
  Traits from;
  Traits to;
  unsigned accumOffset;
  HazardTarget target;
  Hazard result;
};

} // namespace

namespace hazard {

Traits traitsOf(const Instruction& inst, HazardTarget target) {
  Traits t;
  t.matrix = matrixOf(inst);
  t.valu = inst.cls == InstClass::valu;
  const std::string_view base = inst.base;
  if (t.matrix != Matrix::none) {
    t.passes = mfmaPasses(inst, target);
    t.smallDgemm = t.matrix == Matrix::dgemm && contains(base, "4x4x4") && !contains(base, "16x16x4");
  }
  if (t.valu) {
    t.trans = isTranscendental(base);
    t.dot = base.starts_with("v_dot");
    t.dpp = inst.mods.dpp != DppCtrl::none;
    t.permlane = base.starts_with("v_permlane");
    t.laneAccess =
        base.starts_with("v_readlane") || base.starts_with("v_readfirstlane") || base.starts_with("v_writelane");
    const bool highHalf = inst.mods.opSelPrinted && !inst.operands.empty() && !base.starts_with("v_pk_") &&
                          ((inst.mods.opSel >> (inst.operands.size() - 1)) & 1);
    t.movesResult = (inst.mods.isSdwa && inst.mods.dstSel != SdwaSel::dword) || highHalf || contains(base, "mixhi") ||
                    (inst.mods.opSelPrinted && base.starts_with("v_cvt_sr_"));
  }
  t.accRead = base.starts_with("v_accvgpr_read");
  t.accWrite = base.starts_with("v_accvgpr_write");
  t.vectorMemory = inst.isVectorMemory();
  t.memory = t.vectorMemory || inst.cls == InstClass::lds || base.starts_with("exp");
  for (const RegRange& range : inst.writeRanges)
    (range.file == RegRange::File::scalar ? t.writesScalar : t.writesVgpr) = true;
  t.writesExec = touchesScalar(inst.writeRanges, sreg::execLo, 2);
  t.writesVcc = touchesScalar(inst.writeRanges, sreg::vccLo, 2);
  t.writesM0 = touchesScalar(inst.writeRanges, sreg::m0, 1);
  return t;
}

RegSet vectorWrites(const Instruction& inst, unsigned accumOffset) {
  RegSet set = inst.writes(accumOffset);
  for (unsigned unit = 0; unit < sreg::count; ++unit)
    set.reset(unit);
  return set;
}

unsigned reachOf(const Instruction& inst, const Traits& t) {
  if (t.matrix != Matrix::none)
    return maxWaitStates;
  if (t.valu)
    return 5;
  if (inst.cls == InstClass::salu)
    return t.writesM0 || inst.base.starts_with("s_setreg") || inst.base == "s_setvskip" ? 2 : 0;
  return t.vectorMemory && inst.mayStore ? 2 : 0;
}

Hazard between(const Instruction& producer, const Traits& from, const Instruction& consumer, const Traits& to,
               unsigned accumOffset, HazardTarget target) {
  return Pair(producer, consumer, from, to, accumOffset, target).required();
}

} // namespace hazard

std::string_view hazardRuleName(HazardRule rule) {
  return ruleNames[static_cast<std::size_t>(rule)];
}

std::optional<HazardTarget> hazardTargetOf(const object::Target& target) {
  const std::string& name = target.processor;
  if (name == "gfx908")
    return HazardTarget::gfx908;
  if (name == "gfx90a")
    return HazardTarget::gfx90a;
  if (name == "gfx950")
    return HazardTarget::gfx950;
  if (name == "gfx9-4-generic")
    return HazardTarget::strictest; // runs on either
  if (name.starts_with("gfx94"))
    return HazardTarget::gfx940;
  return std::nullopt;
}

unsigned waitStatesOf(const Instruction& inst) {
  return inst.cls == InstClass::nop ? (inst.simm16 & 0xf) + 1 : 1;
}

unsigned mfmaPasses(const Instruction& inst, HazardTarget target) {
  using isa::MatrixCore;
  // gfx950 is nowhere faster, and gfx940's own shapes are not all among its own.
  const auto on = [&](MatrixCore core) { return isa::matrixCost(inst, core).value_or(isa::MatrixCost()).passes; };
  if (inst.cls != InstClass::mfma)
    return 0;
  switch (target) {
  case HazardTarget::gfx908:
    return on(MatrixCore::gfx908);
  case HazardTarget::gfx90a:
    return on(MatrixCore::gfx90a);
  case HazardTarget::gfx940:
    return on(MatrixCore::gfx940);
  case HazardTarget::gfx950:
  case HazardTarget::strictest:
    break;
  }
  return std::max(on(MatrixCore::gfx940), on(MatrixCore::gfx950));
}

namespace {

Hazard requiredBetween(const Instruction& producer, const Instruction& consumer, unsigned accumOffset,
                       HazardTarget target) {
  const Traits from = hazard::traitsOf(producer, target);
  if (hazard::reachOf(producer, from) == 0)
    return {};
  return hazard::between(producer, from, consumer, hazard::traitsOf(consumer, target), accumOffset, target);
}

} // namespace

Hazard requiredHazard(const Instruction& producer, const Instruction& consumer, unsigned accumOffset,
                      HazardTarget target) {
  if (target != HazardTarget::strictest)
    return requiredBetween(producer, consumer, accumOffset, target);
  const Hazard a = requiredBetween(producer, consumer, accumOffset, HazardTarget::gfx940);
  const Hazard b = requiredBetween(producer, consumer, accumOffset, HazardTarget::gfx950);
  return b.states > a.states ? b : a;
}

unsigned requiredStates(const Instruction& producer, const Instruction& consumer, unsigned accumOffset,
                        HazardTarget target, HazardScope scope) {
  const Hazard hazard = requiredHazard(producer, consumer, accumOffset, target);
  return hazard.llvmOnly && scope != HazardScope::withLlvm ? 0 : hazard.states;
}

} // namespace asmevo::program
