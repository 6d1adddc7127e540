/// What makes waves and workgroups see each other's work: barriers, cache scopes, writebacks and invalidates.
#pragma once

#include "verify/alignment.h"

#include <string>

namespace asmevo::verify {

/// What of it K1's reachable code has less of than K0's, as a sentence; empty where it has all. That no run showed a
/// race or a stale read proves nothing about other interleavings, so only a proof may excuse it. Needs complete
/// instructions.
std::string weakerSynchronisation(const ProgramPair& pair);

/// A barrier of K1 in front of which fewer memory operations are known to be complete than in front of K0's, as a
/// sentence; empty where there is none. Other waves may rely on them, of which a proof over one wave knows nothing.
/// Looks at the barriers' own blocks.
std::string weakerWaitAtBarrier(const ProgramPair& pair, const Alignment& alignment);

} // namespace asmevo::verify
