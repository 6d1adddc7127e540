/// State of one wave in the compute unit model. Private to it.
#pragma once

#include "timing/compute_unit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

namespace asmevo::timing {

inline constexpr Clk never = std::numeric_limits<Clk>::max() / 4;
inline constexpr Clk longAgo = -1'000'000;

/// Completion times behind a counter, oldest first.
class OutstandingQueue {
 public:
  void push(Clk done) { times.push_back(done); }
  void retire(Clk now) {
    while (head < times.size() && times[head] <= now)
      ++head;
    if (head > 256) {
      times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
  }
  std::size_t size() const { return times.size() - head; }
  /// When at most `allowed` are outstanding; operations complete in the order of `push`.
  Clk timeUntil(std::size_t allowed) const { return size() <= allowed ? longAgo : times[times.size() - 1 - allowed]; }
  Clk last() const { return times.empty() ? longAgo : times.back(); }

 private:
  std::vector<Clk> times;
  std::size_t head = 0;
};

/// Completion times behind lgkmcnt, where scalar loads overtake.
class UnorderedOutstanding {
 public:
  void push(Clk done) { times.push_back(done); }
  void retire(Clk now) {
    std::erase_if(times, [now](Clk t) { return t <= now; });
  }
  std::size_t size() const { return times.size(); }
  Clk timeUntil(std::size_t allowed) {
    if (times.size() <= allowed)
      return longAgo;
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(times.size() - 1 - allowed);
    std::nth_element(times.begin(), nth, times.end());
    return *nth;
  }
  Clk last() const { return times.empty() ? longAgo : *std::max_element(times.begin(), times.end()); }

 private:
  std::vector<Clk> times;
};

/// Result times of MFMAs by physical VGPR.
struct MatrixScoreboard {
  static constexpr unsigned registers = 512;
  std::array<Clk, registers> result;           ///< for VALU, memory and SrcA/B readers
  std::array<Clk, registers> sourceC;          ///< for an overlapping, not exact SrcC
  std::array<std::uint32_t, registers> writer; ///< dword index of the MFMA
  Clk latest = longAgo;                        ///< max of `result`
  MatrixScoreboard() {
    result.fill(longAgo);
    sourceC.fill(longAgo);
    writer.fill(~0U);
  }
};

struct WaveState {
  const PreparedWave* trace = nullptr;
  const std::uint32_t* path = nullptr; ///< next instruction's offset
  std::uint32_t step = 0, steps = 0;
  std::uint32_t nextAccess = 0;
  std::uint32_t number = 0; ///< in order of starts
  std::uint32_t group = 0;
  std::uint8_t simd = 0;
  std::uint8_t priority = 0;

  Clk ready = 0;           ///< earliest issue of the next instruction
  Clk since = 0;           ///< end of the last instruction's own time
  Clk dependencyReady = 0; ///< `ready` before any contention
  Stall dependencyReason = Stall::none, contentionReason = Stall::arbitration;
  Clk lastIssue = longAgo;
  Clk lastValu = longAgo, lastScalarWrite = longAgo, lastSalu = longAgo;
  FetchBuffer fetched;
  Clk afterMfma = longAgo;       ///< own LDS and VMEM after an MFMA
  Clk packedAfterMfma = longAgo; ///< own packed f32 and DOT after an MFMA
  bool atBarrier = false;

  OutstandingQueue vm;
  UnorderedOutstanding lgkm;
  Clk lastStore = longAgo;
  std::unique_ptr<MatrixScoreboard> matrix;
};

} // namespace asmevo::timing
