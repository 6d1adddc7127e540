/// Proof that two kernels compute the same for every input, window by window.
///
/// A window is straight code between two cut points; the control-flow graphs of K0 and K1 are walked in step, which
/// pairs their blocks. At every pair's entry a relation holds: which registers of K1 hold what which registers of K0
/// hold (not only those of one name), and memory is equal. Both sides of a window are executed symbolically from that
/// relation over the shared semantics; the branch condition and the ordered effects on memory must be equal, and
/// whatever K0 still needs must be in a register of K1. The relation at a join is what holds on every way into it, to a
/// fixed point: the argument is an induction over cut points. Nothing that only the whole kernel would justify is
/// accepted.
///
/// Waits, nops and priorities have no value: their soundness is the business of the wait and hazard analyses (verify's
/// lint gate), never of this proof.
#pragma once

#include "object/code_object.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::verify {

enum class ProofStatus : std::uint8_t {
  proved,  ///< equal for every input
  differs, ///< a concrete state tells the two windows apart: ProofResult::counterexample
  unknown, ///< neither proved nor told apart
  timeout, ///< a limit of ProofOptions on work, time or memory was reached
  refused, ///< outside what is reasoned about: indexed registers, unequal control flow, calls with edited callees
};
std::string_view statusName(ProofStatus status);

/// A state from which the two windows do different things; both were run by the emulator's handlers.
struct Counterexample {
  std::uint64_t address = 0;    ///< K0 address of the window
  std::uint64_t memorySeed = 0; ///< of the contents of memory nobody wrote (verify/proof/window_machine.h)
  struct Register {
    std::string name;                 ///< K0's
    std::vector<std::uint32_t> lanes; ///< one value if scalar, else 64
  };
  std::vector<Register> registers; ///< that the windows read
  std::string difference;          ///< "v4 lane 3: 0x1 in K0, 0x2 in K1"
  std::string text() const;        ///< a test case in words, for receipts
};

/// Windows proved before, by canonical form: a hash of both sides after renaming registers in order of appearance.
class ProofCache {
 public:
  bool contains(const std::string& key) const { return keys.contains(key); }
  void insert(const std::string& key) { keys.insert(key); }
  std::size_t size() const { return keys.size(); }
  /// One key per line. Lines that are no key are ignored.
  Status load(const std::string& path);
  Status save(const std::string& path) const;

 private:
  std::set<std::string> keys;
};

class KeptCounterexamples;

struct ProofOptions {
  unsigned resourceLimit = 400'000; ///< Z3 "rlimit" per question: work, not time, so that verdicts repeat
  unsigned questions = 48;          ///< to Z3 per window
  unsigned trials = 48;             ///< concrete runs in search of a counterexample
  double windowSeconds = 2;         ///< processor time of one window, after which the answer is `timeout`
  double seconds = 8;               ///< processor time of the whole proof
  std::size_t terms = 2'000'000;    ///< of one window, at about 200 bytes each; more is a `timeout` too
  bool useFacts = true;             ///< what the code around a window establishes (available facts, disjoint addresses)
  /// Waves start with all their lanes on: to be shown by the launches. Where a proof may need it, ProofResult::
  /// assumptions says so.
  bool wholeWaves = false;
  ProofCache* cache = nullptr;
  /// States that told earlier candidates from K0: run first, and added to. Those of one K0 only.
  KeptCounterexamples* kept = nullptr;
};

struct WindowProof {
  std::uint64_t address = 0; ///< K0's
  ProofStatus status = ProofStatus::unknown;
  std::size_t instructions = 0; ///< of both sides
  double seconds = 0;           ///< of processor time
  bool usedFacts = false;
  bool fromCache = false;
};

struct ProofResult {
  ProofStatus status = ProofStatus::unknown;
  std::string reason;                   ///< for proved: what was compared; otherwise where it failed
  std::size_t blocks = 0;               ///< block pairs compared
  std::size_t editedBlocks = 0;         ///< pairs whose instructions differ
  std::uint64_t address = 0;            ///< K0 address of the first failing window
  std::vector<WindowProof> windows;     ///< executed symbolically
  std::vector<std::string> assumptions; ///< what `proved` rests on beyond the semantics, as sentences
  std::optional<Counterexample> counterexample;
};

/// Compares the named kernel of two objects. Errors only on objects that cannot be recovered.
Result<ProofResult> proveEquivalent(const object::CodeObject& k0, const object::CodeObject& k1,
                                    const std::string& kernel, const ProofOptions& options = {});

struct Side;
/// The same for programs at hand (verify/proof/sides.h): an edit need not be laid out to be judged.
ProofResult proveSides(Side& k0, Side& k1, const ProofOptions& options = {});

} // namespace asmevo::verify
