/// Stops a run in front of an instruction and keeps the registers of the wave that reached it.
#pragma once

#include "emulator/observe/observer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace asmevo::emulator {

struct Breakpoint {
  std::uint64_t address = 0;          ///< virtual address in the object
  std::uint64_t count = 1;            ///< stop the count-th time that a chosen wave gets there
  std::set<std::uint64_t> workgroups; ///< dispatch indices; empty: all
  std::set<unsigned> waves;           ///< in the workgroup; empty: all
};

/// Where a wave stands.
struct WaveDump {
  std::uint64_t workgroup = 0;
  unsigned wave = 0;
  std::uint64_t address = 0;
  std::string text; ///< of the instruction that is next
  std::uint64_t hits = 0;
  std::uint64_t exec = 0, vcc = 0;
  std::uint32_t scc = 0, mode = 0, m0 = 0;
  std::vector<std::uint32_t> sgprs;              ///< s0 ... s101
  std::vector<std::vector<std::uint32_t>> vgprs; ///< by physical number, 64 lanes each
  std::string others;                            ///< where the workgroup's other waves are, one line each
};

class BreakObserver : public Observer {
 public:
  virtual std::uint64_t hits() const = 0;
  virtual const std::optional<WaveDump>& dump() const = 0; ///< nothing: not reached often enough
};

/// The run ends soon after the breakpoint; what other waves do until then is not seen in the dump.
std::unique_ptr<BreakObserver> makeBreakpoint(const Breakpoint& breakpoint);

} // namespace asmevo::emulator
