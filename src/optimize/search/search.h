/// The search for a faster program. optimize() is its door.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/bandit.h"
#include "optimize/search/budget.h"
#include "optimize/search/full_gate.h"
#include "optimize/search/ledger.h"
#include "optimize/search/lineage.h"
#include "optimize/search/view.h"

#include <memory>
#include <set>

namespace asmevo::optimize {

class Search {
 public:
  Search(const object::CodeObject& object, const dispatch::Dispatch& launches, device::Device& dev,
         isa::Codec& usedCodec, Options opts);
  Search(const Search&) = delete;

  Result<Outcome> run();

 private:
  struct Pooled {
    Candidate candidate;
    double cycles = 0;
  };
  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>; ///< by block: the range of its counterpart in K0

  // search.cpp: rounds, arms, candidates.
  std::string jobKey() const;
  std::string scopeOf(const View& v) const;
  bool expired() const;
  void report(std::string_view doing);
  Status climb();
  Result<bool> round();
  Status makeArms(View& v);
  Result<Arm*> nextArm(View& v);
  Status propose(const View& v, Arm& arm);
  Status pull(View& v, Arm& arm);
  bool build(const View& v, Candidate& candidate);
  void clean(const View& v, Candidate& candidate);
  Result<std::size_t> priceAll(const Gates& gates, std::vector<Candidate>& batch);
  /// Puts faster candidates into the pool, fastest first; returns how many. Others may become parents.
  Result<std::size_t> sort(const View& v, std::vector<Candidate>& batch, Arm& arm);
  Result<bool> offer(const View& v, const Candidate& candidate);
  MoveContext contextOf(const View& v, const std::vector<HotWindow>& windows) const;

  // acceptance.cpp: from the pool into the lineage, and out of it.
  Result<bool> acceptFromPool(const View& v);
  Result<bool> acceptMost(const View& v, std::vector<Candidate>& chain);
  std::vector<Candidate> combine(const View& v);
  bool isRobustStep(const std::vector<double>& before, Candidate& after) const;
  Result<bool> tryAccept(const View& v, std::span<Candidate> chain);
  Result<bool> refuse(std::span<const Candidate> chain, const LedgerVerdict& verdict, double seconds,
                      std::vector<verify::WindowProof> windows);
  Status accept(const View& v, std::span<Candidate> chain, const LedgerVerdict& verdict, std::vector<double> perturbed,
                std::size_t from);
  Result<std::vector<Edit>> editsOf(const View& v, std::span<const Candidate> chain, double before);
  Result<std::vector<double>> perturbedOf(const Candidate& candidate);
  std::string notRobust(const std::vector<double>& before, const std::vector<double>& after) const;
  Result<Places> placesInK0(const View& v) const;
  bool hasTimeToVerify() const;
  double fastest() const { return (*lineage)[lineage->best()].cycles; }
  Status finish();
  Result<bool> passesEverything(std::size_t at);

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  isa::Codec& codec;
  Options options;
  std::vector<const Move*> moves, cleaning;
  dispatch::Dispatch timed;
  Pricer pricer;
  Budget budget;
  FullGate gate;
  LaunchEvidence evidence{[this] { return gate.baseline(); }, timed, device};
  Bandit bandit;
  double reported = 0; ///< Budget::elapsed() that the ledger knows of
  std::unique_ptr<Ledger> ledger;
  std::optional<Lineage> lineage;
  std::size_t acceptedBefore = 0; ///< by earlier runs of the job
  Population population;
  Parent standing; ///< whose round it is
  std::optional<View> leaderView, otherView;
  std::vector<Pooled> pool; ///< faster candidates of the view that wait for verification
  std::set<std::string> seen;
  std::set<std::tuple<std::string, std::string, unsigned>> useless; ///< Arm::memo, move, effort
  Outcome outcome;
};

} // namespace asmevo::optimize
