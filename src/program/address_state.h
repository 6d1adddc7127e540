/// What scalar registers are known to hold of code addresses: the values that address_flow follows, and how they meet
/// where paths join.
#pragma once

#include "isa/instruction.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace asmevo::program {

/// Number of an instruction in the whole program, from 1.
using InstrSerial = std::uint32_t;

/// What a scalar register holds. `id` is the instruction that made it.
struct AddressValue {
  enum class Kind : std::uint8_t {
    unknown,
    constant,
    counterLow, ///< raw program counter
    counterHigh,
    addressLow,  ///< program counter plus a constant: id is the addition
    addressHigh, ///< id is the addition with carry
    derivedLow,  ///< an address plus something: ids are the address's
    derivedHigh,
    loaded,     ///< from memory at such an address: id is the load
    loadedSign, ///< its sign, in all bits
    entryLow,   ///< an address plus what was loaded: id is the addition
    entryHigh,
    tainted,     ///< made from code addresses in a way that is not followed
    maybeCounter ///< raw program counter on some path
  };
  Kind kind = Kind::unknown;
  bool indexed = false;   ///< derived: by something that is not constant
  InstrSerial id = 0;     ///< constant: whose literal it is, 0 if of none that can be changed
  std::int64_t extra = 0; ///< constant: its value; derived: displacement; loaded: dword of the load
  bool operator==(const AddressValue&) const = default;
};

inline bool isCounter(AddressValue::Kind kind) {
  return kind == AddressValue::Kind::counterLow || kind == AddressValue::Kind::counterHigh;
}
inline bool holdsAddress(AddressValue::Kind kind) {
  return kind >= AddressValue::Kind::addressLow && kind <= AddressValue::Kind::derivedHigh;
}

/// Known registers, ascending, and which addition set the carry.
struct AddressState {
  std::vector<std::pair<unsigned, AddressValue>> known;
  InstrSerial carry = 0;

  AddressValue get(unsigned reg) const;
  void set(unsigned reg, const AddressValue& value);
  bool operator==(const AddressState&) const = default;
};

inline bool coversScalar(const isa::RegRange& range, unsigned reg) {
  return range.file == isa::RegRange::File::scalar && range.first <= reg && reg < unsigned{range.first} + range.count;
}

/// What holds on both of two paths. A program counter that is there on one of them only stays a suspicion.
AddressState joined(const AddressState& a, const AddressState& b);

} // namespace asmevo::program
