#include "emulator/race/clock.h"

namespace asmevo::emulator {

void Clock::raise(WaveId wave, const Frontier& frontier) {
  const auto at = std::ranges::lower_bound(list, wave, {}, &Entry::wave);
  if (at != list.end() && at->wave == wave)
    at->frontier.raise(frontier);
  else
    list.insert(at, {wave, frontier});
}

void Clock::join(const Clock& other) {
  if (other.list.empty())
    return;
  if (list.empty()) {
    list = other.list;
    return;
  }
  std::vector<Entry> merged;
  merged.reserve(list.size() + other.list.size());
  auto a = list.begin();
  auto b = other.list.begin();
  while (a != list.end() || b != other.list.end()) {
    if (b == other.list.end() || (a != list.end() && a->wave < b->wave)) {
      merged.push_back(*a++);
    } else if (a == list.end() || b->wave < a->wave) {
      merged.push_back(*b++);
    } else {
      merged.push_back(*a++);
      merged.back().frontier.raise((b++)->frontier);
    }
  }
  list = std::move(merged);
}

} // namespace asmevo::emulator
