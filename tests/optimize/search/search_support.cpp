#include "optimize/search/search_support.h"

#include <algorithm>
#include <stdexcept>

namespace asmevo::tests {

std::vector<optimize::Proposal> GivenMove::propose(const program::Program& program,
                                                   const optimize::MoveContext& context) const {
  std::vector<optimize::Proposal> proposals;
  for (const Given& one : given) {
    optimize::Proposal proposal;
    proposal.program = program;
    if (!one.edit(proposal.program, context.codec))
      continue;
    proposal.reason = one.reason;
    proposal.begin = context.kernel.entryAddress;
    proposal.end = proposal.begin + 4;
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

std::optional<Found> findText(const program::Program& program, const std::string& text, std::size_t n) {
  for (program::BlockId id = 0; id < program.blocks.size(); ++id)
    for (std::size_t i = 0; program.blocks[id].reachable && i < program.blocks[id].instrs.size(); ++i)
      if (program.blocks[id].instrs[i].inst->text == text && n-- == 0)
        return Found{id, i};
  return std::nullopt;
}

bool eraseText(program::Program& program, const std::string& text, std::size_t count) {
  for (std::size_t done = 0; done < count; ++done) {
    const auto at = findText(program, text);
    if (!at)
      return false;
    auto& instrs = program.blocks[at->block].instrs;
    instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(at->index));
  }
  return true;
}

bool replaceText(program::Program& program, isa::Codec& codec, const std::string& text, const std::string& with) {
  const auto at = findText(program, text);
  if (!at)
    return false;
  auto inst = codec.assemble(with);
  if (!inst)
    throw std::runtime_error(inst.error().message);
  program.blocks[at->block].instrs[at->index].inst = codec.complete(*inst);
  return true;
}

optimize::Options runsOnly() {
  optimize::Options options;
  options.budgetSeconds = 3600;
  options.maximumEffort = 0;
  options.perturbations = 0;
  options.verify.seeds = {0};
  options.verify.prove = false;
  options.verify.dataVariants = 0;
  options.verify.furtherRounds = 0;
  return options;
}

} // namespace asmevo::tests
