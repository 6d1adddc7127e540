/// Seeded mutants: one small wrong edit each, of the kinds that people, optimizers and language models make.
#pragma once

#include "object/code_object.h"
#include "program/program.h"
#include "support/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::verify {

enum class MutantKind : std::uint8_t {
  droppedWait,        ///< an s_waitcnt gone
  shortenedWait,      ///< one of its counters one or several higher
  shorterHazard,      ///< an s_nop shorter or gone
  droppedBarrier,     ///< an s_barrier gone
  droppedScope,       ///< sc0 or sc1 of a load or store gone, or a cache writeback or invalidate
  droppedStore,       ///< a store to LDS or memory gone
  droppedInstruction, ///< a vector, matrix or scalar operation, or a load, gone
  wrongRegister,      ///< a source or destination one register beside
  swappedOperands,    ///< two sources of an operation that is not commutative exchanged
  wrongOperation,     ///< min for max, add for sub, a condition reversed or shifted by one
  wrongConstant,      ///< an immediate one off
  shiftedOffset,      ///< the offset of a memory access one element off
  wrongMask,          ///< EXEC not narrowed, not restored, or narrowed to the wrong side
  loopTrip,           ///< a loop's bound, step or condition one off
};
inline constexpr std::size_t mutantKinds = 14;
std::string_view mutantKindName(MutantKind kind);

/// One instruction replaced, or taken out.
struct Mutant {
  MutantKind kind = MutantKind::droppedWait;
  std::uint64_t address = 0;
  program::BlockId block = 0;
  std::size_t index = 0;
  std::string replacement; ///< text that takes its place; empty: nothing
  std::string description; ///< "0x1a40: v_sub_f32_e32 v0, v1, v2 -> v_sub_f32_e32 v0, v2, v1"
};

/// All mutants of the kernels' code (called functions included) that assemble, in the order of addresses. Registers
/// stay in the kernel's allocation. Needs complete instructions.
std::vector<Mutant> allMutants(const object::CodeObject& object, const program::Program& program, isa::Codec& codec,
                               const std::vector<std::size_t>& kernels);

/// `count` of them (0: all), all kinds alike as far as there are enough, chosen by `seed`; in the order of addresses.
std::vector<Mutant> sampleMutants(std::vector<Mutant> all, std::size_t count, std::uint64_t seed);

/// The object with the mutant in it.
Result<object::CodeObject> plant(const object::CodeObject& object, const program::Program& program, isa::Codec& codec,
                                 const Mutant& mutant);

} // namespace asmevo::verify
