#include "verify/lint/baseline.h"

#include "program/analysis/order_points.h"
#include "program/analysis/soft_clauses.h"
#include "verify/finding_match.h"
#include "verify/lint/parts.h"

#include <algorithm>
#include <map>
#include <set>

namespace asmevo::verify {

namespace {

using program::BlockId;
using program::Place;

/// How far a finding is from being none: a finding of K0 must not get worse.
std::uint64_t badness(const LintFinding& finding) {
  constexpr std::uint64_t noWait = 1 << 20;
  if (!finding.need)
    return 0;
  if (finding.kind == "wait_states")
    return *finding.need - std::min(finding.have.value_or(0), *finding.need);
  if (finding.kind == "registers" || finding.kind == "lds")
    return *finding.need;
  return finding.have ? *finding.have - std::min(*finding.need, *finding.have) : noWait;
}

/// Everything of one object that is compared, in the form of findings.
class Side {
 public:
  Side(const object::CodeObject& o, const program::Program& p, const LintOptions& l)
      : context(o, p, l), model(*program::WaitModel::of(o.target())) {}

  Status run() {
    ASMEVO_TRY(context.report, lint(context.object, context.code, context.options));
    const std::size_t own = context.report.findings.size();
    std::set<BlockId> done;
    for (const program::Function& function : context.code.functions) {
      if (!done.insert(function.entryBlock).second)
        continue;
      if (context.object.target().xnack != object::Feature::off && context.object.target().isGfx9())
        addSoftClauses(function);
    }
    addOrder();
    count = own;
    return {};
  }

  /// Is there a way from one instruction to another? Calls lead into their callees, returns to behind any call.
  bool reaches(Place from, Place to) const {
    if (from.block == to.block && from.index < to.index)
      return true;
    std::vector<bool> seen(context.code.blocks.size());
    std::vector<BlockId> todo;
    const auto leave = [&](BlockId id) {
      const program::Block& block = context.code.blocks[id];
      todo.insert(todo.end(), block.successors.begin(), block.successors.end());
      for (const program::Instr& instr : block.instrs)
        if (instr.target && program::flowOf(instr.inst) == program::Flow::call)
          todo.push_back(*instr.target);
      for (const BlockId entry : context.sites.ownersOf(id))
        for (const Place call : context.sites.callsOf(entry))
          todo.push_back(call.block);
    };
    leave(from.block);
    while (!todo.empty()) {
      const BlockId id = todo.back();
      todo.pop_back();
      if (id == to.block)
        return true;
      if (!seen[id])
        leave(id);
      seen[id] = true;
    }
    return false;
  }

  LintContext context;
  program::WaitModel model;
  std::size_t count = 0; ///< findings of the lint proper

 private:
  void addSoftClauses(const program::Function& function) {
    for (const auto& conflict : program::softClauseConflicts(context.code, function, context.accumOffsetOf(function))) {
      LintFinding finding =
          context.start("clause", "clause.xnack", Severity::error, conflict.first, conflict.second, function);
      finding.message =
          fmt::format("may be replayed with \"{}\" at {:#x} in one soft clause (XNACK): the baseline keeps "
                      "them apart",
                      finding.producerText, finding.producer);
      context.report.findings.push_back(std::move(finding));
    }
  }

  void addOrder() {
    std::map<BlockId, const program::Function*> owners;
    for (const program::Function& function : context.code.functions)
      for (const BlockId id : function.blocks)
        owners.try_emplace(id, &function);
    for (const auto& pair : program::inFlightAtOrderPoints(context.code, model)) {
      LintFinding finding = context.start(std::string(model.name(pair.counter)), "wait.order", Severity::error,
                                          pair.producer, pair.point, *owners.at(pair.point.block));
      finding.message = fmt::format("\"{}\" at {:#x} may be in flight here: the baseline waits for it before",
                                    finding.producerText, finding.producer);
      context.report.findings.push_back(std::move(finding));
    }
  }
};

/// Instructions of a program by block, in K0's terms, and text.
class ByText {
 public:
  ByText(const program::Program& p, const std::vector<std::uint64_t>& names) {
    for (BlockId id = 0; id < p.blocks.size(); ++id)
      for (std::uint32_t i = 0; i < p.blocks[id].instrs.size(); ++i)
        places[{names[id], p.blocks[id].instrs[i].inst->text}].push_back({id, i});
  }
  const std::vector<Place>* find(std::uint64_t block, const std::string& text) const {
    const auto found = places.find({block, text});
    return found == places.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<std::uint64_t, std::string>, std::vector<Place>> places;
};

/// Where operations of K0 are in flight at points of their own block, by text. Copies of a block, of an unrolled or
/// peeled loop, may leave the same in flight: a block with as many points, the operation and the point in the same
/// places among them, wherever K0 has such a one.
class InFlightInBlock {
 public:
  InFlightInBlock(const program::Program& p, const LintReport& report) : code(p) {
    for (const LintFinding& finding : report.findings)
      if (finding.rule == "wait.order")
        pairs.emplace(finding.producer, finding.address);
  }

