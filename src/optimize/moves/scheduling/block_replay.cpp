#include "optimize/moves/scheduling/block_replay.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace asmevo::optimize {

namespace {

using timing::PreparedAccess;

constexpr std::size_t longestPath = 64;    // blocks
constexpr std::size_t mostInstrs = 12'000; // of one time round
constexpr std::size_t longRound = 2500;    // instructions from which two rounds have to do
constexpr std::uint32_t lineSectors = 2;
constexpr unsigned simdsPerCu = 4;

const timing::InstructionProfile* profileOf(const timing::Estimate& profile, std::uint64_t address) {
  if (address == program::noAddress || address < profile.codeAddress)
    return nullptr;
  const std::uint64_t offset = address - profile.codeAddress;
  const auto at = std::ranges::lower_bound(profile.instructions, offset, {}, &timing::InstructionProfile::offset);
  return at != profile.instructions.end() && at->offset == offset ? &*at : nullptr;
}

std::optional<timing::Chip> chipFor(const std::string& processor) {
  for (const std::string& name : timing::chipNames())
    if (auto chip = timing::loadChip(name); chip && chip->processor == processor)
      return *std::move(chip);
  return std::nullopt;
}

/// Bytes of data per lane.
unsigned dataBytes(const isa::Instruction& inst) {
  unsigned dwords = 0, addresses = 0;
  const bool lds = inst.cls == isa::InstClass::lds;
  for (const isa::Operand& operand : inst.operands) {
    if (operand.kind != isa::OperandKind::vgpr && operand.kind != isa::OperandKind::agpr)
      continue;
    if (inst.mayLoad && !inst.mayStore && operand.isDef)
      return operand.dwords * 4u;
    // The address comes first in LDS writes and in most others.
    if (lds ? addresses++ > 0 : !operand.isDef)
      dwords = lds ? dwords + operand.dwords : std::max<unsigned>(dwords, operand.dwords);
  }
  return std::max(1u, dwords) * 4;
}

} // namespace

std::optional<BlockReplay> BlockReplay::of(const program::Program& program, program::BlockId block,
                                           const MoveContext& context) {
  BlockReplay replay(program, context);
  if (!replay.setUp(block))
    return std::nullopt;
  return replay;
}

bool BlockReplay::setUp(program::BlockId id) {
  const auto chip = chipFor(context.object.target().processor);
  const timing::Estimate& profile = context.profile;
  if (!chip || profile.instructions.empty())
    return false;
  const timing::Parameters atPeak = timing::Parameters::of(*chip);
  p = profile.clockMhz > 0 ? atPeak.atClock(profile.clockMhz) : atPeak;
  // One latency stands for the mix of levels that the profile saw.
  const double beyond = profile.mallHitRate * p.mallLatency + (1 - profile.mallHitRate) * p.hbmLatency;
  const double mean = profile.l2HitRate * p.l2Latency + (1 - profile.l2HitRate) * beyond;
  p.l2Latency = p.mallLatency = p.hbmLatency =
      std::max(p.l1Latency, profile.l1HitRate * p.l1Latency + (1 - profile.l1HitRate) * mean);
  wavesPerGroup = std::max(1u, (context.workgroupSize + 63) / 64);
  simdWaves = std::clamp(profile.wavesPerSimd, 1u, 16u);
  residents = std::max(1u, simdWaves * 4 / wavesPerGroup);
  block = id;
  if (!issuesOf(id))
    return false;
  findPath();
  return true;
}

std::uint64_t BlockReplay::issuesOf(program::BlockId id) const {
  for (const program::Instr& instr : program.blocks[id].instrs)
    if (const auto* seen = profileOf(context.profile, instr.address))
      return seen->issued;
  return 0;
}

std::pair<std::vector<program::BlockId>, bool> BlockReplay::roundFrom(program::BlockId first) const {
  std::vector<program::BlockId> way = {first};
  std::set<program::BlockId> seen = {first};
  std::size_t instrs = program.blocks[first].instrs.size();
  while (way.size() < longestPath && instrs < mostInstrs) {
    std::optional<program::BlockId> next;
    std::uint64_t most = 0;
    for (const program::BlockId to : program.blocks[way.back()].successors)
      if (const std::uint64_t count = issuesOf(to); count > most && !program.blocks[to].opaque) {
        next = to;
        most = count;
      }
    if (next == first)
      return {way, true};
    if (!next || !seen.insert(*next).second)
      break;
    way.push_back(*next);
    instrs += program.blocks[*next].instrs.size();
  }
  return {way, false};
}

