#include "emulator/alu/core.h"
#include "isa/semantics/vop_compare.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace rows {
using namespace isa::semantics;
#define ASMEVO_OP ASMEVO_SPEC
#include "isa/semantics/compare_int.def"
#undef ASMEVO_OP
} // namespace rows

CoreTable compareIntCores() {
  static constexpr CoreEntry table[] = {
#define ASMEVO_OP ASMEVO_ENTRY
#include "isa/semantics/compare_int.def"
#undef ASMEVO_OP
  };
  return table;
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
