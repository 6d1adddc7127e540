#include "timing/memory_system.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace asmevo::timing {
namespace {

constexpr double lineBytes = 128, sectorBytes = 64;

/// SplitMix64 finaliser: spreads ids so that "one in n lines" is a deterministic choice.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// True for a deterministic `probability` of all ids.
bool chosen(std::uint64_t id, double probability) {
  return static_cast<double>(mix(id) >> 11) * 0x1p-53 < probability;
}

std::size_t atLeastOne(double count) {
  return static_cast<std::size_t>(std::max(1.0, count));
}

} // namespace

SetAssociativeCache::SetAssociativeCache(std::size_t sets, std::size_t wayCount)
    : setCount(sets), ways(wayCount), tags(sets * wayCount, ~std::uint64_t{0}), lastUse(sets * wayCount),
      fills(sets * wayCount) {}

Clk* SetAssociativeCache::find(std::size_t set, std::uint64_t tag) {
  const std::size_t first = set * ways;
  // Without an early exit the loop vectorises; a tag is at one place at most.
  std::size_t found = ways;
  for (std::size_t i = 0; i < ways; ++i)
    found = tags[first + i] == tag ? i : found;
  if (found == ways)
    return nullptr;
  lastUse[first + found] = ++tick;
  return &fills[first + found];
}

void SetAssociativeCache::insert(std::size_t set, std::uint64_t tag, Clk ready) {
  const auto first = lastUse.begin() + static_cast<std::ptrdiff_t>(set * ways);
  const auto victim =
      static_cast<std::size_t>(std::min_element(first, first + static_cast<std::ptrdiff_t>(ways)) - lastUse.begin());
  tags[victim] = tag;
  lastUse[victim] = ++tick;
  fills[victim] = ready;
}

bool KeySet::insert(std::uint64_t key) {
  if (2 * count >= slots.size())
    grow();
  for (std::size_t at = mix(key) & (slots.size() - 1);; at = (at + 1) & (slots.size() - 1)) {
    if (slots[at] == key)
      return false;
    if (slots[at] == empty) {
      slots[at] = key;
      ++count;
      return true;
    }
  }
}

void KeySet::grow() {
  std::vector<std::uint64_t> old(slots.size() * 2, empty);
  old.swap(slots);
  count = 0;
  for (const std::uint64_t key : old)
    if (key != empty)
      insert(key);
}

MemorySystem::MemorySystem(const Parameters& parameters, const TraceSet& traces, const ChipLoad& load)
    : p(parameters), set(traces), chip(load), l1(atLeastOne(p.l1Sets), atLeastOne(p.l1Bytes / lineBytes / p.l1Sets)),
      scalarCache(4, atLeastOne(p.smemCacheBytes / sectorBytes / 4)),
      l2Private(atLeastOne(p.l2Bytes / lineBytes / p.l2Ways / load.activeCusPerXcd), atLeastOne(p.l2Ways)),
      l2Shared(atLeastOne(p.l2Bytes / lineBytes / p.l2Ways), atLeastOne(p.l2Ways)),
      l2Server(std::min(p.l2BytesPerClkPerCu, p.l2BytesPerClkPerXcd * load.workShareOfXcd)),
      fabricServer(std::min(p.l2BytesPerClkPerCu, p.fabricBytesPerClkPerXcd * load.workShareOfXcd)),
      hbmServer(std::min(p.l2BytesPerClkPerCu, p.hbmBytesPerSecond / (p.peakMhz * 1e6) * load.workShare)),
      queue(atLeastOne(p.vmemQueue)) {
  const auto xcds = static_cast<std::uint64_t>(p.xcds);
  for (std::size_t a = 0; a < set.groups.size(); ++a) {
    std::uint64_t same = 0, other = 0;
    for (std::size_t b = 0; b < set.groups.size(); ++b)
      if (a != b)
        (set.groups[a].index % xcds == set.groups[b].index % xcds ? same : other) |= std::uint64_t{1} << b;
    sameXcd.push_back(same);
    otherXcd.push_back(other);
  }
}

std::uint64_t MemorySystem::tagOf(const LineRef& line, Requester who) const {
  // A line that only one traced workgroup touches stands for private data: another line in every replay.
  const bool isPrivate = std::has_single_bit(set.lines[line.id].touchedBy);
  return line.id + (isPrivate ? who.generation * set.lines.size() : 0);
}

MemorySystem::Reply MemorySystem::belowL1(const LineRef& line, Requester who, double now, double bytes, bool store) {
  const std::uint64_t tag = tagOf(line, who);
  const std::uint64_t touched = set.lines[line.id].touchedBy;
  const auto fraction = [&](std::uint64_t among) {
    return among ? static_cast<double>(std::popcount(touched & among)) / std::popcount(among) : 0.0;
  };
  const std::uint64_t same = sameXcd[who.trace], other = otherXcd[who.trace];
  const double sameFraction = same ? fraction(same) : fraction(other);
  const double sharersInXcd = 1 + sameFraction * (chip.activeCusPerXcd - 1);
  const double sharingXcds = 1 + fraction(other) * (chip.activeXcds - 1);

  double wait = l2Server.serve(now, bytes);
  counted.l2Bytes += bytes;
  SetAssociativeCache& cache = sharersInXcd > 1 ? l2Shared : l2Private;
  const std::size_t cacheSet = mix(tag) % cache.sets();
  if (cache.find(cacheSet, tag)) {
    ++counted.l2Hits;
    return {Level::l2, wait};
  }
  cache.insert(cacheSet, tag, 0);
  const bool first = chosen(tag, 1 / sharersInXcd);
  if (!first && !store) {
    ++counted.l2Hits;
    return {Level::l2, wait};
  }
  ++counted.l2Misses;
  wait = std::max(wait, fabricServer.serve(now, bytes));
  const bool fetchedBefore = !seen.insert(tag);
  const bool inMall = chip.warmMall || fetchedBefore || !chosen(mix(tag), 1 / sharingXcds);
  if (inMall) {
    counted.mallBytes += bytes;
    return {Level::mall, wait};
  }
  wait = std::max(wait, hbmServer.serve(now, bytes));
  counted.hbmBytes += bytes;
  return {Level::hbm, wait};
}

