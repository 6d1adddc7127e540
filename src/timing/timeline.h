/// What the simulated CU of an estimate did when: every wave's stay and every instruction's issue.
#pragma once

#include "timing/compute_unit.h"

#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// Clk of an instruction that nothing holds up; what it takes beyond is a stall.
inline constexpr Clk issueSlotClk = 4;

struct TimelineIssue {
  std::uint32_t offset = 0; ///< of the instruction, from the code base
  IssueEvent event;
};

struct TimelineWave {
  std::uint64_t workgroup = 0; ///< dispatch index of the traced workgroup that it replays
  std::uint32_t group = 0;     ///< workgroup on this CU, in order of starts
  std::uint32_t inGroup = 0;   ///< wave of its workgroup
  std::uint8_t simd = 0;
  Clk start = 0, end = 0;
  std::vector<TimelineIssue> issues; ///< ascending
};

/// One run of the compute unit model: the CU's first rounds of workgroups, or its slowest workgroup where it gets one.
struct Timeline {
  std::vector<TimelineWave> waves; ///< in order of starts
  Clk end = 0;
  std::uint64_t instructions = 0;
  unsigned residents = 0;         ///< workgroups at a time
  std::vector<Category> category; ///< by dword of code
  /// The traces of long loops were shortened before the run.
  bool shortened = false;

  /// Takes over a run of `launch` and its log.
  void take(const CuLaunch& launch, const TraceSet& traces, const std::vector<StaticInst>& code, const CuResult& run,
            const std::vector<IssueEvent>& log);
};

} // namespace asmevo::timing
