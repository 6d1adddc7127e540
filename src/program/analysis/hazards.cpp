#include "program/analysis/hazards.h"

#include "isa/matrix_cost.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace asmevo::program {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using isa::RegSet;
using isa::RegUnit;
namespace sreg = isa::sreg;

namespace {

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool isValu(const Instruction& i) {
  return i.cls == InstClass::valu || i.cls == InstClass::mfma;
}
bool isMatrix(const Instruction& i) {
  return i.cls == InstClass::mfma;
}
bool isVectorMemory(const Instruction& i) {
  return i.isVectorMemory();
}
bool isLds(const Instruction& i) {
  return i.cls == InstClass::lds;
}
bool isLaneAccess(const Instruction& i) {
  return startsWith(i.base, "v_readlane") || startsWith(i.base, "v_writelane");
}
bool isDot(const Instruction& i) {
  return startsWith(i.base, "v_dot");
}

bool isTranscendental(const Instruction& i) {
  static constexpr std::array<std::string_view, 7> names = {"v_exp_",  "v_log_", "v_rcp_", "v_rsq_",
                                                            "v_sqrt_", "v_sin_", "v_cos_"};
  return i.cls == InstClass::valu && std::ranges::any_of(names, [&](auto n) { return startsWith(i.base, n); });
}

/// The kinds of matrix instruction that the table tells apart.
enum class Matrix { xdl, single, double16, double4 };

Matrix matrixKind(const Instruction& i) {
  if (startsWith(i.base, "v_mfma_f64"))
    return i.base.find("16x16") != std::string::npos ? Matrix::double16 : Matrix::double4;
  const auto cost = isa::matrixCost(i.base);
  return cost && !cost->xdl ? Matrix::single : Matrix::xdl;
}

unsigned passesOf(const Instruction& i) {
  const auto cost = isa::matrixCost(i.base);
  return cost ? cost->passes : 16; // the longest, for a shape nobody has told us about
}

RegSet unitsOf(const Operand& operand, unsigned accumOffset) {
  RegSet set;
  const unsigned base = operand.kind == OperandKind::vgpr   ? isa::vgprBase
                        : operand.kind == OperandKind::agpr ? isa::vgprBase + (accumOffset ? accumOffset : 256)
                                                            : 0u;
  if (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr ||
      (operand.kind == OperandKind::sgpr && operand.index < sreg::count))
    for (unsigned d = 0; d < operand.dwords; ++d)
      if (base + operand.index + d < isa::regUnitCount)
        set.set(base + operand.index + d);
  return set;
}

const Operand* source(const Instruction& i, std::size_t number) {
  for (const auto& operand : i.operands)
    if (!operand.isDef && number-- == 0)
      return &operand;
  return nullptr;
}

RegSet sourceUnits(const Instruction& i, std::size_t number, unsigned accumOffset) {
  const Operand* operand = source(i, number);
  return operand ? unitsOf(*operand, accumOffset) : RegSet{};
}

RegSet vgprsOf(RegSet set) {
  for (std::size_t u = 0; u < isa::vgprBase; ++u)
    set.reset(u);
  return set;
}

RegSet scalarsOf(RegSet set) {
  RegSet scalars;
  set.forEach([&](RegUnit u) {
    if (u <= sreg::vccHi)
      scalars.set(u);
  });
  return scalars;
}

/// A wide store: its data registers are read after it issued (table 11 row 8).
RegSet wideStoreData(const Instruction& i, unsigned accumOffset) {
  if (!isVectorMemory(i) || !i.mayStore)
    return {};
  RegSet data;
  for (const auto& operand : i.operands)
    if (!operand.isDef && (operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr) &&
        operand.dwords > 2)
      data |= unitsOf(operand, accumOffset);
  return data;
}

/// Table 37: what a consumer must leave after a matrix instruction whose result it touches.
unsigned afterMatrix(const Instruction& p, const Instruction& c, unsigned accumOffset) {
  const Matrix kind = matrixKind(p);
  const unsigned passes = passesOf(p);
  const RegSet result = vgprsOf(p.writes(accumOffset));
  unsigned states = 0;
  const auto need = [&](unsigned n) { states = std::max(states, n); };
  const unsigned plain = kind == Matrix::xdl        ? passes + 3
                         : kind == Matrix::single   ? passes + 2
                         : kind == Matrix::double16 ? 11u
                                                    : 6u;
  const unsigned memory = kind == Matrix::double16 ? 18u : kind == Matrix::double4 ? 9u : plain;
  if (isMatrix(c)) {
    RegSet inputs = sourceUnits(c, 0, accumOffset) | sourceUnits(c, 1, accumOffset);
    RegSet accumulator = sourceUnits(c, 2, accumOffset);
    if (startsWith(c.base, "v_smfmac")) {
      // The third printed source is the index; the accumulator is the destination itself.
      inputs |= accumulator;
      accumulator = vgprsOf(c.writes(accumOffset));
    }
    if (inputs.intersects(result))
      need(plain);
    if (accumulator.intersects(result)) {
      const bool exact = accumulator == result;
      const bool toXdl = matrixKind(c) == Matrix::xdl;
      switch (kind) {
      case Matrix::xdl:
        // Forwarding holds along one opcode only (facts: cdna3 section 3.3, LLVM PR 218363).
        if (!(toXdl && exact && p.base == c.base))
          need(passes + 1);
        else if (passes == 2)
          need(2);
        break;
      case Matrix::single:
        if (!(exact && p.base == c.base))
          need(passes);
        break;
      case Matrix::double16:
        if (!exact && !toXdl)
          need(9);
        break;
      case Matrix::double4:
        need(4);
        break;
      }
    }
    return states;
  }
  if (isValu(c)) {
    if (c.reads(accumOffset).intersects(result) || c.writes(accumOffset).intersects(result))
      need(plain);
    const RegSet srcC = vgprsOf(sourceUnits(p, 2, accumOffset));
    if (c.writes(accumOffset).intersects(srcC))
      need(passes > 1 ? passes - 1 : 1);
  } else if (isVectorMemory(c) || isLds(c)) {
    if (vgprsOf(c.reads(accumOffset)).intersects(result))
      need(memory);
    if (vgprsOf(c.writes(accumOffset)).intersects(result))
      need(plain);
  }
  return states;
}

unsigned afterVectorAlu(const Instruction& p, const Instruction& c, unsigned accumOffset) {
  unsigned states = 0;
  const auto need = [&](unsigned n) { states = std::max(states, n); };
  const RegSet writes = p.writes(accumOffset);
  const RegSet vectors = vgprsOf(writes);
  const RegSet scalars = scalarsOf(writes);
  const bool writesExec = writes.test(sreg::execLo) || writes.test(sreg::execHi);
  const bool writesVcc = scalars.test(sreg::vccLo) || scalars.test(sreg::vccHi);
  const RegSet reads = c.reads(accumOffset);

  if (isValu(c) && (writesVcc || writesExec))
    for (const auto& operand : c.operands)
      if (!operand.isDef && operand.kind == OperandKind::sgpr &&
          ((operand.index == 251 && writesVcc) || (operand.index == 252 && writesExec)))
        need(5);
  if (scalars.any()) {
    if (isLaneAccess(c) && scalars.intersects(sourceUnits(c, 1, accumOffset)))
      need(4);
    if (startsWith(c.base, "v_div_fmas") && writesVcc)
      need(4);
    if (isVectorMemory(c) && reads.intersects(scalars))
      need(5);
    if (c.cls == InstClass::valu && reads.intersects(scalars))
      need(2);
  }
  if (writesExec) {
    if (isMatrix(c))
      need(4);
    if (c.cls == InstClass::valu) {
      if (c.mods.dpp != isa::DppCtrl::none)
        need(5);
      if (isLaneAccess(c) || startsWith(c.base, "v_readfirstlane"))
        need(4);
      for (const auto& operand : c.operands)
        if (!operand.isDef && operand.kind == OperandKind::sgpr && operand.index <= sreg::execHi &&
            operand.index + operand.dwords > sreg::execLo)
          need(2);
    }
  }
  if (vectors.any()) {
    if (c.mods.dpp != isa::DppCtrl::none && vectors.intersects(sourceUnits(c, 0, accumOffset)))
      need(2);
    if ((startsWith(c.base, "v_readlane") || startsWith(c.base, "v_readfirstlane")) &&
        vectors.intersects(sourceUnits(c, 0, accumOffset)))
      need(1);
    if (isMatrix(c) && !isDot(p) && vectors.intersects(vgprsOf(reads)))
      need(2);
    if (c.cls == InstClass::valu && reads.intersects(vectors)) {
      const bool movesResult = (p.mods.isSdwa && p.mods.dstSel != isa::SdwaSel::dword) || (p.mods.opSel & 8) != 0;
      if (movesResult)
        need(1);
      if (isTranscendental(p) && !isTranscendental(c))
        need(1);
    }
    if (isDot(p) && isValu(c) && p.base != c.base &&
        (reads.intersects(vectors) || c.writes(accumOffset).intersects(vectors)))
      need(3);
    if (isDot(p) && isValu(c) && p.base == c.base &&
        vectors.intersects(sourceUnits(c, 0, accumOffset) | sourceUnits(c, 1, accumOffset)))
      need(3);
  }
  return states;
}

unsigned afterScalar(const Instruction& p, const Instruction& c, unsigned accumOffset) {
  if (startsWith(p.base, "s_setreg") && (startsWith(c.base, "s_getreg") || startsWith(c.base, "s_setreg")))
    return 2;
  if (startsWith(p.base, "s_setvskip") && startsWith(c.base, "s_getreg"))
    return 2;
  if (!p.writes(accumOffset).test(sreg::m0))
    return 0;
  const bool usesM0 = startsWith(c.base, "s_sendmsg") || startsWith(c.base, "s_movrel") ||
                      startsWith(c.base, "ds_gws") || c.base.find("addtid") != std::string::npos || c.mods.lds ||
                      c.mods.gds;
  return usesM0 ? 1 : 0;
}

} // namespace

