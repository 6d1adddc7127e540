#include "optimize/search/candidates.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace asmevo::optimize {

void priceInParallel(const std::vector<Candidate*>& candidates, const Pricer& pricer, const std::string& name,
                     unsigned threads) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < candidates.size(); i = next++) {
      const auto object = object::CodeObject::parse(candidates[i]->bytes, name);
      if (!object)
        continue;
      if (const auto cycles = pricer.cycles(*object))
        candidates[i]->cycles = *cycles;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, candidates.size()); ++t)
    others.emplace_back(work);
  work();
}

std::vector<program::BlockId> changedBlocks(const program::Program& before, const program::Program& after) {
  std::vector<program::BlockId> changed;
  for (program::BlockId id = 0; id < before.blocks.size(); ++id)
    if (!std::ranges::equal(before.blocks[id].instrs, after.blocks[id].instrs,
                            [](const program::Instr& a, const program::Instr& b) { return a.inst == b.inst; }))
      changed.push_back(id);
  return changed;
}

} // namespace asmevo::optimize
