/// Copies taken out: their readers read the source, or the source's maker writes the copy's register at once. Values
/// computed twice in a block are one value and a copy.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& propagateCopiesMove();
const Move& commonSubexpressionsMove();

} // namespace asmevo::optimize
