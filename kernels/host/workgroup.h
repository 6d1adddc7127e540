/// Runs a kernel's work-items on the host, one fibre each, so that barriers and cross-lane operations mean what they
/// mean on the GPU. One workgroup at a time, on the calling thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace asmevo::host {

/// Where the running work-item stands.
struct Position {
  std::array<unsigned, 3> item{};      ///< in its workgroup
  std::array<unsigned, 3> group{};     ///< workgroup id
  std::array<unsigned, 3> groupSize{}; ///< as launched; the last workgroup of a row may have fewer work-items
  std::array<unsigned, 3> remainder{}; ///< work-items of that last one, 0 when all are full
  std::array<unsigned, 3> groups{};    ///< full workgroups of the launch
  unsigned lane = 0;                   ///< of its wave64
};

/// The running work-item. Only inside a kernel.
const Position& position();
/// s_barrier: returns when every work-item of the workgroup that still runs has arrived.
void groupBarrier();
/// All 64 values that the lanes of this wave hand in; lanes that do not exist give 0. Every lane of the wave must call
/// it. The values stay until the lane's next call: copy them to use them after it.
const std::array<std::uint64_t, 64>& gather(std::uint64_t value);
inline std::uint32_t exchange(std::uint32_t value, unsigned lane) {
  return static_cast<std::uint32_t>(gather(value)[lane]);
}
/// Dynamic LDS of the launch, 16-byte aligned.
void* dynamicLds();

/// The shape of a launch.
struct Shape {
  std::array<std::uint32_t, 3> workgroupSize{1, 1, 1};
  std::array<std::uint32_t, 3> gridSize{1, 1, 1}; ///< in work-items
  std::uint32_t dynamicLdsBytes = 0;
};

/// Runs `body` once per work-item of every workgroup, workgroups in order (x fastest). False when a workgroup
/// deadlocks: some of its work-items wait at a barrier that the others never reach.
bool runGrid(const Shape& shape, const std::function<void()>& body);

} // namespace asmevo::host
