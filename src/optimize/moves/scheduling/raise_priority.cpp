#include "optimize/moves/scheduling/raise_priority.h"

#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/call_closure.h"

#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace asmevo::optimize {

namespace {

bool isMatrix(const isa::Instruction& inst) {
  return inst.cls == isa::InstClass::mfma;
}
bool isLoad(const isa::Instruction& inst) {
  return inst.isVectorMemory() && inst.mayLoad && !inst.mayStore;
}

/// Do all waves stay at priority 0 in the kernel as it is?
bool keepsLowestPriority(const program::Program& program, const program::Function& function,
                         const MoveContext& context) {
  constexpr std::uint32_t priorityBits = llvm::amdhsa::COMPUTE_PGM_RSRC1_PRIORITY;
  if ((context.kernel.descriptor.rsrc1() & priorityBits) != 0)
    return false;
  const auto closure = program::callClosure(program, function, program::UnknownCallees::leaveOut);
  if (closure.unknownCallee)
    return false;
  for (const program::Function* each : closure.functions)
    for (const program::BlockId id : each->blocks)
      for (const program::Instr& instr : program.blocks[id].instrs)
        if (instr.inst->base == "s_setprio")
          return false;
  return true;
}

class RaisePriorityMove final : public Move {
 public:
  std::string_view name() const override { return "raise-priority"; }
  std::string_view purpose() const override {
    return "s_setprio around the matrix instructions or loads of a hot block, so that waves drift apart";
  }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function || context.profile.wavesPerSimd < 2 || !keepsLowestPriority(program, *function, context))
      return proposals;
    const auto setprio = [&](unsigned level) -> std::optional<program::Instr> {
      auto inst = context.codec.assemble(fmt::format("s_setprio {}", level));
      if (!inst)
        return std::nullopt;
      program::Instr instr;
      instr.inst = context.codec.complete(*inst);
      return instr;
    };
    const auto raised = setprio(1), lowered = setprio(0);
    if (!raised || !lowered)
      return proposals;
    struct Kind {
      std::string_view words;
      std::function<bool(const isa::Instruction&)> matches;
    };
    const Kind kinds[] = {{"matrix instructions", isMatrix}, {"loads", isLoad}};
    for (const program::BlockId id : hotBlocks(*function, context, 0.05)) {
      const program::Block& block = program.blocks[id];
      if (block.opaque)
        continue;
      for (const Kind& kind : kinds) {
        const auto matches = [&](const program::Instr& instr) { return kind.matches(*instr.inst); };
        const auto first = std::ranges::find_if(block.instrs, matches);
        if (std::count_if(first, block.instrs.end(), matches) < 2)
          continue;
        const auto last = std::find_if(block.instrs.rbegin(), block.instrs.rend(), matches).base();
        Proposal proposal;
        proposal.program = program;
        auto& instrs = proposal.program.blocks[id].instrs;
        instrs.insert(instrs.begin() + (last - block.instrs.begin()), *lowered);
        instrs.insert(instrs.begin() + (first - block.instrs.begin()), *raised);
        if (!repairWaitStates(program, proposal.program, context))
          continue;
        proposal.reason = fmt::format("waves inside the {} of the block go first", kind.words);
        std::tie(proposal.begin, proposal.end) = addressRange(block);
        proposals.push_back(std::move(proposal));
      }
    }
    return proposals;
  }
};

} // namespace

const Move& raisePriorityMove() {
  static const RaisePriorityMove move;
  return move;
}

} // namespace asmevo::optimize