unsigned requiredWaitStates(const Instruction& p, const Instruction& c, unsigned accumOffset) {
  unsigned states = 0;
  if (isMatrix(p))
    states = afterMatrix(p, c, accumOffset);
  else if (p.cls == InstClass::valu)
    states = afterVectorAlu(p, c, accumOffset);
  else if (p.cls == InstClass::salu)
    states = afterScalar(p, c, accumOffset);
  if (const RegSet data = wideStoreData(p, accumOffset); data.any() && c.writes(accumOffset).intersects(data))
    states = std::max(states, isValu(c) ? 2u : 1u);
  return states;
}

unsigned waitStatesOf(const Instruction& inst) {
  return inst.cls == InstClass::nop && inst.base == "s_nop" ? (inst.simm16 & 15) + 1 : 1;
}

namespace {

/// An instruction some path has issued within the last maximumWaitStates states, at its smallest distance.
using Recent = std::map<const Instr*, unsigned>;

bool canProduce(const Instruction& i) {
  return i.cls == InstClass::valu || i.cls == InstClass::mfma || i.cls == InstClass::salu ||
         (i.isVectorMemory() && i.mayStore);
}

void advance(Recent& recent, const Instr& instr) {
  const unsigned states = waitStatesOf(*instr.inst);
  for (auto it = recent.begin(); it != recent.end();)
    it = (it->second += states) >= maximumWaitStates ? recent.erase(it) : std::next(it);
  if (canProduce(*instr.inst))
    recent[&instr] = 0;
}

bool join(Recent& into, const Recent& other) {
  bool changed = false;
  for (const auto& [instr, distance] : other) {
    const auto [it, isNew] = into.emplace(instr, distance);
    if (!isNew && it->second > distance)
      it->second = distance;
    else if (!isNew)
      continue;
    changed = true;
  }
  return changed;
}

} // namespace

