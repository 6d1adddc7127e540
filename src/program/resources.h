/// What each kernel must be given at launch, re-derived from a possibly edited program.
///
/// Promises: `need` is what the instructions of the kernel and of everything it may call name; where code may use
/// registers that no operand names (calls to unknown places, S_SET_GPR_IDX, V_MOVREL, banks of gfx1250, opaque words,
/// S_TRAP) `unproven` says so and `need` is a lower bound. `value` never falls below K0's declared numbers and exceeds
/// them only where an edited instruction asks for more: an unedited program gets K0's numbers, right or wrong.
#pragma once

#include "program/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::program {

/// One more than the highest register named; what hardware loads at launch is included.
struct ResourceNeed {
  unsigned vgprs = 0, agprs = 0, sgprs = 0;
  std::optional<std::uint32_t> ldsBytes;     ///< nothing: not determined
  std::optional<std::uint32_t> scratchBytes; ///< nothing: not determined
};

/// Numbers of a kernel descriptor, registers in whole granules.
struct ResourceAllocation {
  unsigned vgprs = 0;       ///< both files together on unified targets
  unsigned accumOffset = 0; ///< 0 where the files are apart
  unsigned sgprs = 0;
  std::uint32_t ldsBytes = 0, scratchBytes = 0;
  bool operator==(const ResourceAllocation&) const = default;
};

struct KernelResources {
  std::size_t kernel = 0; ///< index into CodeObject::kernels()
  ResourceNeed need;
  std::vector<std::string> unproven; ///< why `need` may be too low; empty: it is proven
  /// K0's code names VGPRs at or above accum_offset, which are AGPRs: the border must stay where it is.
  bool accumFixed = false;
  ResourceAllocation declared;              ///< K0's descriptor
  ResourceAllocation value;                 ///< to be written
  ResourceAllocation least;                 ///< smallest that the proven need allows; `declared` where it is not proven
  object::Occupancy before, after, atLeast; ///< of declared, value, least
};

/// What to look at: the LDS need takes a walk over all values.
enum class ResourceDetail : std::uint8_t { registers, everything };

/// By kernel, those without a function left out. Refused where the need exceeds what the target has.
Result<std::vector<KernelResources>> deriveResources(const object::CodeObject& object, const Program& program,
                                                     ResourceDetail detail = ResourceDetail::everything);

/// Adds to program.resources what `derived` raises above K0. Resource edits of the program stay where they ask for as
/// much. False if there was nothing to raise.
bool applyResources(const object::CodeObject& object, const std::vector<KernelResources>& derived, Program& program);

} // namespace asmevo::program
