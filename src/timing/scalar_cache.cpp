#include "timing/scalar_cache.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

constexpr std::size_t ways = 4;

std::size_t setsOf(const Parameters& p) {
  return static_cast<std::size_t>(std::max(1.0, p.smemCacheBytes / p.smemLineBytes / static_cast<double>(ways)));
}

} // namespace

ScalarCache::ScalarCache(const Parameters& parameters, const ChipLoad& load)
    : p(parameters), kernargClk(load.kernargClk), tags(setsOf(p), ways) {}

Clk ScalarCache::read(const LineRequest& request, unsigned half, bool kernarg, L2Cache& l2, Clk now, Traffic& counted) {
  const std::uint64_t tag = request.tag * 2 + half;
  const std::size_t set = mix(tag) % tags.sets();
  const auto hit = now + static_cast<Clk>(p.smemHit);
  ++counted.scalarRequests;
  if (const auto line = tags.find(set, tag)) {
    ++(*line.fill > hit ? counted.scalarDuplicates : counted.scalarHits);
    return std::max(*line.fill, hit);
  }
  ++counted.scalarMisses;
  const L2Cache::Reply reply = l2.access(request, static_cast<double>(now), counted);
  double latency = reply.level == MemoryLevel::l2     ? p.smemL2
                   : reply.level == MemoryLevel::mall ? p.smemMall
                                                      : p.smemMemory;
  if (kernarg && kernargClk > 0)
    latency = kernargClk;
  const auto arrival = now + static_cast<Clk>(std::ceil(latency + reply.wait));
  tags.insert(set, tag, arrival);
  return arrival;
}

} // namespace asmevo::timing
