#include "report/profile_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

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

/// "  MFMA   82.1 %  ################....     812.40 of     990.10 TFLOP/s".
std::string roofs(const timing::Estimate& e) {
  constexpr std::size_t barWidth = 20;
  std::string text =
      fmt::format("\n{:<12} {:>7}  {:<{}} {:>10}    {:>10}\n", "roofs", "busy %", "", barWidth, "achieved", "peak");
  for (const timing::ResourceUse& use : e.resources) {
    if (use.share <= 0 && use.achieved <= 0)
      continue;
    const auto filled = static_cast<std::size_t>(std::lround(std::clamp(use.share, 0.0, 1.0) * barWidth));
    text += fmt::format("  {:<10} {:>7.1f}  {:#<{}}{:.<{}} {:>10.2f} of {:>10.2f} {}\n", use.name, 100 * use.share, "",
                        filled, "", barWidth - filled, use.achieved, use.peak, use.unit);
  }
  if (e.flops > 0)
    text += fmt::format("  {} FLOP{}\n", count(e.flops),
                        e.hbmBytes > 0 ? fmt::format(", {:.1f} per byte of HBM", e.flops / e.hbmBytes) : "");
  return text;
}

/// Which roof is nearest, and how near.
std::string position(const timing::Estimate& e) {
  if (e.resources.empty())
    return e.bound;
  const timing::ResourceUse& nearest = e.resources.front();
  const std::string near = fmt::format("{} busy {:.0f} % of the time ({:.2f} of {:.2f} {})", nearest.name,
                                       100 * nearest.share, nearest.achieved, nearest.peak, nearest.unit);
  return e.bound == nearest.name ? near : fmt::format("{}; nearest unit: {}", e.bound, near);
}

std::string memoryTable(const timing::Estimate& e) {
  if (e.vectorRequests <= 0 && e.l1Bytes <= 0 && e.hbmBytes <= 0)
    return {};
  std::string text = fmt::format("\n{:<22} {:>11} {:>7}\n", "memory", "bytes", "hit %");
  const auto line = [&](std::string_view what, double amount, std::optional<double> hit) {
    text += fmt::format("  {:<20} {:>11} {:>7}\n", what, amount > 0 ? bytes(amount) : "",
                        hit ? fmt::format("{:.1f}", 100 * *hit) : "");
  };
  line("asked for by lanes", e.usedBytes, std::nullopt);
  line("vector L1", e.l1Bytes, e.l1HitRate);
  line("L2", e.l2Bytes, e.l2HitRate);
  line("Infinity Cache", e.mallBytes, e.mallHitRate);
  line("HBM", e.hbmBytes, std::nullopt);
  line("scalar cache", 0, e.scalarHitRate);
  line("instruction cache", 0, e.fetchHitRate);
  if (e.vectorRequests > 0)
    text += fmt::format("  {:.1f} sectors of 64 bytes per vector request, {:.0f} % of their bytes asked for\n",
                        e.vectorSectors / e.vectorRequests, percent(e.usedBytes, 64 * e.vectorSectors));
  return text;
}

/// Mean active lanes of the vector instructions of a listing or the whole.
double meanLanes(const timing::Estimate& e) {
  double lanes = 0, issued = 0;
  for (const timing::InstructionProfile& i : e.instructions) {
    lanes += i.activeLanes * static_cast<double>(i.issued);
    issued += static_cast<double>(i.issued);
  }
  return issued > 0 ? lanes / issued : 0;
}

/// What memory instructions add to their line.
std::string memoryNote(const timing::InstructionProfile& cost) {
  if (cost.sectors > 0) {
    const double moved = 64 * cost.sectors, sectors = cost.sectors / std::max(1.0, cost.requests);
    if (cost.bytesUsed > moved)
      return fmt::format("   [{:.1f} sectors, each byte used {:.1f} times]", sectors, cost.bytesUsed / moved);
    return fmt::format("   [{:.1f} sectors, {:.0f} % used]", sectors, percent(cost.bytesUsed, moved));
  }
  if (cost.conflictClk > 0)
    return fmt::format("   [+{:.1f} clk of bank conflicts]", cost.conflictClk / std::max(1.0, cost.requests));
  return {};
}

std::string listing(const HotRegion& region, double totalCycles) {
  std::vector<std::size_t> columns;
  for (std::size_t s = 1; s < timing::stallCount; ++s)
    if (region.cost.byReason[s] > 0)
      columns.push_back(s);
  std::string text = fmt::format("\nblock {:#x}..{:#x}, {:.1f} % of the time\n  {:>9} {:>5} {:>7} {:>7}", region.begin,
                                 region.end, 100 * region.cost.share, "issued", "lanes", "time %", "clk");
  for (const std::size_t s : columns)
    text += fmt::format(" {:>8}", shortNames[s]);
  text += "\n";
  for (const ProfiledInstruction& line : region.listing) {
    const auto issues = static_cast<double>(std::max<std::uint64_t>(1, line.cost.issued));
    text += fmt::format("  {:>9} {:>5} {:>7.2f} {:>7.1f}", count(static_cast<double>(line.cost.issued)),
                        line.cost.issued ? fmt::format("{:.1f}", line.cost.activeLanes) : "",
                        percent(timing::instructionCycles(line.cost), totalCycles),
                        timing::instructionCycles(line.cost) / issues);
    for (const std::size_t s : columns)
      text += line.cost.byReason[s] > 0 ? fmt::format(" {:>8.1f}", line.cost.byReason[s] / issues)
                                        : fmt::format(" {:>8}", ".");
    text += fmt::format("  {:#x}: {}{}\n", line.address, line.text, memoryNote(line.cost));
  }
  return text;
}

} // namespace

std::string estimateText(const timing::Estimate& e, bool modelled) {
  std::string text = fmt::format("  {:.0f} cycles, {:.2f} us at {:.0f} MHz{}\n", e.cycles, e.microseconds, e.clockMhz,
                                 modelled ? " (modelled)" : "");
  text += fmt::format("  between {:.0f} and {:.0f} cycles by sampling: {} of {} workgroups traced, {} {}\n",
                      e.cyclesLow, e.cyclesHigh, e.tracedWorkgroups, e.workgroups, e.behaviours,
                      e.behaviours == 1 ? "behaviour" : "behaviours");
  text += fmt::format("  bound by {}\n  {} workgroups, {} per CU, {} waves per SIMD, limited by {}\n", position(e),
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
  text += fmt::format("\n  {:.1f} of 64 lanes active on average\n", meanLanes(profile.estimate));
  text += regionTable("hot loops", profile.loops, std::max(top, 5U));
  text += regionTable("hot blocks", profile.blocks, std::max(top, 10U));
  for (std::size_t i = 0; i < profile.blocks.size() && i < top; ++i)
    text += listing(profile.blocks[i], profile.totalCycles);
  if (top && !profile.blocks.empty())
    text += "\nclk and stall columns: cycles per issue; clk includes the issue slot of 4.\n";
  text += roofs(profile.estimate);
  text += memoryTable(profile.estimate);
  return text;
}

} // namespace asmevo::report