Clk MemorySystem::loadLine(const LineRef& line, Requester who, Clk now) {
  const std::uint64_t tag = tagOf(line, who);
  const std::size_t cacheSet = set.lines[line.id].address % l1.sets();
  const auto hitTime = now + static_cast<Clk>(p.l1Latency);
  if (const Clk* fill = l1.find(cacheSet, tag)) {
    ++counted.l1Hits;
    return std::max(*fill, hitTime);
  }
  ++counted.l1Misses;
  const Reply reply = belowL1(line, who, static_cast<double>(now), lineBytes, false);
  const double latency = reply.level == Level::l2     ? p.l2Latency
                         : reply.level == Level::mall ? p.mallLatency
                                                      : p.hbmLatency;
  const auto arrival = now + static_cast<Clk>(std::ceil(latency + reply.wait));
  l1.insert(cacheSet, tag, arrival);
  return arrival;
}

Clk MemorySystem::emptyVector(Requester who, Clk now) {
  queue.enter(who.wave, now);
  returnFree = std::max(returnFree, now + static_cast<Clk>(p.vmemAddressClk));
  return returnFree;
}

Clk MemorySystem::vector(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now) {
  if (access.sectorCount == 0)
    return emptyVector(who, now);
  const double moved = access.sectorCount * sectorBytes;
  const double fetched = access.lineCount * lineBytes;
  const double perSector = access.atomic ? p.atomicClkPerSector : p.l1ClkPerSector;
  const double busy = std::max(p.vmemAddressClk, access.sectorCount * perSector);
  double start = std::max(static_cast<double>(now), addressFree);
  if (!access.store) {
    while (!inflight.empty() &&
           (static_cast<double>(inflight.front().first) <= start || inflightBytes + fetched > p.vmemInflightBytes)) {
      start = std::max(start, static_cast<double>(inflight.front().first));
      inflightBytes -= inflight.front().second;
      inflight.pop_front();
    }
  }
  addressFree = start + busy;
  addressBusy += busy;
  queue.enter(who.wave, static_cast<Clk>(std::ceil(start)));
  ++counted.requests;
  counted.sectors += access.sectorCount;
  counted.l1Bytes += moved;
  counted.usedBytes += static_cast<double>(access.bytesPerLane) * access.activeLanes;

  const LineRef* const first = wave.lines.data() + access.firstLine;
  Clk done = 0;
  double turn = start;
  for (unsigned i = 0; i < access.lineCount; ++i) {
    const double sectors = std::popcount(first[i].sectors);
    const auto at = static_cast<Clk>(turn);
    turn += sectors * perSector;
    if (!access.store && !access.atomic) {
      done = std::max(done, loadLine(first[i], who, at));
      continue;
    }
    const Reply reply = belowL1(first[i], who, turn, sectors * sectorBytes, access.store);
    double latency = p.vmemStoreAck;
    if (access.atomic)
      latency = p.atomicExtra + (reply.level == Level::l2     ? p.l2Latency
                                 : reply.level == Level::mall ? p.mallLatency
                                                              : p.hbmLatency);
    done = std::max(done, at + static_cast<Clk>(std::ceil(latency + reply.wait)));
  }
  if (access.store && !access.atomic)
    return std::max(done, static_cast<Clk>(std::ceil(addressFree)));
  // Data returns in order at one sector per clk; the measured latencies include the first cycles of it.
  const auto tail = static_cast<Clk>(std::max(0.0, busy - p.vmemAddressClk));
  const Clk arrival = std::max(std::max(done, static_cast<Clk>(start) + static_cast<Clk>(p.l1Latency) + tail),
                               returnFree + static_cast<Clk>(busy));
  returnFree = arrival;
  inflight.emplace_back(arrival, fetched);
  inflightBytes += fetched;
  return arrival;
}

Clk MemorySystem::scalar(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now) {
  Clk done = now + static_cast<Clk>(p.smemHit);
  const LineRef* const first = wave.lines.data() + access.firstLine;
  for (unsigned i = 0; i < access.lineCount; ++i)
    for (unsigned half = 0; half < 2; ++half) {
      if (!((first[i].sectors >> half) & 1))
        continue;
      const std::uint64_t tag = tagOf(first[i], who) * 2 + half;
      const std::size_t cacheSet = mix(tag) % scalarCache.sets();
      if (const Clk* fill = scalarCache.find(cacheSet, tag)) {
        done = std::max(done, *fill);
        continue;
      }
      const Reply reply = belowL1(first[i], who, static_cast<double>(now), sectorBytes, false);
      const double latency = reply.level == Level::l2     ? p.smemL2
                             : reply.level == Level::mall ? p.smemMall
                                                          : p.smemMemory;
      const auto arrival = now + static_cast<Clk>(std::ceil(latency + reply.wait));
      scalarCache.insert(cacheSet, tag, arrival);
      done = std::max(done, arrival);
    }
  return done;
}

} // namespace asmevo::timing
