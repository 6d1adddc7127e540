#include "optimize/edit/webs.h"

#include "program/analysis/exec_mask.h"
#include "program/analysis/in_flight.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace asmevo::optimize {

namespace {

constexpr unsigned largestWeb = 64; ///< registers

class WebBuilder {
 public:
  WebBuilder(const program::Program& program, const program::Function& function, program::BlockId id,
             const RegisterKit& k, WholeWaves waves)
      : block(program.blocks[id]), accum(k.accumOffset()), liveOut(k.liveness().liveOut[id]),
        full(program::ExecMask(program, function, waves != WholeWaves::unknown).fullBefore(id)),
        reaching(isa::regUnitCount, outside) {
    parent.push_back(outside);
    pinned.push_back(true);
    where.push_back({});
  }

  std::vector<Web> run(const object::Target& target) {
    for (std::uint32_t i = 0; i < block.instrs.size(); ++i)
      step(i);
    liveOut.forEach([&](isa::RegUnit unit) { pinned[find(reaching[unit])] = true; });
    return collect(target);
  }

 private:
  static constexpr std::uint32_t outside = 0; ///< what the block does not know: always pinned

  std::uint32_t find(std::uint32_t x) {
    while (parent[x] != x)
      x = parent[x] = parent[parent[x]];
    return x;
  }
  void unite(std::uint32_t x, std::uint32_t y) {
    x = find(x);
    y = find(y);
    if (x == y)
      return;
    if (y == outside)
      std::swap(x, y);
    parent[y] = x;
    pinned[x] = pinned[x] || pinned[y];
  }
  std::uint32_t occurrence(std::uint32_t instr, std::uint32_t operand) {
    const auto id = static_cast<std::uint32_t>(parent.size());
    parent.push_back(id);
    pinned.push_back(false);
    where.push_back({instr, operand});
    return id;
  }

  void step(std::uint32_t i) {
    const isa::Instruction& inst = *block.instrs[i].inst;
    const isa::RegSet reads = inst.reads(accum), writes = inst.writes(accum), kills = inst.kills(accum);
    isa::RegSet namedReads, namedWrites;
    std::vector<std::pair<std::uint32_t, isa::RegSet>> definitions;
    for (std::uint32_t o = 0; o < inst.operands.size(); ++o) {
      const auto tuple = tupleOf(inst.operands[o]);
      if (!tuple)
        continue;
      const isa::RegSet units = unitsOf(*tuple, accum);
      const std::uint32_t id = occurrence(i, o);
      // A constant lane select and the like may be named but not read; what is not written is taken for read.
      if (inst.operands[o].isDef) {
        definitions.emplace_back(id, units);
        namedWrites |= units;
        // The old value is an input too, unless the unit is read by name only.
        units.forEach([&](isa::RegUnit unit) {
          if (reads.test(unit))
            unite(reaching[unit], id);
        });
        continue;
      }
      namedReads |= units;
      units.forEach([&](isa::RegUnit unit) { unite(reaching[unit], id); });
      if (inst.operands[o].textBegin >= inst.operands[o].textEnd)
        pinned[find(id)] = true;
    }
    isa::RegSet implicit = reads;
    implicit.remove(namedReads | namedWrites);
    implicit.forEach([&](isa::RegUnit unit) { pinned[find(reaching[unit])] = true; });

    const bool isVector = inst.cls == isa::InstClass::valu || inst.cls == isa::InstClass::mfma ||
                          inst.cls == isa::InstClass::lds || inst.isVectorMemory();
    isa::RegSet defined;
    for (const auto& [id, units] : definitions) {
      if (inst.operands[where[id].operand].textBegin >= inst.operands[where[id].operand].textEnd)
        pinned[find(id)] = true;
      const std::uint32_t definition = id;
      units.forEach([&](isa::RegUnit unit) {
        const bool replaces = kills.test(unit) || (isVector && full[i] && writes.test(unit));
        if (!replaces || defined.test(unit) || !writes.test(unit))
          unite(reaching[unit], definition);
        reaching[unit] = definition;
        defined.set(unit);
      });
    }
    isa::RegSet unnamed = writes;
    unnamed.remove(namedWrites);
    unnamed.forEach([&](isa::RegUnit unit) { reaching[unit] = outside; });
  }

  std::vector<Web> collect(const object::Target& target) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;
    for (std::uint32_t id = 1; id < parent.size(); ++id)
      members[find(id)].push_back(id);
    std::vector<Web> webs;
    for (const auto& [root, ids] : members) {
      if (root == outside || pinned[root])
        continue;
      if (auto web = webOf(ids, target))
        webs.push_back(*std::move(web));
    }
    std::ranges::sort(webs, {}, [](const Web& web) { return std::pair(web.begin, web.registers.first); });
    markReuse(webs);
    return webs;
  }

