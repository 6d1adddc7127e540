/// What the parts of the lint share: the program under it, and where findings go.
#pragma once

#include "program/analysis/flow_path.h"
#include "program/analysis/wait_model.h"
#include "verify/lint/lint.h"

#include <set>
#include <tuple>

namespace asmevo::verify {

struct LintContext {
  LintContext(const object::CodeObject& o, const program::Program& p, const LintOptions& l);

  const program::Instr& at(program::Place place) const { return code.blocks[place.block].instrs[place.index]; }
  /// Device functions have none of their own; the first kernel's is as good as any.
  unsigned accumOffsetOf(const program::Function& function) const;
  LintFinding start(std::string kind, std::string rule, Severity severity, program::Place producer,
                    program::Place consumer, const program::Function& function) const;
  /// Adds a finding unless one with that rule and these places is there already.
  void add(LintFinding finding);
  std::vector<std::uint64_t> addressesOf(const std::vector<program::BlockId>& blocks) const;

  const object::CodeObject& object;
  const program::Program& code;
  const LintOptions& options;
  program::CallSites sites;
  LintReport report;

 private:
  std::set<std::tuple<std::uint64_t, std::string, std::uint64_t>> known;
};

/// Registers and LDS beyond the descriptor's allocation.
void lintResources(LintContext& context);
/// Accesses of different waves to one address that no barrier separates.
void lintRaces(LintContext& context, const program::Function& kernel);
/// Barriers that a wave may miss since its lanes were switched off.
void lintBarriers(LintContext& context, const program::Function& function);
/// Waits and s_nop that ask for more than they need.
void lintRelaxable(LintContext& context, const program::Function& function);

} // namespace asmevo::verify
