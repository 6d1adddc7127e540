#include "verify/lint/parts.h"

#include "isa/waitcnt.h"
#include "program/analysis/waits.h"

namespace asmevo::verify {

namespace {

/// "vmcnt(0) lgkmcnt(1)", or "nothing".
std::string waitedFor(const isa::WaitCount& wait) {
  if (wait == isa::noWait)
    return "nothing";
  return isa::waitcntText(wait).substr(std::string_view("s_waitcnt ").size());
}

/// Does it break up a soft clause (program/analysis/soft_clauses.h)? The compiler puts an s_nop for that where XNACK
/// may be on.
bool breaksClause(const LintContext& context, program::Place place) {
  const auto& instrs = context.code.blocks[place.block].instrs;
  if (context.object.target().xnack == object::Feature::off || place.index == 0 || place.index + 1 >= instrs.size())
    return false;
  const isa::Instruction &before = *instrs[place.index - 1].inst, &after = *instrs[place.index + 1].inst;
  return (before.isVectorMemory() && after.isVectorMemory()) ||
         (before.cls == isa::InstClass::smem && after.cls == isa::InstClass::smem);
}

} // namespace

void lintRelaxable(LintContext& context, const program::Function& function) {
  if (!context.object.target().isGfx9())
    return;
  const unsigned accumOffset = context.accumOffsetOf(function);
  for (const auto& wait : program::requiredWaits(context.code, function, accumOffset)) {
    if (wait.sufficient == wait.present)
      continue;
    LintFinding finding =
        context.start("relaxable", "wait.relaxable", Severity::note, wait.place, wait.place, function);
    const bool vm = wait.sufficient.vm != wait.present.vm;
    finding.need = vm ? wait.sufficient.vm : wait.sufficient.lgkm;
    finding.have = vm ? wait.present.vm : wait.present.lgkm;
    finding.message = fmt::format("could be relaxed: {} is enough, waits for {}", waitedFor(wait.sufficient),
                                  waitedFor(wait.present));
    context.add(std::move(finding));
  }
  const auto target = program::hazardTargetOf(context.object.target());
  if (!target)
    return;
  for (const auto& nop : program::requiredNops(context.code, context.sites, function, accumOffset, *target)) {
    if (nop.sufficient == nop.present || (nop.sufficient == 0 && breaksClause(context, nop.place)))
      continue;
    LintFinding finding = context.start("relaxable", "nop.relaxable", Severity::note, nop.place, nop.place, function);
    finding.need = nop.sufficient;
    finding.have = nop.present;
    finding.message = nop.sufficient == 0
                          ? fmt::format("could be relaxed: no distance needs these {} wait states", nop.present)
                          : fmt::format("could be relaxed: s_nop {} is enough", nop.sufficient - 1);
    context.add(std::move(finding));
  }
}

} // namespace asmevo::verify
