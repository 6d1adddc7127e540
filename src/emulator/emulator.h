/// Runs a dispatch exactly, without a GPU: the oracle's machine.
#pragma once

#include "dispatch/dispatch.h"
#include "emulator/guest_memory.h"
#include "emulator/lds_extent.h"
#include "emulator/simd_level.h"
#include "emulator/strict.h"
#include "emulator/trace.h"
#include "isa/shared_codec.h"
#include "object/code_object.h"
#include "support/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace asmevo::emulator {

class Observer;

struct RunOptions {
  unsigned threads = 1;       ///< workgroups in flight on host threads
  std::uint64_t seed = 0;     ///< 0: waves in lock-step round robin order; else a seeded interleaving
  bool waveToBarrier = false; ///< run each wave to its next barrier before the others
  bool poisonState = true;    ///< fill VGPRs, SGPRs and LDS with a pattern before the start
  std::uint64_t poisonSeed = 0x9e3779b97f4a7c15;
  std::uint64_t maxInstructions = 20'000'000'000; ///< wave-instructions of the whole dispatch; then "endless kernel?"
  std::set<std::uint64_t> traceWorkgroups;        ///< dispatch indices of workgroups to trace
  std::vector<std::uint64_t> onlyWorkgroups;      ///< run only these (buffers are then partial); empty: all
  bool coverage = false;                          ///< count executions per instruction address
  bool onlyTraces = false;                        ///< buffers are not read back and guard zones not checked
  bool fastMfma = false; ///< floating-point matrix instructions as f32 multiply-adds: quicker, not bit-exact
  /// A strict run, on one host thread: memory operations are delivered by its rule, and findings are reported.
  std::optional<StrictOptions> strict;
  std::vector<Observer*> observers; ///< called in this order, on one host thread (observe/observer.h); not owned
  /// Address space for the loaded object at least: gives the buffers of two objects' runs the same addresses.
  std::uint64_t imageSpan = 0;
};

struct RunResult {
  bool brokenOff = false;     ///< an observer had seen enough: buffers are what they were by then
  std::vector<Bytes> buffers; ///< in the case's order
  std::vector<GuardViolation> guardViolations;
  LdsExtent lds; ///< of the workgroups that ended
  std::uint64_t waveInstructions = 0;
  std::uint64_t waves = 0;
  std::vector<WorkgroupTrace> traces;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> coverage; ///< (virtual address, executions), ascending
  std::vector<StrictFinding> findings;                           ///< of a strict run
  std::vector<std::string> strictNotes;                          ///< what limits a strict run's judgement, as sentences
};

/// What a prepared kernel is for.
enum class Purpose {
  run,  ///< results count: what the emulator does not compute to the bit is refused
  trace ///< paths and addresses for the timing model: gfx950 code too, as far as gfx942 has its instructions, computed
        ///< with gfx942's 8-bit floats and matrix arithmetic; what it stores means nothing
};

/// A code object pre-decoded for one kernel; reusable for many runs, from many threads.
class Kernel {
 public:
  /// Errors: no such kernel, relocatable or unresolved symbols, a target other than gfx942 (or gfx9-4-generic; for
  /// traces gfx950).
  /// Unknown opcodes are not errors here: reaching one stops the run (refused, with name and address).
  /// `simd`: the handlers to run on, one of hostSimdLevels(); they all give the same bits. `codec`: decodes for kernels
  /// of the same target, null: one of its own.
  static Result<std::shared_ptr<const Kernel>> prepare(const object::CodeObject& object, const std::string& kernelName,
                                                       SimdLevel simd = bestSimdLevel(), Purpose purpose = Purpose::run,
                                                       std::shared_ptr<isa::SharedCodec> codec = nullptr);
  virtual ~Kernel() = default;
  virtual Result<RunResult> run(const dispatch::Case& launch, const RunOptions& options) const = 0;
  virtual std::uint64_t imageBytes() const = 0;  ///< of the loaded object
  virtual std::uint64_t codeAddress() const = 0; ///< virtual address in the object that WaveTrace offsets count from
};

} // namespace asmevo::emulator
