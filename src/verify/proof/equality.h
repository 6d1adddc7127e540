/// Are two terms equal for every input? By structure first, then by Z3 on what is bit-vector logic.
#pragma once

#include "verify/proof/deadline.h"
#include "verify/proof/terms.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace asmevo::verify {

enum class Answer : std::uint8_t {
  yes,
  no,      ///< a model tells them apart; uninterpreted parts may make it spurious
  unknown, ///< outside what is tried
  timeout, ///< the budget of questions or time is used up
};

/// A solver's assignment to variables (by the number of the variable term).
using Model = std::map<std::uint64_t, std::uint64_t>;

class Equality {
 public:
  /// `resourceLimit`: Z3 "rlimit" of one question, a deterministic measure of work. 0: Z3 is not asked.
  /// `questions`: how many it may be asked in all. After `end` every answer that takes work is `timeout`.
  Equality(TermTable& table, unsigned resourceLimit, unsigned questions, const Deadline& end);
  ~Equality();

  Answer equal(TermId a, TermId b);
  /// Do both hold in the same lanes, where `active` holds?
  Answer implied(TermId active, TermId condition);
  /// The assignment of the last question that was answered `no`.
  const Model& model() const { return lastModel; }
  bool exhausted() const { return asked >= most || end.passed(); }
  /// From now on the solver is asked too; before, only structure decides.
  void allowSolver() { solving = true; }

 private:
  Answer equalAt(TermId a, TermId b, unsigned depth);
  Answer congruent(TermId a, TermId b, unsigned depth);
  Answer solve(TermId a, TermId b, unsigned depth);
  /// False where the term is too large or too hard to ask about.
  bool collectLeaves(TermId root, std::vector<TermId>& leaves, std::size_t& cost) const;

  TermTable& t;
  unsigned limit, most;
  Deadline end;
  std::map<std::pair<TermId, TermId>, Answer> known;
  Model lastModel;
  unsigned asked = 0;
  bool solving = false, knownWithSolver = false;
};

} // namespace asmevo::verify
