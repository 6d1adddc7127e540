/// Where K1 first does something else than K0 in one launch.
///
/// Both run on one schedule, each wave to its next barrier before the others, which does not depend on how many
/// instructions a wave needs. Their waves are compared at the entries of corresponding blocks (alignment.h): the
/// registers live there in both, in the lanes of EXEC, and the set of all stores so far, by address and value. A
/// difference in registers or stores that is gone at a later block entry is none: instructions were moved, or registers
/// renamed. Block order that differs is one at once. Blocks without a counterpart are passed over.
#pragma once

#include "dispatch/dispatch.h"
#include "object/code_object.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// One side of a difference.
struct DivergedSide {
  std::uint64_t pc = 0; ///< of the instruction that wrote the value, or the block that was entered; 0: none
  std::string text;     ///< of the instruction; "": none in the stretch looked at
  std::string value;    ///< hex; "": nothing was stored there, or no value
};

struct Divergence {
  enum class Kind { reg, memory, controlFlow };
  Kind kind = Kind::memory;
  std::uint64_t workgroup = 0; ///< dispatch index
  unsigned wave = 0;
  std::optional<unsigned> lane;
  std::string where;       ///< "v7", "buffer 'c' + 0x40", "LDS + 0x10", "next block"
  std::uint64_t visit = 0; ///< corresponding block entries of the wave before that
  DivergedSide k0, k1;
};
std::string_view divergenceKindName(Divergence::Kind kind);

struct DivergenceReport {
  /// In the order of K1's run. Registers first where they differ before a store or a branch does.
  std::optional<Divergence> first;
  std::uint64_t waves = 0, visits = 0; ///< compared
  std::vector<std::string> differentBuffers;
  std::vector<std::string> notes;
};

struct DivergenceOptions {
  std::uint64_t maxInstructions = 2'000'000'000;
  /// Block entries of K0 that are kept; a longer run is compared as far as that, and the report says so.
  std::uint64_t maxVisits = 24'000'000;
};

/// Errors: objects of different targets, no such kernel, a K0 that cannot run. A K1 that faults is reported up to
/// there.
Result<DivergenceReport> findDivergence(const object::CodeObject& k0, const object::CodeObject& k1,
                                        const dispatch::Case& launch, const DivergenceOptions& options = {});

} // namespace asmevo::verify
