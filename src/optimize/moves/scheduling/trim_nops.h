/// Move: s_nops shortened to what some path needs.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Shortens and deletes s_nops that no pair of instructions on any path depends on, over block borders and calls.
///
///   before:  v_mfma…; s_nop 7; s_nop 1; v_add (of something else)      after:  v_mfma…; v_add
///
/// Pairs that stand nearer than the tables ask in K0 come no nearer. Long s_nops (12 states and more) pace waves
/// against each other and stay; those that end a soft clause stay unless the object is for devices without XNACK.
const Move& trimNopsMove();

} // namespace asmevo::optimize
