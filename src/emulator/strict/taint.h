/// Registers, LDS and scratch that nothing has written, followed through the program until their contents reach an
/// address, a branch or a store to global memory. Private to the emulator.
///
/// A vector register has a mark for each lane and half, a scalar one for each bit, LDS for each byte, scratch for each
/// dword. An operation marks a lane of its result where any source lane that it depends on is marked; and, or and
/// selects know that one clean side can decide. Stores to LDS and scratch carry marks along and are no findings.
#pragma once

#include "emulator/observe/finding_log.h"
#include "emulator/observe/observer.h"
#include "emulator/strict/op_info.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::emulator {

/// Where marked contents come from: a register unit, or memory of the wave or workgroup.
using Origin = std::uint16_t;
inline constexpr Origin fromLds = 0xfffe, fromScratch = 0xfffd;
std::string originName(Origin origin);

/// Marks of a workgroup's LDS.
class LdsTaint {
 public:
  void reset(std::size_t ldsBytes);
  bool any() const { return marked != 0; }
  /// Marks of up to 4 bytes as bits.
  std::uint32_t at(std::uint64_t address, unsigned bytes) const;
  void set(std::uint64_t address, unsigned bytes, bool tainted, Origin origin);
  Origin originAt(std::uint64_t address) const { return origins[address / 4]; }

 private:
  std::size_t size = 0, marked = 0;
  std::vector<std::uint8_t> bytes; ///< 1: marked
  std::vector<Origin> origins;     ///< by dword
};

class Taint {
 public:
  Taint(const Wave& wave, LdsTaint& lds);

  /// `op` executes next. Everything but the memory side of memory instructions.
  void before(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) {
    if (marked.intersects(info.touched)) [[unlikely]]
      step(wave, info, op, log);
  }
  /// Its `element`-th access, with the data side of stores and loads.
  void access(Wave& wave, const OpInfo& info, const Op* op, const AccessEvent& event, unsigned element,
              FindingLog& log);

 private:
  struct Lanes {
    std::uint64_t mask = 0;
    Origin origin = 0;
  };
  struct Bits {
    std::uint64_t mask = 0;
    Origin origin = 0;
  };
  void step(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log);
  void branch(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log);
  void vector(Wave& wave, const OpInfo& info, const Op* op);
  void matrix(const OpInfo& info);
  void scalar(Wave& wave, const OpInfo& info, const Op* op);
  void memory(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log);
  void crossbar(Wave& wave, const OpInfo& info, const Op* op);
  void load(const Wave& wave, const OpInfo& info, const Op* op, const AccessEvent& event, unsigned first);
  void storeScratch(const Wave& wave, const AccessEvent& event, unsigned k, Lanes stored);
  void storesMarked(Wave& wave, const Op* op, Origin origin, unsigned lane, FindingLog& log);

  Lanes vectorUnit(isa::RegUnit unit) const;
  Bits scalarOf(const isa::Operand& operand) const;
  Lanes operandLanes(const isa::Operand& operand, unsigned halves = 3) const;
  Lanes operandDword(const isa::Operand& operand, unsigned k) const;
  void wide(Wave& wave, const OpInfo& info);
  void halves(const Wave& wave, const OpInfo& info, const Op* op);
  Lanes sourcesOf(const OpInfo& info) const;
  void writeLanes(const OpInfo& info, std::uint64_t written, Lanes lanes);
  void setVector(isa::RegUnit unit, std::uint64_t written, std::uint64_t lowMarks, std::uint64_t highMarks,
                 Origin origin);
  void setScalar(unsigned index, std::uint32_t marks, Origin origin);
  void setScalars(unsigned index, unsigned dwords, Bits marks);
  unsigned firstRegister(const isa::Operand& operand) const;

  static constexpr unsigned vectors = isa::regUnitCount - isa::vgprBase;
  isa::RegSet marked; ///< units with any mark
  std::array<std::uint64_t, vectors> low{}, high{};
  std::array<Origin, vectors> vectorOrigin{};
  std::array<std::uint32_t, isa::sreg::count> bits{};
  std::array<Origin, isa::sreg::count> scalarOrigin{};
  std::vector<bool> scratch; ///< by lane and dword
  LdsTaint& lds;
  unsigned accumOffset = 0;
};

} // namespace asmevo::emulator
