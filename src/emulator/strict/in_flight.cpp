#include "emulator/strict/in_flight.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace asmevo::emulator {

namespace {

constexpr unsigned noWaitShortfall = 64;

bool isVector(isa::RegUnit unit) {
  return unit >= isa::vgprBase;
}

} // namespace

std::unique_ptr<InFlight::Operation> InFlight::make() {
  if (spare.empty())
    return std::make_unique<Operation>();
  std::unique_ptr<Operation> operation = std::move(spare.back());
  spare.pop_back();
  return operation;
}

void InFlight::begin(Wave& wave, const OpInfo& info, const Op* op) {
  const bool isVm = info.counting.counts[0], inOrder = info.counting.inOrder[0] || info.counting.inOrder[1];
  if (inOrder && isVm)
    completeOldest(wave, vm, vmLimit - 1);
  else if (inOrder)
    completeOldest(wave, ldsOrder, ldsLimit - 1);
  // What executes at once comes after everything earlier of its wave and kind.
  if (delivery != Delivery::waveToBarrier) {
    if (info.isFlat) {
      settle(vm);
      settle(ldsOrder);
    } else if (info.isAtomic && isVm) {
      settle(vm);
    } else if (info.isLds && (info.isAtomic || delivery == Delivery::ldsEarly)) {
      settle(ldsOrder);
    }
  }
  building = make();
  Operation& operation = *building;
  operation.info = &info;
  operation.op = op;
  operation.exec = wave.exec();
  operation.vm = isVm;
  operation.lgkm = info.counting.counts[1];
  operation.inOrder = inOrder;
  operation.waitedVm = operation.waitedLgkm = noWaitSeen;
  operation.transfers = 0;
  const bool late = delivery == Delivery::late || (delivery == Delivery::ldsEarly && !info.isLds);
  operation.holdsResult = late && op->dstDwords != 0 && info.writes.any() && (info.isScalarMemory || op->dstIsVgpr);
  operation.holdsStores = delivery != Delivery::waveToBarrier && !info.isAtomic && !info.isFlat &&
                          !info.isScalarMemory && (info.mayStore || info.isDma);
  if (operation.holdsResult) {
    if (info.isScalarMemory)
      operation.result.assign(&wave.sgpr[op->dst], &wave.sgpr[op->dst] + op->dstDwords);
    else
      operation.result.assign(wave.lanes(op->dst), wave.lanes(op->dst) + std::size_t{op->dstDwords} * 64);
  }
}

void InFlight::access(Wave& wave, const AccessEvent& event) {
  Operation& operation = *building;
  if (event.space == Space::scalar || event.bytes > 16 || operation.transfers == operation.transfer.size())
    return;
  const bool load = event.load && operation.holdsResult;
  const bool dma = event.ldsDma;
  if (!load && !dma && !(event.store && operation.holdsStores))
    return;
  Transfer& transfer = operation.transfer[operation.transfers++];
  transfer.assign(wave, event);
  if (event.store && operation.holdsStores)
    transfer.gather(); // what memory holds before the store
}

void InFlight::end(Wave& wave) {
  Operation& operation = *building;
  const OpInfo& info = *operation.info;
  if (operation.holdsStores)
    for (std::size_t i = 0; i < operation.transfers; ++i) {
      Transfer& transfer = operation.transfer[i];
      if (!transfer.store)
        continue;
      const Transfer before = transfer;
      transfer.gather();
      before.scatter();
    }
  if (info.isDma)
    for (std::size_t i = 0; i < operation.transfers; ++i) {
      Transfer& transfer = operation.transfer[i];
      if (transfer.toLds)
        forLanes(transfer.valid[0],
                 [&](unsigned lane) { lds.add(static_cast<std::uint64_t>(transfer.host[lane] - wave.lds)); });
    }
  if (operation.holdsResult) {
    unsigned dwords = 0;
    for (std::size_t i = 0; i < operation.transfers; ++i)
      dwords += operation.transfer[i].dwords();
    operation.fromMemory = info.load.kind != LoadForm::Kind::none && !info.isFlat && !info.isScalarMemory &&
                           dwords == operation.op->dstDwords;
    exchangeResult(wave, operation);
  }
  own(operation, 1);
  if (operation.holdsStores)
    publishAt = std::min(publishAt, now + storePatience);
  Queue& queue = !operation.inOrder ? unordered : operation.vm ? vm : ldsOrder;
  queue.push_back(std::move(building));
}

/// Puts the registers' old contents back and keeps the new ones.
void InFlight::exchangeResult(Wave& wave, Operation& operation) const {
  std::uint32_t* registers =
      operation.info->isScalarMemory ? &wave.sgpr[operation.op->dst] : wave.lanes(operation.op->dst);
  if (operation.fromMemory)
    std::copy(operation.result.begin(), operation.result.end(), registers);
  else
    std::swap_ranges(operation.result.begin(), operation.result.end(), registers);
}

