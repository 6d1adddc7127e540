#include "verify/lint/lint.h"

#include "isa/codec.h"
#include "object/review.h"
#include "program/analysis/call_closure.h"
#include "program/analysis/wait_lint.h"
#include "verify/lint/parts.h"
#include "verify/lint/trial_runs.h"
#include "verify/verify.h"

#include <algorithm>
#include <map>

namespace asmevo::verify {

using program::Place;

namespace {

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
  Linter(LintContext& c, const program::WaitModel& m)
      : context(c), code(c.code), model(m), target(program::hazardTargetOf(c.object.target())) {}

  void run() {
    context.report.waitStatesChecked = target.has_value();
    std::set<program::BlockId> covered;
    for (const auto& function : code.functions)
      if (function.kernel) {
        lintFrom(function);
        covered.merge(blocksReached(code, function));
      }
    for (const auto& function : code.functions)
      if (!function.kernel) {
        if (!covered.contains(function.entryBlock)) {
          lintFrom(function);
          covered.merge(blocksReached(code, function));
        } else {
          lintOne(function);
        }
      }
    lintResources(context);
  }

 private:
  /// A function with all that it calls.
  void lintFrom(const program::Function& function) {
    addWaits(function);
    for (const program::BlockId id : function.blocks)
      if (code.blocks[id].opaque)
        addUndecodable(id, function);
    lintOne(function);
  }

  /// What is looked at function by function.
  void lintOne(const program::Function& function) {
    if (target)
      for (const auto& finding : program::unmetWaitStates(
               code, context.sites, function, context.accumOffsetOf(function), *target, context.options.scope))
        addStates(finding, function);
    if (function.kernel)
      lintRaces(context, function);
    lintBarriers(context, function);
    if (context.options.relaxable)
      lintRelaxable(context, function);
  }

  void addWaits(const program::Function& function) {
    const auto findings = program::uncoveredUses(code, function, context.accumOffsetOf(function), model);
    const auto straight = [](const program::WaitFinding& f) {
      return f.producer.block == f.consumer.block && f.producer.index < f.consumer.index;
    };
    std::vector<bool> shown(findings.size(), true);
    if (context.options.trials && !std::ranges::all_of(findings, straight))
      shown = seenInTrials(code, function, findings, model, wavesOf(function));
    for (std::size_t i = 0; i < findings.size(); ++i)
      addWait(findings[i], shown[i] || straight(findings[i]), function);
  }

  unsigned wavesOf(const program::Function& function) const {
    constexpr unsigned lanes = 64;
    return function.kernel ? (object::workgroupSizeOf(context.object.kernels()[*function.kernel]) + lanes - 1) / lanes
                           : 1;
  }

  void addWait(const program::WaitFinding& found, bool shown, const program::Function& function) {
    using Kind = program::WaitFinding::Kind;
    constexpr std::string_view shortNames[] = {"vm", "lgkm", "exp", "store", "sample", "bvh", "km"};
    const std::string counter(model.name(found.counter));
    const char* suffix = found.kind == Kind::readsInFlight      ? "raw"
                         : found.kind == Kind::ldsDma           ? "lds-dma"
                         : found.kind == Kind::overwritesSource ? "war"
                                                                : "waw";
    LintFinding finding =
        context.start(counter, fmt::format("wait.{}.{}", shortNames[static_cast<std::size_t>(found.counter)], suffix),
                      shown ? Severity::error : Severity::note, found.producer, found.consumer, function);
    finding.need = found.needed;
    finding.have = found.present;
    // A wait for as little as is needed now came too early: fewer operations had followed then.
    const std::string present = !found.present ? fmt::format("no {} wait", counter)
                                : *found.present <= found.needed
                                    ? fmt::format("{}({}) too early", counter, *found.present)
                                    : fmt::format("at most {}({})", counter, *found.present);
    if (found.kind == Kind::ldsDma)
      finding.message = fmt::format("\"{}\" at {:#x} may still be writing LDS: needs {}(n), has {}",
                                    finding.producerText, finding.producer, counter, present);
    else
      finding.message = fmt::format(
          "{} is {} while \"{}\" at {:#x} may be in flight: needs {}({}), has {}{}", isa::regUnitName(found.unit),
          found.kind == Kind::readsInFlight ? "read" : "overwritten", finding.producerText, finding.producer, counter,
          found.needed, present, callPath(found.producer, found.consumer));
    if (!shown)
      finding.message += "; no trial run took such a path";
    if (context.options.paths)
      finding.path = context.addressesOf(pathOf(found));
    context.add(std::move(finding));
  }

