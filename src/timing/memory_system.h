/// The memory side of one CU: vector L1, scalar cache, its share of L2, Infinity Cache and HBM. Completion times are
/// known at issue: every queue is served in order.
#pragma once

#include "timing/parameters.h"
#include "timing/request_queue.h"
#include "timing/trace_set.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace asmevo::timing {

/// What the rest of the chip does meanwhile, as seen from the modelled CU.
struct ChipLoad {
  double activeCusPerXcd = 1; ///< CUs of the XCD that run this dispatch
  double activeXcds = 1;
  double workShare = 1;      ///< this CU's part of the dispatch's workgroups: its part of the HBM bandwidth
  double workShareOfXcd = 1; ///< likewise of its XCD
  bool warmMall = false;     ///< the dispatch's data lies in the Infinity Cache
};

/// Tags with true LRU, no data.
class SetAssociativeCache {
 public:
  SetAssociativeCache(std::size_t setCount, std::size_t wayCount);
  /// Makes the tag most recent and returns the place of its fill time; null when absent.
  Clk* find(std::size_t set, std::uint64_t tag);
  /// Puts the tag in place of the least recent line of the set; its fill arrives at `ready`.
  void insert(std::size_t set, std::uint64_t tag, Clk ready);
  std::size_t sets() const { return setCount; }

 private:
  std::size_t setCount, ways;
  std::uint64_t tick = 0;
  // By set and way; apart, so that the search for a tag runs over tags only.
  std::vector<std::uint64_t> tags, lastUse;
  std::vector<Clk> fills;
};

/// A set of 64-bit keys that only grows.
class KeySet {
 public:
  /// True when the key is new.
  bool insert(std::uint64_t key);

 private:
  void grow();
  std::vector<std::uint64_t> slots = std::vector<std::uint64_t>(1024, empty); ///< open addressing, at most half full
  std::size_t count = 0;
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
};

/// A FIFO server of a bandwidth.
class BandwidthServer {
 public:
  explicit BandwidthServer(double bytesPerClk) : rate(bytesPerClk) {}
  /// Queues `bytes` at `now`; returns the clk they wait before their turn.
  double serve(double now, double bytes) {
    const double start = now > free ? now : free;
    free = start + bytes / rate;
    busy += bytes / rate;
    return start - now;
  }
  double busyClk() const { return busy; }

 private:
  double rate, free = 0, busy = 0;
};

struct Traffic {
  double l1Bytes = 0, l2Bytes = 0, mallBytes = 0, hbmBytes = 0; ///< served by each level, reads and writes
  double usedBytes = 0;                                         ///< asked for by active lanes
  std::uint64_t l1Hits = 0, l1Misses = 0, l2Hits = 0, l2Misses = 0, requests = 0, sectors = 0;
};

/// Who asks: trace number and how many replays of it came before (private data of a replay is other data).
struct Requester {
  std::uint32_t wave = 0;
  unsigned trace = 0;
  std::uint64_t generation = 0;
};

class MemorySystem {
 public:
  MemorySystem(const Parameters& parameters, const TraceSet& traces, const ChipLoad& load);

  /// Room in the vector memory queue for a request of `wave`.
  RequestQueue::Room room(std::uint32_t wave, Clk now) { return queue.room(wave, now); }
  /// Issues a vector access; returns when its counter decrements.
  Clk vector(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now);
  /// A vector instruction without active lanes: returns at once, in order.
  Clk emptyVector(Requester who, Clk now);
  Clk scalar(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now);

  const Traffic& traffic() const { return counted; }
  double vmemBusyClk() const { return addressBusy; }
  double l2BusyClk() const { return l2Server.busyClk(); }
  double fabricBusyClk() const { return fabricServer.busyClk(); }
  double hbmBusyClk() const { return hbmServer.busyClk(); }

 private:
  enum class Level : std::uint8_t { l2, mall, hbm };
  struct Reply {
    Level level;
    double wait; ///< queueing before service, all levels below L1
  };
  Reply belowL1(const LineRef& line, Requester who, double now, double bytes, bool store);
  std::uint64_t tagOf(const LineRef& line, Requester who) const;
  Clk loadLine(const LineRef& line, Requester who, Clk now);

  const Parameters& p;
  const TraceSet& set;
  ChipLoad chip;
  SetAssociativeCache l1, scalarCache, l2Private, l2Shared;
  BandwidthServer l2Server, fabricServer, hbmServer;
  KeySet seen;                        ///< private lines fetched before: the Infinity Cache has them
  std::vector<std::uint64_t> sameXcd; ///< per trace: mask of other traces of its XCD
  std::vector<std::uint64_t> otherXcd;
  RequestQueue queue;                          ///< vector requests until their service starts
  std::deque<std::pair<Clk, double>> inflight; ///< completion and bytes of loads, in order
  double inflightBytes = 0;
  double addressFree = 0, addressBusy = 0;
  Clk returnFree = 0;
  Traffic counted;
};

} // namespace asmevo::timing
