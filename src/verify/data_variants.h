/// More data for the same launches. One set of random inputs lets an edit pass that only some values show (a maximum
/// that happens to lie elsewhere), so floating-point inputs are also tried in other orders.
#pragma once

#include "dispatch/dispatch.h"

namespace asmevo::verify {

/// `dispatch` followed by `count` copies of each case in which the elements of every floating-point buffer that is not
/// one constant are permuted (seeded by the copy's number). Integers and pointers stay: they may be sizes and indices.
/// The copies are named "<case>, floats permuted <n>".
dispatch::Dispatch withDataVariants(const dispatch::Dispatch& dispatch, unsigned count);

} // namespace asmevo::verify
