/// Waits and wait states made too weak on purpose, and an oracle that tells which of these edits matter. The oracle
/// shares no code with strict mode: it replays the path that a plain run of the original took.
#pragma once

#include "emulator/emulator.h"
#include "emulator/observe/observer.h"
#include "program/analysis/hazards.h"
#include "program/program.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace asmevo::tests {

enum class MutationKind : std::uint8_t { droppedWait, weakenedWait, shrunkNop, movedNearer };
const char* mutationName(MutationKind kind);

/// An edit in place: a stretch of straight code with as many bytes as before.
struct WaitMutant {
  MutationKind kind = MutationKind::droppedWait;
  std::string description;
  std::vector<std::uint64_t> window; ///< addresses of the instructions replaced, ascending and adjacent
  /// What stands there now, each with the address of the original that it is, or takes the place of.
  std::vector<std::pair<isa::InstRef, std::uint64_t>> code;

  Bytes bytes() const;
  /// The address in the original of an instruction of the mutant.
  std::uint64_t originalAddress(std::uint64_t address) const;
};

/// All mutants of the instructions at `executed` addresses (ascending): each s_waitcnt dropped, each of its counters
/// weakened by one, two, four, ... and to no wait at all; each s_nop shortened to everything that is less, and moved
/// behind the next instruction; instructions moved up past up to eight others that they do not depend on, and matrix
/// operations moved down past up to twenty.
std::vector<WaitMutant> waitMutants(const program::Program& program, isa::Codec& codec,
                                    const std::vector<std::uint64_t>& executed, unsigned accumOffset);

/// What the waves of a few workgroups executed, in order.
class PathRecorder final : public emulator::Observer {
 public:
  struct Touch {
    std::uint64_t dword = 0;  ///< LDS: from the top bit on
    std::uint8_t bytes = 0;   ///< which of the four
    std::uint8_t changed = 0; ///< of those, which a write changed
    bool read = false, write = false, atomic = false, dma = false;
  };
  struct Step {
    isa::InstRef inst = nullptr;
    std::uint64_t address = 0, exec = 0;
    bool indexed = false; ///< under s_set_gpr_idx_on: its operands do not name its registers
    std::uint32_t touchBegin = 0, touchEnd = 0;
    unsigned epoch = 0;                                     ///< barriers before it
    std::uint64_t ldsBegin = ~std::uint64_t{0}, ldsEnd = 0; ///< dwords of LDS that it touches lie in here
  };
  struct WavePath {
    std::uint64_t workgroup = 0;
    unsigned wave = 0, epoch = 0;
    std::vector<Step> steps;
    std::vector<Touch> touches;
  };

  void workgroupStarted(emulator::Workgroup& group) override;
  void before(emulator::Wave& wave, const emulator::Op* op) override;
  void access(emulator::Wave& wave, const emulator::Op* op, const emulator::AccessEvent& event) override;
  void after(emulator::Wave& wave, const emulator::Op* op) override;

  std::deque<WavePath> paths;
  static constexpr std::uint64_t ldsBit = std::uint64_t{1} << 63;

 private:
  struct Written {
    std::size_t touch = 0;
    const std::uint8_t* host = nullptr;
    std::uint32_t old = 0;
  };
  WavePath& pathOf(const emulator::Wave& wave);
  std::map<const emulator::Wave*, WavePath*> current;
  std::vector<Written> written; ///< by the instruction under way
};

/// Decides whether a mutant breaks something on the recorded paths that the original does not break: a register read or
/// overwritten while an operation that no wait covers is to write it (lane by lane), LDS under an LDS-DMA in flight
/// touched by its wave, LDS read in flight under a later LDS-DMA, an access that a barrier no longer orders before one
/// of another wave in conflict with it (stores that change nothing are none), and distances below those that
/// program::requiredHazard() asks for. Not judged, and so never live: what only orders accesses of different
/// workgroups, caches, instructions under s_set_gpr_idx_on.
class WaitOracle {
 public:
  WaitOracle(const PathRecorder& recorder, unsigned accumOffset, program::HazardTarget target);

