/// Hand-written programs and traces, replayed on the compute unit model without an emulator: for comparisons with
/// measured schedules.
#pragma once

#include "isa/codec.h"
#include "timing/compute_unit.h"
#include "timing/timing.h"

#include <string>
#include <vector>

namespace asmevo::timing {

/// Code assembled by LLVM, one statement per entry; "s_endpgm" is appended.
class SyntheticProgram {
 public:
  static Result<SyntheticProgram> assemble(isa::Codec& codec, std::vector<std::string> statements);
  const std::vector<isa::InstRef>& code() const { return byDword; }
  std::uint32_t offset(std::size_t statement) const { return offsets.at(statement); }
  std::size_t size() const { return offsets.size(); } ///< statements, s_endpgm included

 protected:
  SyntheticProgram() = default;

 private:
  std::vector<isa::InstRef> byDword;
  std::vector<std::uint32_t> offsets;
};

/// Builds the trace of one wave step by step.
class WaveBuilder {
 public:
  explicit WaveBuilder(const SyntheticProgram& codeOf) : program(codeOf) {}
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
  const SyntheticProgram& program;
};

/// A replay with the issue clk of every step, by wave in the order of starts.
struct Replay {
  CuResult result;
  std::vector<std::vector<Clk>> issue;
  /// Distance of two steps of a wave.
  Clk gap(std::size_t from, std::size_t to, std::size_t wave = 0) const { return issue[wave][to] - issue[wave][from]; }
};

/// Workgroups on one CU, `residents` at a time, each group once and in order. `mhz`: engine clock, 0: the chip's peak.
Result<Replay> replay(const Chip& chip, const std::vector<isa::InstRef>& code, unsigned accumOffset,
                      const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents,
                      const ChipLoad& load = {}, CodeState codeState = CodeState::cached, double mhz = 0);

} // namespace asmevo::timing
