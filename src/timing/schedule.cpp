#include "timing/schedule.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace asmevo::timing {
namespace {

constexpr std::uint64_t mostScheduled = 1 << 16, meanProbes = 4096;

} // namespace

double scheduleClk(std::uint64_t workgroups, std::uint64_t xcds, std::uint64_t slots,
                   const std::function<double(std::uint64_t)>& clkOf) {
  std::uint64_t first = 0;
  double before = 0;
  const std::uint64_t width = xcds * slots;
  if (workgroups > mostScheduled + width) {
    first = (workgroups - mostScheduled) / width * width; // whole rounds
    const std::uint64_t probes = std::min(first, meanProbes);
    for (std::uint64_t i = 0; i < probes; ++i)
      before += clkOf((2 * i + 1) * first / (2 * probes));
    const std::uint64_t rounds = first / width;
    before *= static_cast<double>(rounds) / static_cast<double>(probes);
  }
  using Slots = std::priority_queue<double, std::vector<double>, std::greater<>>;
  std::vector<Slots> free(xcds);
  double end = 0;
  for (std::uint64_t i = first; i < workgroups; ++i) {
    Slots& own = free[i % xcds];
    double start = 0;
    if (own.size() == slots) {
      start = own.top();
      own.pop();
    }
    const double done = start + clkOf(i);
    own.push(done);
    end = std::max(end, done);
  }
  return before + end;
}

} // namespace asmevo::timing
