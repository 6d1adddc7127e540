#include "isa/semantics/conversions.h"
#include "isa/semantics/vop3p.h"
#include "isa/semantics/vop_compare.h"
#include "isa/semantics/vop_float.h"
#include "verify/proof/alu_rows_internal.h"

namespace asmevo::verify::rows {

namespace floatOps {
using namespace isa::semantics;
#define ASMEVO_OP ASMEVO_TERM_SPEC
#include "isa/semantics/compare_float.def"
#include "isa/semantics/conversions.def"
#include "isa/semantics/transcendental.def"
#include "isa/semantics/vop3p.def"
#include "isa/semantics/vop_f16.def"
#include "isa/semantics/vop_f32.def"
#include "isa/semantics/vop_f64.def"
#undef ASMEVO_OP
constexpr AluRow table[] = {
#define ASMEVO_OP ASMEVO_TERM_ROW
#include "isa/semantics/compare_float.def"
#include "isa/semantics/conversions.def"
#include "isa/semantics/transcendental.def"
#include "isa/semantics/vop3p.def"
#include "isa/semantics/vop_f16.def"
#include "isa/semantics/vop_f32.def"
#include "isa/semantics/vop_f64.def"
#undef ASMEVO_OP
};
} // namespace floatOps

std::span<const AluRow> floatRows() {
  return floatOps::table;
}

} // namespace asmevo::verify::rows
