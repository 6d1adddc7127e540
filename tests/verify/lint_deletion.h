/// Waits and s_nop taken out of compiled kernels one at a time, and oracles that say which of them mattered. Neither
/// shares code with the lint: waits are judged by running explicit queues of outstanding operations along every path of
/// the program, s_nop by the compiler, which puts one only where its hazard recognizer asks for it.
#pragma once

#include "object/code_object.h"
#include "program/program.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace asmevo::tests {

/// Rule, producer, consumer (addresses in the original).
using PathViolation = std::tuple<std::string, std::uint64_t, std::uint64_t>;

/// What goes wrong on some path of a gfx9 kernel with everything delivered as late as the waits allow: registers read
/// or overwritten under an operation in flight, vector memory and LDS operations in flight at barriers, at atomics,
/// scoped accesses and cache control, LDS-DMA in flight at LDS accesses. Nothing: too many states to look at all of
/// them.
std::optional<std::set<PathViolation>> pathViolations(const program::Program& program, const program::Function& kernel,
                                                      unsigned accumOffset);

struct DeletionTrial {
  std::uint64_t address = 0;
  std::string text;
  bool isNop = false;
  std::optional<bool> live; ///< nothing: the oracle gave up
  bool flagged = false;
  std::string rule; ///< of the first new finding
};

/// One compiled object.
class DeletionTarget {
 public:
  /// Errors of loading end the program by an exception.
  explicit DeletionTarget(object::CodeObject object);

  struct Candidate {
    program::BlockId block = 0;
    std::uint32_t index = 0;
  };
  /// Every s_waitcnt and s_nop that control reaches.
  const std::vector<Candidate>& candidates() const { return all; }
  /// Takes one out, lays the program out again and lints the result against the original. Nothing where the program
  /// cannot be laid out again.
  std::optional<DeletionTrial> remove(const Candidate& candidate);

 private:
  const program::Function* kernelOf(program::BlockId block) const;

  object::CodeObject object;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;
  std::vector<Candidate> all;
};

} // namespace asmevo::tests
