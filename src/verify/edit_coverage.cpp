#include "verify/edit_coverage.h"

#include "program/analysis/loops.h"
#include "verify/instruction_alignment.h"
#include "verify/reach.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using program::Block;
using program::BlockId;
using program::Program;

bool runs(const Block& block, const std::set<std::uint64_t>& executed) {
  const auto first = executed.lower_bound(block.address);
  return first != executed.end() && *first < block.address + block.size;
}

/// Addresses of K1's block that K0's does not have there; where instructions only went, what now stands in their place.
std::vector<std::uint64_t> changedPlaces(const Block& before, const Block& after, EditReport& report) {
  std::vector<SequenceKey> a, b;
  for (const program::Instr& instr : before.instrs)
    a.push_back(instructionKey(instr));
  for (const program::Instr& instr : after.instrs)
    b.push_back(instructionKey(instr));
  std::vector<bool> kept0(a.size()), kept1(b.size());
  std::vector<std::uint64_t> places;
  for (const auto& [x, y] : alignSequences(a, b))
    kept0[x] = kept1[y] = true;
  report.removed = static_cast<std::size_t>(std::ranges::count(kept0, false));
  report.added = static_cast<std::size_t>(std::ranges::count(kept1, false));
  for (std::size_t y = 0; y < b.size(); ++y)
    if (!kept1[y])
      places.push_back(after.instrs[y].address);
  if (places.empty() && !after.instrs.empty())
    places.push_back(after.address);
  return places;
}

class Reporter {
 public:
  Reporter(const Program& program, const Differential& runs) : program(program), differential(runs) {
    for (const auto& strict : runs.strict)
      if (strict)
        edges.insert(strict->edges.begin(), strict->edges.end());
    for (const program::Function& function : program.functions)
      for (program::LoopRegion& loop : program::loopForest(program, function))
        loops.push_back(std::move(loop));
  }

  void judge(BlockId id, const std::vector<std::uint64_t>& places, EditReport& report) const {
    const Block& block = program.blocks[id];
    for (std::size_t c = 0; c < differential.executedBy.size(); ++c)
      if (runs(block, differential.executedBy[c])) {
        if (report.cases++ == 0)
          report.firstCase = differential.cases[c].name;
      }
    for (const auto& strict : differential.strict)
      for (const std::uint64_t at : places)
        if (const auto found = strict ? strict->exec.find(at) : decltype(strict->exec.find(at)){};
            strict && found != strict->exec.end()) {
          report.execFull += found->second.full;
          report.execPartial += found->second.partial;
          report.execNone += found->second.none;
        }
    for (const program::LoopRegion& loop : loops)
      if (std::ranges::binary_search(loop.blocks, id)) {
        report.inLoop = true;
        report.backEdgeTaken |= takes(loop);
      }
  }

 private:
  /// Did a run go from the loop's inside to a header?
  bool takes(const program::LoopRegion& loop) const {
    const auto blockOf = [&](std::uint64_t address) {
      const auto after = std::ranges::upper_bound(program.blocks, address, {}, &Block::address);
      return static_cast<BlockId>(after - program.blocks.begin() - (after == program.blocks.begin() ? 0 : 1));
    };
    for (const BlockId header : loop.headers) {
      const Block& block = program.blocks[header];
      for (const auto& [from, to] : edges)
        if (to == block.address && std::ranges::binary_search(loop.blocks, blockOf(from)))
          return true;
    }
    return false;
  }

  const Program& program;
  const Differential& differential;
  std::set<std::pair<std::uint64_t, std::uint64_t>> edges;
  std::vector<program::LoopRegion> loops;
};

} // namespace

EditedBlocks editedBlocks(const ProgramPair& pair, const Alignment& alignment) {
  EditedBlocks edits;
  for (BlockId id = 0; id < pair.k0.blocks.size(); ++id)
    if (alignment.edited[id])
      edits.k0.push_back(id);
  for (BlockId id = 0; id < pair.k1.blocks.size(); ++id) {
    const Block& block = pair.k1.blocks[id];
    if (!alignment.toK0[id] && !block.instrs.empty() && !isPadding(block))
      edits.k1.push_back(id);
  }
  return edits;
}

bool isCovered(const EditReport& edit, bool strict) {
  return edit.cases != 0 && (!strict || !edit.inLoop || edit.backEdgeTaken);
}

std::vector<EditReport> reportEdits(const object::CodeObject& k0, const object::CodeObject& k1, const ProgramPair& pair,
                                    const Alignment& alignment, const EditedBlocks& edits, const Baseline& baseline,
                                    const Differential& runs) {
  const Reporter reporter(pair.k1, runs);
  std::vector<EditReport> reports;
  for (const BlockId id : edits.k0) {
    const Block& before = pair.k0.blocks[id];
    EditReport& report = reports.emplace_back();
    report.k0Begin = before.address;
    report.k0End = before.address + before.size;
    if (const auto counterpart = alignment.toK1[id]) {
      const Block& after = pair.k1.blocks[*counterpart];
      report.k1Begin = after.address;
      report.k1End = after.address + after.size;
      reporter.judge(*counterpart, changedPlaces(before, after, report), report);
      continue;
    }
    report.removed = before.instrs.size();
    if (verify::runs(before, baseline.executed)) {
      report.cases = 1;
      report.firstCase = baseline.varied.dispatch.cases.front().name;
    }
  }
  for (const BlockId id : edits.k1) {
    const Block& block = pair.k1.blocks[id];
    EditReport& report = reports.emplace_back();
    report.k1Begin = block.address;
    report.k1End = block.address + block.size;
    report.added = block.instrs.size();
    std::vector<std::uint64_t> places;
    for (const program::Instr& instr : block.instrs)
      places.push_back(instr.address);
    reporter.judge(id, places, report);
  }
  for (EditReport& report : reports)
    if (report.cases == 0)
      report.reach = report.k0Begin != 0 ? whatReaches(k0, pair.k0, report.k0Begin, baseline.executed, baseline.varied)
                                         : whatReaches(k1, pair.k1, report.k1Begin, runs.executed, baseline.varied);
  return reports;
}

} // namespace asmevo::verify
