#include "timing/trace_set.h"

#include <algorithm>
#include <array>
#include <bit>

namespace asmevo::timing {
namespace {

constexpr unsigned lanes = 64, banks = 32;
constexpr std::uint32_t inactive = 0xffffffff;

/// Lanes of the first conflict group of a 16-byte access and its three companions; the upper half repeats at +32
/// (pyhip archive/bank-conflict, MI300).
constexpr std::array<std::array<std::uint8_t, 8>, 4> wideGroups = {{{0, 1, 2, 3, 20, 21, 22, 23},
                                                                    {4, 5, 6, 7, 16, 17, 18, 19},
                                                                    {8, 9, 10, 11, 28, 29, 30, 31},
                                                                    {12, 13, 14, 15, 24, 25, 26, 27}}};

unsigned groupClk(const std::uint32_t* addresses, const std::uint8_t* members, unsigned count, unsigned dwords,
                  bool atomic) {
  // Per bank, the distinct dwords asked of it; at most 32 lanes x 1 dword or 8 lanes x 4 dwords.
  std::array<std::array<std::uint32_t, 32>, banks> wanted;
  std::array<std::uint8_t, banks> wantedCount{};
  unsigned clk = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t address = addresses[members[i]];
    if (address == inactive)
      continue;
    for (unsigned d = 0; d < dwords; ++d) {
      const std::uint32_t dword = address / 4 + d;
      auto& list = wanted[dword % banks];
      auto& size = wantedCount[dword % banks];
      const auto end = list.begin() + size;
      if ((atomic || std::find(list.begin(), end, dword) == end) && size < list.size())
        list[size++] = dword;
      clk = std::max<unsigned>(clk, size);
    }
  }
  return clk;
}

struct LineTouch {
  std::uint64_t address;  ///< / 128
  std::uint32_t position; ///< into the flat list of references
};

} // namespace

unsigned ldsBankClk(const std::uint32_t* addresses, unsigned bytesPerLane, bool atomic) {
  const unsigned dwords = std::clamp((bytesPerLane + 3) / 4, 1U, 4U);
  std::array<std::uint8_t, 32> members{};
  unsigned clk = 0;
  if (dwords <= 2) {
    const unsigned groupLanes = dwords == 1 ? 32 : 16;
    for (unsigned first = 0; first < lanes; first += groupLanes) {
      for (unsigned i = 0; i < groupLanes; ++i)
        members[i] = static_cast<std::uint8_t>(first + i);
      clk += groupClk(addresses, members.data(), groupLanes, dwords, atomic);
    }
    return clk;
  }
  for (unsigned half = 0; half < 2; ++half)
    for (const auto& group : wideGroups) {
      for (unsigned i = 0; i < group.size(); ++i)
        members[i] = static_cast<std::uint8_t>(group[i] + half * 32);
      clk += groupClk(addresses, members.data(), 8, dwords, atomic);
    }
  return clk;
}

