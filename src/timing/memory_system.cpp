#include "timing/memory_system.h"

#include <algorithm>
#include <span>

namespace asmevo::timing {

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

} // namespace asmevo::timing
