/// What strict checks need of an instruction, found out once for each place in the code. Private to the emulator.
#pragma once

#include "emulator/wave.h"
#include "isa/registers.h"
#include "program/analysis/in_flight.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace asmevo::emulator {

/// How the lanes and bits of results depend on those of sources, where the rule "any of a lane's sources" is too
/// coarse.
enum class Flow : std::uint8_t {
  none,          ///< no results, or known without looking
  lanes,         ///< each lane of the result from the same lane of vector sources and all of scalar ones
  wideLow,       ///< 64-bit results whose low dword needs the low dwords only
  pairs,         ///< two results, each from one dword of every source: v_pk_*_f32, v_pk_mov_b32, v_mov_b64
  halves,        ///< moves and bit operations: each half of the result from halves of the sources
  select,        ///< v_cndmask: the selected source, and the lane's bit of the mask
  readLane,      ///< v_readlane
  readFirstLane, ///< v_readfirstlane
  writeLane,     ///< v_writelane: one lane
  dpp,           ///< as lanes, source 0 from other lanes
  allLanes,      ///< every lane of the result from every lane of the sources
  matrix,        ///< SrcC lane by lane, the others from all lanes
  scalarSelect,  ///< s_cselect
  saveExec,      ///< old EXEC, and a new one from it and the source
  saveExecAnd,   ///< the same where a 0 decides
  bits,          ///< scalar, bit by bit (moves, not, xor)
  bitAnd,        ///< scalar, bit by bit: a 0 decides
  bitOr,         ///< scalar, bit by bit: a 1 decides
  scalar,        ///< every bit of the result from every bit of the sources
  memory
};

/// How a load's memory bytes become registers.
struct LoadForm {
  enum class Kind : std::uint8_t { none, dwords, small } kind = Kind::none;
  std::uint8_t bytes = 4; ///< small: 1 or 2
  bool isSigned = false;
  enum class Part : std::uint8_t { whole, low, high } part = Part::whole;
};

struct OpInfo {
  const Op* op = nullptr;
  isa::RegSet reads;  ///< registers whose values the issue needs
  isa::RegSet writes; ///< results
  isa::RegSet touched;
  program::Counting counting;
  bool counted = false;
  bool isWait = false;
  bool isLds = false, isScalarMemory = false, isFlat = false, isDma = false, isAtomic = false;
  bool mayStore = false;
  bool wholeWave = false; ///< uses lanes whatever EXEC is, or other lanes than its own
  LoadForm load;
  Flow flow = Flow::none;
  bool keepsLow = false, keepsHigh = false; ///< a result that leaves that half of its register alone
  /// Halves of its register that each source, destinations not counted, gives: bit 0 the low one, bit 1 the high one.
  std::array<std::uint8_t, 4> sourceHalves{3, 3, 3, 3};
  bool selectsHalves = false; ///< any source gives less than both
  std::uint8_t waitStates = 1;
  std::uint16_t sgprsBeyond = 0;  ///< 1 + the number of an SGPR above the allocation; 0: none
  bool vectorsAboveAccum = false; ///< names a register above accum_offset as a VGPR
};

/// By place in the code; places inside other instructions have entries of their own.
class OpInfoTable {
 public:
  OpInfoTable(unsigned accumOffset, unsigned sgprs) : accumOffset(accumOffset), sgprs(sgprs) {}

  const OpInfo& of(const Wave& wave, const Op* op) {
    const std::uint64_t at = (op->pc - wave.codeAddress) / 4;
    if (at < table.size() && table[at]) [[likely]]
      return *table[at];
    return make(at, op);
  }
  /// The info of `op` with the registers that s_set_gpr_idx_on selects now. Valid until the next call.
  const OpInfo& indexed(const Wave& wave, const OpInfo& info);

  unsigned accumulators() const { return accumOffset; }

 private:
  const OpInfo& make(std::uint64_t at, const Op* op);

  unsigned accumOffset, sgprs;
  std::vector<std::unique_ptr<OpInfo>> table;
  OpInfo shifted;
};

} // namespace asmevo::emulator
