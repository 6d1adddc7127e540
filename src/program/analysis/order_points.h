/// What may still be in flight where the order of memory operations means something to others.
///
/// Such points are barriers, atomics, cache control, accesses with scope bits, messages and jumps to places unknown,
/// for every operation; stores and LDS writes, for earlier writes (a store may be a flag); LDS accesses, for earlier
/// LDS-DMA. A wait that is given up or weakened shows as a pair that was not there before: nothing here is wrong by
/// itself.
#pragma once

#include "program/analysis/dataflow.h"
#include "program/analysis/wait_model.h"

#include <vector>

namespace asmevo::program {

struct InFlightPair {
  Place producer; ///< memory operation
  Place point;
  Counter counter = Counter::vm;
};

/// All pairs of a program, by point; each once. Calls go through callees that are known. Needs complete instructions.
std::vector<InFlightPair> inFlightAtOrderPoints(const Program& program, const WaitModel& model);

/// Points whose meaning for others depends on what has completed before, strongest first.
enum class Order : std::uint8_t { full, writes, ldsReads };
bool ordersAs(const isa::Instruction& inst, Order order);
/// A write that another wave can see.
bool isSharedWrite(const isa::Instruction& inst);

} // namespace asmevo::program
