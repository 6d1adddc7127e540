/// The LDS of one CU: two ports (one per SIMD pair) with a queue each, one bank array.
#pragma once

#include "timing/memory_system.h"
#include "timing/parameters.h"

#include <array>
#include <deque>

namespace asmevo::timing {

class LdsUnit {
 public:
  explicit LdsUnit(const Parameters& parameters) : p(parameters) {}

  struct Room {
    Clk at = 0;            ///< earliest time with a free queue entry
    bool conflict = false; ///< what holds the queue up is a bank conflict
  };
  Room room(unsigned simd, Clk now);

  struct Request {
    double dataBytes = 256; ///< over the port
    unsigned bankClk = 2, idealClk = 2;
    bool sendsData = false; ///< write, atomic or permute: address and data share the input port
  };
  struct Reply {
    Clk done = 0;      ///< counter decrement
    Clk issueHold = 0; ///< clk until the wave may issue again
  };
  Reply issue(unsigned simd, const Request& request, Clk now);

  double portBusyClk() const { return portBusy; }
  double bankBusyClk() const { return bankBusy; }

 private:
  struct Entry {
    Clk end;
    bool conflict;
  };
  const Parameters& p;
  std::array<double, 2> portFree{};
  std::array<std::deque<Entry>, 2> queue;
  double bankFree = 0, portBusy = 0, bankBusy = 0;
};

} // namespace asmevo::timing
