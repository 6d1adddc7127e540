#include "optimize/edit/turn_waits.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

namespace asmevo::optimize {

TurnWaits::TurnWaits(std::vector<Operation> operations)
    : list(std::move(operations)), place(list.size()), younger(list.size()) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::less<>{},
                    [&](std::size_t i) { return std::tuple(list[i].issued, !list[i].ahead, list[i].at); });
  for (std::size_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  std::ranges::sort(order, std::greater<>{}, [&](std::size_t i) { return std::pair(list[i].second, list[i].at); });
  std::size_t behind = 0;
  for (const std::size_t i : order)
    if (list[i].ahead)
      younger[i] = behind++;
}

std::size_t TurnWaits::issuedBefore(std::size_t at) const {
  return static_cast<std::size_t>(std::ranges::count_if(list, [&](const Operation& operation) {
    return operation.ahead ? operation.issued <= at : operation.issued < at;
  }));
}

unsigned TurnWaits::count(std::size_t at, unsigned n) const {
  const std::size_t all = list.size(), now = issuedBefore(at);
  const auto here = static_cast<std::size_t>(
      std::ranges::count_if(list, [&](const Operation& operation) { return operation.at < at; }));
  std::size_t result = std::numeric_limits<unsigned>::max();
  bool found[2] = {false, false};
  // From the youngest operation that is to be complete, back: the first of either kind decides.
  for (std::size_t k = n; k < n + all; ++k) {
    const std::size_t back = k < here ? 0 : 1 + (k - here) / all; // iterations
    const std::size_t which = k < here ? here - 1 - k : all - 1 - (k - here) % all;
    const Operation& operation = list[which];
    if (found[operation.ahead])
      continue;
    found[operation.ahead] = true;
    const std::size_t behind = all - 1 - place[which];
    if (operation.ahead)
      result = std::min(result, std::min(behind, younger[which]) + back * all + now);
    else
      result = std::min(result, back == 0 ? now - 1 - place[which] : behind + (back - 1) * all + now);
  }
  return static_cast<unsigned>(result);
}

} // namespace asmevo::optimize