namespace {

/// Ids for every touched line, in ascending address order, so that they do not depend on hashing.
void numberLines(TraceSet& set, std::vector<LineTouch>& touches, const std::vector<LineRef*>& references,
                 const std::vector<std::uint8_t>& owners) {
  std::sort(touches.begin(), touches.end(), [](const LineTouch& a, const LineTouch& b) {
    return a.address != b.address ? a.address < b.address : a.position < b.position;
  });
  for (const LineTouch& touch : touches) {
    if (set.lines.empty() || set.lines.back().address != touch.address)
      set.lines.push_back({touch.address, 0});
    const std::uint8_t owner = owners[touch.position];
    LineInfo& line = set.lines.back();
    if (const std::uint64_t bit = std::uint64_t{1} << owner; !(line.touchedBy & bit)) {
      line.touchedBy |= bit;
      ++set.groups[owner].distinctLines;
    }
    references[touch.position]->id = static_cast<std::uint32_t>(set.lines.size() - 1);
  }
}

/// Where each access lies relative to the workgroup's number, from a neighbour that took the same path.
void findStrides(TraceSet& set) {
  for (TraceSet::Group& group : set.groups) {
    const TraceSet::Group* neighbour = nullptr;
    const auto distance = [&](const TraceSet::Group& g) {
      return g.index > group.index ? g.index - group.index : group.index - g.index;
    };
    for (const TraceSet::Group& other : set.groups)
      if (other.index != group.index && other.waves.size() == group.waves.size() &&
          (!neighbour || distance(other) < distance(*neighbour)))
        neighbour = &other;
    if (!neighbour)
      continue;
    const auto steps = static_cast<std::int64_t>(neighbour->index) - static_cast<std::int64_t>(group.index);
    for (std::size_t w = 0; w < group.waves.size(); ++w) {
      PreparedWave& wave = group.waves[w];
      const PreparedWave& twin = neighbour->waves[w];
      if (wave.accesses.size() != twin.accesses.size() || wave.path->size() != twin.path->size())
        continue;
      for (std::size_t i = 0; i < wave.accesses.size(); ++i) {
        PreparedAccess& access = wave.accesses[i];
        if (!access.lineCount || !twin.accesses[i].lineCount)
          continue;
        const auto address = [&](const PreparedWave& of, const PreparedAccess& a) {
          return static_cast<std::int64_t>(set.lines[of.lines[a.firstLine].id].address * 128);
        };
        const std::int64_t apart = address(twin, twin.accesses[i]) - address(wave, access);
        constexpr std::int64_t period = stridePeriod;
        if (apart % steps == 0)
          access.stride = static_cast<std::int16_t>((apart / steps % period + period) % period);
      }
    }
  }
}

Status checkPath(const emulator::WaveTrace& wave, const std::vector<StaticInst>& code, std::uint64_t group) {
  if (wave.path.empty())
    return internalError("trace of workgroup {} has a wave without instructions", group);
  for (const std::uint32_t offset : wave.path)
    if (offset % 4 != 0 || offset / 4 >= code.size() || !code[offset / 4].valid)
      return internalError("trace of workgroup {} executes offset 0x{:x}, where no instruction starts", group, offset);
  return {};
}

Result<PreparedWave> prepareWave(const emulator::WaveTrace& wave, std::uint64_t group,
                                 std::vector<std::uint64_t>& addresses) {
  PreparedWave result;
  result.path = &wave.path;
  result.accesses.reserve(wave.accesses.size());
  result.lines.reserve(wave.lines.size() / 2 + 1);
  for (const emulator::MemoryAccess& access : wave.accesses) {
    const bool linesInside = std::uint64_t{access.firstLine} + access.lineCount <= wave.lines.size();
    const bool isLds = access.space == emulator::Space::lds;
    if (access.step >= wave.path.size() || !linesInside ||
        (isLds && std::uint64_t{access.firstLane} + lanes > wave.ldsAddresses.size()))
      return internalError("trace of workgroup {} has an access outside its own tables", group);
    PreparedAccess prepared;
    prepared.step = access.step;
    prepared.space = access.space;
    prepared.store = access.store;
    prepared.atomic = access.atomic;
    prepared.ldsDma = access.ldsDma;
    prepared.returns = access.returns;
    prepared.kernarg = access.kernarg;
    prepared.cachePolicy = access.cachePolicy;
    prepared.passes = std::max<std::uint16_t>(1, access.passes);
    prepared.bytesPerLane = access.bytesPerLane;
    prepared.activeLanes = access.activeLanes;
    if (isLds) {
      const std::uint32_t* lane = wave.ldsAddresses.data() + access.firstLane;
      prepared.bankClk = static_cast<std::uint16_t>(ldsBankClk(lane, access.bytesPerLane, access.atomic));
      prepared.idealClk = static_cast<std::uint16_t>(
          std::min<unsigned>(prepared.bankClk, 2 * std::clamp((access.bytesPerLane + 3U) / 4, 1U, 4U)));
    } else {
      prepared.sectorCount = access.lineCount;
      prepared.firstLine = static_cast<std::uint32_t>(result.lines.size());
      for (unsigned i = 0; i < access.lineCount; ++i) {
        const std::uint64_t sector = wave.lines[access.firstLine + i];
        const auto bit = static_cast<std::uint8_t>(1U << (sector & 1));
        if (prepared.lineCount && addresses.back() == sector / 2) {
          result.lines.back().sectors |= bit;
          continue;
        }
        addresses.push_back(sector / 2);
        result.lines.push_back({0, bit});
        ++prepared.lineCount;
      }
      // Hand-made traces need not say: what an ordered access takes.
      const std::uint16_t ordered = access.bytesPerLane <= 4 ? 4 : 16;
      prepared.lookups = access.lookups ? access.lookups : std::max(ordered, prepared.sectorCount);
    }
    result.accesses.push_back(prepared);
  }
  const auto byStep = [](const PreparedAccess& a, const PreparedAccess& b) { return a.step < b.step; };
  if (!std::is_sorted(result.accesses.begin(), result.accesses.end(), byStep))
    return internalError("trace of workgroup {} lists its accesses out of order", group);
  return result;
}

} // namespace

Result<TraceSet> TraceSet::prepare(const std::vector<emulator::WorkgroupTrace>& traces,
                                   const std::vector<StaticInst>& code) {
  if (traces.empty() || traces.size() > maxTraces)
    return internalError("the timing model takes 1 to {} workgroup traces, not {}", maxTraces, traces.size());
  TraceSet set;
  std::vector<std::uint64_t> addresses; // of every reference, in the order of waves
  for (const emulator::WorkgroupTrace& trace : traces) {
    Group& group = set.groups.emplace_back();
    group.index = trace.index;
    if (trace.waves.empty())
      return internalError("trace of workgroup {} has no waves", trace.index);
    for (const emulator::WaveTrace& wave : trace.waves) {
      ASMEVO_CHECK(checkPath(wave, code, trace.index));
      ASMEVO_TRY(PreparedWave prepared, prepareWave(wave, trace.index, addresses));
      group.instructions += wave.path.size();
      group.waves.push_back(std::move(prepared));
    }
  }
  if (addresses.size() >= UINT32_MAX)
    return internalError("traces touch too many cache lines ({})", addresses.size());
  std::vector<LineRef*> references;
  std::vector<std::uint8_t> owners;
  references.reserve(addresses.size());
  owners.reserve(addresses.size());
  for (std::size_t g = 0; g < set.groups.size(); ++g)
    for (PreparedWave& wave : set.groups[g].waves)
      for (LineRef& line : wave.lines) {
        references.push_back(&line);
        owners.push_back(static_cast<std::uint8_t>(g));
      }
  std::vector<LineTouch> touches;
  touches.reserve(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i)
    touches.push_back({addresses[i], static_cast<std::uint32_t>(i)});
  numberLines(set, touches, references, owners);
  findStrides(set);
  return set;
}

} // namespace asmevo::timing
