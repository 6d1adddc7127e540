#include "verify/instruction_alignment.h"

#include <algorithm>
#include <unordered_map>

namespace asmevo::verify {

namespace {

constexpr std::size_t largestTable = 1 << 20; ///< cells of one gap's dynamic program
constexpr std::size_t lookAhead = 256;
constexpr unsigned deepest = 64; ///< ranges within ranges; each level has anchors the one above did not have

class SequenceAligner {
 public:
  SequenceAligner(std::span<const SequenceKey> a, std::span<const SequenceKey> b) : a(a), b(b) {}

  std::vector<MatchedPair> run() {
    match(0, a.size(), 0, b.size(), 0);
    return std::move(pairs);
  }

 private:
  const std::span<const SequenceKey> a, b;
  std::vector<MatchedPair> pairs;

  void match(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1, unsigned depth) {
    while (x0 < x1 && y0 < y1 && a[x0] == b[y0])
      pairs.emplace_back(x0++, y0++);
    std::size_t tail = 0;
    while (x0 < x1 - tail && y0 < y1 - tail && a[x1 - tail - 1] == b[y1 - tail - 1])
      ++tail;
    middle(x0, x1 - tail, y0, y1 - tail, depth);
    for (; tail > 0; --tail)
      pairs.emplace_back(x1 - tail, y1 - tail);
  }

  void middle(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1, unsigned depth) {
    const std::size_t m = x1 - x0, n = y1 - y0;
    if (m == 0 || n == 0)
      return;
    const auto anchors =
        depth < deepest ? uniqueAnchors(a.subspan(x0, m), b.subspan(y0, n)) : std::vector<MatchedPair>();
    if (anchors.empty())
      return m <= largestTable / n ? table(x0, x1, y0, y1) : greedy(x0, x1, y0, y1);
    std::size_t x = x0, y = y0;
    for (const auto& [i, j] : anchors) {
      match(x, x0 + i, y, y0 + j, depth + 1);
      pairs.emplace_back(x0 + i, y0 + j);
      x = x0 + i + 1;
      y = y0 + j + 1;
    }
    match(x, x1, y, y1, depth + 1);
  }

  void table(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1) {
    const std::size_t m = x1 - x0, n = y1 - y0;
    std::vector<std::uint32_t> longest((m + 1) * (n + 1));
    const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return longest[i * (n + 1) + j]; };
    for (std::size_t i = m; i-- > 0;)
      for (std::size_t j = n; j-- > 0;)
        at(i, j) = a[x0 + i] == b[y0 + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    for (std::size_t i = 0, j = 0; i < m && j < n;) {
      if (a[x0 + i] == b[y0 + j])
        pairs.emplace_back(x0 + i++, y0 + j++);
      else if (at(i + 1, j) >= at(i, j + 1))
        ++i;
      else
        ++j;
    }
  }

  /// The nearest equal element ahead on either side, again and again.
  void greedy(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1) {
    std::size_t x = x0, y = y0;
    while (x < x1 && y < y1) {
      std::size_t skip = 0;
      for (; skip < lookAhead; ++skip) {
        if (y + skip < y1 && a[x] == b[y + skip]) {
          y += skip;
          break;
        }
        if (x + skip < x1 && a[x + skip] == b[y]) {
          x += skip;
          break;
        }
      }
      if (skip < lookAhead)
        pairs.emplace_back(x, y);
      ++x;
      ++y;
    }
  }
};

} // namespace

std::vector<MatchedPair> uniqueAnchors(std::span<const SequenceKey> a, std::span<const SequenceKey> b) {
  struct Count {
    std::size_t inA = 0, inB = 0, at = 0;
  };
  std::unordered_map<SequenceKey, Count> counts;
  for (const SequenceKey key : a)
    ++counts[key].inA;
  for (std::size_t y = 0; y < b.size(); ++y) {
    Count& count = counts[b[y]];
    ++count.inB;
    count.at = y;
  }
  struct Entry {
    std::size_t x, y, previous;
  };
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<Entry> entries;
  std::vector<std::size_t> tails; // entry that ends the best chain of each length
  for (std::size_t x = 0; x < a.size(); ++x) {
    const Count& count = counts[a[x]];
    if (count.inA != 1 || count.inB != 1)
      continue;
    const auto place = std::ranges::lower_bound(tails, count.at, {}, [&](std::size_t e) { return entries[e].y; });
    entries.push_back({x, count.at, place == tails.begin() ? none : *std::prev(place)});
    if (place == tails.end())
      tails.push_back(entries.size() - 1);
    else
      *place = entries.size() - 1;
  }
  std::vector<MatchedPair> chain;
  for (std::size_t e = tails.empty() ? none : tails.back(); e != none; e = entries[e].previous)
    chain.emplace_back(entries[e].x, entries[e].y);
  std::ranges::reverse(chain);
  return chain;
}

std::vector<MatchedPair> alignSequences(std::span<const SequenceKey> a, std::span<const SequenceKey> b) {
  return SequenceAligner(a, b).run();
}

} // namespace asmevo::verify
