/// What searches found out, in one SQLite file (WAL): prices and verdicts of candidates, so that nothing is worked out
/// twice and a search that was killed goes on where it was; windows that a move is no use for; what paid where, for
/// later searches of other kernels.
///
/// A search is a deterministic function of its job and of these answers. It resumes by running again from its start
/// with the answers at hand, so that whatever a kill interrupts, the end is the same.
#pragma once

#include "object/code_object.h"
#include "support/result.h"
#include "verify/verify.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// A candidate's modelled cycles; none: it could not be built or run.
struct LedgerPrice {
  std::optional<double> cycles;
  std::vector<double> perturbed; ///< cycles on each perturbed chip; empty: not asked for yet
  bool byOne = false;            ///< the cycles are what one workgroup says
};

struct LedgerVerdict {
  verify::Level level = verify::Level::unknown;
  std::string reason, gate;
};

/// Pulls of a move on a class of windows, over all searches of the file.
struct LedgerArm {
  std::string windowClass, move;
  double pulls = 0, gains = 0; ///< gains: pulls that gave an accepted edit
};

/// Every call is one transaction; a process that dies in it leaves the file as it was before. Several processes may use
/// one file. Not for several threads at once.
/// An edit that paid.
struct LedgerLesson {
  std::string move, reason; ///< Proposal::reason: which of a move's proposals it was
  double speedup = 1;
};

class Ledger {
 public:
  /// Empty path: in memory. Errors: a file that is no ledger, or cannot be opened.
  static Result<std::unique_ptr<Ledger>> open(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Makes the job, or takes it up. The arms and lessons that it starts from stay those of its first start.
  struct Job {
    bool resumed = false;
    double seconds = 0; ///< spent on it before
    std::vector<LedgerArm> arms;
  };
  Result<Job> begin(const std::string& key);
  Status spent(double seconds);

  Result<std::optional<LedgerPrice>> price(const std::string& candidate);
  Status setPrice(const std::string& candidate, const LedgerPrice& price);
  Result<std::optional<LedgerVerdict>> verdict(const std::string& candidate);
  Status setVerdict(const std::string& candidate, const LedgerVerdict& verdict);

  /// Programs that the search of this job accepted, in order, for whoever looks at the file.
  Status setAccepted(std::size_t number, const std::string& candidate, std::span<const std::uint8_t> k1,
                     const nlohmann::json& edits);
  /// Of the last of them.
  Result<std::optional<Bytes>> lastAccepted();
  Result<std::size_t> acceptedCount();

  /// Adds to what later jobs start from.
  Status learn(const std::string& windowClass, const std::string& move, bool gained);
  /// What paid on a window of this canonical form in jobs that began before this one, best first.
  Result<std::vector<LedgerLesson>> lessons(const std::string& window);
  /// One for each move and window: the best.
  Status addLesson(const std::string& window, const LedgerLesson& lesson);

  /// What jobs that began before this one say of a move on a window, at that effort.
  enum class Use { unknown, noneElsewhere, none };
  /// `program`: hash of the program that has the window, and of what it is priced on. `none` is an answer about that
  /// very program, `noneElsewhere` about another that shares the window.
  Result<Use> useOf(const std::string& program, const std::string& window, const std::string& move, unsigned effort);
  Status addUseless(const std::string& program, const std::string& window, const std::string& move, unsigned effort);

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace asmevo::optimize
