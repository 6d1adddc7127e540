/// A code object judged by another one that it was made from.
#pragma once

#include "verify/alignment.h"
#include "verify/lint/lint.h"

namespace asmevo::verify {

struct BaselineLint {
  LintReport fresh;           ///< findings of K1 that no finding of K0 excuses
  std::size_t inBaseline = 0; ///< findings of K0
  std::size_t inBoth = 0;     ///< findings of K1 that K0 has too, no milder
};

/// What is compared of one object: findings, some of which only mean something in comparison.
struct ComparedFindings {
  LintReport report;
  std::size_t own = 0; ///< the first of them, which lint() reports as well
};
/// Needs complete instructions.
Result<ComparedFindings> comparedFindings(const object::CodeObject& object, const program::Program& code,
                                          bool paths = false);

/// No new finding and no pair nearer than in K0. Beside what lint() reports, compared with LLVM's distances as well:
/// - soft clauses that K0 breaks up, where XNACK may be on;
/// - "wait.order": a memory operation that is complete at a barrier, atomic, scoped access, store or the like in K0 on
///   every path may be in flight there in K1.
/// Instructions correspond by the recovered programs (verify/finding_match.h), so that code which moved is not new.
Result<BaselineLint> lintAgainst(const object::CodeObject& k0, const object::CodeObject& k1,
                                 const LintOptions& options);
/// The same for programs at hand, with complete instructions. `before`: comparedFindings() of K0, of any recovery.
Result<BaselineLint> lintAgainst(const object::CodeObject& k0, const ComparedFindings& before,
                                 const object::CodeObject& k1, const ProgramPair& pair, const Alignment& alignment,
                                 bool paths);

} // namespace asmevo::verify
