#include "timing/lds_unit.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {

double Calendar::book(double earliest, double length, double now) {
  std::erase_if(busy, [now](const Piece& piece) { return piece.end < now; });
  double at = earliest;
  auto next = std::find_if(busy.begin(), busy.end(), [at](const Piece& piece) { return piece.end >= at; });
  // Swallow the bookings that the new one touches until its length is found.
  const auto first = next;
  double begin = at;
  for (; next != busy.end(); ++next) {
    if (next->begin > at) {
      const double gap = next->begin - at;
      if (gap >= length)
        break;
      length -= gap;
    }
    begin = std::min(begin, next->begin);
    at = next->end;
  }
  at = std::max(at, earliest) + length;
  const bool touches = next != busy.end() && next->begin <= at;
  const double end = touches ? next->end : at;
  next = busy.erase(first, touches ? next + 1 : next);
  busy.insert(next, {begin, end});
  return at;
}

LdsUnit::Reply LdsUnit::issue(unsigned simd, std::uint32_t wave, const Request& request, Clk now) {
  const unsigned pair = simd / 2;
  Port& port = ports[pair];
  const double issued = static_cast<double>(now);
  const double perClk = request.sendsData ? p.ldsPortBytesPerClk : p.ldsReadBytesPerClk;
  const double transfer = std::max(p.slot, request.dataBytes / perClk);
  const double in = std::max(issued, port.inFree);
  port.inFree = in + p.ldsAddressClk + (request.sendsData ? transfer : 0);
  double start = std::max(in, port.orderFree);
  if (!request.sendsData)
    start = std::max(start, port.outFree);
  port.orderFree = request.bankClk ? banks.book(start, request.bankClk, issued) : start;
  // Data follow the address (gfx950 traces: write_b32 to the end of its wait 52-56, write2_b32 60, write_b128 72).
  const double data = start + (request.sendsData ? p.ldsAddressClk : 0);
  const double end = std::max(data + transfer, port.orderFree);
  if (!request.sendsData)
    port.outFree = end;
  portBusy += transfer;
  bankBusy += request.bankClk;
  queue[pair].enter(wave, static_cast<Clk>(std::ceil(end)), request.bankClk > request.idealClk);
  Reply reply;
  reply.done = static_cast<Clk>(std::ceil(end + p.ldsLatency + (request.sendsData ? p.ldsWriteExtra : 0)));
  // Write data leave the registers when the pair's port takes them: the wave waits for the other SIMD's.
  reply.issueHold = request.sendsData ? static_cast<Clk>(std::ceil(port.inFree)) - now : static_cast<Clk>(p.slot);
  return reply;
}

Clk LdsUnit::directLoad(const Request& request, Clk arrival, Clk now) {
  bankBusy += request.bankClk;
  const double start = std::max(static_cast<double>(arrival), directFree);
  directFree = start + p.ldsDirectClk * request.dataBytes / 256;
  return static_cast<Clk>(std::ceil(banks.book(directFree, request.bankClk, static_cast<double>(now))));
}

} // namespace asmevo::timing
