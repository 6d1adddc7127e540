/// The two programs of a proof, and when their instructions say the same.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/analysis/memory_dependence.h"
#include "program/program.h"
#include "support/result.h"
#include "verify/proof/available_facts.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// K0 is side 0, K1 is side 1.
inline constexpr std::array<std::size_t, 2> bothSides{0, 1};

/// One object's side of the proof.
struct Side {
  const object::CodeObject* object = nullptr;
  std::unique_ptr<isa::Codec> codec;
  std::unique_ptr<program::Program> program;
  const program::Function* function = nullptr;
  const object::Kernel* kernel = nullptr;
  unsigned accumOffset = 0;
  std::vector<FactMap> facts; ///< by block

  /// Do two memory instructions never touch a common byte? The analysis is made on the first question.
  bool disjoint(program::Place first, program::Place second);

 private:
  std::unique_ptr<program::MemoryDependence> dependence;
};

Result<Side> openSide(const object::CodeObject& object, const std::string& kernelName);
/// The side of an edited program of that object, whose instructions are complete.
Side sideOf(const Side& original, program::Program edited);

/// What a layout-dependent literal stands for: the same text on both sides when it is the same place.
std::string literalKey(const Side& side, const program::Instr& instr);
/// Equal but for a branch offset or a pc-relative literal that means the same place.
bool sameInstr(const Side& a, const program::Instr& p, const Side& b, const program::Instr& q);
/// Waits and nops: they have no value.
bool isWaitLike(const program::Instr& instr);
/// Equal instruction lists but for waits, branch offsets and pc-relative literals: executing both from equal state
/// gives equal state without looking inside.
bool sameText(const Side& a, const program::Block& x, const Side& b, const program::Block& y);

/// Where a block goes: the terminating branch (if it is a real choice) and its targets.
struct Exit {
  const program::Instr* branch = nullptr; ///< conditional branch
  std::optional<program::BlockId> taken, fallThrough;
  bool ends = false; ///< s_endpgm or a register jump
  bool isPlain() const { return !branch && !ends; }
};
Exit exitOf(const program::Program& program, program::BlockId id);

/// Skips blocks that only jump on (branch islands, empty blocks), so that relayout does not change the shape.
std::optional<program::BlockId> resolve(const program::Program& program, std::optional<program::BlockId> id);

} // namespace asmevo::verify
