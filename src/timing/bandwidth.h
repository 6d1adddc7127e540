/// First-come-first-served servers of a bandwidth.
#pragma once

#include <algorithm>

namespace asmevo::timing {

class BandwidthServer {
 public:
  explicit BandwidthServer(double bytesPerClk) : rate(bytesPerClk) {}
  /// Queues `bytes` at `now`; returns the clk they wait before their turn.
  double serve(double now, double bytes) {
    const double start = std::max(now, free);
    free = start + bytes / rate;
    busy += bytes / rate;
    return start - now;
  }
  double busyClk() const { return busy; }

 private:
  double rate, free = 0, busy = 0;
};

/// A memory that needs many reads at a time to reach its rate: with `n` bytes outstanding it gives
/// rate * n / (n + half). That is how MI300X answers 1 to 16 loads in flight per wave (facts: cdna3.md section 1.6),
/// and what reordering queues of DRAM controllers do. Reads are served in batches, each after a pause of half / rate in
/// which it collects what arrives. The pause overlaps with the latency: a short burst hardly sees it. Writes
/// among reads take longer, for the turns of the bus (BabelStream on MI300X: read 4.2, copy 4.0, triad 3.9, init 4.8
/// TB/s).
class BatchServer {
 public:
  /// `bytesPerClk` is the memory's rate; what a requester can take may be less.
  BatchServer(double bytesPerClk, double halfRateBytes, double requesterBytesPerClk)
      : rate(bytesPerClk), requesterRate(std::min(bytesPerClk, requesterBytesPerClk)),
        pause(halfRateBytes / bytesPerClk) {}
  /// A write; returns the clk until its turn.
  double write(double now, double bytes) {
    batchEnd = std::max(now, batchEnd) + bytes / rate * (now < readsUntil ? writeAmongReads : 1);
    return queue(now, bytes);
  }
  /// Completion of a read of `bytes` that arrives at `now` and takes `latency` when nothing is in its way.
  double read(double now, double bytes, double latency) {
    if (now > open) {
      open = std::max(now, batchEnd) + pause;
      batchEnd = open;
    }
    batchEnd += bytes / rate;
    readsUntil = batchEnd;
    return std::max(now + latency + queue(now, bytes), batchEnd);
  }
  double busyClk() const { return busy; }

 private:
  double queue(double now, double bytes) {
    const double start = std::max(now, queueFree);
    queueFree = start + bytes / requesterRate;
    busy += bytes / rate;
    return start - now;
  }

  double rate, requesterRate, pause;
  double open = -1; ///< the latest batch takes reads until then
  double batchEnd = 0, queueFree = 0, busy = 0;
  double readsUntil = -1;                        ///< the latest read is served until then
  static constexpr double writeAmongReads = 1.3; ///< time of a write there, in units of its own
};

} // namespace asmevo::timing
