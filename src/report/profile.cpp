#include "report/profile.h"

#include "program/analysis/loops.h"

#include <algorithm>

namespace asmevo::report {
namespace {

using program::Block;

std::uint64_t endOf(const Block& block) {
  return block.instrs.empty() ? block.address : block.instrs.back().address + block.instrs.back().inst->size;
}

/// Offset from the code base, saturated: an address below the base executes nowhere.
std::uint32_t offsetOf(std::uint64_t address, std::uint64_t base) {
  if (address < base)
    return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(address - base, UINT32_MAX));
}

std::vector<ProfiledInstruction> listingOf(const Block& block, const timing::Estimate& estimate) {
  std::vector<ProfiledInstruction> listing;
  for (const program::Instr& instr : block.instrs) {
    ProfiledInstruction& line = listing.emplace_back();
    line.address = instr.address;
    line.text = instr.inst->text;
    line.cost.offset = offsetOf(instr.address, estimate.codeAddress);
    const auto at =
        std::ranges::lower_bound(estimate.instructions, line.cost.offset, {}, &timing::InstructionProfile::offset);
    if (at != estimate.instructions.end() && at->offset == line.cost.offset)
      line.cost = *at;
  }
  return listing;
}

/// Loops around each block, by block id.
std::vector<unsigned> depths(const program::Program& program, const std::vector<program::Loop>& loops) {
  std::vector<unsigned> depth(program.blocks.size(), 0);
  for (const program::Loop& loop : loops)
    for (const program::BlockId block : loop.blocks)
      ++depth[block];
  return depth;
}

} // namespace

Result<Profile> buildProfile(const object::CodeObject& object, const object::Kernel& kernel,
                             const program::Program& program, timing::Estimate estimate, const std::string& caseName,
                             const device::Device& device) {
  const auto index = static_cast<std::size_t>(&kernel - object.kernels().data());
  const program::Function* function = index < object.kernels().size() ? program.functionOf(index) : nullptr;
  if (!function)
    return internalError("no recovered code for kernel '{}'", kernel.name);

  Profile profile;
  profile.object = object.name();
  profile.kernel = kernel.name;
  profile.caseName = caseName;
  profile.device = device.name();
  profile.modelled = device.modelled();
  profile.totalCycles = timing::totalCycles(estimate);
  for (const timing::InstructionProfile& instruction : estimate.instructions)
    for (std::size_t s = 0; s < timing::stallCount; ++s)
      profile.byReason[s] += instruction.byReason[s];

  const std::uint64_t base = estimate.codeAddress;
  const auto rangeOf = [&](const Block& block) {
    return std::pair{offsetOf(block.address, base), offsetOf(endOf(block), base)};
  };
  const std::vector<program::Loop> loops = program::naturalLoops(program, *function);
  const std::vector<unsigned> depth = depths(program, loops);

  // Called functions are not blocks of the kernel but cost it time: rank every block of the program.
  std::vector<program::BlockId> ids;
  std::vector<timing::Region> blockRegions;
  for (program::BlockId id = 0; id < program.blocks.size(); ++id)
    if (!program.blocks[id].opaque && !program.blocks[id].instrs.empty()) {
      ids.push_back(id);
      blockRegions.push_back({rangeOf(program.blocks[id])});
    }
  for (const timing::RegionCost& cost : timing::rankRegions(estimate, blockRegions)) {
    const Block& block = program.blocks[ids[cost.region]];
    HotRegion& region = profile.blocks.emplace_back();
    region.begin = block.address;
    region.end = endOf(block);
    region.depth = depth[ids[cost.region]];
    region.instructions = block.instrs.size();
    region.cost = cost;
    region.listing = listingOf(block, estimate);
  }

  std::vector<timing::Region> loopRegions(loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i)
    for (const program::BlockId id : loops[i].blocks)
      loopRegions[i].push_back(rangeOf(program.blocks[id]));
  for (const timing::RegionCost& cost : timing::rankRegions(estimate, loopRegions)) {
    const program::Loop& loop = loops[cost.region];
    HotRegion& region = profile.loops.emplace_back();
    region.isLoop = true;
    region.begin = program::noAddress;
    for (const program::BlockId id : loop.blocks) {
      region.begin = std::min(region.begin, program.blocks[id].address);
      region.end = std::max(region.end, endOf(program.blocks[id]));
      region.instructions += program.blocks[id].instrs.size();
    }
    region.depth = depth[loop.header] - 1;
    region.cost = cost;
  }
  profile.estimate = std::move(estimate);
  return profile;
}

} // namespace asmevo::report
