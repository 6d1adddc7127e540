#include "program/program.h"

#include <algorithm>

namespace asmevo::program {

Flow flowOf(isa::InstRef inst) {
  switch (inst->cls) {
  case isa::InstClass::endpgm:
    return Flow::end;
  case isa::InstClass::branch:
    if (!inst->branchOffset)
      return Flow::jump;
    return inst->isConditional ? Flow::conditional : Flow::always;
  case isa::InstClass::jump: {
    if (inst->base.ends_with("_fork"))
      return Flow::conditional;
    const bool returns = inst->base.starts_with("s_swap") || inst->base.starts_with("s_call");
    return returns ? Flow::call : Flow::jump;
  }
  default:
    return Flow::next;
  }
}

const Function* Program::functionOf(std::size_t kernelIndex) const {
  for (const Function& function : functions)
    if (function.kernel == kernelIndex)
      return &function;
  return nullptr;
}

std::size_t Program::instructionCount() const {
  std::size_t count = 0;
  for (const Block& block : blocks)
    if (!block.opaque)
      count += block.instrs.size();
  return count;
}

std::optional<BlockId> Program::blockAt(std::uint64_t address) const {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].address == address)
      return static_cast<BlockId>(i);
  return std::nullopt;
}

std::uint32_t Program::freshGetpcId() const {
  std::uint32_t last = 0;
  for (const Block& block : blocks)
    for (const Instr& instr : block.instrs)
      last = std::max(last, instr.getpcId);
  return last + 1;
}

void Program::insertBlock(BlockId position, std::size_t section) {
  for (Block& block : blocks)
    for (Instr& instr : block.instrs)
      if (instr.target && *instr.target >= position)
        ++*instr.target;
  for (CodeTable& table : codeTables)
    for (BlockId& id : table.targets)
      id += id >= position ? 1 : 0;
  for (Function& function : functions) {
    if (function.entryBlock >= position)
      ++function.entryBlock;
    if (function.preloadEntry && *function.preloadEntry >= position)
      ++*function.preloadEntry;
    for (BlockId& id : function.blocks)
      if (id >= position)
        ++id;
  }
  Block fresh;
  fresh.section = section;
  blocks.insert(blocks.begin() + position, std::move(fresh));
}

void Program::splitBlock(BlockId block, std::size_t index) {
  insertBlock(block + 1, blocks[block].section);
  Block& head = blocks[block];
  Block& tail = blocks[block + 1];
  const auto cut = head.instrs.begin() + static_cast<std::ptrdiff_t>(index);
  tail.instrs.assign(cut, head.instrs.end());
  head.instrs.erase(cut, head.instrs.end());
  tail.opaque = head.opaque;
  tail.reachable = head.reachable;
}

namespace {

/// Blocks in all functions' lists together; only functions that fall into one another in long chains get there.
constexpr std::size_t maxListedBlocks = std::size_t{1} << 24;

/// Marks with `stamp` every block that control can reach from `work` without entering callees; gives them in order.
std::vector<BlockId> reachableFrom(const std::vector<Block>& blocks, std::vector<BlockId> work,
                                   std::vector<std::uint32_t>& stamps, std::uint32_t stamp) {
  std::vector<BlockId> found;
  while (!work.empty()) {
    const BlockId id = work.back();
    work.pop_back();
    if (id >= blocks.size() || stamps[id] == stamp)
      continue;
    stamps[id] = stamp;
    found.push_back(id);
    for (const BlockId next : blocks[id].successors)
      if (stamps[next] != stamp)
        work.push_back(next);
  }
  std::ranges::sort(found);
  return found;
}

void linkSuccessors(std::vector<Block>& blocks, const std::vector<CodeTable>& tables) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = blocks[i];
    block.successors.clear();
    block.predecessors.clear();
    bool fallsThrough = true;
    const auto add = [&](BlockId id) {
      if (id < blocks.size() && std::ranges::find(block.successors, id) == block.successors.end())
        block.successors.push_back(id);
    };
    if (!block.opaque) {
      for (const Instr& instr : block.instrs) {
        const Flow flow = flowOf(instr.inst);
        if (instr.target && flow != Flow::call)
          add(*instr.target);
        if (instr.codeTable != 0 && instr.codeTable <= tables.size() && flow != Flow::call)
          std::ranges::for_each(tables[instr.codeTable - 1].targets, add);
        if (neverFallsThrough(flow)) {
          fallsThrough = false;
          break;
        }
      }
    }
    if (fallsThrough && i + 1 < blocks.size() && blocks[i + 1].section == block.section)
      add(static_cast<BlockId>(i + 1));
  }
}

} // namespace

void Program::relink() {
  linkSuccessors(blocks, codeTables);
  std::vector<BlockId> entries;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].entersByRegister)
      entries.push_back(static_cast<BlockId>(i));
  std::vector<std::uint32_t> stamps(blocks.size());
  std::uint32_t stamp = 0;
  std::size_t listed = 0;
  for (Function& function : functions) {
    std::vector<BlockId> starts{function.entryBlock};
    if (function.preloadEntry)
      starts.push_back(*function.preloadEntry);
    entries.insert(entries.end(), starts.begin(), starts.end());
    function.blocks.clear();
    if (listed < maxListedBlocks)
      function.blocks = reachableFrom(blocks, std::move(starts), stamps, ++stamp);
    else if (pinned.empty())
      pinned = "its functions run into one another";
    listed += function.blocks.size();
  }
  ++stamp;
  (void)reachableFrom(blocks, std::move(entries), stamps, stamp);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].reachable = stamps[i] == stamp;
    // Data that nothing reaches has no control flow; its edge would only blur what comes after it.
    if (blocks[i].opaque && !blocks[i].reachable)
      blocks[i].successors.clear();
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (const BlockId next : blocks[i].successors)
      blocks[next].predecessors.push_back(static_cast<BlockId>(i));
}

} // namespace asmevo::program