  /// `finding`: of K1, whose code is `other`.
  bool has(const program::Program& other, const LintFinding& finding) const {
    const program::Block* block = nullptr;
    for (const program::Block& b : other.blocks)
      if (std::ranges::any_of(b.instrs, [&](const auto& instr) { return instr.address == finding.producer; }))
        block = &b;
    if (!block)
      return false;
    const std::vector<std::uint64_t> points = pointsOf(*block, finding.text);
    const auto point = std::ranges::find(points, finding.address);
    if (point == points.end() || finding.address < finding.producer)
      return false;
    const auto which = static_cast<std::size_t>(point - points.begin());
    const auto before = std::ranges::lower_bound(points, finding.producer) - points.begin();
    bool any = false;
    for (const program::Block& b : code.blocks) {
      const std::vector<std::uint64_t> original = pointsOf(b, finding.text);
      if (original.size() != points.size())
        continue;
      for (const program::Instr& instr : b.instrs)
        if (instr.inst->text == finding.producerText &&
            std::ranges::lower_bound(original, instr.address) - original.begin() == before) {
          if (!pairs.contains({instr.address, original[which]}))
            return false;
          any = true;
        }
    }
    return any;
  }

 private:
  static std::vector<std::uint64_t> pointsOf(const program::Block& block, const std::string& text) {
    std::vector<std::uint64_t> points;
    for (const program::Instr& instr : block.instrs)
      if (instr.inst->text == text)
        points.push_back(instr.address);
    return points;
  }

  const program::Program& code;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
};

std::uint64_t blockNameOf(const program::Program& p, const std::vector<std::uint64_t>& names, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(p.blocks, address, {}, &program::Block::address);
  return after == p.blocks.begin() ? 0 : names[static_cast<std::size_t>(after - p.blocks.begin()) - 1];
}

std::vector<PlacedFinding> placed(const LintReport& report) {
  std::vector<PlacedFinding> list;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const LintFinding& finding = report.findings[i];
    // The message carries the finding's number through the matcher.
    list.push_back({finding.rule, finding.producer, finding.address, badness(finding), std::to_string(i)});
  }
  return list;
}

} // namespace

Result<ComparedFindings> comparedFindings(const object::CodeObject& object, const program::Program& code, bool paths) {
  if (!program::WaitModel::of(object.target()))
    return refused("{}: lint knows the wait counters of gfx9 to gfx12, not of {}", object.name(),
                   object.target().processor);
  const LintOptions options{.scope = program::HazardScope::withLlvm, .paths = paths, .trials = false};
  Side side(object, code, options);
  ASMEVO_CHECK(side.run());
  return ComparedFindings{std::move(side.context.report), side.count};
}

Result<BaselineLint> lintAgainst(const object::CodeObject& k0, const object::CodeObject& k1,
                                 const LintOptions& options) {
  ASMEVO_TRY(ProgramPair pair, recoverPair(k0, k1));
  program::completeInstructions(pair.k0, *pair.codec);
  program::completeInstructions(pair.k1, *pair.codec);
  ASMEVO_TRY(const ComparedFindings before, comparedFindings(k0, pair.k0));
  return lintAgainst(k0, before, k1, pair, alignBlocks(k0, pair.k0, k1, pair.k1), options.paths);
}

Result<BaselineLint> lintAgainst(const object::CodeObject& k0, const ComparedFindings& before,
                                 const object::CodeObject& k1, const ProgramPair& pair, const Alignment& alignment,
                                 bool paths) {
  ASMEVO_TRY(ComparedFindings after, comparedFindings(k1, pair.k1, paths));
  const FindingMatcher matcher(pair, alignment);
  const ByText known(pair.k0, matcher.k0Names());
  const LintOptions unused;
  const Side original(k0, pair.k0, unused);
  /// Did K0 issue the one before the other at all? Otherwise the two were exchanged, and no guarantee is lost.
  const auto ordered = [&](const LintFinding& finding) {
    const auto* producers = known.find(blockNameOf(pair.k1, matcher.k1Names(), finding.producer), finding.producerText);
    const auto* points = known.find(blockNameOf(pair.k1, matcher.k1Names(), finding.address), finding.text);
    if (!producers || !points)
      return false;
    return std::ranges::any_of(*producers, [&](Place a) {
      return std::ranges::any_of(*points, [&](Place b) { return original.reaches(a, b); });
    });
  };

  const InFlightInBlock inFlight(pair.k0, before.report);
  BaselineLint result;
  result.fresh.waitStatesChecked = after.report.waitStatesChecked;
  result.inBaseline = before.own;
  std::size_t freshOwn = 0;
  for (const PlacedFinding& fresh : matcher.newOnes(placed(before.report), placed(after.report))) {
    const std::size_t number = std::stoul(fresh.message);
    LintFinding& finding = after.report.findings[number];
    if (finding.rule == "wait.order" && (!ordered(finding) || inFlight.has(pair.k1, finding)))
      continue;
    freshOwn += number < after.own;
    result.fresh.findings.push_back(std::move(finding));
  }
  result.inBoth = after.own - freshOwn;
  std::ranges::sort(result.fresh.findings, [](const LintFinding& a, const LintFinding& b) {
    return std::tie(a.address, a.rule, a.producer) < std::tie(b.address, b.rule, b.producer);
  });
  return result;
}

} // namespace asmevo::verify
