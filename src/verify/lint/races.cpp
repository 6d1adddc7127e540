#include "verify/lint/parts.h"

namespace asmevo::verify {

void lintRaces(LintContext&, const program::Function&) {}

} // namespace asmevo::verify