std::vector<Hazard> findHazards(const Program& program, const Function& function, unsigned accumOffset) {
  std::vector<Recent> entry(program.blocks.size());
  std::vector<bool> reached(program.blocks.size(), false);
  std::set<BlockId> work{function.entryBlock};
  reached[function.entryBlock] = true;
  while (!work.empty()) {
    const BlockId id = *work.begin();
    work.erase(work.begin());
    Recent recent = entry[id];
    const auto& instrs = program.blocks[id].instrs;
    // Only the block's tail can reach its successors.
    std::size_t from = instrs.size();
    for (unsigned states = 0; from > 0 && states < maximumWaitStates;)
      states += waitStatesOf(*instrs[--from].inst);
    if (from > 0)
      recent.clear();
    for (std::size_t i = from; i < instrs.size(); ++i)
      advance(recent, instrs[i]);
    for (const BlockId next : program.blocks[id].successors) {
      const bool grew = join(entry[next], recent);
      if (grew || !reached[next])
        work.insert(next);
      reached[next] = true;
    }
  }
  std::vector<Hazard> hazards;
  std::map<std::pair<const Instruction*, const Instruction*>, unsigned> known;
  const auto required = [&](const Instruction& p, const Instruction& c) {
    const auto [it, isNew] = known.try_emplace({&p, &c}, 0);
    if (isNew)
      it->second = requiredWaitStates(p, c, accumOffset);
    return it->second;
  };
  for (const BlockId id : function.blocks) {
    if (program.blocks[id].opaque)
      continue;
    Recent recent = entry[id];
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = 0; i < instrs.size(); ++i) {
      Hazard worst;
      for (const auto& [producer, distance] : recent) {
        const unsigned states = required(*producer->inst, *instrs[i].inst);
        if (states > distance && states - distance > worst.required - worst.present)
          worst = {id, i, producer, states, distance};
      }
      if (worst.producer)
        hazards.push_back(worst);
      advance(recent, instrs[i]);
    }
  }
  return hazards;
}

} // namespace asmevo::program
