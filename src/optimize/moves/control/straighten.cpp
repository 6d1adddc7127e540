#include "optimize/moves/control/straighten.h"

#include "optimize/edit/branches.h"
#include "optimize/moves/arithmetic/straight_code.h"
#include "optimize/moves/control/block_counts.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"

#include <fmt/format.h>

#include <algorithm>

namespace asmevo::optimize {

namespace {

using program::Block;
using program::BlockId;
using program::Program;

constexpr std::uint64_t rarely = 16;        ///< of so many waves, one at most enters what is moved away
constexpr std::size_t mostMovedBlocks = 64; ///< behind one branch
constexpr std::size_t hottestAlone = 4;     ///< branches that are proposed one by one

/// A forward branch that is mostly taken over the blocks behind it.
struct Detour {
  BlockId block = 0, end = 0;
  std::uint64_t passed = 0;
};

class DetourFinder {
 public:
  DetourFinder(const Program& p, const program::Function& f, std::vector<std::uint64_t> c)
      : program(p), function(f), counts(std::move(c)) {}

  std::vector<Detour> find() const {
    std::vector<Detour> detours;
    const BlockId last = function.blocks.back();
    const Block& tail = program.blocks[last];
    if (tail.opaque || tail.instrs.empty() || !program::neverFallsThrough(program::flowOf(tail.instrs.back().inst)))
      return detours;
    for (const BlockId id : function.blocks)
      if (const auto end = skips(id, last))
        detours.push_back({id, *end, counts[id]});
    std::ranges::sort(detours, {}, [](const Detour& d) { return std::pair(~d.passed, d.block); });
    return detours;
  }

 private:
  std::optional<BlockId> skips(BlockId id, BlockId last) const {
    const Block& block = program.blocks[id];
    if (block.opaque || block.instrs.empty() || counts[id] == 0)
      return std::nullopt;
    const program::Instr& branch = block.instrs.back();
    if (!branch.inst->isBranch() || !branch.inst->isConditional || !branch.target || !invertedBranch(branch.inst->base))
      return std::nullopt;
    const BlockId end = *branch.target;
    if (end <= id + 1 || end > last || end - id > mostMovedBlocks)
      return std::nullopt;
    for (BlockId inner = id + 1; inner < end; ++inner) {
      const Block& moved = program.blocks[inner];
      if (moved.opaque || moved.entersByRegister || moved.alignment != 0 || moved.section != block.section ||
          counts[inner] * rarely > counts[id] || !std::ranges::binary_search(function.blocks, inner))
        return std::nullopt;
    }
    // What never comes back needs no block that goes back.
    const auto& tail = program.blocks[end - 1].instrs;
    if (!tail.empty() && program::neverFallsThrough(program::flowOf(tail.back().inst)))
      return std::nullopt;
    return end;
  }

  const Program& program;
  const program::Function& function;
  std::vector<std::uint64_t> counts;
};

/// Moves the blocks behind each of the branches to the end of the function, each with a block of its own that goes back
/// where they fell through. False where a branch cannot be assembled.
bool moveAway(Program& program, std::vector<Detour> detours, BlockId last, isa::Codec& codec) {
  std::ranges::sort(detours, {}, &Detour::block);
  const auto blocks = static_cast<BlockId>(program.blocks.size());
  std::vector<bool> away(blocks);
  std::vector<BlockId> moved;
  for (const Detour& detour : detours) {
    if (away[detour.block]) // already goes with an outer one
      continue;
    auto& branch = program.blocks[detour.block].instrs.back();
    const auto inverse = branchTo(invertedBranch(branch.inst->base), detour.block + 1, codec);
    const auto back = branchTo("s_branch", detour.end, codec);
    if (!inverse || !back)
      return false;
    branch.inst = inverse->inst;
    branch.target = inverse->target;
    for (BlockId inner = detour.block + 1; inner < detour.end; ++inner) {
      away[inner] = true;
      moved.push_back(inner);
    }
    moved.push_back(static_cast<BlockId>(program.blocks.size()));
    program.insertBlock(moved.back(), program.blocks[detour.block].section);
    program.blocks[moved.back()].instrs.push_back(*back);
  }
  std::vector<BlockId> order;
  for (BlockId id = 0; id < blocks; ++id) {
    if (!away[id])
      order.push_back(id);
    if (id == last)
      order.insert(order.end(), moved.begin(), moved.end());
  }
  reorderBlocks(program, order);
  return true;
}

class StraightenMove final : public Move {
 public:
  std::string_view name() const override { return "straighten"; }
  std::string_view purpose() const override { return "move rarely entered code out of the way of the frequent path"; }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    if (!function || function->blocks.empty() || !program.pinned.empty() || hasUnmetWaitStates(program, context))
      return {};
    const auto detours = DetourFinder(program, *function, blockCounts(program, context.profile)).find();
    std::vector<Proposal> proposals;
    const auto propose = [&](std::vector<Detour> chosen) {
      Proposal proposal;
      proposal.program = program;
      proposal.begin = program::noAddress;
      for (const Detour& detour : chosen) {
        proposal.begin = std::min(proposal.begin, program.blocks[detour.block].address);
        proposal.end = std::max(proposal.end, program.blocks[detour.end].address);
      }
      proposal.reason =
          fmt::format("code behind {} branches that are nearly always taken stands behind the kernel", chosen.size());
      if (moveAway(proposal.program, std::move(chosen), function->blocks.back(), context.codec) &&
          finishEdit(program, proposal, context))
        proposals.push_back(std::move(proposal));
    };
    if (!detours.empty())
      propose(detours);
    for (std::size_t i = 0; detours.size() > 1 && i < std::min(detours.size(), hottestAlone); ++i)
      propose({detours[i]});
    return proposals;
  }
};

} // namespace

void reorderBlocks(Program& program, const std::vector<BlockId>& order) {
  std::vector<BlockId> place(program.blocks.size());
  std::vector<Block> blocks(order.size());
  for (BlockId i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    blocks[i] = std::move(program.blocks[order[i]]);
  }
  program.blocks = std::move(blocks);
  for (Block& block : program.blocks)
    for (program::Instr& instr : block.instrs)
      if (instr.target)
        instr.target = place[*instr.target];
  for (program::CodeTable& table : program.codeTables)
    for (BlockId& id : table.targets)
      id = place[id];
  for (program::Function& function : program.functions) {
    function.entryBlock = place[function.entryBlock];
    if (function.preloadEntry)
      function.preloadEntry = place[*function.preloadEntry];
    for (BlockId& id : function.blocks)
      id = place[id];
    std::ranges::sort(function.blocks);
  }
}

const Move& straightenMove() {
  static const StraightenMove move;
  return move;
}

} // namespace asmevo::optimize
