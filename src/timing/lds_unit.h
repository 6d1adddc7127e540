/// The LDS of one CU: a queue and a port in each direction per SIMD pair, one bank array.
#pragma once

#include "timing/parameters.h"
#include "timing/request_queue.h"

#include <array>
#include <vector>

namespace asmevo::timing {

/// Time of a unit that requests book ahead of their service: a booking takes the first free clk from its earliest on,
/// in pieces if need be, since requests of the other port may have booked later times already.
class Calendar {
 public:
  /// Books `length` clk from `earliest` on; returns the end of the last piece. Bookings that end before `now` may be
  /// forgotten: no later call asks for them.
  double book(double earliest, double length, double now);

 private:
  struct Piece {
    double begin, end;
  };
  std::vector<Piece> busy; ///< ascending, apart from each other
};

class LdsUnit {
 public:
  explicit LdsUnit(const Parameters& parameters)
      : p(parameters),
        queue{RequestQueue(static_cast<std::size_t>(p.ldsQueue)), RequestQueue(static_cast<std::size_t>(p.ldsQueue))} {}

  /// Room in the queue of the SIMD's pair for a request of `wave`.
  RequestQueue::Room room(unsigned simd, std::uint32_t wave, Clk now) { return queue[simd / 2].room(wave, now); }

  struct Request {
    double dataBytes = 256; ///< over the port
    unsigned bankClk = 2, idealClk = 2;
    bool sendsData = false; ///< write, atomic or permute: address and data share the input port
  };
  struct Reply {
    Clk done = 0;      ///< counter decrement
    Clk issueHold = 0; ///< clk until the wave may issue again
  };
  Reply issue(unsigned simd, std::uint32_t wave, const Request& request, Clk now);

  /// Vector memory data written to LDS as it arrives (buffer_load ... lds), over a path that the CU's waves share;
  /// returns when it lies there.
  Clk directLoad(const Request& request, Clk arrival, Clk now);

  double portBusyClk() const { return portBusy; }
  double bankBusyClk() const { return bankBusy; }

 private:
  /// One SIMD pair's side: requests are served in their order.
  struct Port {
    double inFree = 0;    ///< addresses and write data, 64 B/clk
    double outFree = 0;   ///< read data, 64 B/clk
    double orderFree = 0; ///< the last request has left the banks
  };

  const Parameters& p;
  std::array<Port, 2> ports;
  std::array<RequestQueue, 2> queue;
  Calendar banks;
  double directFree = 0;
  double portBusy = 0, bankBusy = 0;
};

} // namespace asmevo::timing
