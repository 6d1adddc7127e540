#include "program/analysis/reaching_definitions.h"

#include <algorithm>

namespace asmevo::program {

ReachingDefinitions::ReachingDefinitions(const Program& p, const Function& f, unsigned accumOffset)
    : program(p), function(f), effects(p.blocks.size()), inside(p.blocks.size()) {
  const ExecMask exec(p, f);
  const bool indexing = usesGprIndexing(p, f), skipping = maySkipVectors(p, f);
  isa::RegSet vgprs;
  vgprs.setRange(isa::vgprBase, isa::regUnitCount - isa::vgprBase);
  for (const BlockId id : f.blocks) {
    const Block& block = p.blocks[id];
    const std::vector<bool> full = exec.fullBefore(id);
    effects[id].resize(block.instrs.size());
    inside[id] = true;
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      const isa::Instruction& inst = *block.instrs[i].inst;
      Effect& effect = effects[id][i];
      effect.unknown = block.opaque || !inst.isComplete || inst.cls == isa::InstClass::unknown || inst.leavesFunction();
      effect.reads = inst.reads(accumOffset);
      effect.writes = inst.writes(accumOffset);
      const bool isVector = inst.cls == isa::InstClass::valu || inst.cls == isa::InstClass::mfma ||
                            inst.cls == isa::InstClass::lds || inst.isVectorMemory();
      if (!(isVector && (indexing || skipping))) {
        effect.kills = inst.kills(accumOffset);
        if (isVector && full[i])
          effect.kills |= effect.writes;
        isa::RegSet partly = effect.reads; // a write that keeps some of the old value
        if (inst.tiedDest)
          effect.kills.remove(partly &= effect.writes);
      }
      if (isVector && indexing) {
        effect.reads |= vgprs;
        effect.writes |= vgprs;
      }
    }
  }
}

ReachingDefinitions::Definitions ReachingDefinitions::before(Place place, isa::RegUnit unit) const {
  Definitions result;
  std::vector<bool> seen(program.blocks.size());
  std::vector<std::pair<BlockId, std::size_t>> todo{{place.block, place.index}};
  while (!todo.empty()) {
    auto [id, end] = todo.back();
    todo.pop_back();
    const auto& list = effects[id];
    bool replaced = false;
    for (std::size_t i = std::min(end, list.size()); i-- > 0 && !replaced;) {
      result.outside |= list[i].unknown;
      if (list[i].writes.test(unit))
        result.places.push_back({id, static_cast<std::uint32_t>(i)});
      replaced = list[i].kills.test(unit);
    }
    if (replaced)
      continue;
    const Block& block = program.blocks[id];
    if (id == function.entryBlock || function.preloadEntry == id || block.entersByRegister)
      result.outside = true;
    for (const BlockId p : block.predecessors)
      if (inside[p] && !seen[p]) {
        seen[p] = true;
        todo.emplace_back(p, effects[p].size());
      }
  }
  std::sort(result.places.begin(), result.places.end());
  result.places.erase(std::unique(result.places.begin(), result.places.end()), result.places.end());
  return result;
}

std::vector<Place> ReachingDefinitions::usesOf(Place definition, isa::RegUnit unit) const {
  std::vector<Place> uses;
  std::vector<bool> seen(program.blocks.size());
  std::vector<std::pair<BlockId, std::size_t>> todo{{definition.block, definition.index + std::size_t{1}}};
  while (!todo.empty()) {
    const auto [id, begin] = todo.back();
    todo.pop_back();
    const auto& list = effects[id];
    bool replaced = false;
    for (std::size_t i = begin; i < list.size() && !replaced; ++i) {
      if (list[i].reads.test(unit) || list[i].unknown)
        uses.push_back({id, static_cast<std::uint32_t>(i)});
      replaced = list[i].kills.test(unit);
    }
    if (replaced)
      continue;
    for (const BlockId next : program.blocks[id].successors)
      if (!seen[next]) {
        seen[next] = true;
        todo.emplace_back(next, 0);
      }
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

} // namespace asmevo::program