  /// A way on which nothing waits for the producer.
  std::vector<program::BlockId> pathOf(const program::WaitFinding& found) const {
    const isa::Instruction& producer = *context.at(found.producer).inst;
    program::Stream stream = program::Stream::none;
    for (const program::CounterUse& use : model.usesOf(producer))
      if (use.counter == found.counter)
        stream = use.stream;
    const auto step = [&](const program::Instr& instr, unsigned later) -> std::optional<unsigned> {
      const auto wait = model.waitsOf(*instr.inst)[static_cast<std::size_t>(found.counter)];
      if (wait && *wait <= later)
        return std::nullopt;
      for (const program::CounterUse& use : model.usesOf(*instr.inst))
        if (stream != program::Stream::none && use.counter == found.counter && use.stream == stream &&
            ++later > model.limit(found.counter))
          return std::nullopt; // the counter cannot hold so many
      return later;
    };
    return program::shortestPath(code, context.sites, found.producer, found.consumer, step);
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
      calls += fmt::format("{} {:#x}", calls.empty() ? "" : ",", context.at(call).address);
    return fmt::format(" (issued in {}, used in {}, by the call at{})", name(*a), name(*b), calls);
  }

  void addStates(const program::HazardFinding& found, const program::Function& function) {
    LintFinding finding = context.start("wait_states", fmt::format("states.{}", program::hazardRuleName(found.rule)),
                                        Severity::distance, found.producer, found.consumer, function);
    finding.need = found.needed;
    finding.have = found.present;
    finding.message = fmt::format("needs {} wait states after \"{}\" at {:#x}, has {}", found.needed,
                                  finding.producerText, finding.producer, found.present);
    if (context.options.paths) {
      const auto step = [&](const program::Instr& instr, unsigned states) -> std::optional<unsigned> {
        states += program::waitStatesOf(*instr.inst);
        return states < found.needed ? std::optional(states) : std::nullopt;
      };
      finding.path =
          context.addressesOf(program::shortestPath(code, context.sites, found.producer, found.consumer, step));
    }
    context.add(std::move(finding));
  }

  void addUndecodable(program::BlockId id, const program::Function& function) {
    const program::Block& block = code.blocks[id];
    if (block.instrs.empty() || !block.reachable)
      return;
    LintFinding finding = context.start("undecodable", "undecodable", Severity::error, {id, 0}, {id, 0}, function);
    finding.message = "reached, but not an instruction of this target";
    context.add(std::move(finding));
  }

  LintContext& context;
  const program::Program& code;
  const program::WaitModel& model;
  std::optional<program::HazardTarget> target;
};

} // namespace

std::string_view severityName(Severity severity) {
  switch (severity) {
  case Severity::note:
    return "note";
  case Severity::distance:
    return "below documented distance";
  case Severity::error:
    break;
  }
  return "error";
}

std::size_t LintReport::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &LintFinding::severity));
}

LintContext::LintContext(const object::CodeObject& o, const program::Program& p, const LintOptions& l)
    : object(o), code(p), options(l), sites(p) {}

unsigned LintContext::accumOffsetOf(const program::Function& function) const {
  if (!object.target().hasUnifiedRegisterFile())
    return 256;
  const auto& kernels = object.kernels();
  if (function.kernel)
    return kernels[*function.kernel].descriptor.accumOffset(object.target());
  return kernels.empty() ? 256 : kernels.front().descriptor.accumOffset(object.target());
}

LintFinding LintContext::start(std::string kind, std::string rule, Severity severity, Place producer, Place consumer,
                               const program::Function& function) const {
  LintFinding finding;
  finding.kind = std::move(kind);
  finding.rule = std::move(rule);
  finding.severity = severity;
  finding.function = function.name;
  finding.producer = at(producer).address;
  finding.address = at(consumer).address;
  finding.producerText = at(producer).inst->text;
  finding.text = at(consumer).inst->text;
  return finding;
}

void LintContext::add(LintFinding finding) {
  if (known.emplace(finding.address, finding.rule, finding.producer).second)
    report.findings.push_back(std::move(finding));
}

std::vector<std::uint64_t> LintContext::addressesOf(const std::vector<program::BlockId>& blocks) const {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(blocks.size());
  for (const program::BlockId id : blocks)
    addresses.push_back(code.blocks[id].address);
  return addresses;
}

Result<LintReport> lint(const object::CodeObject& object, const program::Program& code, const LintOptions& options) {
  const auto model = program::WaitModel::of(object.target());
  if (!model)
    return refused("{}: lint knows the wait counters of gfx9 to gfx12, not of {}", object.name(),
                   object.target().processor);
  LintContext context(object, code, options);
  Linter(context, *model).run();
  std::ranges::sort(context.report.findings, [](const LintFinding& a, const LintFinding& b) {
    return std::tie(a.address, a.rule, a.producer) < std::tie(b.address, b.rule, b.producer);
  });
  return std::move(context.report);
}

Result<LintReport> lint(const object::CodeObject& object, const LintOptions& options) {
  ASMEVO_TRY(const auto codec, isa::Codec::create(object));
  ASMEVO_TRY(auto code, program::Program::recover(object, *codec));
  program::completeInstructions(code, *codec);
  return lint(object, code, options);
}

Result<LintReport> lint(const object::CodeObject& object, program::HazardScope scope) {
  return lint(object, {.scope = scope, .paths = false, .trials = false});
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
