/// Moves for tests of the search: what they propose is given.
#pragma once

#include "optimize/optimize.h"
#include "verify/verify_support.h"

#include <functional>
#include <string>
#include <vector>

namespace asmevo::tests {

/// Proposes the edits of `edits` that apply to the program it is given.
class GivenMove final : public optimize::Move {
 public:
  struct Given {
    std::string reason;
    /// Edits the program, or says that it does not apply.
    std::function<bool(program::Program&, isa::Codec&)> edit;
  };
  GivenMove(std::string name, std::vector<Given> edits) : called(std::move(name)), given(std::move(edits)) {}

  std::string_view name() const override { return called; }
  std::string_view purpose() const override { return "tests"; }
  bool isLocal() const override { return false; }
  std::vector<optimize::Proposal> propose(const program::Program& program,
                                          const optimize::MoveContext& context) const override;

 private:
  std::string called;
  std::vector<Given> given;
};

/// Place of the n-th instruction of that text in the program, in layout order.
struct Found {
  program::BlockId block = 0;
  std::size_t index = 0;
};
std::optional<Found> findText(const program::Program& program, const std::string& text, std::size_t n = 0);
/// Deletes instructions of that text: the n-th, or `count` from there on.
bool eraseText(program::Program& program, const std::string& text, std::size_t count = 1);
/// Puts another in the place of the first of that text.
bool replaceText(program::Program& program, isa::Codec& codec, const std::string& text, const std::string& with);

/// Verified by runs on the cases as they are, and by nothing else.
optimize::Options runsOnly();

} // namespace asmevo::tests
