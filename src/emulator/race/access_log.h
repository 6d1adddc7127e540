/// Who touched a memory cell last, compressed: cells hold 32-bit numbers of entries here. Private to the emulator.
#pragma once

#include "emulator/race/clock.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace asmevo::emulator {

/// One memory instruction of one wave.
struct AccessRecord {
  WaveId wave = 0;
  std::uint32_t stamp = 0; ///< in its domain
  std::uint32_t code = 0;  ///< dword of the instruction, counted from the start of the code
  Domain domain = Domain::vm;
  bool atomic = false; ///< read-modify-write, or a load or store with scope bits
  bool write = false;
  bool agent = false; ///< atomic towards other workgroups, too
};

/// Access records, and sets of records as persistent lists that share their tails: the cells of a tile that were read
/// by the same instructions have one set, whatever their number. Number 0 is none. Everything can be forgotten at
/// once: numbers given out before then count as none.
class AccessLog {
 public:
  std::uint32_t add(const AccessRecord& record) {
    records.push_back(record);
    return recordBase + static_cast<std::uint32_t>(records.size());
  }
  bool knows(std::uint32_t record) const { return record > recordBase; }
  const AccessRecord& operator[](std::uint32_t record) const { return records[record - recordBase - 1]; }

  struct Set {
    std::uint32_t tail = 0, record = 0, size = 0;
  };
  /// The set with `record` in front of `tail`, which is none or known.
  std::uint32_t prepend(std::uint32_t record, std::uint32_t tail) {
    sets.push_back({tail, record, tail == 0 ? 1 : set(tail).size + 1});
    return setBase + static_cast<std::uint32_t>(sets.size());
  }
  bool knowsSet(std::uint32_t number) const { return number > setBase; }
  const Set& set(std::uint32_t number) const { return sets[number - setBase - 1]; }

  void forget() {
    recordBase += static_cast<std::uint32_t>(records.size());
    setBase += static_cast<std::uint32_t>(sets.size());
    records.clear();
    sets.clear();
  }
  std::uint64_t bytes() const { return records.size() * sizeof(AccessRecord) + sets.size() * sizeof(Set); }
  /// True when 32-bit numbers are about to run out.
  bool full() const {
    constexpr std::uint64_t limit = 0x7fffff00;
    return recordBase + records.size() > limit || setBase + sets.size() > limit;
  }

 private:
  std::vector<AccessRecord> records;
  std::vector<Set> sets;
  std::uint32_t recordBase = 0, setBase = 0;
};

} // namespace asmevo::emulator
