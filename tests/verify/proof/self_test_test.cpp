// A part of the engine's self-test (unsound_proofs is the whole of it): seeded wrong edits of our own kernels, none of
// which may be called proved when runs tell it apart, and edits that change nothing.
#include "verify/proof/window_edits.h"

#include "program/program_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

std::vector<tests::EditSubject> subjects() {
  std::vector<tests::EditSubject> list;
  for (const std::string& path : program::test::ownKernels())
    for (auto& subject : tests::editSubjects(path))
      list.push_back(std::move(subject));
  return list;
}

constexpr std::uint64_t seed = 20;

TEST(ProofSelfTest, NoWrongEditIsProved) {
  auto list = subjects();
  ASSERT_GE(list.size(), 5u);
  std::size_t made = 0, live = 0, toldApart = 0;
  for (std::uint64_t draw = 0; made < 300; ++draw) {
    auto& subject = list[draw % list.size()];
    tests::WindowEditor editor(subject, seed * 100000 + draw);
    auto edit = editor.wrong();
    if (!edit)
      continue;
    ++made;
    Side edited = sideOf(subject.side, std::move(edit->program));
    const ProofResult proof = proveSides(subject.side, edited);
    unsigned conclusive = 0;
    const auto difference = tests::concreteDifference(subject, edited, edit->block, draw + 1, 24, conclusive);
    live += difference.has_value();
    toldApart += proof.status == ProofStatus::differs;
    if (difference)
      EXPECT_NE(proof.status, ProofStatus::proved) << edit->kind << " of " << subject.name << ": " << edit->what << "\n"
                                                   << difference->text();
  }
  // Most of what is planted really is wrong, and the engine shows it for nearly all of that.
  EXPECT_GE(live, 180u);
  EXPECT_GE(toldApart * 100, live * 95);
}

TEST(ProofSelfTest, EditsThatChangeNothingAreProved) {
  auto list = subjects();
  const auto& kinds = tests::WindowEditor::legalKinds();
  std::size_t made = 0, proved = 0;
  for (std::uint64_t draw = 0; made < 200; ++draw) {
    auto& subject = list[draw % list.size()];
    tests::WindowEditor editor(subject, seed * 300000 + draw);
    auto edit = editor.legal(kinds[draw % kinds.size()]);
    if (!edit)
      continue;
    ++made;
    const std::string what = edit->kind + " of " + subject.name + ": " + edit->what;
    Side edited = sideOf(subject.side, std::move(edit->program));
    const ProofResult proof = proveSides(subject.side, edited);
    EXPECT_NE(proof.status, ProofStatus::differs) << what << "\n" << proof.reason;
    proved += proof.status == ProofStatus::proved;
  }
  EXPECT_GE(proved, 190u);
}

} // namespace
} // namespace asmevo::verify
