/// A limit on the processor time of a proof.
#pragma once

#include <algorithm>
#include <ctime>

namespace asmevo::verify {

/// Counts what this thread computes, not the time that passes: a busy machine does not change a verdict.
class Deadline {
 public:
  explicit Deadline(double seconds) : begin(now()), end(begin + seconds) {}
  double spent() const { return now() - begin; }
  double left() const { return std::max(0.0, end - now()); }
  bool passed() const { return now() >= end; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double begin, end;
};

} // namespace asmevo::verify
