#include "optimize/search/cleanup.h"

#include "optimize/moves/arithmetic/dead_code.h"
#include "program/analysis/dataflow.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// How often one move is asked: local ones offer one window's edit at a time.
constexpr std::size_t mostSteps = 8;

} // namespace

bool needsCleaning(const program::Program& before, const program::Program& after) {
  return before.blocks.size() != after.blocks.size() || after.instructionCount() > before.instructionCount();
}

std::optional<Cleaned> cleaned(const Bytes& edited, const std::string& kernelName, const MoveContext& context,
                               const std::vector<const Move*>& moves, const Pricer& pricer) {
  auto object = object::CodeObject::parse(edited, context.object.name());
  if (!object)
    return std::nullopt;
  auto program = program::Program::recover(*object, context.codec);
  const auto profile = pricer.profileByOne(*object);
  if (!program || !profile)
    return std::nullopt;
  program::completeInstructions(*program, context.codec);
  Cleaned result{*std::move(object), *std::move(program), {}, {}};
  const auto kernel = result.object.findKernel(kernelName);
  if (!kernel)
    return std::nullopt;
  const std::vector<HotWindow> windows = rankWindows(result.object, result.program, **kernel, *profile);
  const MoveContext own{result.object,
                        **kernel,
                        context.codec,
                        *profile,
                        windows,
                        (*kernel)->descriptor.accumOffset(result.object.target()),
                        context.workgroupSize,
                        0,
                        context.launches,
                        context.evidence};
  for (const Move* move : moves)
    for (std::size_t step = 0; step < mostSteps; ++step) {
      std::vector<Proposal> proposals = move->propose(result.program, own);
      // Windows are those of before: an edit of the graph would need new ones.
      std::erase_if(proposals, [&](const Proposal& proposal) {
        return proposal.program.blocks.size() != result.program.blocks.size() ||
               proposal.program.instructionCount() > result.program.instructionCount();
      });
      const auto shortest = std::ranges::min_element(
          proposals, {}, [](const Proposal& proposal) { return proposal.program.instructionCount(); });
      if (shortest == proposals.end())
        break;
      result.program = std::move(shortest->program);
      result.reasons.push_back(std::move(shortest->reason));
      for (std::string& line : shortest->assumptions)
        if (std::ranges::find(result.assumptions, line) == result.assumptions.end())
          result.assumptions.push_back(std::move(line));
    }
  if (result.reasons.empty())
    return std::nullopt;
  return result;
}

const std::vector<const Move*>& cleaningMoves() {
  static const std::vector<const Move*> moves = {&deadCodeMove()};
  return moves;
}

} // namespace asmevo::optimize
