#include "timing/tlb.h"

#include "timing/memory_requests.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

constexpr std::size_t ways = 8;

} // namespace

Tlb::Tlb(const Parameters& p, const ChipLoad& load)
    : covered(load.footprintBytes <= p.tlbReachBytes), knownShare(covered ? 1 : p.tlbReachBytes / load.footprintBytes),
      missClk(p.tlbMissClk), pageBytes(static_cast<std::uint64_t>(p.tlbPageBytes)),
      pages(covered ? 1
                    : static_cast<std::size_t>(std::max(1.0, p.tlbReachBytes / p.tlbPageBytes / load.activeCusPerXcd /
                                                                 static_cast<double>(ways))),
            ways) {}

double Tlb::wait(std::uint64_t page, double now, Traffic& counted) {
  if (covered)
    return 0;
  const std::size_t set = mix(page) % pages.sets();
  if (const auto known = pages.find(set, page))
    return std::max(0.0, static_cast<double>(*known.fill) - now);
  const double walk = chosen(page, knownShare) ? 0 : missClk;
  counted.pageWalks += walk > 0;
  pages.insert(set, page, static_cast<Clk>(std::ceil(now + walk)));
  return walk;
}

} // namespace asmevo::timing
