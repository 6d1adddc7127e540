#include "timing/traffic.h"

namespace asmevo::timing {

Traffic& Traffic::operator+=(const Traffic& other) {
  constexpr double Traffic::* sums[] = {&Traffic::l1Bytes,  &Traffic::l2Bytes,   &Traffic::mallBytes,
                                        &Traffic::hbmBytes, &Traffic::usedBytes, &Traffic::dirtyBytes};
  constexpr std::uint64_t Traffic::* counts[] = {
      &Traffic::l1Hits,       &Traffic::l1Misses,         &Traffic::l2Hits,         &Traffic::l2Misses,
      &Traffic::requests,     &Traffic::sectors,          &Traffic::loads,          &Traffic::stores,
      &Traffic::atomics,      &Traffic::loadLookups,      &Traffic::storeLookups,   &Traffic::l2Reads,
      &Traffic::l2Writes,     &Traffic::l2Atomics,        &Traffic::scalarRequests, &Traffic::scalarHits,
      &Traffic::scalarMisses, &Traffic::scalarDuplicates, &Traffic::fabricReads,    &Traffic::evictedLines,
      &Traffic::pageWalks,    &Traffic::fetches,          &Traffic::fetchMisses};
  for (const auto field : sums)
    this->*field += other.*field;
  for (const auto field : counts)
    this->*field += other.*field;
  return *this;
}

} // namespace asmevo::timing
