/// Memory operations of a wave that no wait has proved complete, and what they still have to deliver. Private to the
/// emulator.
///
/// A register that such an operation writes is its own until then: reading it is an error, and so is overwriting it
/// unless by a later operation that returns in the same order. Counters are those of gfx940 (facts of the CDNA3 ISA,
/// chapter 4.4, and program/analysis/in_flight.h): 63 vector memory and 15 LDS operations at most; one more makes the
/// wave wait for the oldest. Scalar memory returns in any order: only lgkmcnt(0) proves anything, and the same holds
/// for both counters of FLAT.
#pragma once

#include "emulator/observe/finding_log.h"
#include "emulator/strict/op_info.h"
#include "emulator/strict/transfer.h"
#include "isa/waitcnt.h"

#include <array>
#include <deque>
#include <memory>
#include <vector>

namespace asmevo::emulator {

/// LDS dwords of a workgroup that an LDS-DMA has yet to write.
class LdsInFlight {
 public:
  void reset(std::size_t bytes) {
    count.assign(bytes / 4 + 1, 0);
    outstanding = 0;
  }
  bool any() const { return outstanding != 0; }
  bool at(std::uint64_t address) const { return address / 4 < count.size() && count[address / 4] != 0; }
  void add(std::uint64_t address) { change(address, 1); }
  void remove(std::uint64_t address) { change(address, -1); }

 private:
  void change(std::uint64_t address, int by) {
    if (address / 4 < count.size()) {
      count[address / 4] = static_cast<std::uint16_t>(count[address / 4] + by);
      outstanding += by;
    }
  }
  std::vector<std::uint16_t> count; ///< by dword
  std::int64_t outstanding = 0;
};

class InFlight {
 public:
  static constexpr std::size_t vmLimit = 63, ldsLimit = 15;
  /// Instructions of a wave after which its stores reach memory without a wait: another wave may spin until they do.
  static constexpr std::uint64_t storePatience = 16384;

  InFlight(Delivery delivery, LdsInFlight& lds) : delivery(delivery), lds(lds) {}

  /// Reports the registers of `info` that an operation in flight owns.
  void check(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) const {
    if (owned.intersects(info.touched)) [[unlikely]]
      reportUses(wave, info, op, log);
  }
  /// The wave executes one more instruction.
  void tick() {
    if (++now >= publishAt) [[unlikely]]
      publish();
  }
  void wait(Wave& wave, isa::WaitCount count);
  /// A counted instruction is about to execute: makes room, and brings memory to where it has to be.
  void begin(Wave& wave, const OpInfo& info, const Op* op);
  /// One access of it, before memory is touched.
  void access(Wave& wave, const AccessEvent& event);
  /// It has executed: takes back what is to come later.
  void end(Wave& wave);
  /// The wave ends, which waits for everything.
  void completeAll(Wave& wave);

  /// The LDS-DMA in flight that writes the dword of `address`, or null.
  const Op* dmaInto(std::uint64_t address, const Wave& wave) const;

  /// An LDS operation in flight and a lane of an LDS-DMA that is about to write what the operation still has to access.
  struct UnderDma {
    const Op* op = nullptr;
    bool store = false;
    unsigned lane = 0;
  };
  UnderDma underDma(const AccessEvent& event, const Wave& wave) const;

 private:
  struct Operation {
    const OpInfo* info = nullptr;
    const Op* op = nullptr;
    std::uint64_t exec = 0; ///< at issue
    bool vm = false, lgkm = false, inOrder = false;
    bool holdsResult = false; ///< registers are written at completion
    bool fromMemory = false;  ///< and their contents read from memory then
    bool holdsStores = false;
    std::uint8_t waitedVm = noWaitSeen, waitedLgkm = noWaitSeen;
    std::size_t transfers = 0;
    std::array<Transfer, 2> transfer;
    std::vector<std::uint32_t> result; ///< registers before the instruction, then what it wrote
  };
  static constexpr std::uint8_t noWaitSeen = 255;
  using Queue = std::deque<std::unique_ptr<Operation>>;

  std::unique_ptr<Operation> make();
  void reportUses(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) const;
  bool returnsInOrder(const Operation& operation, const OpInfo& later) const;
  void complete(Wave& wave, std::unique_ptr<Operation> operation);
  void completeOldest(Wave& wave, Queue& queue, std::size_t keep);
  void completeUnordered(Wave& wave);
  static void settle(Queue& queue);
  void publish();
  void exchangeResult(Wave& wave, Operation& operation) const;
  void deliver(Wave& wave, const Operation& operation) const;
  void own(const Operation& operation, int by);
  unsigned needed(const Operation& operation) const;
  template <class F> void forEach(F&& f) const {
    for (const Queue* queue : {&vm, &ldsOrder, &unordered})
      for (const auto& operation : *queue)
        f(*operation);
  }

  Delivery delivery;
  LdsInFlight& lds;
  Queue vm, ldsOrder, unordered;
  std::vector<std::unique_ptr<Operation>> spare;
  std::unique_ptr<Operation> building;
  isa::RegSet owned;
  std::array<std::uint8_t, isa::regUnitCount> owners{};
  std::uint64_t now = 0, publishAt = ~std::uint64_t{0};
};

} // namespace asmevo::emulator
