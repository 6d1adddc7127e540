/// Seeded damage to files.
#pragma once

#include "object/object_support.h"

#include <vector>

namespace asmevo::object::testing {

/// One of `bases` with bits flipped, bytes or words overwritten, cut off, spliced with another one, or replaced by
/// garbage behind its first bytes.
Bytes mutated(const std::vector<Bytes>& bases, Random& random);

} // namespace asmevo::object::testing