  std::optional<Web> webOf(const std::vector<std::uint32_t>& ids, const object::Target& target) const {
    Web web;
    web.begin = ~std::uint32_t{0};
    std::uint32_t lastDefinition = 0;
    unsigned low = ~0u, high = 0;
    bool used = false, first = true;
    for (const std::uint32_t id : ids) {
      const Web::Place place = where[id];
      const isa::Instruction& inst = *block.instrs[place.instr].inst;
      const isa::Operand& operand = inst.operands[place.operand];
      const auto named = tupleOf(operand);
      if (!named)
        return std::nullopt;
      const RegisterTuple& tuple = *named;
      if (!first && tuple.file != web.registers.file)
        return std::nullopt;
      web.registers.file = tuple.file;
      first = false;
      low = std::min(low, tuple.first);
      high = std::max(high, tuple.first + tuple.count);
      web.step = std::max(web.step, alignmentOf(tuple.file, tuple.count, target));
      web.places.push_back(place);
      if (operand.isDef) {
        web.begin = std::min(web.begin, place.instr);
        lastDefinition = std::max(lastDefinition, place.instr);
        web.loaded |= program::countingOf(inst).any();
      } else
        used = true;
      web.end = std::max(web.end, place.instr);
    }
    web.registers.first = low;
    web.registers.count = high - low;
    // A load that nothing waits for may come back after the block, when others own the register.
    const bool comesBack = !web.loaded || (used && web.end > lastDefinition);
    if (web.begin == ~std::uint32_t{0} || !comesBack || web.registers.count > largestWeb)
      return std::nullopt;
    return web;
  }

  /// Was any of a web's registers touched in front of it?
  void markReuse(std::vector<Web>& webs) const {
    std::vector<std::uint32_t> firstTouch(isa::regUnitCount, ~std::uint32_t{0});
    for (std::uint32_t i = 0; i < block.instrs.size(); ++i)
      (block.instrs[i].inst->reads(accum) | block.instrs[i].inst->writes(accum)).forEach([&](isa::RegUnit unit) {
        firstTouch[unit] = std::min(firstTouch[unit], i);
      });
    for (Web& web : webs)
      unitsOf(web.registers, accum).forEach([&](isa::RegUnit unit) { web.reuses |= firstTouch[unit] < web.begin; });
  }

  const program::Block& block;
  unsigned accum;
  const isa::RegSet& liveOut;
  std::vector<bool> full;
  std::vector<std::uint32_t> reaching; ///< by unit: occurrence that wrote it last
  std::vector<std::uint32_t> parent;
  std::vector<bool> pinned; ///< of roots
  std::vector<Web::Place> where;
};

} // namespace

std::vector<Web> websOf(const program::Program& program, const program::Function& function, program::BlockId block,
                        const RegisterKit& kit, WholeWaves waves) {
  if (!kit.isKnown() || program.blocks[block].opaque)
    return {};
  for (const program::Instr& instr : program.blocks[block].instrs)
    if (instr.inst->leavesFunction())
      return {};
  return WebBuilder(program, function, block, kit, waves).run(kit.target());
}

Status moveWeb(program::Block& block, const Web& web, unsigned first, isa::Codec& codec) {
  std::map<std::uint32_t, std::vector<OperandRename>> renames;
  for (const Web::Place& place : web.places) {
    const isa::Operand& operand = block.instrs[place.instr].inst->operands[place.operand];
    renames[place.instr].push_back({place.operand, operand.index - web.registers.first + first, web.registers.file});
  }
  std::vector<std::pair<std::uint32_t, isa::InstRef>> renamed;
  for (const auto& [instr, list] : renames) {
    ASMEVO_TRY(const isa::InstRef inst, renameOperands(*block.instrs[instr].inst, list, codec));
    renamed.emplace_back(instr, inst);
  }
  for (const auto& [instr, inst] : renamed)
    block.instrs[instr].inst = inst;
  return {};
}

std::size_t spreadWebs(program::Block& block, std::vector<Web> webs, const RegisterKit& kit, isa::RegSet& busy,
                       isa::Codec& codec, bool loadedOnly) {
  std::erase_if(webs, [&](const Web& web) { return !web.reuses || (loadedOnly && !web.loaded); });
  std::ranges::sort(webs, {}, [](const Web& web) { return std::tuple(!web.loaded, web.begin, web.registers.first); });
  std::size_t moved = 0;
  for (const Web& web : webs) {
    isa::RegSet taken = busy;
    const auto tuple =
        kit.take(web.registers.file, web.registers.count, taken, web.step, web.registers.first % web.step);
    if (!tuple || !moveWeb(block, web, tuple->first, codec))
      continue;
    busy = taken;
    ++moved;
  }
  return moved;
}

} // namespace asmevo::optimize
