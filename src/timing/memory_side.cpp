#include "timing/memory_side.h"

#include <algorithm>

namespace asmevo::timing {

MemorySide::MemorySide(const Parameters& parameters, const ChipLoad& load, std::size_t lineCount)
    : p(parameters), chip(load),
      fabric(std::min(p.l2BytesPerClkPerCu, p.fabricBytesPerClkPerXcd * load.workShareOfXcd)),
      hbm(p.hbmBytesPerSecond / (p.peakMhz * 1e6) * load.workShare, p.hbmHalfRateBytes * load.workShare,
          p.l2BytesPerClkPerCu),
      last(lineCount) {}

bool MemorySide::inMall(const LineRequest& request) {
  if (request.streaming)
    return false;
  Fetched& fetched = last[request.line];
  const bool kept = fetched.tag == request.tag && chipBytes - fetched.chipBytes <= p.mallBytes;
  fetched = {request.tag, chipBytes};
  // Of the XCDs that share a line one is the first to fetch it.
  return kept || chip.warmMall || !chosen(mix(request.tag), 1 / request.sharingXcds);
}

MemorySide::Reply MemorySide::read(const LineRequest& request, double now, Traffic& counted) {
  ++counted.fabricReads;
  chipBytes += request.bytes / chip.workShare;
  const double wait = fabric.serve(now, request.bytes);
  if (inMall(request)) {
    counted.mallBytes += request.bytes;
    return {MemoryLevel::mall, wait};
  }
  counted.hbmBytes += request.bytes;
  const double done = hbm.read(now, request.bytes, p.hbmLatency);
  return {MemoryLevel::hbm, std::max(wait, done - (now + p.hbmLatency))};
}

double MemorySide::write(double now, double bytes, Traffic& counted) {
  chipBytes += bytes / chip.workShare;
  const double wait = fabric.serve(now, bytes);
  if (chip.warmMall) {
    counted.mallBytes += bytes;
    return wait;
  }
  counted.hbmBytes += bytes;
  return std::max(wait, hbm.write(now, bytes));
}

} // namespace asmevo::timing
