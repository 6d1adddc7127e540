/// What the semantics leave to a decision, in sentences for receipts and reports: where the manual or the hardware does
/// not fix the bits, and what is done instead.
#pragma once

#include <span>
#include <string_view>

namespace asmevo::isa::semantics {

struct Statement {
  std::string_view topic; ///< "approximate functions"
  std::string_view text;  ///< one sentence or more
};

std::span<const Statement> statement();

} // namespace asmevo::isa::semantics
