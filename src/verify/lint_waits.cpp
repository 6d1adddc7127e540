#include "verify/lint_waits.h"

#include "isa/codec.h"
#include "program/analysis/call_closure.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/hazards.h"
#include "program/analysis/wait_lint.h"
#include "verify/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace asmevo::verify {

namespace {

using program::Place;

/// Functions that an entry reaches, with calls.
std::set<program::BlockId> blocksReached(const program::Program& code, const program::Function& root) {
  std::map<program::BlockId, const program::Function*> byEntry;
  for (const auto& function : code.functions)
    byEntry[function.entryBlock] = &function;
  std::set<program::BlockId> blocks;
  std::set<const program::Function*> seen{&root};
  std::vector<const program::Function*> todo{&root};
  while (!todo.empty()) {
    const program::Function* function = todo.back();
    todo.pop_back();
    for (const program::BlockId id : function->blocks) {
      blocks.insert(id);
      for (const auto& instr : code.blocks[id].instrs)
        if (instr.target && program::flowOf(instr.inst) == program::Flow::call)
          if (const auto callee = byEntry.find(*instr.target);
              callee != byEntry.end() && seen.insert(callee->second).second)
            todo.push_back(callee->second);
    }
  }
  return blocks;
}

class Linter {
 public:
  Linter(const object::CodeObject& o, const program::Program& p, program::HazardScope s)
      : object(o), code(p), scope(s) {}

  LintReport run() {
    const auto target = program::hazardTargetOf(object.target());
    report.waitStatesChecked = target.has_value();
    std::set<program::BlockId> covered;
    const auto lintFrom = [&](const program::Function& function) {
      const unsigned accumOffset = accumOffsetOf(function);
      for (const auto& finding : program::uncoveredUses(code, function, accumOffset))
        addWait(finding, function);
      if (target)
        for (const auto& finding : program::unmetWaitStates(code, function, accumOffset, *target, scope))
          addStates(finding, function);
      for (const program::BlockId id : function.blocks)
        if (code.blocks[id].opaque)
          addUndecodable(id, function);
      covered.merge(blocksReached(code, function));
    };
    for (const auto& function : code.functions)
      if (function.kernel)
        lintFrom(function);
    for (const auto& function : code.functions)
      if (!function.kernel) {
        if (!covered.contains(function.entryBlock))
          lintFrom(function);
        else if (target)
          for (const auto& finding : program::unmetWaitStates(code, function, accumOffsetOf(function), *target, scope))
            addStates(finding, function);
      }
    std::sort(report.findings.begin(), report.findings.end(), [](const LintFinding& a, const LintFinding& b) {
      return std::tie(a.address, a.rule, a.producer) < std::tie(b.address, b.rule, b.producer);
    });
    return std::move(report);
  }

 private:
  /// Device functions have none of their own; the first kernel's is as good as any.
  unsigned accumOffsetOf(const program::Function& function) const {
    if (!object.target().hasUnifiedRegisterFile())
      return 256;
    const auto& kernels = object.kernels();
    if (function.kernel)
      return kernels[*function.kernel].descriptor.accumOffset(object.target());
    return kernels.empty() ? 256 : kernels.front().descriptor.accumOffset(object.target());
  }

  const program::Instr& at(Place place) const { return code.blocks[place.block].instrs[place.index]; }

  LintFinding start(const char* kind, std::string rule, Place producer, Place consumer,
                    const program::Function& function) const {
    LintFinding finding;
    finding.kind = kind;
    finding.rule = std::move(rule);
    finding.function = function.name;
    finding.producer = at(producer).address;
    finding.address = at(consumer).address;
    finding.producerText = at(producer).inst->text;
    finding.text = at(consumer).inst->text;
    return finding;
  }

  void add(LintFinding finding) {
    if (known.emplace(finding.address, finding.rule, finding.producer).second)
      report.findings.push_back(std::move(finding));
  }