void InFlight::deliver(Wave& wave, const Operation& operation) const {
  const Op* op = operation.op;
  if (operation.info->isScalarMemory) {
    std::copy(operation.result.begin(), operation.result.end(), &wave.sgpr[op->dst]);
    return;
  }
  std::uint32_t* to = wave.lanes(op->dst);
  if (!operation.fromMemory) {
    for (unsigned k = 0; k < op->dstDwords; ++k)
      forLanes(operation.exec, [&](unsigned lane) { to[64 * k + lane] = operation.result[64 * k + lane]; });
    return;
  }
  const LoadForm& form = operation.info->load;
  for (std::size_t i = 0; i < operation.transfers; ++i) {
    const Transfer& transfer = operation.transfer[i];
    if (form.kind == LoadForm::Kind::dwords) {
      for (unsigned k = 0; k < transfer.dwords(); ++k, to += 64)
        forLanes(transfer.exec, [&](unsigned lane) { to[lane] = transfer.data[64 * k + lane]; });
      continue;
    }
    forLanes(transfer.exec, [&](unsigned lane) {
      std::uint32_t value = transfer.data[lane];
      if (form.isSigned)
        value = form.bytes == 1 ? static_cast<std::uint32_t>(std::int32_t{static_cast<std::int8_t>(value)})
                                : static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(value)});
      if (form.part == LoadForm::Part::low)
        value = (to[lane] & 0xffff0000) | (value & 0xffff);
      else if (form.part == LoadForm::Part::high)
        value = (to[lane] & 0xffff) | value << 16;
      to[lane] = value;
    });
  }
}

void InFlight::settle(Queue& queue) {
  for (const auto& operation : queue) {
    for (std::size_t i = 0; i < operation->transfers; ++i) {
      Transfer& transfer = operation->transfer[i];
      if (transfer.settled || transfer.toLds)
        continue;
      transfer.settled = true;
      if (!transfer.store)
        transfer.gather();
      else if (operation->holdsStores)
        transfer.scatter();
    }
  }
}

void InFlight::publish() {
  publishAt = ~std::uint64_t{0};
  for (Queue* queue : {&vm, &ldsOrder})
    if (std::ranges::any_of(*queue, [](const auto& operation) { return operation->holdsStores; }))
      settle(*queue);
}

void InFlight::complete(Wave& wave, std::unique_ptr<Operation> done) {
  Operation& operation = *done;
  const Transfer* source = nullptr;
  for (std::size_t i = 0; i < operation.transfers; ++i) {
    Transfer& transfer = operation.transfer[i];
    if (transfer.toLds) {
      if (operation.holdsStores) {
        if (source && source->bytes == 4)
          transfer.data = source->data;
        transfer.scatter();
      }
      forLanes(transfer.valid[0],
               [&](unsigned lane) { lds.remove(static_cast<std::uint64_t>(transfer.host[lane] - wave.lds)); });
      continue;
    }
    if (!transfer.settled) {
      if (!transfer.store)
        transfer.gather();
      else if (operation.holdsStores)
        transfer.scatter();
    }
    source = &transfer;
  }
  if (operation.holdsResult)
    deliver(wave, operation);
  own(operation, -1);
  spare.push_back(std::move(done));
}

void InFlight::own(const Operation& operation, int by) {
  operation.info->writes.forEach([&](isa::RegUnit unit) {
    owners[unit] = static_cast<std::uint8_t>(owners[unit] + by);
    if (owners[unit] != 0)
      owned.set(unit);
    else
      owned.reset(unit);
  });
}

void InFlight::completeOldest(Wave& wave, Queue& queue, std::size_t keep) {
  while (queue.size() > keep) {
    std::unique_ptr<Operation> oldest = std::move(queue.front());
    queue.pop_front();
    complete(wave, std::move(oldest));
  }
}

void InFlight::completeUnordered(Wave& wave) {
  std::size_t kept = 0;
  for (auto& operation : unordered) {
    if (!operation->vm && !operation->lgkm)
      complete(wave, std::move(operation));
    else if (&unordered[kept++] != &operation)
      unordered[kept - 1] = std::move(operation);
  }
  unordered.resize(kept);
}

void InFlight::wait(Wave& wave, isa::WaitCount count) {
  const auto note = [&](Queue& queue) {
    for (auto& operation : queue) {
      operation->waitedVm = std::min(operation->waitedVm, count.vm == isa::noWait.vm ? noWaitSeen : count.vm);
      operation->waitedLgkm = std::min(operation->waitedLgkm, count.lgkm == isa::noWait.lgkm ? noWaitSeen : count.lgkm);
    }
  };
  completeOldest(wave, vm, count.vm);
  completeOldest(wave, ldsOrder, count.lgkm);
  if (!unordered.empty() && (count.vm == 0 || count.lgkm == 0)) {
    for (auto& operation : unordered) {
      operation->vm &= count.vm != 0;
      operation->lgkm &= count.lgkm != 0;
    }
    completeUnordered(wave);
  }
  note(vm);
  note(ldsOrder);
  note(unordered);
}

