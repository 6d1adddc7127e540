/// The rules of the lint: what each means, and where the manual says so.
#pragma once

#include "object/target.h"

#include <string>
#include <string_view>
#include <vector>

namespace asmevo::verify {

struct LintRule {
  std::string_view id;      ///< as in LintFinding::rule; of waits without the counter: "wait.raw"
  std::string_view text;    ///< one sentence
  std::string_view section; ///< of CDNA3's ISA manual, or who else says it
};

/// All of them, sorted by id.
const std::vector<LintRule>& lintRules();

/// The entry of a finding's rule ("wait.vm.raw" is that of "wait.raw"); nullptr for one that is not listed.
const LintRule* lintRuleOf(std::string_view rule);

/// "CDNA3 ISA 4.5 table 11 row 9": the section with the manual of that target.
std::string manualOf(std::string_view rule, const object::Target& target);

} // namespace asmevo::verify
