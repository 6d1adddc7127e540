#include "optimize/edit/unroll.h"

#include "optimize/edit/branches.h"

#include <algorithm>

namespace asmevo::optimize {

using program::BlockId;
using program::Instr;

std::optional<program::Program> unrolled(const program::Program& program, const BlockChain& chain, unsigned turns,
                                         isa::Codec& codec) {
  const BlockId header = chain.blocks.front();
  const auto length = static_cast<BlockId>(chain.blocks.size());
  const BlockId added = length * (turns - 1);
  for (const BlockId id : chain.blocks)
    for (const Instr& instr : program.blocks[id].instrs)
      if (instr.pcRef || instr.getpcId != 0 || instr.codeTable != 0)
        return std::nullopt;
  program::Program edited = program;
  for (BlockId i = 0; i < added; ++i)
    edited.insertBlock(header, program.blocks[header].section);
  const auto moved = [&](BlockId old) { return old < header ? old : old + added; };
  // A block of the loop in a copy; the header's is the next copy's. The old blocks are the last copy.
  const auto inCopy = [&](BlockId old, BlockId copy) {
    const auto at = static_cast<BlockId>(std::ranges::find(chain.blocks, old) - chain.blocks.begin());
    if (at == length)
      return moved(old);
    if (at == 0)
      ++copy;
    return copy == turns - 1 ? moved(old) : header + copy * length + at;
  };
  for (program::Block& block : edited.blocks)
    for (Instr& instr : block.instrs)
      if (instr.target == moved(header))
        instr.target = header;
  for (BlockId copy = 0; copy + 1 < turns; ++copy)
    for (BlockId at = 0; at < length; ++at) {
      const BlockId old = chain.blocks[at], follows = at + 1 < length ? chain.blocks[at + 1] : header;
      auto& into = edited.blocks[header + copy * length + at].instrs;
      into = program.blocks[old].instrs;
      for (Instr& instr : into)
        instr.address = program::noAddress;
      if (into.empty() || !into.back().inst->isBranch()) {
        if (old + 1 != follows)
          return std::nullopt;
        continue;
      }
      Instr& branch = into.back();
      if (!branch.target)
        return std::nullopt;
      if (!branch.inst->isConditional) {
        if (*branch.target != follows)
          return std::nullopt;
        into.pop_back();
      } else if (old + 1 == follows) {
        branch.target = inCopy(*branch.target, copy);
      } else { // back if it is taken, and out behind it
        const char* other = invertedBranch(branch.inst->base);
        if (at + 1 < length || *branch.target != header || !other)
          return std::nullopt;
        auto leave = branchTo(other, inCopy(old + 1, copy), codec);
        if (!leave)
          return std::nullopt;
        branch = *leave;
      }
    }
  edited.relink();
  return edited;
}

} // namespace asmevo::optimize
