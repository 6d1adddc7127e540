#include "verify/finding_match.h"

#include "verify/instruction_alignment.h"

#include <algorithm>
#include <utility>

namespace asmevo::verify {

namespace {

using program::Block;
using program::BlockId;

/// The block that holds an address, in K0's terms, and the text of the instruction there.
std::pair<std::uint64_t, std::string> placeOf(const program::Program& program, const std::vector<std::uint64_t>& names,
                                              std::uint64_t address) {
  const auto after = std::ranges::upper_bound(program.blocks, address, {}, &Block::address);
  if (after == program.blocks.begin())
    return {0, ""};
  const auto id = static_cast<std::size_t>(after - program.blocks.begin()) - 1;
  const auto& instrs = program.blocks[id].instrs;
  const auto found = std::ranges::lower_bound(instrs, address, {}, &program::Instr::address);
  const bool exact = found != instrs.end() && found->address == address;
  return {names[id], exact ? found->inst->text : ""};
}

/// Most of the new block's instructions stand in that block of K0, in this order.
bool isCutFrom(const Block& fresh, const Block& block) {
  const auto keysOf = [](const Block& of) {
    std::vector<SequenceKey> keys;
    for (const program::Instr& instr : of.instrs)
      keys.push_back(instructionKey(instr));
    return keys;
  };
  return !fresh.instrs.empty() && alignSequences(keysOf(block), keysOf(fresh)).size() * 2 > fresh.instrs.size();
}

} // namespace

FindingMatcher::FindingMatcher(const ProgramPair& programs, const Alignment& alignment) : pair(programs) {
  for (const Block& block : pair.k0.blocks)
    names0.push_back(block.address);
  std::optional<BlockId> above; // K0's block that the one above in layout is, or is cut from
  for (BlockId id = 0; id < pair.k1.blocks.size(); ++id) {
    if (alignment.toK0[id])
      above = *alignment.toK0[id];
    else if (above && !isCutFrom(pair.k1.blocks[id], pair.k0.blocks[*above]))
      above.reset();
    names1.push_back(above ? pair.k0.blocks[*above].address : ~std::uint64_t{id});
  }
}

FindingMatcher::Key FindingMatcher::keyOf(const PlacedFinding& finding, const program::Program& program,
                                          const std::vector<std::uint64_t>& names) {
  auto [producerBlock, producerText] = placeOf(program, names, finding.producer);
  auto [consumerBlock, consumerText] = placeOf(program, names, finding.consumer);
  return {finding.rule, producerBlock, consumerBlock, std::move(producerText), std::move(consumerText)};
}

std::vector<PlacedFinding> FindingMatcher::newOnes(const std::vector<PlacedFinding>& k0,
                                                   const std::vector<PlacedFinding>& k1) const {
  std::map<Key, std::vector<std::uint64_t>> known; // badness of each, worst last
  for (const PlacedFinding& finding : k0)
    known[keyOf(finding, pair.k0, names0)].push_back(finding.badness);
  for (auto& [key, list] : known)
    std::ranges::sort(list);
  std::vector<PlacedFinding> fresh;
  for (const PlacedFinding& finding : k1) {
    auto& list = known[keyOf(finding, pair.k1, names1)];
    const auto excuse = std::ranges::lower_bound(list, finding.badness);
    if (excuse != list.end())
      list.erase(excuse);
    else
      fresh.push_back(finding);
  }
  return fresh;
}

} // namespace asmevo::verify
