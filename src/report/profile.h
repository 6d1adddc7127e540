/// A profile: where a dispatch's modelled time goes, as data. Views over it are in profile_text.h and profile_json.h.
#pragma once

#include "device/device.h"
#include "object/code_object.h"
#include "program/program.h"
#include "support/result.h"
#include "timing/windows.h"

#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::report {

/// One executed instruction.
struct ProfiledInstruction {
  std::uint64_t address = 0; ///< virtual, in the object
  std::string text;
  timing::InstructionProfile cost;
};

/// A basic block or a loop that executed.
struct HotRegion {
  std::uint64_t begin = 0, end = 0; ///< virtual addresses; a loop: of its first and last block
  bool isLoop = false;
  unsigned depth = 0;           ///< of loops around it (a loop: itself not counted)
  std::size_t instructions = 0; ///< static
  timing::RegionCost cost;
  std::vector<ProfiledInstruction> listing; ///< blocks only, in address order
};

struct Profile {
  std::string object, kernel, caseName, device;
  bool modelled = true;
  timing::Estimate estimate;
  double totalCycles = 0; ///< issue slots plus stalls of all waves
  std::array<double, timing::stallCount> byReason{};
  std::vector<HotRegion> blocks, loops; ///< hottest first
};

/// Puts an estimate on the kernel's blocks and loops. Errors: the program has no such kernel.
Result<Profile> buildProfile(const object::CodeObject& object, const object::Kernel& kernel,
                             const program::Program& program, timing::Estimate estimate, const std::string& caseName,
                             const device::Device& device);

} // namespace asmevo::report