  /// Why the mutant matters, or empty.
  std::string whyLive(const WaitMutant& mutant);

 private:
  using Step = PathRecorder::Step;
  using Touch = PathRecorder::Touch;
  struct Issued {
    isa::InstRef inst;
    std::uint64_t address;
    const Step* step;
  };
  using Path = std::vector<Issued>;
  /// Rule, producer, consumer.
  using Violation = std::tuple<std::string, std::uint64_t, std::uint64_t>;
  struct Replay {
    std::map<Violation, unsigned> worst;              ///< with what is missing of a distance
    std::unordered_map<const Step*, unsigned> epochs; ///< of each access: barriers before its wave knew it complete
  };
  struct Toucher {
    std::uint32_t path;
    unsigned epoch;
    std::uint64_t address;
    const Touch* touch;
  };
  struct Traits {
    isa::RegSet reads, writes;
    bool vm = false, lds = false, scalar = false, flat = false, wholeWave = false, dma = false, wait = false;
    unsigned states = 1, passes = 0;
    bool memory() const { return vm || lds || scalar || flat; }
  };

  const Traits& traitsOf(isa::InstRef inst);
  program::Hazard hazardOf(isa::InstRef producer, isa::InstRef consumer);
  static Path mutatedPath(const PathRecorder::WavePath& path, const WaitMutant* mutant);
  void replayWaits(std::size_t number, const Path& path, Replay& replay);
  /// `judged`: surroundings, as addresses, that were looked at.
  void replayDistances(const Path& path, const std::vector<std::size_t>& at, Replay& replay,
                       std::set<std::vector<std::uint64_t>>& judged);
  std::string crossWave(const Replay& mutant);
  std::vector<std::size_t> placesOf(const Path& path, const WaitMutant& mutant) const;

  const PathRecorder& recorder;
  unsigned accumOffset;
  program::HazardTarget target;
  std::unordered_map<isa::InstRef, Traits> traits;
  std::unordered_map<isa::InstRef, std::unordered_map<isa::InstRef, program::Hazard>> hazards; ///< by producer
  std::vector<Path> originals;
  Replay original;
  std::unordered_map<std::uint64_t, std::vector<Toucher>> touchers; ///< of dwords that anything writes
  std::unordered_map<const Step*, std::uint32_t> pathOfStep;
};

/// One kernel under test.
class MutationTarget {
 public:
  struct Trial {
    const WaitMutant* mutant = nullptr;
    std::string why; ///< it matters
    bool caught = false;
    std::string by; ///< rule of the finding, "buffers" or "run fails"
  };

  /// Errors of loading and running end the program by an exception. Only `workgroups` run.
  MutationTarget(object::CodeObject object, const dispatch::Case& launch, std::vector<std::uint64_t> workgroups);
  ~MutationTarget();

  const std::vector<WaitMutant>& mutants() const { return all; }
  std::string whyLive(const WaitMutant& mutant) { return oracle->whyLive(mutant); }
  /// Runs the mutant under every delivery until one of them shows something that the original does not.
  Trial run(const WaitMutant& mutant) const;
  std::size_t baselineFindings() const { return known.size(); }

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;

  object::CodeObject object;
  const dispatch::Case& launch;
  std::vector<std::uint64_t> workgroups;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;
  std::shared_ptr<const emulator::Kernel> kernel;
  PathRecorder recorder;
  std::unique_ptr<WaitOracle> oracle;
  std::vector<WaitMutant> all;
  std::map<Key, unsigned> known; ///< findings of the original with their worst shortfall
  std::vector<Bytes> expected;
  bool buffersDiffer = false; ///< the original's own buffers under some delivery
  std::uint64_t instructionLimit = 0;
};

/// Their numbers in an order that depends on nothing but the seed, moved instructions and others in turn.
std::vector<std::size_t> mixedOrder(const std::vector<WaitMutant>& mutants, std::uint64_t seed);

} // namespace asmevo::tests
