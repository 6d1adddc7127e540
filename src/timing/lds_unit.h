/// The LDS of one CU: two ports (one per SIMD pair) with a queue each, one bank array.
#pragma once

#include "timing/parameters.h"
#include "timing/request_queue.h"

#include <array>

namespace asmevo::timing {

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

  double portBusyClk() const { return portBusy; }
  double bankBusyClk() const { return bankBusy; }

 private:
  const Parameters& p;
  std::array<double, 2> portFree{};
  std::array<RequestQueue, 2> queue;
  double bankFree = 0, portBusy = 0, bankBusy = 0;
};

} // namespace asmevo::timing
