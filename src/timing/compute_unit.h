/// Cycle simulation of one compute unit replaying workgroup traces: four SIMDs, their waves, issue arbitration,
/// dependences, LDS and memory. Knows cycles, not values.
#pragma once

#include "support/result.h"
#include "timing/instruction_fetch.h"
#include "timing/memory_system.h"
#include "timing/static_code.h"
#include "timing/trace_set.h"

#include <cstdint>
#include <span>
#include <vector>

namespace asmevo::timing {

/// An issued instruction, for tests and trace views.
struct IssueEvent {
  std::uint32_t wave = 0; ///< in order of wave starts
  std::uint32_t step = 0; ///< position in the wave's path
  std::uint8_t simd = 0;
  Clk clk = 0;
  Clk ready = 0;      ///< end of the time of the wave's instruction before; the wave waits from then until `clk`,
  Clk dependency = 0; ///< so many clk of it for `dependencyReason`, the rest for `contentionReason`
  Stall dependencyReason = Stall::none, contentionReason = Stall::none;
  Stall ownReason = Stall::none; ///< why the instruction itself takes more than a slot (waits, LDS writes, s_nop)
};

/// A wave's stay on the CU.
struct WaveSpan {
  Clk start = 0, end = 0;  ///< its launch; its last instruction done and its stores acknowledged
  std::uint32_t group = 0; ///< position in CuLaunch::traces
  std::uint8_t simd = 0;
};

/// What runs on the CU and how.
struct CuLaunch {
  std::vector<unsigned> traces; ///< trace number of each workgroup, in the order the dispatcher sends them
  unsigned residents = 1;       ///< workgroups at a time
  unsigned wavesPerSimd = 8;
  ChipLoad load;
  CodeState codeState = CodeState::cached;
};

struct InstructionCounters {
  std::uint64_t issued = 0;
  std::array<std::int64_t, stallCount> stalls{};
};

struct CuResult {
  Clk end = 0;                               ///< last wave's end
  std::vector<Clk> workgroupEnds;            ///< ascending
  std::vector<std::pair<Clk, Clk>> spans;    ///< start and end of each workgroup of CuLaunch::traces
  std::vector<WaveSpan> waveSpans;           ///< in order of wave starts; only of a run that logs its events
  std::vector<InstructionCounters> counters; ///< by dword of code
  Traffic traffic;
  std::uint64_t instructions = 0;
  std::uint64_t waves = 0;
  /// Clk the units were occupied; VALU and MFMA summed over the SIMDs.
  double valuBusy = 0, mfmaBusy = 0, saluBusy = 0, ldsPortBusy = 0, ldsBankBusy = 0, vmemBusy = 0, l2Busy = 0,
         fabricBusy = 0, hbmBusy = 0;
};

/// Errors (internal): waves that wait for each other forever, which a trace of a finished run cannot contain.
Result<CuResult> simulateCu(const Parameters& parameters, const std::vector<StaticInst>& code, const TraceSet& traces,
                            const CuLaunch& launch, std::vector<IssueEvent>* log = nullptr);

} // namespace asmevo::timing
