#include "report/profile_json.h"

namespace asmevo::report {
namespace {

using nlohmann::json;

json stallsJson(const std::array<double, timing::stallCount>& byReason) {
  json stalls = json::object();
  for (std::size_t s = 1; s < timing::stallCount; ++s)
    if (byReason[s] > 0)
      stalls[std::string(timing::stallName(static_cast<timing::Stall>(s)))] = byReason[s];
  return stalls;
}

json regionJson(const HotRegion& region) {
  return {{"begin", region.begin},
          {"end", region.end},
          {"depth", region.depth},
          {"static_instructions", region.instructions},
          {"issued", region.cost.issued},
          {"cycles", region.cost.cycles},
          {"share", region.cost.share},
          {"top_stall", timing::stallName(region.cost.topStall)},
          {"stall_cycles", stallsJson(region.cost.byReason)}};
}

} // namespace

json estimateJson(const timing::Estimate& e, bool modelled) {
  json resources = json::array();
  for (const timing::ResourceUse& use : e.resources)
    resources.push_back(
        {{"name", use.name}, {"busy", use.share}, {"achieved", use.achieved}, {"peak", use.peak}, {"unit", use.unit}});
  json utilisation = json::object();
  for (const auto& [unit, share] : e.utilisation)
    utilisation[unit] = share;
  return {{"modelled", modelled},
          {"cycles", e.cycles},
          {"cycles_low", e.cyclesLow},
          {"cycles_high", e.cyclesHigh},
          {"microseconds", e.microseconds},
          {"clock_mhz", e.clockMhz},
          {"cu_cycles", e.cuCycles},
          {"bound", e.bound},
          {"workgroups", e.workgroups},
          {"traced_workgroups", e.tracedWorkgroups},
          {"behaviours", e.behaviours},
          {"simulated_workgroups", e.simulatedWorkgroups},
          {"workgroups_per_cu", e.workgroupsPerCu},
          {"waves_per_simd", e.wavesPerSimd},
          {"occupancy_limiter", e.occupancyLimiter},
          {"wave_instructions", e.waveInstructions},
          {"utilisation", std::move(utilisation)},
          {"bytes",
           {{"asked", e.usedBytes}, {"l1", e.l1Bytes}, {"l2", e.l2Bytes}, {"mall", e.mallBytes}, {"hbm", e.hbmBytes}}},
          {"l1_hit_rate", e.l1HitRate},
          {"l2_hit_rate", e.l2HitRate},
          {"mall_hit_rate", e.mallHitRate},
          {"scalar_hit_rate", e.scalarHitRate},
          {"instruction_hit_rate", e.fetchHitRate},
          {"vector_requests", e.vectorRequests},
          {"vector_sectors", e.vectorSectors},
          {"flops", e.flops},
          {"resources", std::move(resources)}};
}

json profileJson(const Profile& profile, unsigned top) {
  json blocks = json::array(), loops = json::array();
  for (std::size_t i = 0; i < profile.blocks.size(); ++i) {
    json block = regionJson(profile.blocks[i]);
    if (i < top) {
      json listing = json::array();
      for (const ProfiledInstruction& line : profile.blocks[i].listing)
        listing.push_back({{"address", line.address},
                           {"text", line.text},
                           {"issued", line.cost.issued},
                           {"active_lanes", line.cost.activeLanes},
                           {"requests", line.cost.requests},
                           {"sectors", line.cost.sectors},
                           {"bytes_used", line.cost.bytesUsed},
                           {"lds_conflict_clk", line.cost.conflictClk},
                           {"cycles", timing::instructionCycles(line.cost)},
                           {"stall_cycles", stallsJson(line.cost.byReason)}});
      block["instructions"] = std::move(listing);
    }
    blocks.push_back(std::move(block));
  }
  for (const HotRegion& loop : profile.loops)
    loops.push_back(regionJson(loop));
  return {{"object", profile.object},
          {"kernel", profile.kernel},
          {"case", profile.caseName},
          {"device", profile.device},
          {"estimate", estimateJson(profile.estimate, profile.modelled)},
          {"wave_cycles", profile.totalCycles},
          {"stall_cycles", stallsJson(profile.byReason)},
          {"loops", std::move(loops)},
          {"blocks", std::move(blocks)}};
}

} // namespace asmevo::report
