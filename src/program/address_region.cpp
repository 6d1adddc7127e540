#include "program/address_region.h"

#include "program/pc_reference.h"

#include <algorithm>

namespace asmevo::program {

namespace {

bool readsCounter(isa::InstRef inst, isa::Codec& codec) {
  if (inst->cls == isa::InstClass::jump)
    return inst->base.starts_with("s_add_pc_");
  // SOP1 with s_getpc's shape, whatever its opcode number on this target.
  return inst->cls == isa::InstClass::salu && inst->size == 4 && isSop1(*inst) && isGetpc(*codec.complete(inst));
}

void number(const Program& program, isa::Codec& codec, CounterRegion& region) {
  InstrSerial next = 1;
  region.firstSerial.reserve(program.blocks.size());
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const Block& block = program.blocks[id];
    region.firstSerial.push_back(next);
    next += static_cast<InstrSerial>(block.instrs.size());
    if (!block.opaque &&
        std::ranges::any_of(block.instrs, [&](const Instr& instr) { return readsCounter(instr.inst, codec); }))
      region.sources.push_back(id);
  }
}

void spread(const Program& program, CounterRegion& region) {
  region.contains.assign(program.blocks.size(), false);
  std::vector<BlockId> todo = region.sources;
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    if (region.contains[id])
      continue;
    region.contains[id] = true;
    todo.insert(todo.end(), program.blocks[id].successors.begin(), program.blocks[id].successors.end());
  }
}

void findStarts(const Program& program, CounterRegion& region) {
  std::vector<bool> entry(program.blocks.size());
  for (const Function& function : program.functions)
    for (const auto block : {std::optional(function.entryBlock), function.preloadEntry})
      if (block && *block < entry.size())
        entry[*block] = true;
  const auto hasOtherEntries = [&](const Block& block) {
    return block.entersByRegister || block.predecessors.empty() ||
           std::ranges::any_of(block.predecessors, [&](BlockId p) { return !region.contains[p]; });
  };
  std::vector<bool> starts(program.blocks.size());
  for (BlockId id = 0; id < program.blocks.size(); ++id)
    if (region.contains[id] && (entry[id] || hasOtherEntries(program.blocks[id]))) {
      region.starts.push_back(id);
      starts[id] = true;
    }
  for (const BlockId id : region.sources)
    if (!starts[id] && !program.blocks[id].reachable)
      region.starts.push_back(id);
}

} // namespace

CounterRegion findCounterRegion(const Program& program, isa::Codec& codec) {
  CounterRegion region;
  number(program, codec, region);
  if (region.sources.empty())
    return region;
  spread(program, region);
  findStarts(program, region);
  return region;
}

bool isReadBeforeWritten(const Program& program, isa::Codec& codec, std::vector<BlockId> todo, unsigned reg) {
  std::vector<bool> seen(program.blocks.size());
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    if (id >= seen.size() || seen[id])
      continue;
    seen[id] = true;
    const Block& block = program.blocks[id];
    if (block.opaque)
      return true;
    bool written = false;
    for (std::size_t i = 0; i < block.instrs.size() && !written; ++i) {
      const isa::InstRef inst = codec.complete(block.instrs[i].inst);
      if (std::ranges::any_of(inst->readRanges, [&](const auto& range) { return coversScalar(range, reg); }))
        return true;
      written = std::ranges::any_of(inst->writeRanges, [&](const auto& range) { return coversScalar(range, reg); });
    }
    if (!written)
      todo.insert(todo.end(), block.successors.begin(), block.successors.end());
  }
  return false;
}

} // namespace asmevo::program
