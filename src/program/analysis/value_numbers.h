/// What registers hold, as far as addresses need it: sums of unknown values and constants.
///
/// Promises: where two reads get the same linear form, they see the same value in every lane that is active at both. A
/// symbol is a value nobody looked into: a register at the function's entry, the result of an operation that is not
/// followed, a VGPR read under another EXEC than it was written under, or a register that differs between the paths
/// into a block. Blocks start with what their immediate dominator ends with, but for registers written on the way.
#pragma once

#include "program/analysis/dataflow.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace asmevo::program {

/// constant + sum of coefficient * symbol, mod 2^32.
struct LinearForm {
  std::uint32_t constant = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> terms; ///< symbol and coefficient (not 0), by symbol
  bool isConstant() const { return terms.empty(); }
  bool operator==(const LinearForm&) const = default;
  auto operator<=>(const LinearForm&) const = default;
};
/// a + factor * b.
LinearForm sum(const LinearForm& a, const LinearForm& b, std::uint32_t factor = 1);

/// Symbol of the lane's number in its wave.
inline constexpr std::uint32_t laneSymbol = 0;

class ValueNumbers {
 public:
  using Visit = std::function<void(Place, const isa::Instruction&, const ValueNumbers&)>;

  /// Walks over the function, dominators first, and calls `visit` in front of every instruction; the questions below
  /// are about that point. `linearIds`: workgroups have one dimension, so v0 starts as a multiple of the wave size plus
  /// the lane.
  ValueNumbers(const Program& program, const Function& function, unsigned accumOffset, bool linearIds,
               const Visit& visit);

  LinearForm scalar(unsigned unit) const;
  /// As seen by the lanes that are active.
  LinearForm vector(unsigned physical) const;
  /// One dword of a register, or an integer constant; nothing for other operands.
  std::optional<LinearForm> operand(const isa::Operand& operand, unsigned dword = 0) const;
  /// The same in every lane?
  bool isUniform(const LinearForm& form) const;

 private:
  struct Held {
    std::uint32_t form = 0;
    std::uint32_t mask = 0; ///< VGPRs: EXEC of the write
    std::uint32_t raw = 0;  ///< VGPRs: symbol of the register as a whole
  };
  using State = std::vector<Held>;

  std::uint32_t intern(const LinearForm& form);
  std::uint32_t freshSymbol(bool uniform);
  void forget(std::size_t unit);
  void forget(const isa::RegSet& units);
  void enter(BlockId block);
  void step(const Instr& instr, bool opaque);
  std::optional<LinearForm> result(const isa::Instruction& inst);
  std::optional<LinearForm> scalarResult(const isa::Instruction& inst) const;
  std::optional<LinearForm> vectorResult(const isa::Instruction& inst);
  std::uint32_t execNumber();

  const Program& program;
  const Function& function;
  unsigned accumOffset;
  std::vector<LinearForm> table;
  std::map<LinearForm, std::uint32_t> numbers;
  std::vector<bool> uniformSymbols;
  std::uint32_t waveBase, countLow; ///< symbols: first work-item of the wave; V_MBCNT_LO of all ones
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> execNumbers;
  State state;
};

} // namespace asmevo::program
