#include "timing/vector_l1.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace asmevo::timing {
namespace {

Clk roundUp(double clk) {
  return static_cast<Clk>(std::ceil(clk));
}

} // namespace

VectorL1::VectorL1(const Parameters& parameters, const ChipLoad& load, const TraceSet& traces)
    : p(parameters), set(traces), tags(static_cast<std::size_t>(p.l1Sets),
                                       static_cast<std::size_t>(std::max(1.0, p.l1Bytes / lineBytes / p.l1Sets))),
      tlb(p, load), queue(static_cast<std::size_t>(std::max(1.0, p.vmemQueue))),
      mostInFlight(static_cast<std::size_t>(std::max(1.0, p.vmemInflightBytes / lineBytes))) {}

double VectorL1::latencyOf(MemoryLevel level) const {
  return level == MemoryLevel::l2 ? p.l2Latency : level == MemoryLevel::mall ? p.mallLatency : p.hbmLatency;
}

double VectorL1::walk(std::uint32_t line, double now, Traffic& counted) {
  return tlb.wait(tlb.pageOf(set.lines[line].address * static_cast<std::uint64_t>(lineBytes)), now, counted);
}

Clk VectorL1::empty(std::uint32_t wave, Clk now) {
  queue.enter(wave, now);
  returnFree = std::max(returnFree, now + static_cast<Clk>(p.vmemAddressClk));
  return returnFree;
}

double VectorL1::loadLine(const LineRequest& request, bool pastL1, L2Cache& l2, double& turn, Traffic& counted) {
  const std::size_t cacheSet = set.lines[request.line].address % tags.sets();
  if (!pastL1)
    if (const auto hit = tags.find(cacheSet, request.tag)) {
      ++counted.l1Hits;
      return std::max(static_cast<double>(*hit.fill), turn + p.l1Latency);
    }
  ++counted.l1Misses;
  ++counted.l2Reads;
  while (!inFlight.empty() && (inFlight.front() <= turn || inFlight.size() >= mostInFlight)) {
    turn = std::max(turn, inFlight.front());
    inFlight.pop_front();
  }
  const double translated = walk(request.line, turn, counted);
  const L2Cache::Reply reply = l2.access(request, turn + translated, counted);
  const double arrival = turn + translated + latencyOf(reply.level) + reply.wait;
  // Places are given back in order.
  inFlight.push_back(inFlight.empty() ? arrival : std::max(arrival, inFlight.back()));
  if (!pastL1)
    tags.insert(cacheSet, request.tag, roundUp(arrival), {false, request.streaming});
  return arrival;
}

Clk VectorL1::load(const PreparedAccess& access, std::span<const LineRequest> lines, double start, double perLine,
                   L2Cache& l2, Traffic& counted) {
  const bool pastL1 = access.cachePolicy & emulator::policySc1;
  double done = 0, turn = start;
  for (const LineRequest& line : lines) {
    done = std::max(done, loadLine(line, pastL1, l2, turn, counted));
    turn += perLine;
  }
  addressFree = std::max(addressFree, turn);
  // The measured latencies include the first cycles of the return.
  const double sectors = std::max(p.vmemAddressClk, access.sectorCount * p.l1ClkPerSector);
  const double shortest = start + p.l1Latency + std::max(0.0, access.lookups - p.vmemAddressClk);
  const Clk arrival = std::max(roundUp(std::max(done, shortest)), returnFree + roundUp(sectors));
  returnFree = arrival;
  return arrival;
}

Clk VectorL1::send(const PreparedAccess& access, std::span<const LineRequest> lines,
                   std::span<const LineRef> references, double start, double perLine, L2Cache& l2, Traffic& counted) {
  double done = 0, turn = start;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    LineRequest request = lines[i];
    const auto sectors = static_cast<unsigned>(std::popcount(references[i].sectors));
    request.bytes = sectorBytes;
    const double translated = walk(request.line, turn, counted);
    for (unsigned s = 0; s < sectors; ++s) {
      ++(access.atomic ? counted.l2Atomics : counted.l2Writes);
      const L2Cache::Reply reply = l2.access(request, turn + translated, counted);
      double latency = p.vmemStoreAck;
      if (access.atomic && access.returns)
        latency = latencyOf(reply.level) + p.atomicExtra;
      else if (reply.level != MemoryLevel::l2)
        latency += latencyOf(reply.level) - p.l2Latency;
      if (access.atomic)
        latency += p.atomicClkPerPass * (request.passes - 1);
      done = std::max(done, turn + translated + latency + reply.wait);
    }
    turn += perLine;
  }
  const Clk earliest = roundUp(std::max(done, addressFree));
  if (!access.atomic || !access.returns)
    return earliest;
  returnFree = std::max(earliest, returnFree + static_cast<Clk>(p.vmemAddressClk));
  return returnFree;
}

Clk VectorL1::access(const PreparedAccess& access, std::span<const LineRequest> lines,
                     std::span<const LineRef> references, std::uint32_t wave, L2Cache& l2, Clk now, Traffic& counted) {
  const double busy = std::max(p.vmemAddressClk, access.lookups * p.l1ClkPerSector);
  const double start = std::max(static_cast<double>(now), addressFree);
  addressFree = start + busy;
  addressBusy += busy;
  queue.enter(wave, roundUp(start));
  ++counted.requests;
  counted.sectors += access.sectorCount;
  counted.l1Bytes += access.sectorCount * sectorBytes;
  counted.usedBytes += static_cast<double>(access.bytesPerLane) * access.activeLanes;
  const bool sends = access.store || access.atomic;
  ++(access.atomic ? counted.atomics : access.store ? counted.stores : counted.loads);
  (sends ? counted.storeLookups : counted.loadLookups) += access.lookups;
  const double perLine = busy / static_cast<double>(lines.size());
  return sends ? send(access, lines, references, start, perLine, l2, counted)
               : load(access, lines, start, perLine, l2, counted);
}

} // namespace asmevo::timing
