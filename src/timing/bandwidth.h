/// First-come-first-served servers of a bandwidth.
#pragma once

#include <algorithm>
#include <deque>

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
/// and what reordering queues of DRAM controllers do. The slow-down overlaps with the latency: a short burst does not
/// see it.
class DeepQueueServer {
 public:
  /// `bytesPerClk` is the memory's rate; what a requester can take may be less.
  DeepQueueServer(double bytesPerClk, double halfRateBytes, double requesterBytesPerClk)
      : deepRate(bytesPerClk), rate(std::min(bytesPerClk, requesterBytesPerClk)), half(halfRateBytes) {}
  /// A write takes its time at the full rate, nobody waits for it; returns the clk until its turn.
  double write(double now, double bytes) {
    const double wait = std::max(0.0, queueFree - now);
    queueFree = std::max(now, queueFree) + bytes / rate;
    slowFree = std::max(now, slowFree) + bytes / deepRate;
    busy += bytes / rate;
    return wait;
  }
  /// Completion of a read of `bytes` that arrives at `now` and takes `latency` when nothing is in its way.
  double read(double now, double bytes, double latency) {
    while (!outstanding.empty() && outstanding.front().until <= now) {
      outstandingBytes -= outstanding.front().bytes;
      outstanding.pop_front();
    }
    outstandingBytes += bytes;
    const double shortest = bytes / rate;
    const double wait = std::max(0.0, queueFree - now);
    queueFree = std::max(now, queueFree) + shortest;
    slowFree = std::max(now, slowFree) + bytes / deepRate * (1 + half / outstandingBytes);
    busy += shortest;
    last = std::max({last, now + latency + wait, slowFree});
    outstanding.push_back({last, bytes});
    return last;
  }
  double busyClk() const { return busy; }

 private:
  struct Request {
    double until, bytes;
  };
  double deepRate, rate, half;
  double queueFree = 0, slowFree = 0, last = 0, busy = 0, outstandingBytes = 0;
  std::deque<Request> outstanding;
};

} // namespace asmevo::timing
