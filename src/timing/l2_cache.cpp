#include "timing/l2_cache.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace asmevo::timing {
namespace {

/// Lines of one channel that are this CU's: as many as it has of the XCD's work.
double linesPerChannel(const Parameters& p, const ChipLoad& load) {
  return p.l2Bytes / lineBytes / p.l2Channels * std::min(1.0, load.workShareOfXcd);
}

std::size_t setsOf(const Parameters& p, const ChipLoad& load) {
  return static_cast<std::size_t>(std::max(1.0, std::round(linesPerChannel(p, load) / p.l2Ways)));
}

std::size_t waysOf(const Parameters& p, const ChipLoad& load) {
  return static_cast<std::size_t>(
      std::max(1.0, std::round(linesPerChannel(p, load) / static_cast<double>(setsOf(p, load)))));
}

} // namespace

L2Cache::L2Cache(const Parameters& parameters, const ChipLoad& load, const TraceSet& traces)
    : p(parameters), set(traces), channels(static_cast<std::size_t>(p.l2Channels)), setsPerChannel(setsOf(p, load)),
      cus(load.activeCusPerXcd), tags(channels * setsPerChannel, waysOf(p, load)), link(p.l2BytesPerClkPerCu),
      memory(p, load, traces.lines.size()) {
  fillWithEarlierWork(load);
}

void L2Cache::fillWithEarlierWork(const ChipLoad& load) {
  const double capacity = p.l2Bytes * load.activeXcds;
  if (load.footprintBytes <= capacity)
    return;
  std::vector<bool> stored(set.lines.size());
  for (const TraceSet::Group& group : set.groups)
    for (const PreparedWave& wave : group.waves)
      for (const PreparedAccess& access : wave.accesses)
        if (access.space == emulator::Space::global && (access.store || access.atomic))
          for (const LineRef& line : std::span(wave.lines.data() + access.firstLine, access.lineCount))
            stored[line.id] = true;
  const auto count = static_cast<double>(std::count(stored.begin(), stored.end(), true));
  const double share = count / static_cast<double>(std::max<std::size_t>(1, stored.size()));
  for (std::size_t place = 0; place < tags.lines(); ++place)
    if (chosen(place, share * (1 - capacity / load.footprintBytes)))
      tags.dirtyPlace(place);
}

double L2Cache::queueAt(std::size_t channel, const LineRequest& request, double now) {
  const double perChannel = (request.kind == RequestKind::load ? p.l2BytesPerClkPerXcd : p.l2WriteBytesPerClkPerXcd) /
                            static_cast<double>(channels);
  double own = request.bytes / perChannel;
  if (request.kind == RequestKind::atomic)
    own = std::max(own, p.atomicClkPerPass * request.passes);
  const double wait = std::max(0.0, free[channel] - now);
  const auto add = [&](std::size_t c, double clk) {
    free[c] = std::max(free[c], now) + clk;
    busy[c] += clk;
  };
  // The others' requests of the same instruction lie k strides away: on how many channels does that put them?
  std::size_t spread = channels;
  if (request.stride != unknownStride) {
    const auto period = static_cast<std::size_t>(p.l2InterleaveBytes) * channels;
    const std::size_t step = static_cast<std::size_t>(request.stride) * static_cast<std::size_t>(p.xcds) % period;
    // Never all on one: the CUs are not in step. On a quarter at least, by AITer's GEMMs on MI308X, where rows of 4096
    // bytes cost some 6 % (facts: mi308x_fp8gemm_blockscale_measured.csv).
    spread = std::clamp(period / std::gcd(step, period), (channels + 3) / 4, channels);
  }
  add(channel, own);
  const double each = own * (cus - 1) / static_cast<double>(spread);
  for (std::size_t c = channel % (channels / spread); c < channels; c += channels / spread)
    add(c, each);
  return wait;
}

L2Cache::Reply L2Cache::access(const LineRequest& request, double now, Traffic& counted) {
  const std::uint64_t address = set.lines[request.line].address * static_cast<std::uint64_t>(lineBytes);
  const std::size_t channel = address / static_cast<std::uint64_t>(p.l2InterleaveBytes) % channels;
  counted.l2Bytes += request.bytes;
  Reply reply;
  reply.wait = std::max(link.serve(now, request.bytes), queueAt(channel, request, now));
  const double asked = now + reply.wait;
  const bool store = request.kind == RequestKind::store;
  if (request.throughL2) {
    ++counted.l2Misses;
    if (store) {
      reply.level = MemoryLevel::mall;
      reply.wait += memory.write(asked, request.bytes, counted);
      return reply;
    }
  } else {
    const std::size_t cacheSet = channel * setsPerChannel + mix(request.tag) % setsPerChannel;
    const bool dirties = request.kind != RequestKind::load;
    if (const auto line = tags.find(cacheSet, request.tag)) {
      *line.dirty |= dirties;
      ++counted.l2Hits;
      return reply;
    }
    // What is not kept is not found by the others either, each fetches it.
    const bool owned = request.streaming || chosen(request.tag, 1 / request.sharersInXcd);
    if (owned && tags.insert(cacheSet, request.tag, 0, {dirties, request.streaming})) {
      ++counted.evictedLines;
      const double wait = memory.write(asked, lineBytes, counted);
      if (store) // reads queue up behind the write themselves
        reply.wait += wait;
    }
    if (!owned) {
      ++counted.l2Hits;
      return reply;
    }
    ++counted.l2Misses;
    if (store)
      return reply; // written without a fetch
  }
  const MemorySide::Reply beyond = memory.read(request, asked, counted);
  reply.level = beyond.level;
  reply.wait += beyond.extra;
  return reply;
}

double L2Cache::busyClk() const {
  return *std::max_element(busy.begin(), busy.end());
}

} // namespace asmevo::timing