void InFlight::completeAll(Wave& wave) {
  completeOldest(wave, vm, 0);
  completeOldest(wave, ldsOrder, 0);
  for (auto& operation : unordered)
    operation->vm = operation->lgkm = false;
  completeUnordered(wave);
}

bool InFlight::returnsInOrder(const Operation& operation, const OpInfo& later) const {
  return operation.inOrder && later.counting.inOrder[operation.vm ? 0 : 1];
}

unsigned InFlight::needed(const Operation& operation) const {
  if (!operation.inOrder)
    return 0;
  const Queue& queue = operation.vm ? vm : ldsOrder;
  const auto at = std::ranges::find_if(queue, [&](const auto& entry) { return entry.get() == &operation; });
  return static_cast<unsigned>(queue.end() - at) - 1;
}

void InFlight::reportUses(Wave& wave, const OpInfo& info, const Op* op, FindingLog& log) const {
  forEach([&](const Operation& operation) {
    const isa::RegSet overlap = operation.info->writes & info.touched;
    if (!overlap.any())
      return;
    const std::uint64_t lanes = operation.exec & (info.wholeWave ? allLanes : wave.exec());
    const bool byVm = operation.vm;
    const std::uint8_t waited = byVm ? operation.waitedVm : operation.waitedLgkm;
    const unsigned need = needed(operation);
    const auto report = [&](isa::RegUnit unit, bool isRead) {
      const unsigned lane = isVector(unit) ? static_cast<unsigned>(std::countr_zero(lanes)) : 0;
      const char *raw = byVm ? "vm.raw" : "lgkm.raw", *waw = byVm ? "vm.waw" : "lgkm.waw";
      log.add(
          "wait.", isRead ? raw : waw, operation.op, op, wave, lane,
          [&] {
            const char* counter = byVm ? "vmcnt" : "lgkmcnt";
            const std::string present = waited == noWaitSeen ? fmt::format("no {} wait", counter)
                                                             : fmt::format("at most {}({})", counter, waited);
            return fmt::format("{} {} {} while {} may be in flight: needs {}({}), has {}", quoted(wave, op),
                               isRead ? "reads" : "overwrites", isa::regUnitName(unit), quoted(wave, operation.op),
                               counter, need, present);
          },
          waited == noWaitSeen ? noWaitShortfall : waited - std::min<unsigned>(waited, need));
    };
    bool read = false, overwritten = returnsInOrder(operation, info);
    overlap.forEach([&](isa::RegUnit unit) {
      if (isVector(unit) && lanes == 0)
        return;
      if (info.reads.test(unit) && !read) {
        read = true;
        report(unit, true);
      } else if (!info.reads.test(unit) && info.writes.test(unit) && !overwritten) {
        overwritten = true;
        report(unit, false);
      }
    });
  });
}

const Op* InFlight::dmaInto(std::uint64_t address, const Wave& wave) const {
  for (const auto& operation : vm)
    for (std::size_t i = 0; i < operation->transfers; ++i) {
      const Transfer& transfer = operation->transfer[i];
      if (!transfer.toLds)
        continue;
      for (unsigned lane = 0; lane < 64; ++lane)
        if ((transfer.valid[0] >> lane & 1) &&
            static_cast<std::uint64_t>(transfer.host[lane] - wave.lds) / 4 == address / 4)
          return operation->op;
    }
  return nullptr;
}

InFlight::UnderDma InFlight::underDma(const AccessEvent& event, const Wave& wave) const {
  constexpr unsigned noLane = 64;
  const auto laneThatWrites = [&](std::uint64_t dword) {
    for (std::uint64_t lanes = event.valid[0]; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      if (event.address[lane] / 4 == dword)
        return lane;
    }
    return noLane;
  };
  // The lanes of an LDS-DMA stand side by side from M0 on.
  const auto firstLane = static_cast<unsigned>(std::countr_zero(event.valid[0] | std::uint64_t{1} << 63));
  const std::uint64_t first = event.address[firstLane] / 4;
  for (const auto& operation : ldsOrder)
    for (std::size_t i = 0; i < operation->transfers; ++i) {
      const Transfer& transfer = operation->transfer[i];
      for (unsigned k = 0; k < transfer.dwords() && !transfer.settled; ++k)
        for (std::uint64_t lanes = transfer.valid[k]; lanes != 0; lanes &= lanes - 1) {
          const auto at =
              static_cast<std::uint64_t>(transfer.host[static_cast<unsigned>(std::countr_zero(lanes))] - wave.lds);
          const std::uint64_t dword = at / 4 + k;
          if (dword - first >= 64)
            continue;
          if (const unsigned lane = laneThatWrites(dword); lane != noLane)
            return {operation->op, transfer.store, lane};
        }
    }
  return {};
}

} // namespace asmevo::emulator
