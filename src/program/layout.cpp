#include "program/layout.h"

#include "program/insertion.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace asmevo::program {

namespace {

constexpr std::uint64_t preloadPrologueBytes = 256; ///< LLVM AMDGPUUsage, "Preloaded Kernel Arguments"
/// simm16 counts dwords from the next instruction (CDNA3 ISA, SOPP).
constexpr std::int64_t farthestForward = 32767, farthestBack = -32768;
/// Islands are put at most this many dwords away, so that later islands in between do not push them out of reach.
constexpr std::int64_t islandReach = 32768 - 1024;
constexpr std::size_t maxIslands = 1 << 16;

bool isPadding(const isa::Instruction& inst) {
  return inst.cls == isa::InstClass::nop && inst.simm16 == 0;
}

std::int64_t dwordsBetween(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from) / 4;
}

bool reaches(std::uint64_t branch, std::uint64_t target) {
  const std::int64_t distance = dwordsBetween(branch + 4, target);
  return distance >= farthestBack && distance <= farthestForward;
}

} // namespace

std::uint64_t Layout::bytesOf(const Block& block) const {
  std::uint64_t bytes = 0;
  for (const Instr& instr : block.instrs)
    bytes += instr.inst->size;
  return bytes;
}

/// Takes `surplus` bytes of s_nop 0 off the end of a prologue: what is left still runs up to the second entry.
bool Layout::trimPrologue(BlockId second, std::uint64_t surplus) {
  std::vector<std::pair<BlockId, std::size_t>> cuts;
  for (BlockId id = second; surplus > 0 && id-- > 0;) {
    const Block& block = program.blocks[id];
    if (block.section != program.blocks[second].section || block.opaque)
      return false;
    std::size_t keep = block.instrs.size();
    while (surplus > 0 && keep > 0 && isPadding(*block.instrs[keep - 1].inst)) {
      surplus -= std::min<std::uint64_t>(surplus, block.instrs[keep - 1].inst->size);
      --keep;
    }
    cuts.emplace_back(id, keep);
    if (keep > 0)
      break;
  }
  if (surplus > 0)
    return false;
  for (const auto& [id, keep] : cuts)
    program.blocks[id].instrs.resize(keep);
  return true;
}

Status Layout::assign() {
  std::map<BlockId, BlockId> prologues; // second entry to entry
  for (const Function& function : program.functions)
    if (function.preloadEntry && policy == Policy::relayout)
      prologues[*function.preloadEntry] = function.entryBlock;

  starts.assign(program.blocks.size(), 0);
  paddingBefore.assign(program.blocks.size(), 0);
  sizes.clear();
  tails.clear();
  std::uint64_t cursor = 0;
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const Block& block = program.blocks[id];
    if (block.section >= object.sections().size())
      return usageError("block {} belongs to no section", id);
    const object::Section& section = object.sections()[block.section];
    if (id == 0 || block.section != program.blocks[id - 1].section) {
      if (sizes.contains(block.section))
        return usageError("the blocks of section {} are not in one piece", section.name);
      cursor = section.address;
    }
    std::uint64_t start = cursor;
    if (policy == Policy::inPlace) {
      if (block.address != noAddress) {
        if (cursor > block.address)
          return refused("the block before 0x{:x} grew by {} bytes: it has to keep its size in an in-place patch",
                         block.address, cursor - block.address);
        start = block.address;
      }
    } else if (const auto prologue = prologues.find(id); prologue != prologues.end()) {
      start = starts[prologue->second] + preloadPrologueBytes;
      if (cursor > start) {
        if (!trimPrologue(id, cursor - start))
          return refused("the kernarg-preload prologue before 0x{:x} grew past its {} bytes: hardware that preloads "
                         "kernel arguments starts at exactly that distance from the entry",
                         block.address, preloadPrologueBytes);
        cursor = start;
        // What was cut lies in blocks already placed, at their ends: only starts after the cuts change.
        for (BlockId back = id; back > 0 && starts[back - 1] > start; --back)
          starts[back - 1] = start;
      }
    } else if (block.alignment > 1) {
      start = (cursor + block.alignment - 1) / block.alignment * block.alignment;
    }
    paddingBefore[id] = start - cursor;
    starts[id] = start;
    cursor = start + bytesOf(block);
    sizes[block.section] = cursor - section.address;
  }
  if (policy == Policy::relayout)
    return {};
  for (auto& [index, size] : sizes) {
    const object::Section& section = object.sections()[index];
    if (size > section.size)
      return refused("the last block of section {} grew by {} bytes: it has to keep its size in an in-place patch",
                     section.name, size - section.size);
    if (size < section.size)
      tails.push_back({index, section.address + size, section.size - size});
    size = section.size;
  }
  return {};
}

