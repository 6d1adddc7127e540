/// Events of the memory side, counted as the hardware's performance counters count them.
#pragma once

#include <cstdint>

namespace asmevo::timing {

struct Traffic {
  double l1Bytes = 0, l2Bytes = 0, mallBytes = 0, hbmBytes = 0; ///< served by each level, reads and writes
  double usedBytes = 0;                                         ///< asked for by active lanes
  double dirtyBytes = 0;                                        ///< left in L2 at the end of the run, written back then
  std::uint64_t l1Hits = 0, l1Misses = 0;                       ///< 128-byte lines
  std::uint64_t l2Hits = 0, l2Misses = 0;                       ///< requests (TCC_HIT, TCC_MISS)
  std::uint64_t requests = 0;                                   ///< vector memory instructions (TA_TOTAL_WAVEFRONTS)
  std::uint64_t sectors = 0;                                    ///< 64-byte sectors they touch
  std::uint64_t loads = 0, stores = 0, atomics = 0;             ///< of `requests`
  std::uint64_t loadLookups = 0, storeLookups = 0;              ///< L1 tag look-ups (TCP_TOTAL_CACHE_ACCESSES)
  std::uint64_t l2Reads = 0, l2Writes = 0, l2Atomics = 0;       ///< from vector L1 (TCP_TCC_*_REQ)
  std::uint64_t scalarRequests = 0, scalarHits = 0;             ///< 64-byte lines (SQC_DCACHE_REQ, SQC_DCACHE_HITS)
  std::uint64_t scalarMisses = 0;                               ///< that go to L2 (SQC_TC_DATA_READ_REQ)
  std::uint64_t scalarDuplicates = 0;                           ///< wait for another's miss
  std::uint64_t fabricReads = 0;                                ///< requests that leave L2 (TCC_EA0_RDREQ)
  std::uint64_t evictedLines = 0;                               ///< dirty lines written back while running
  std::uint64_t pageWalks = 0;
  std::uint64_t fetches = 0, fetchMisses = 0; ///< 32-byte blocks of code (SQ_IFETCH); those not in the cache

  Traffic& operator+=(const Traffic& other);
};

} // namespace asmevo::timing
