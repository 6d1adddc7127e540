/// Hand-built programs and traces for the timing tests.
#pragma once

#include "isa/codec.h"
#include "timing/compute_unit.h"
#include "timing/timing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace asmevo::timing::fixture {

object::Target gfx942();
const Chip& chip(const std::string& name = "mi300x");

/// Code assembled by LLVM, one statement per entry; "s_endpgm" is appended.
class Program {
 public:
  explicit Program(std::vector<std::string> statements);
  const std::vector<isa::InstRef>& code() const { return byDword; }
  std::uint32_t offset(std::size_t statement) const { return offsets.at(statement); }
  std::size_t size() const { return offsets.size(); }

 private:
  std::vector<isa::InstRef> byDword;
  std::vector<std::uint32_t> offsets;
};

/// Builds the trace of one wave step by step.
class WaveBuilder {
 public:
  explicit WaveBuilder(const Program& codeOf) : program(codeOf) {}
  /// Executes statement `index`.
  WaveBuilder& step(std::size_t index);
  /// Executes [first, last).
  WaveBuilder& run(std::size_t first, std::size_t last);
  /// Everything once, in order, s_endpgm included.
  WaveBuilder& all() { return run(0, program.size()); }
  /// Gives the step executed last a contiguous global access of 64 lanes x `bytesPerLane` at `address`.
  WaveBuilder& global(std::uint64_t address, unsigned bytesPerLane, bool store = false);
  /// ... one access per lane, `strideBytes` apart.
  WaveBuilder& strided(std::uint64_t address, unsigned bytesPerLane, unsigned strideBytes);
  WaveBuilder& scalar(std::uint64_t address, unsigned bytes);
  /// ... an LDS access where lane i uses i * strideBytes.
  WaveBuilder& lds(unsigned bytesPerLane, unsigned strideBytes, bool store = false);
  emulator::WaveTrace trace;

 private:
  emulator::MemoryAccess& access(emulator::Space space, unsigned bytesPerLane, bool store);
  const Program& program;
};

/// Every wave in one workgroup, cold caches; issue clk by wave and step.
struct Replay {
  CuResult result;
  std::vector<std::vector<Clk>> issue;
  /// Distance of two steps of a wave.
  Clk gap(std::size_t from, std::size_t to, std::size_t wave = 0) const { return issue[wave][to] - issue[wave][from]; }
};
Replay simulate(const Program& program, std::vector<emulator::WaveTrace> waves, const Chip& onChip = chip());
/// One wave that executes everything once, memory accesses aside.
Replay simulate(const Program& program);
/// Workgroups, each of the given waves; all resident when `residents` allows.
Replay simulateGroups(const Program& program, const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents,
                      const Chip& onChip = chip());

} // namespace asmevo::timing::fixture
