#include "timing/memory_system.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

constexpr double lineBytes = 128, sectorBytes = 64;

} // namespace

MemorySystem::MemorySystem(const Parameters& p, const TraceSet& traces, const ChipLoad& load)
    : set(traces), sharing(p, traces, load), scalarCache(p, load), vectorL1(p, load, traces), l2(p, load, traces) {}

LineRequest MemorySystem::requestOf(const LineRef& line, const PreparedAccess& access, Requester who) const {
  LineRequest request;
  request.line = line.id;
  request.tag = line.id;
  request.bytes = lineBytes;
  request.kind = access.atomic ? RequestKind::atomic : access.store ? RequestKind::store : RequestKind::load;
  request.passes = access.passes;
  request.stride = access.stride;
  request.streaming = access.cachePolicy & emulator::policyNt;
  // Atomics that only L2 executes name their scope by sc1 too, and have to go to it.
  request.throughL2 = (access.cachePolicy & emulator::policySc1) && !access.atomic;
  if (access.space == emulator::Space::scratch) {
    // Scratch addresses are counted from each workgroup's own area.
    request.tag += set.lines.size() * (1 + who.generation * set.groups.size() + who.trace);
    return request;
  }
  if (sharing.isPrivate(line.id)) {
    request.tag += set.lines.size() * who.generation;
    return request;
  }
  const Sharing::Sharers sharers = sharing.of(line.id, who.trace);
  request.sharersInXcd = sharers.cusOfXcd;
  request.sharingXcds = sharers.xcds;
  return request;
}

Clk MemorySystem::vector(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now) {
  if (access.lineCount == 0)
    return emptyVector(who, now);
  const std::span<const LineRef> references(wave.lines.data() + access.firstLine, access.lineCount);
  lines.clear();
  for (const LineRef& reference : references)
    lines.push_back(requestOf(reference, access, who));
  return vectorL1.access(access, lines, references, who.wave, l2, now, counted);
}

Clk MemorySystem::scalar(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now) {
  Clk done = now;
  for (const LineRef& reference : std::span(wave.lines.data() + access.firstLine, access.lineCount))
    for (unsigned half = 0; half < 2; ++half)
      if (reference.sectors >> half & 1) {
        LineRequest request = requestOf(reference, access, who);
        request.bytes = sectorBytes;
        done = std::max(done, scalarCache.read(request, half, access.kernarg, l2, now, counted));
      }
  return done;
}

Traffic MemorySystem::traffic() const {
  Traffic result = counted;
  result.dirtyBytes = static_cast<double>(l2.dirtyLines()) * lineBytes;
  return result;
}

Traffic& Traffic::operator+=(const Traffic& other) {
  constexpr double Traffic::* sums[] = {&Traffic::l1Bytes,  &Traffic::l2Bytes,   &Traffic::mallBytes,
                                        &Traffic::hbmBytes, &Traffic::usedBytes, &Traffic::dirtyBytes};
  constexpr std::uint64_t Traffic::* counts[] = {
      &Traffic::l1Hits,       &Traffic::l1Misses,         &Traffic::l2Hits,         &Traffic::l2Misses,
      &Traffic::requests,     &Traffic::sectors,          &Traffic::loads,          &Traffic::stores,
      &Traffic::atomics,      &Traffic::loadLookups,      &Traffic::storeLookups,   &Traffic::l2Reads,
      &Traffic::l2Writes,     &Traffic::l2Atomics,        &Traffic::scalarRequests, &Traffic::scalarHits,
      &Traffic::scalarMisses, &Traffic::scalarDuplicates, &Traffic::fabricReads,    &Traffic::evictedLines,
      &Traffic::pageWalks,    &Traffic::fetches,          &Traffic::fetchMisses};
  for (const auto field : sums)
    this->*field += other.*field;
  for (const auto field : counts)
    this->*field += other.*field;
  return *this;
}

} // namespace asmevo::timing
