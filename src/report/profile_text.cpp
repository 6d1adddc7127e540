#include "report/profile_text.h"

#include <algorithm>
#include <cmath>

namespace asmevo::report {
namespace {

using timing::Stall;

/// Column heads of at most 8 letters.
constexpr std::string_view shortNames[timing::stallCount] = {
    "none", "fetch", "dep", "vmcnt", "lgkmcnt", "barrier", "arbiter", "LDSconf", "memqueue", "MFMA", "sleep"};

std::string bytes(double value) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit ? fmt::format("{:.1f} {}", value, units[unit]) : fmt::format("{:.0f} B", value);
}

/// 12345678 as "12.3M".
std::string count(double value) {
  constexpr std::string_view units[] = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (value >= 10000 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return unit ? fmt::format("{:.1f}{}", value, units[unit]) : fmt::format("{:.0f}", value);
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string regionLine(const HotRegion& region) {
  const auto& cost = region.cost;
  const std::string stall =
      cost.topStall == Stall::none
          ? "-"
          : fmt::format("{} {:.0f} %", timing::stallName(cost.topStall),
                        percent(cost.byReason[static_cast<std::size_t>(cost.topStall)], cost.cycles));
  return fmt::format("  {:#08x}..{:#08x} {:>6} {:>6} {:>9} {:>7.1f}   {}\n", region.begin, region.end, region.depth,
                     region.instructions, count(static_cast<double>(cost.issued)), 100 * cost.share, stall);
}

std::string regionTable(std::string_view title, const std::vector<HotRegion>& regions, unsigned top) {
  if (regions.empty())
    return {};
  std::string text = fmt::format("\n{:<20} {:>8} {:>6} {:>9} {:>7}   {}\n", title, "depth", "instrs", "issued",
                                 "time %", "top stall (of its time)");
  for (std::size_t i = 0; i < regions.size() && i < top; ++i)
    text += regionLine(regions[i]);
  if (regions.size() > top)
    text += fmt::format("  ... {} more\n", regions.size() - top);
  return text;
}

std::string listing(const HotRegion& region, double totalCycles) {
  std::vector<std::size_t> columns;
  for (std::size_t s = 1; s < timing::stallCount; ++s)
    if (region.cost.byReason[s] > 0)
      columns.push_back(s);
  std::string text = fmt::format("\nblock {:#x}..{:#x}, {:.1f} % of the time\n  {:>9} {:>7} {:>7}", region.begin,
                                 region.end, 100 * region.cost.share, "issued", "time %", "stall %");
  for (const std::size_t s : columns)
    text += fmt::format(" {:>8}", shortNames[s]);
  text += "\n";
  for (const ProfiledInstruction& line : region.listing) {
    text += fmt::format("  {:>9} {:>7.2f} {:>7.2f}", count(static_cast<double>(line.cost.issued)),
                        percent(timing::instructionCycles(line.cost), totalCycles),
                        percent(line.cost.stallCycles, totalCycles));
    for (const std::size_t s : columns)
      text += line.cost.byReason[s] > 0
                  ? fmt::format(" {:>8}", count(line.cost.byReason[s] /
                                                static_cast<double>(std::max<std::uint64_t>(1, line.cost.issued))))
                  : fmt::format(" {:>8}", ".");
    text += fmt::format("  {:#x}: {}\n", line.address, line.text);
  }
  return text;
}

} // namespace

std::string estimateText(const timing::Estimate& e, bool modelled) {
  std::string text = fmt::format("  {:.0f} cycles, {:.2f} us at {:.0f} MHz{}\n", e.cycles, e.microseconds, e.clockMhz,
                                 modelled ? " (modelled)" : "");
  text += fmt::format("  bound by {}; {} workgroups, {} per CU, {} waves per SIMD, limited by {}\n", e.bound,
                      e.workgroups, e.workgroupsPerCu, e.wavesPerSimd, e.occupancyLimiter);
  text += fmt::format("  {} wave-instructions; busy:", count(e.waveInstructions));
  for (const auto& [unit, share] : e.utilisation)
    text += fmt::format(" {} {:.0f} %", unit, 100 * share);
  text +=
      fmt::format("\n  vector memory: {} asked for, {} through L1 (hit {:.0f} %), {} from L2 (hit {:.0f} %), {} from "
                  "Infinity Cache, {} from HBM\n",
                  bytes(e.usedBytes), bytes(e.l1Bytes), 100 * e.l1HitRate, bytes(e.l2Bytes), 100 * e.l2HitRate,
                  bytes(e.mallBytes), bytes(e.hbmBytes));
  return text;
}

std::string profileText(const Profile& profile, unsigned top) {
  std::string text = fmt::format("{} {} on {}\n", profile.kernel, profile.caseName, profile.device);
  text += estimateText(profile.estimate, profile.modelled);
  double stalled = 0;
  for (const double cycles : profile.byReason)
    stalled += cycles;
  text += fmt::format("  wave time: issue {:.1f} %", percent(profile.totalCycles - stalled, profile.totalCycles));
  std::vector<std::size_t> order;
  for (std::size_t s = 1; s < timing::stallCount; ++s)
    if (profile.byReason[s] > 0)
      order.push_back(s);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return profile.byReason[a] != profile.byReason[b] ? profile.byReason[a] > profile.byReason[b] : a < b;
  });
  for (const std::size_t s : order)
    text += fmt::format(", {} {:.1f} %", timing::stallName(static_cast<Stall>(s)),
                        percent(profile.byReason[s], profile.totalCycles));
  text += "\n";
  text += regionTable("hot loops", profile.loops, std::max(top, 5U));
  text += regionTable("hot blocks", profile.blocks, std::max(top, 10U));
  for (std::size_t i = 0; i < profile.blocks.size() && i < top; ++i)
    text += listing(profile.blocks[i], profile.totalCycles);
  if (top && !profile.blocks.empty())
    text += "\nStall columns: cycles per issue.\n";
  return text;
}

} // namespace asmevo::report