Status Layout::place() {
  for (bool changed = true; changed;) {
    ASMEVO_CHECK(assign());
    changed = false;
    ASMEVO_CHECK(bridgeAll(changed));
  }
  recordMoves();
  return {};
}

/// Retargets branches that do not reach to islands that do; where there is none, adds one and asks for a new round.
Status Layout::bridgeAll(bool& changed) {
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    Block& block = program.blocks[id];
    std::uint64_t address = starts[id];
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      Instr& instr = block.instrs[i];
      const std::uint64_t from = address;
      address += instr.inst->size;
      if (!instr.target || !instr.inst->branchOffset)
        continue;
      if (*instr.target >= program.blocks.size() || program.blocks[*instr.target].section != block.section)
        return usageError("the branch at 0x{:x} has no target block in its section", instr.address);
      if (reaches(from, starts[*instr.target]) || reuseIsland(id, instr, from))
        continue;
      if (policy == Policy::inPlace)
        return refused("the branch at 0x{:x} cannot reach its new target in an in-place patch", instr.address);
      ASMEVO_CHECK(addIsland(id, i, from));
      changed = true;
      return {};
    }
  }
  return {};
}

/// Where a branch to this block ends up: islands lead on, possibly over others.
BlockId Layout::destinationOf(BlockId target) const {
  const auto island = std::ranges::find(islands, target, &Island::block);
  return island == islands.end() ? target : island->destination;
}

bool Layout::reuseIsland(BlockId block, Instr& branch, std::uint64_t from) {
  const BlockId destination = destinationOf(*branch.target);
  const std::uint64_t target = starts[destination];
  const std::int64_t distance = std::abs(dwordsBetween(from, target));
  for (const Island& island : islands) {
    if (island.block == block || island.destination != destination ||
        program.blocks[island.block].section != program.blocks[block].section)
      continue;
    if (reaches(from, starts[island.block]) && std::abs(dwordsBetween(starts[island.block], target)) < distance) {
      branch.target = island.block;
      return true;
    }
  }
  return false;
}

/// Puts an s_branch to the branch's target as near to it as the branch reaches: after an instruction that control never
/// passes, or, where there is none in the farther half of the reach, between two instructions with a branch around it.
Status Layout::addIsland(BlockId block, std::size_t index, std::uint64_t from) {
  if (islands.size() >= maxIslands)
    return refused("more than {} branches no longer reach their targets", maxIslands);
  const BlockId target = destinationOf(*program.blocks[block].instrs[index].target);
  const bool forward = starts[target] > from;
  struct Place {
    BlockId block = 0;
    std::size_t index = 0;
    std::int64_t distance = -1; ///< dwords from the branch, towards the target
  };
  Place afterEnd, between;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> prologues;
  for (const Function& function : program.functions)
    if (function.preloadEntry)
      prologues.emplace_back(starts[function.entryBlock], starts[*function.preloadEntry]);

  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const Block& candidate = program.blocks[id];
    if (candidate.section != program.blocks[block].section || candidate.opaque)
      continue;
    std::uint64_t address = starts[id];
    const std::int64_t first = dwordsBetween(from, address), last = dwordsBetween(from, address + bytesOf(candidate));
    if (forward ? last < 0 || first > islandReach : first > 0 || last < -islandReach)
      continue;
    const std::vector<bool> free = insertionPoints(candidate, codec);
    for (std::size_t i = 0; i < candidate.instrs.size(); ++i) {
      const isa::Instruction& inst = *candidate.instrs[i].inst;
      address += inst.size;
      const std::int64_t distance = forward ? dwordsBetween(from, address) : dwordsBetween(address, from);
      if (distance <= 1 || distance > islandReach)
        continue;
      const bool inPrologue = std::ranges::any_of(
          prologues, [&](const auto& range) { return address > range.first && address <= range.second; });
      if (inPrologue)
        continue;
      const bool atEnd = i + 1 == candidate.instrs.size();
      if (atEnd && neverFallsThrough(flowOf(&inst))) {
        if (distance > afterEnd.distance)
          afterEnd = {id, i + 1, distance};
      } else if ((atEnd || free[i + 1]) && distance > between.distance &&
                 !(atEnd && (id + 1 == program.blocks.size() || program.blocks[id + 1].section != candidate.section))) {
        between = {id, i + 1, distance};
      }
    }
  }
  const Place place = afterEnd.distance >= islandReach / 2 || between.distance < 0 ? afterEnd : between;
  if (place.distance < 0)
    return refused("the branch at 0x{:x} no longer reaches its target and there is no place for an island",
                   program.blocks[block].instrs[index].address);

  ASMEVO_TRY(const isa::InstRef jump, codec.assemble("s_branch 0"));
  const std::size_t section = program.blocks[block].section;
  BlockId finalTarget = target;
  const auto insertedAt = [&](BlockId position) {
    for (Island& island : islands) {
      island.block += island.block >= position ? 1 : 0;
      island.destination += island.destination >= position ? 1 : 0;
    }
    finalTarget += finalTarget >= position ? 1 : 0;
  };
  const BlockId islandId = place.block + 1;
  if (place.distance == between.distance && place.block == between.block && place.index == between.index) {
    if (place.index < program.blocks[place.block].instrs.size()) {
      program.splitBlock(place.block, place.index);
      insertedAt(islandId);
    }
    program.blocks[place.block].instrs.push_back({jump, noAddress, islandId, {}, 0});
  }
  program.insertBlock(islandId, section);
  insertedAt(islandId);
  program.blocks[islandId].instrs.push_back({jump, noAddress, finalTarget, {}, 0});
  islands.push_back({islandId, finalTarget});
  return {};
}