/// Once round the loop where that comes back to the block; otherwise the block alone.
void BlockReplay::findPath() {
  auto [way, closes] = roundFrom(block);
  if (!closes) {
    path = {block};
    rounds = 1;
    return;
  }
  path = std::move(way);
  std::size_t instrs = 0;
  for (const program::BlockId id : path)
    instrs += program.blocks[id].instrs.size();
  rounds = instrs > longRound ? 2 : 3;
  if (wavesPerGroup >= 2 * simdsPerCu)
    findPartner();
  // Waves enter a loop at its top, which is what keeps the barriers of two loops in step.
  const auto fromTop = [](std::vector<program::BlockId>& blocks) {
    std::ranges::rotate(blocks, std::ranges::min_element(blocks));
  };
  fromTop(path);
  fromTop(partner);
}

/// A loop with barriers that runs about as often, where neither can come after the other: so different waves run them.
void BlockReplay::findPartner() {
  const auto hasBarrier = [&](const std::vector<program::BlockId>& blocks) {
    return std::ranges::any_of(blocks, [&](program::BlockId id) {
      return std::ranges::any_of(program.blocks[id].instrs, [](const program::Instr& instr) {
        return instr.inst->cls == isa::InstClass::barrier;
      });
    });
  };
  if (!hasBarrier(path))
    return;
  const std::uint64_t own = issuesOf(block);
  for (program::BlockId other = 0; other < program.blocks.size(); ++other) {
    const std::uint64_t count = issuesOf(other);
    if (!count || count < own / 2 || count > own * 2 || std::ranges::find(path, other) != path.end())
      continue;
    auto [way, closes] = roundFrom(other);
    if (closes && hasBarrier(way) && !leadsTo(block, other) && !leadsTo(other, block)) {
      partner = std::move(way);
      return;
    }
  }
}

bool BlockReplay::leadsTo(program::BlockId from, program::BlockId to) const {
  std::set<program::BlockId> seen = {from};
  std::vector<program::BlockId> work = {from};
  while (!work.empty()) {
    const program::BlockId id = work.back();
    work.pop_back();
    if (id == to)
      return true;
    for (const program::BlockId next : program.blocks[id].successors)
      if (seen.insert(next).second)
        work.push_back(next);
  }
  return false;
}

std::uint64_t BlockReplay::workOfOne() const {
  std::uint64_t instrs = 0;
  for (const program::BlockId id : path)
    instrs += program.blocks[id].instrs.size();
  return std::max<std::uint64_t>(1, instrs * rounds * residents * wavesPerGroup);
}

BlockReplay::Access BlockReplay::accessOf(const program::Instr& instr) const {
  Access access;
  const auto* seen = profileOf(context.profile, instr.address);
  if (!seen || !seen->issued)
    return access;
  const auto per = [&](double value) {
    return static_cast<unsigned>(std::lround(std::clamp(value / static_cast<double>(seen->issued), 0.0, 1024.0)));
  };
  access.sectors = per(seen->sectors);
  access.conflictClk = per(seen->conflictClk);
  access.known = true;
  return access;
}

const timing::StaticInst& BlockReplay::analysed(isa::InstRef inst, unsigned accumOffset) {
  const auto at = cache.find({inst, accumOffset});
  if (at != cache.end())
    return at->second;
  return cache.emplace(std::pair(inst, accumOffset), timing::analyseCode({inst}, accumOffset, p).front()).first->second;
}

