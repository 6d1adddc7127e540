#include "isa/semantics/vop_compare.h"
#include "isa/semantics/vop_int.h"
#include "verify/proof/alu_rows_internal.h"

namespace asmevo::verify::rows {

namespace integerOps {
using namespace isa::semantics;
#define ASMEVO_OP ASMEVO_TERM_SPEC
#include "isa/semantics/compare_int.def"
#include "isa/semantics/vop_int.def"
#include "isa/semantics/vop_int16.def"
#undef ASMEVO_OP
constexpr AluRow table[] = {
#define ASMEVO_OP ASMEVO_TERM_ROW
#include "isa/semantics/compare_int.def"
#include "isa/semantics/vop_int.def"
#include "isa/semantics/vop_int16.def"
#undef ASMEVO_OP
};
} // namespace integerOps

std::span<const AluRow> integerRows() {
  return integerOps::table;
}

} // namespace asmevo::verify::rows
