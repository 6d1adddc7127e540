/// EXEC compared with what it was at one point of a program.
#pragma once

#include "isa/instruction.h"

#include <array>
#include <cstdint>

namespace asmevo::program {

/// Lanes of a 64-bit mask in terms of the lanes that were on at the point.
enum class Lanes : std::uint8_t {
  other,  ///< nothing is known
  within, ///< none that was off
  same,   ///< exactly those
};

/// Relation of EXEC and of every SGPR pair to EXEC at the point, on the paths that come from it. A must-analysis'
/// state: join() keeps what holds on all paths. Follows s_and/or/xor/andn2 (and their saveexec forms), moves, selects
/// and vector compares, which leave zeros for lanes that are off (CDNA3 ISA, "VCC Usage", "V_CMPX"); 64-lane masks
/// only.
class ExecRelation {
 public:
  /// At the point itself. `full`: all lanes are on there.
  static ExecRelation atPoint(bool full);
  bool reached() const { return isReached; }
  Lanes exec() const { return pairs[execPair]; }
  void step(const isa::Instruction& inst);
  /// Nothing is known of any mask from here on.
  void forget() { pairs.fill(unknownMask()); }
  /// True if this state changed.
  bool join(const ExecRelation& other);

 private:
  static constexpr std::size_t execPair = isa::sreg::execLo / 2;
  /// Of all lanes, any mask is a part.
  Lanes unknownMask() const { return full ? Lanes::within : Lanes::other; }
  Lanes operandLanes(const isa::Operand& operand) const;

  bool isReached = false, full = false;
  std::array<Lanes, 64> pairs{}; ///< of SGPRs 2n and 2n + 1, by hardware encoding
};

} // namespace asmevo::program
