/// What 32-bit registers may hold, as unsigned integers: an interval and the bits that may be set.
#pragma once

#include "isa/instruction.h"

#include <array>
#include <cstdint>
#include <optional>

namespace asmevo::optimize {

/// All values from `min` to `max` whose ones lie in `bits`. For a vector register: in any lane.
struct Bounds {
  std::uint32_t min = 0, max = 0, bits = 0;
  bool operator==(const Bounds&) const = default;

  static Bounds anything() { return {0, 0xffffffff, 0xffffffff}; }
  static Bounds constant(std::uint32_t value) { return {value, value, value}; }
  static Bounds upTo(std::uint32_t max);
  bool isBounded() const { return max != 0xffffffff; }
  /// What holds of either.
  Bounds joined(const Bounds& other) const;
};

/// Bounds of every register unit at a point of a program.
class RegisterBounds {
 public:
  /// Scalars may hold anything; a vector register that nothing has written holds no value that a program could use.
  RegisterBounds();

  const Bounds& operator[](isa::RegUnit unit) const { return units[unit]; }
  void set(isa::RegUnit unit, const Bounds& bounds) { units[unit] = bounds; }
  /// Takes in what may also come here. A bound that keeps growing from call to call gives up its interval, then is
  /// anything: joins in a loop come to an end. True if something changed.
  bool join(const RegisterBounds& other);
  /// `allLanes`: EXEC leaves out no lane of those that started; else lanes keep what they had.
  void step(const isa::Instruction& inst, unsigned accumOffset, bool allLanes);

 private:
  std::optional<isa::RegUnit> unitOf(const isa::Operand& operand, unsigned accumOffset) const;
  Bounds source(const isa::Operand& operand, unsigned accumOffset) const;
  std::optional<Bounds> result(const isa::Instruction& inst, unsigned accumOffset) const;

  std::array<Bounds, isa::regUnitCount> units{};
  std::array<std::uint8_t, isa::regUnitCount> growth{}; ///< joins that made a unit's bounds wider
};

} // namespace asmevo::optimize