void Layout::recordMoves() {
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const Block& block = program.blocks[id];
    std::vector<Move>& list = moves[block.section];
    std::uint64_t address = starts[id];
    bool labelled = block.address == noAddress;
    if (!labelled)
      anythingMoved |= starts[id] != block.address;
    for (const Instr& instr : block.instrs) {
      const bool isLabel = !labelled && instr.address == block.address;
      if (instr.address != noAddress)
        list.push_back({instr.address, instr.inst->size, address, isLabel ? starts[id] : address});
      labelled |= isLabel;
      address += instr.inst->size;
      if (instr.getpcId != 0) {
        const auto [it, fresh] = anchors.try_emplace(instr.getpcId, address);
        if (!fresh)
          it->second.reset();
      }
    }
    if (!labelled)
      list.push_back({block.address, 0, starts[id], starts[id]});
  }
  for (auto& [index, list] : moves) {
    const object::Section& section = object.sections()[index];
    const std::uint64_t newEnd = section.address + sizes[index];
    list.push_back({section.address + section.size, 0, newEnd, newEnd});
    anythingMoved |= sizes[index] != section.size;
    std::ranges::sort(list, [](const Move& a, const Move& b) {
      return std::tie(a.oldBegin, a.size, a.newBegin) < std::tie(b.oldBegin, b.size, b.newBegin);
    });
    std::uint64_t highest = 0;
    const Move* before = nullptr;
    for (Move& move : list) {
      // A block cut in front of its first old instruction: the label stays with the part before the cut.
      if (before && before->oldBegin == move.oldBegin && before->size == 0)
        move.newLabel = before->newLabel;
      before = &move;
      move.newLabel = std::max(move.newLabel, highest);
      move.newBegin = std::max(move.newBegin, move.newLabel);
      highest = move.newLabel;
    }
  }
}

std::uint64_t Layout::moved(std::uint64_t old) const {
  const auto within = [&](const std::vector<Move>& list) {
    const auto after = std::ranges::upper_bound(list, old, {}, &Move::oldBegin);
    if (after != list.begin()) {
      const Move& move = *(after - 1);
      if (move.oldBegin == old)
        return move.newLabel;
      if (old - move.oldBegin < move.size)
        return move.newBegin + (old - move.oldBegin);
    }
    // Code that is gone: what came after it.
    return after != list.end() ? after->newLabel : list.back().newLabel;
  };
  for (const auto& [index, list] : moves)
    if (object.sections()[index].contains(old))
      return within(list);
  for (const auto& [index, list] : moves)
    if (old == list.back().oldBegin)
      return list.back().newLabel;
  return old;
}

std::optional<std::uint64_t> Layout::anchor(std::uint32_t getpcId) const {
  const auto found = anchors.find(getpcId);
  return found == anchors.end() ? std::nullopt : found->second;
}

} // namespace asmevo::program
