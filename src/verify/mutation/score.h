/// How much the gate notices: mutants planted into K0, each judged as a candidate would be.
#pragma once

#include "verify/mutation/mutant.h"
#include "verify/verify.h"

#include <array>
#include <functional>
#include <map>
#include <memory>

namespace asmevo::verify {

enum class MutantOutcome : std::uint8_t {
  killed,     ///< verify refuses it
  equivalent, ///< the proof engine shows it equal to K0, and nothing else contradicts
  blindSpot,  ///< accepted, but other data, or other sizes, tell it from K0
  undecided,  ///< accepted: no data tried tell it from K0, and no proof shows them equal
  unbuilt,    ///< no object came of it; it does not count
};
inline constexpr std::size_t mutantOutcomes = 5;
std::string_view mutantOutcomeName(MutantOutcome outcome);

struct MutantFate {
  Mutant mutant;
  MutantOutcome outcome = MutantOutcome::unbuilt;
  bool executed = false; ///< its instruction, by some case
  std::string gate;      ///< killed: lint, differential, strict, coverage, frame ...
  std::string reason;    ///< of the verdict; of a survivor: why it is one
};

struct MutationScore {
  std::vector<MutantFate> fates; ///< by address
  std::size_t possible = 0;      ///< mutants there are in all
  std::uint64_t seed = 0;

  std::size_t count(MutantOutcome outcome) const;
  /// Killed, of those that are known not to be equivalent: killed and blind spots. 1 where there are none.
  double value() const;
  /// As if all that are undecided were wrong.
  double lowerBound() const;
  /// The lower bound without the gate "proof": mutants that all runs and the lint let pass, refused since their window
  /// differs from a state that may never arise. Some of those are equivalent.
  double noticedByRuns() const;
  std::map<std::string, std::size_t> killsByGate() const;
  std::array<std::array<std::size_t, mutantOutcomes>, mutantKinds> byKind() const; ///< by kind and outcome
};

struct MutationOptions {
  std::size_t mutants = 0; ///< 0: all there are
  std::uint64_t seed = 1;
  unsigned threads = 1;
  double timeLimitSeconds = 0; ///< then only those judged by then count, in an order that `seed` chose; 0: none
  /// Rounds of other data that accepted mutants are tried on, which the gate has not seen. A difference there makes a
  /// blind spot whatever the proof says.
  unsigned widerRounds = 3;
  Options gate;                                                    ///< its baseline, if any, is used
  std::function<void(std::size_t done, std::size_t all)> progress; ///< may be empty; from one thread at a time
};

/// Kernels that the dispatch launches are mutated. Errors: what measureBaseline() refuses, no recoverable program.
Result<MutationScore> scoreMutants(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                   device::Device& device, const MutationOptions& options);

nlohmann::json scoreJson(const MutationScore& score);

/// scoreMutants(), once for each K0, dispatch and options: the score (scoreJson) is kept in `folder`, which is made. A
/// cache that cannot be read or written only costs time.
Result<nlohmann::json> cachedScore(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                   device::Device& device, const MutationOptions& options, const std::string& folder);

/// Judges mutants of one object. Not for several threads at once: one each, with a shared baseline.
class MutantJudge {
 public:
  /// `wider`: measured on a dispatch with other variants; may be empty.
  MutantJudge(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
              const Options& gate, std::shared_ptr<const Baseline> wider);
  ~MutantJudge();
  /// Once, before all else.
  Status prepare();
  std::vector<Mutant> mutants();
  MutantFate judge(const Mutant& mutant);
  /// `k1` has `mutant` in it, or whatever it describes.
  MutantFate judge(const Mutant& mutant, const object::CodeObject& k1);
  /// K0's, complete.
  const program::Program& program() const;
  isa::Codec& codec();

 private:
  struct State;
  std::unique_ptr<State> state;
};

/// K0 on `rounds` of data that measureBaseline() for `gate` does not make, and on all sizes.
Result<std::shared_ptr<const Baseline>> measureWider(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                                     device::Device& device, const Options& gate, unsigned rounds);
/// The first difference of K1 there, in order only; nothing where there is none.
std::optional<std::string> widerDifference(const Baseline& wider, const object::CodeObject& k1, device::Device& device,
                                           const Options& gate);

} // namespace asmevo::verify