void BlockReplay::addAccess(const program::Instr& instr, const timing::StaticInst& known, std::uint32_t step,
                            timing::PreparedWave& wave, std::uint32_t& lineCount) const {
  if (known.category != timing::Category::lds && known.category != timing::Category::vmem)
    return;
  const isa::Instruction& inst = *instr.inst;
  const Access seen = accessOf(instr);
  const unsigned bytes = dataBytes(inst);
  PreparedAccess access;
  access.step = step;
  access.bytesPerLane = static_cast<std::uint8_t>(std::min(bytes, 64u));
  access.activeLanes = 64;
  access.store = inst.mayStore;
  if (known.category == timing::Category::lds) {
    access.space = emulator::Space::lds;
    access.idealClk = static_cast<std::uint16_t>(2 * std::max(1u, bytes / 4));
    access.bankClk = static_cast<std::uint16_t>(access.idealClk + seen.conflictClk);
  } else {
    access.sectorCount = static_cast<std::uint16_t>(seen.known ? seen.sectors : bytes);
    access.lineCount = static_cast<std::uint16_t>((access.sectorCount + 1u) / lineSectors);
    access.lookups = access.sectorCount;
    access.ldsDma = inst.isLdsDma();
    access.atomic = inst.isAtomic();
    access.firstLine = static_cast<std::uint32_t>(wave.lines.size());
    for (unsigned line = 0; line < access.lineCount; ++line)
      wave.lines.push_back({lineCount++, 3});
  }
  wave.accesses.push_back(access);
}

std::optional<double> BlockReplay::clk(const std::vector<program::Instr>& instrs, unsigned accumOffset) {
  // The blocks of the path in layout order; each keeps its place within a line of the instruction cache.
  std::vector<program::BlockId> layout = path;
  layout.insert(layout.end(), partner.begin(), partner.end());
  std::ranges::sort(layout);
  layout.erase(std::unique(layout.begin(), layout.end()), layout.end());
  const auto instrsOf = [&](program::BlockId id) -> const std::vector<program::Instr>& {
    return id == block ? instrs : program.blocks[id].instrs;
  };
  std::vector<timing::StaticInst> code;
  std::map<program::BlockId, std::uint32_t> startOf;
  for (const program::BlockId id : layout) {
    const std::uint64_t address = program.blocks[id].address;
    const bool follows = id != layout.front() && startOf.contains(id - 1);
    if (!follows && address != program::noAddress)
      while (code.size() % 16 != address / 4 % 16)
        code.emplace_back();
    startOf[id] = static_cast<std::uint32_t>(code.size());
    for (const program::Instr& instr : instrsOf(id)) {
      code.push_back(analysed(instr.inst, accumOffset));
      for (unsigned dword = 1; dword < instr.inst->size / 4u; ++dword)
        code.emplace_back();
    }
  }
  timing::StaticInst end;
  end.valid = true;
  end.internal = timing::Internal::end;
  const auto endOffset = static_cast<std::uint32_t>(code.size() * 4);
  code.push_back(end);

  std::uint32_t lineCount = 1; // line 0 is nobody's
  const auto run = [&](const std::vector<program::BlockId>& blocks, std::vector<std::uint32_t>& steps) {
    timing::PreparedWave wave;
    for (unsigned round = 0; round < rounds; ++round)
      for (const program::BlockId id : blocks) {
        std::uint32_t offset = startOf[id] * 4;
        for (const program::Instr& instr : instrsOf(id)) {
          addAccess(instr, code[offset / 4], static_cast<std::uint32_t>(steps.size()), wave, lineCount);
          steps.push_back(offset);
          offset += instr.inst->size;
        }
      }
    steps.push_back(endOffset);
    wave.path = &steps;
    return wave;
  };
  std::vector<std::uint32_t> steps, partnerSteps;
  const timing::PreparedWave wave = run(path, steps);
  const timing::PreparedWave other = partner.empty() ? wave : run(partner, partnerSteps);

  timing::TraceSet set;
  timing::TraceSet::Group& group = set.groups.emplace_back();
  group.instructions = steps.size() * wavesPerGroup;
  for (unsigned number = 0; number < wavesPerGroup; ++number) {
    group.waves.push_back(number < wavesPerGroup / 2 ? wave : other);
    for (timing::LineRef& line : group.waves.back().lines)
      line.id += number * lineCount;
  }
  set.lines.resize(std::size_t{lineCount} * wavesPerGroup);
  for (std::size_t line = 0; line < set.lines.size(); ++line)
    set.lines[line] = {line, 1};
  group.distinctLines = set.lines.size();

  timing::CuLaunch launch;
  launch.traces.assign(residents, 0);
  launch.residents = residents;
  launch.wavesPerSimd = simdWaves;
  const auto result = timing::simulateCu(p, code, set, launch);
  if (!result)
    return std::nullopt;
  spent += result->instructions;
  return static_cast<double>(result->end);
}

} // namespace asmevo::optimize
