#include "timing/lds_unit.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {

LdsUnit::Reply LdsUnit::issue(unsigned simd, std::uint32_t wave, const Request& request, Clk now) {
  const unsigned pair = simd / 2;
  const double port = std::max(p.slot, request.dataBytes / p.ldsPortBytesPerClk);
  const double start = std::max(static_cast<double>(now), portFree[pair]);
  const double bankStart = std::max(start, bankFree);
  bankFree = bankStart + request.bankClk;
  const double end = std::max(start + port, bankFree);
  portFree[pair] = end;
  portBusy += port;
  bankBusy += request.bankClk;
  queue[pair].enter(wave, static_cast<Clk>(std::ceil(end)), request.bankClk > request.idealClk);
  Reply reply;
  reply.done = static_cast<Clk>(std::ceil(end + p.ldsLatency + (request.sendsData ? p.ldsWriteExtra : 0)));
  reply.issueHold = static_cast<Clk>(request.sendsData ? p.ldsAddressClk + port : p.slot);
  return reply;
}

} // namespace asmevo::timing
