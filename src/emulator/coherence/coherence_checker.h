/// Reads that may see stale data because caches are not coherent by themselves (--coherence strict).
///
/// One agent of several XCDs has an L2 for each, and an L1 for each compute unit. Data are never changed here: the run
/// computes with the newest values, and every read whose caches may hold something older is reported
/// (coherence_stale_read; producer: the write, consumer: the read). Rules, all from LLVM AMDGPUUsage, "Memory Model
/// GFX942", and the tables of BUFFER_WBL2 and BUFFER_INV in the CDNA3 ISA:
/// - Workgroups go to the XCDs in turn, workgroup i to XCD i mod count; each is taken to be alone on its compute unit.
///   At the start of the kernel all caches are clean and empty ("caches are invalidated between kernel dispatches").
/// - A store without sc1 stays in the L2 of its XCD until some wave there executes buffer_wbl2 sc1 ("will writeback
///   dirty L2 cache lines if configured to have multiple L2 caches"). Stores with sc1 (agent and system scope) and
///   read-modify-writes reach all XCDs at once; read-modify-writes use sc0 for their result only and "implicitly bypass
///   the L1 cache".
/// - A load without sc1 may hit in the L1 and the L2 (sc0 alone is work-group scope, which the one L1 of a compute unit
///   gives). Such a hit is stale if the line was brought in before the write was visible to the XCD, or the CU, and
///   neither buffer_inv sc1 nor, for L1, the workgroup's own later write has happened since. buffer_inv with sc0 alone
///   does nothing outside of threadgroup split mode.
/// - Scalar loads without glc go through the scalar L1, which "is not coherent" with the vector L1; s_dcache_inv
/// empties
///   it. A scalar store without glc stays there until s_dcache_wb.
/// Lines are 128 bytes (CDNA3). A line that the run has not brought into a cache cannot be stale there.
#pragma once

#include "emulator/observe/finding_observer.h"

#include <cstdint>
#include <memory>

namespace asmevo::emulator {

struct CoherenceOptions {
  unsigned xcds = 8;                                  ///< MI300X as one agent (SPX)
  std::uint64_t memoryLimit = std::uint64_t{1} << 30; ///< as in RaceOptions
};

std::unique_ptr<FindingObserver> makeCoherenceChecker(const CoherenceOptions& options = {});

} // namespace asmevo::emulator
