/// Which instructions a run executed, with how many lanes on, and which ways control took.
#pragma once

#include "emulator/observe/observer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace asmevo::emulator {

/// Executions of one instruction by what EXEC held; of waves of 64 lanes.
struct ExecPatterns {
  std::uint64_t full = 0, partial = 0, none = 0;
  std::uint64_t all() const { return full + partial + none; }
  ExecPatterns& operator+=(const ExecPatterns& other) {
    full += other.full;
    partial += other.partial;
    none += other.none;
    return *this;
  }
};

class ExecCoverage : public Observer {
 public:
  /// By virtual address in the object, of instructions that were executed.
  virtual std::map<std::uint64_t, ExecPatterns> patterns() const = 0;
  /// From branch or jump to the instruction executed next, fall-through included; virtual addresses in the object.
  virtual std::set<std::pair<std::uint64_t, std::uint64_t>> edges() const = 0;
};

/// For one run at a time; the counts add up over runs of one object.
std::unique_ptr<ExecCoverage> makeExecCoverage();

} // namespace asmevo::emulator
