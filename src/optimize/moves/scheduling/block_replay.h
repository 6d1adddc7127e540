/// What an order of a block's instructions costs: the loop that the block belongs to, run on the timing model's compute
/// unit without an emulator. Accesses are what the profile saw of them on average, so it takes a fraction of a
/// millisecond for a hundred instructions.
#pragma once

#include "optimize/optimize.h"
#include "timing/compute_unit.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace asmevo::optimize {

class BlockReplay {
 public:
  /// Keeps references to both. Nothing where no chip is known for the target or the profile has not seen the block.
  static std::optional<BlockReplay> of(const program::Program& program, program::BlockId block,
                                       const MoveContext& context);

  /// Clk with these instructions in the block's place, all of the CU's waves going round the loop a few times; nothing
  /// where they cannot be run. AGPRs are numbered from `accumOffset`.
  std::optional<double> clk(const std::vector<program::Instr>& instrs, unsigned accumOffset);

  /// Wave-instructions run so far: what bounds a search, and is the same on every machine.
  std::uint64_t work() const { return spent; }
  /// Wave-instructions of one run.
  std::uint64_t workOfOne() const;
  const timing::Parameters& parameters() const { return p; }
  unsigned wavesPerSimd() const { return simdWaves; }
  unsigned wavesPerCu() const { return residents * wavesPerGroup; }
  /// Mean clk from issue to data of vector memory.
  double vectorLatency() const { return p.l2Latency; }

 private:
  /// Per execution of an instruction.
  struct Access {
    unsigned sectors = 0, conflictClk = 0;
    bool known = false;
  };
  BlockReplay(const program::Program& program, const MoveContext& context) : program(program), context(context) {}
  bool setUp(program::BlockId id);
  void findPath();
  /// Once round from the block the way most waves go, and whether that leads back to it.
  std::pair<std::vector<program::BlockId>, bool> roundFrom(program::BlockId first) const;
  void findPartner();
  bool leadsTo(program::BlockId from, program::BlockId to) const;
  std::uint64_t issuesOf(program::BlockId id) const;
  Access accessOf(const program::Instr& instr) const;
  void addAccess(const program::Instr& instr, const timing::StaticInst& known, std::uint32_t step,
                 timing::PreparedWave& wave, std::uint32_t& lineCount) const;
  const timing::StaticInst& analysed(isa::InstRef inst, unsigned accumOffset);

  const program::Program& program;
  const MoveContext& context;
  timing::Parameters p;
  program::BlockId block = 0;
  std::vector<program::BlockId> path; ///< one time round, starting with `block`
  /// Likewise of the loop that the other half of a workgroup's waves is in; empty: all are in the same. Kernels that
  /// alternate two waves of a SIMD give each its own copy of the loop.
  std::vector<program::BlockId> partner;
  unsigned rounds = 1, residents = 1, wavesPerGroup = 1, simdWaves = 1;
  std::map<std::pair<isa::InstRef, unsigned>, timing::StaticInst> cache;
  std::uint64_t spent = 0;
};

} // namespace asmevo::optimize
