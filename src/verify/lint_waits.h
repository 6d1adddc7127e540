/// The static lint with everything it knows about a finding.
#pragma once

#include "object/code_object.h"
#include "program/analysis/hazards.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// One thing that is wrong in a code object whatever it is run on.
struct LintFinding {
  std::string kind;     ///< "vmcnt", "lgkmcnt", "wait_states", "undecodable"
  std::string rule;     ///< "wait.vm.raw", "wait.lgkm.waw", "wait.vm.lds-dma", "states.mfma-srcc", "undecodable"
  std::string function; ///< kernel or device function the consumer belongs to
  std::uint64_t producer = 0, address = 0; ///< virtual addresses; the finding is reported at `address`
  std::string producerText, text;
  std::optional<unsigned> need, have; ///< counter values or wait states; `have` without value: no wait at all
  std::string message;
};

struct LintReport {
  std::vector<LintFinding> findings; ///< by address
  bool waitStatesChecked = true;     ///< false where the target's hazard rules are not in our tables
};

/// Waits on every path (program/analysis/wait_lint.h), wait states (program/analysis/hazards.h) and undecodable words
/// that are reached. Refused on targets without gfx9's counters. `scope` withLlvm: also the distances that LLVM keeps
/// beyond the manual, which only mean something in comparison with another object.
Result<LintReport> lint(const object::CodeObject& object, program::HazardScope scope = program::HazardScope::manual);

} // namespace asmevo::verify
