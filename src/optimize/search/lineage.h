/// The programs a search accepted, each with the edits that made it of its parent, and those it may still build on.
#pragma once

#include "optimize/optimize.h"

#include <vector>

namespace asmevo::optimize {

struct Accepted {
  Bytes bytes;
  std::string hash; ///< sha256 of bytes
  double cycles = 0;
  std::vector<double> perturbed; ///< cycles on each perturbed chip
  std::vector<Edit> edits;       ///< of this step
  std::size_t parent = 0;        ///< index in the lineage
};

/// Starts with K0 alone. Every program but it is verified.
class Lineage {
 public:
  explicit Lineage(Accepted k0) { programs.push_back(std::move(k0)); }
  std::size_t add(Accepted program) {
    programs.push_back(std::move(program));
    return programs.size() - 1;
  }
  const Accepted& operator[](std::size_t i) const { return programs[i]; }
  Accepted& operator[](std::size_t i) { return programs[i]; }
  std::size_t size() const { return programs.size(); }
  /// The fastest; the earlier of equals.
  std::size_t best() const;
  /// All edits from K0 to it.
  std::vector<Edit> editsOf(std::size_t program) const;

 private:
  std::vector<Accepted> programs;
};

/// A program that edits are made of: the fastest that is verified, or one that is not verified and no faster, but from
/// which a faster one may be reached. The latter is verified as part of what comes of it.
struct Parent {
  Bytes bytes;
  std::string hash;
  double cycles = 0;
  std::size_t verified = 0;  ///< in the lineage: what `pending` starts from
  std::vector<Edit> pending; ///< edits since then; empty: it is that program
  std::string form;          ///< canonical, of the window of the first of them
  std::string place;         ///< move and window of the last of them
  unsigned effort = 0;       ///< of its next round
  unsigned idle = 0;         ///< rounds in a row that brought no candidate
};

/// The parents: one that is verified, and a few others.
class Population {
 public:
  static constexpr std::size_t mostOthers = 4;
  static constexpr std::size_t mostOfOnePlace = 2;
  static constexpr std::size_t mostPending = 3;
  /// The verified one has this many rounds before the others have their first.
  static constexpr unsigned headStart = 2;
  /// A parent is exhausted after as many rounds in a row that brought no candidate.
  static constexpr unsigned mostIdle = 3;

  /// Takes the place of the verified one; others that are not within `slack` of it go.
  void lead(Parent parent, double slack);
  /// Another parent, if there is room for it among those that are faster.
  void offer(Parent parent);
  bool hasRoomFor(double cycles) const { return others.size() < mostOthers || cycles < others.back().cycles; }
  /// Whose round is next: the least effort, the others' plus the head start. Nothing: all are exhausted, or would be at
  /// more than `mostEffort`.
  std::optional<Parent> next(unsigned mostEffort) const;
  /// The round of that parent is over.
  void finished(const std::string& hash, bool foundCandidates);
  void remove(const std::string& hash);
  bool isExhausted() const;

 private:
  Parent leader;
  std::vector<Parent> others; ///< fastest first
};

/// For the ledger.
nlohmann::json editsJson(const std::vector<Edit>& edits);

} // namespace asmevo::optimize
