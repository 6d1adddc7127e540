#include "emulator/alu/core.h"
#include "isa/semantics/vop_float.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace rows {
using namespace isa::semantics;
#define ASMEVO_OP ASMEVO_SPEC
#include "isa/semantics/vop_f16.def"
#undef ASMEVO_OP
} // namespace rows

CoreTable halfCores() {
  static constexpr CoreEntry table[] = {
#define ASMEVO_OP ASMEVO_ENTRY
#include "isa/semantics/vop_f16.def"
#undef ASMEVO_OP
  };
  return table;
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