  void addWait(const program::WaitFinding& found, const program::Function& function) {
    using Kind = program::WaitFinding::Kind;
    const bool vm = found.counter == program::Counter::vm;
    const char* counter = vm ? "vmcnt" : "lgkmcnt";
    const char* suffix = found.kind == Kind::readsInFlight ? "raw" : found.kind == Kind::ldsDma ? "lds-dma" : "waw";
    LintFinding finding =
        start(counter, fmt::format("wait.{}.{}", vm ? "vm" : "lgkm", suffix), found.producer, found.consumer, function);
    finding.need = found.needed;
    finding.have = found.present;
    const std::string present =
        found.present ? fmt::format("at most {}({})", counter, *found.present) : fmt::format("no {} wait", counter);
    if (found.kind == Kind::ldsDma)
      finding.message = fmt::format("\"{}\" at {:#x} may still be writing LDS: needs {}(n), has {}",
                                    finding.producerText, finding.producer, counter, present);
    else
      finding.message = fmt::format(
          "{} is {} while \"{}\" at {:#x} may be in flight: needs {}({}), has {}{}", isa::regUnitName(found.unit),
          found.kind == Kind::readsInFlight ? "read" : "overwritten", finding.producerText, finding.producer, counter,
          found.needed, present, callPath(found.producer, found.consumer));
    add(std::move(finding));
  }

  /// " (issued in k, used in f, by the call at 0x...)" where the two are in different functions.
  std::string callPath(Place producer, Place consumer) const {
    const auto owner = [&](program::BlockId block) -> const program::Function* {
      for (const auto& function : code.functions)
        if (std::binary_search(function.blocks.begin(), function.blocks.end(), block))
          return &function;
      return nullptr;
    };
    const program::Function* a = owner(producer.block);
    const program::Function* b = owner(consumer.block);
    if (!a || !b || a == b)
      return {};
    const auto name = [](const program::Function& f) {
      return f.name.empty() ? fmt::format("{:#x}", f.entry) : f.name;
    };
    const auto into = program::callPath(code, *a, *b);
    std::string calls;
    for (const Place call : into.empty() ? program::callPath(code, *b, *a) : into)
      calls += fmt::format("{} {:#x}", calls.empty() ? "" : ",", at(call).address);
    return fmt::format(" (issued in {}, used in {}, by the call at{})", name(*a), name(*b), calls);
  }

  void addStates(const program::HazardFinding& found, const program::Function& function) {
    LintFinding finding = start("wait_states", fmt::format("states.{}", program::hazardRuleName(found.rule)),
                                found.producer, found.consumer, function);
    finding.need = found.needed;
    finding.have = found.present;
    finding.message = fmt::format("needs {} wait states after \"{}\" at {:#x}, has {}", found.needed,
                                  finding.producerText, finding.producer, found.present);
    add(std::move(finding));
  }

  void addUndecodable(program::BlockId id, const program::Function& function) {
    const program::Block& block = code.blocks[id];
    if (block.instrs.empty() || !block.reachable)
      return;
    LintFinding finding = start("undecodable", "undecodable", {id, 0}, {id, 0}, function);
    finding.message = "reached, but not an instruction of this target";
    add(std::move(finding));
  }

  const object::CodeObject& object;
  const program::Program& code;
  program::HazardScope scope;
  LintReport report;
  std::set<std::tuple<std::uint64_t, std::string, std::uint64_t>> known;
};

} // namespace

Result<LintReport> lint(const object::CodeObject& object, program::HazardScope scope) {
  if (!object.target().isGfx9())
    return refused("{}: lint knows the wait counters of gfx9 only, not of {}", object.name(),
                   object.target().processor);
  ASMEVO_TRY(const auto codec, isa::Codec::create(object));
  ASMEVO_TRY(auto code, program::Program::recover(object, *codec));
  program::completeInstructions(code, *codec);
  return Linter(object, code, scope).run();
}

Result<std::vector<Finding>> lintWaits(const object::CodeObject& object) {
  ASMEVO_TRY(const LintReport report, lint(object));
  std::vector<Finding> findings;
  for (const LintFinding& found : report.findings) {
    Finding finding;
    finding.rule = found.rule;
    finding.producer = found.producer;
    finding.consumer = found.address;
    finding.message = found.message;
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace asmevo::verify
