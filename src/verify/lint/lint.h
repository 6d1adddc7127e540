/// The static lint: what is wrong, or below the documented numbers, in a code object whatever it is run on.
#pragma once

#include "object/code_object.h"
#include "program/analysis/hazards.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::verify {

/// How much a finding weighs. `distance`: below a documented number of wait states, which hand-written code often gets
/// away with; `error`: wrong by the ISA's own rules; `note`: could be relaxed, or cannot be told without the launch.
enum class Severity : std::uint8_t { note, distance, error };
std::string_view severityName(Severity severity);

struct LintFinding {
  std::string kind; ///< "vmcnt", "lgkmcnt", "loadcnt" ..., "wait_states", "global_race", "undecodable", "registers",
                    ///< "lds", "barrier", "relaxable"
  std::string rule; ///< "wait.vm.raw", "wait.lgkm.waw", "wait.vm.lds-dma", "states.mfma-srcc", ... (lint/rules.h)
  Severity severity = Severity::error;
  std::string function;                    ///< kernel or device function the consumer belongs to
  std::uint64_t producer = 0, address = 0; ///< virtual addresses; the finding is reported at `address`
  std::string producerText, text;
  std::optional<unsigned> need, have; ///< counter values or wait states; `have` without value: no wait at all
  std::string message;
  std::vector<std::uint64_t> path; ///< addresses of the blocks of a shortest path that shows it, producer's first
};

struct LintOptions {
  /// withLlvm: also the distances that LLVM keeps beyond the manual, which only mean something in comparison.
  program::HazardScope scope = program::HazardScope::documented;
  bool paths = true; ///< find a path for each finding
  /// A missing wait on a path with branches is an error only if some trial run of the scalar code takes such a path
  /// (lint/trial_runs.h), else a note. In comparisons every path counts.
  bool trials = true;
  bool relaxable = false; ///< also what asks for more than it need (gfx9)
  /// LDS bytes that launches add to the descriptor's. Unknown: constant addresses beyond a descriptor that declares no
  /// LDS at all are notes.
  std::optional<std::uint32_t> dynamicLds = std::nullopt;
};

struct LintReport {
  std::vector<LintFinding> findings; ///< by address
  bool waitStatesChecked = true;     ///< false where the target's hazard rules are not in our tables

  std::size_t count(Severity severity) const;
};

/// Waits on every path (program/analysis/wait_lint.h), wait states (program/analysis/hazards.h), races that follow from
/// thread ids alone (lint/races.h), resources beyond the descriptor and undecodable words that are reached. Refused on
/// targets before gfx9.
Result<LintReport> lint(const object::CodeObject& object, const LintOptions& options);
/// Without paths and notes.
Result<LintReport> lint(const object::CodeObject& object,
                        program::HazardScope scope = program::HazardScope::documented);

/// Of a program that was recovered from `object` already, or edited since; needs complete instructions.
Result<LintReport> lint(const object::CodeObject& object, const program::Program& code, const LintOptions& options);

} // namespace asmevo::verify
