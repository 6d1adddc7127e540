/// What every instruction of chosen waves did: registers before and after, addresses, memory.
#pragma once

#include "emulator/observe/observer.h"
#include "isa/registers.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace asmevo::emulator {

struct TraceFilter {
  std::set<std::uint64_t> workgroups; ///< dispatch indices; empty: all
  std::set<unsigned> waves;           ///< in the workgroup; empty: all
  std::uint64_t firstAddress = 0;     ///< virtual addresses in the object, both included
  std::uint64_t lastAddress = ~std::uint64_t{0};
  std::uint64_t limit = 0; ///< instructions; then the run ends. 0: none
};

/// A register that an instruction writes, whether or not its value changed.
struct TracedRegister {
  isa::RegUnit unit = 0;
  std::string name;                         ///< "s4", "v7", "a3"
  std::vector<std::uint32_t> before, after; ///< one value, or one for each of the 64 lanes
};

struct TracedAccess {
  Space space = Space::global;
  std::string kind; ///< "load", "store", "atomic"
  unsigned bytes = 0;
  std::uint64_t lanes = 0;              ///< that reach memory in full
  std::vector<std::uint64_t> addresses; ///< by lane: guest address, or offset in LDS or scratch; scalar: one
  std::string where;                    ///< of the first lane: "buffer 'a' + 0x40"
};

struct TracedInstruction {
  std::uint64_t number = 0; ///< in the trace, from 0
  std::uint64_t workgroup = 0;
  unsigned wave = 0;
  std::uint64_t address = 0; ///< in the object
  std::string text;
  std::uint64_t exec = 0; ///< when it began
  std::vector<TracedRegister> registers;
  std::vector<TracedAccess> accesses;
};

using TraceSink = std::function<void(const TracedInstruction&)>;

/// Calls `sink` after every instruction that passes the filter. `accumOffset`: of the kernel.
std::unique_ptr<Observer> makeTracer(const TraceFilter& filter, unsigned accumOffset, TraceSink sink);

/// One line, and one for each register and access. Of vectors the `lanes` that EXEC had, equal neighbours in one.
std::string formatTraced(const TracedInstruction& instruction, std::uint64_t lanes);

} // namespace asmevo::emulator
