/// Kernels known only by a listing and traced paths (ATT): rebuilt with LLVM, with made-up addresses where the trace
/// has none.
#pragma once

#include "csv.h"
#include "timing/synthetic.h"

#include <map>
#include <string>
#include <vector>

namespace asmevo::bench {

struct ListedInstruction {
  std::uint32_t offset = 0;
  std::string text;
  isa::InstRef inst = nullptr;
};

struct MeasuredStep {
  std::int64_t clk = 0;          ///< from wave start
  std::uint32_t instruction = 0; ///< into ListedKernel::instructions
  std::int64_t duration = 0;
};

struct MeasuredWave {
  std::int64_t begin = 0, end = 0; ///< of the trace's clock
  unsigned engine = 0, cu = 0, simd = 0;
  std::vector<MeasuredStep> steps;
};

struct ListedKernel {
  std::string name;
  std::vector<ListedInstruction> instructions;
  std::vector<isa::InstRef> code; ///< by dword
  std::vector<MeasuredWave> waves;

  /// `name`: "vec_add_big". Errors: files missing, an instruction that LLVM does not take.
  static Result<ListedKernel> read(isa::Codec& codec, const std::string& folder, const std::string& name);
  /// The waves' paths as workgroups of `wavesPerGroup`, in the order of their begins per shader engine and CU. Global
  /// accesses are contiguous and never repeat; LDS accesses are free of conflicts; scalar loads share two lines.
  std::vector<emulator::WorkgroupTrace> workgroups(unsigned wavesPerGroup) const;
  /// Which waves each of those workgroups is made of.
  std::vector<std::vector<unsigned>> members(unsigned wavesPerGroup) const;
};

} // namespace asmevo::bench
