/// The state a kernel starts in: what the command processor and the workgroup dispatcher set up (LLVM AMDGPUUsage,
/// "Initial Kernel Execution State", gfx942). Private to the emulator.
#pragma once

#include "dispatch/dispatch.h"
#include "emulator/code_image.h"
#include "emulator/emulator.h"
#include "emulator/scheduler.h"
#include "object/code_object.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace asmevo::emulator {

/// Flat aperture bases: bits 63:32 of an address that selects LDS or scratch (values of the Linux driver on gfx9).
inline constexpr std::uint64_t sharedBase = std::uint64_t{1} << 48;
inline constexpr std::uint64_t privateBase = std::uint64_t{2} << 48;

inline constexpr std::uint64_t packetRegionBytes = 4096; ///< the AQL packet, then an amd_queue_t at `queueOffset`
inline constexpr std::uint64_t queueOffset = 256;

/// Fills the dispatch packet and the queue that dispatch_ptr and queue_ptr lead to.
void writePacket(const dispatch::Case& launch, const object::Kernel& kernel, const CodeImage& image,
                 std::uint64_t kernargAddress, std::span<std::uint8_t> region);

/// Checked sizes of a launch.
struct LaunchShape {
  std::array<std::uint32_t, 3> workgroupSize{};
  std::array<std::uint32_t, 3> gridSize{};
  std::array<std::uint64_t, 3> groups{}; ///< ceil(grid / workgroup)
  std::uint32_t ldsBytes = 0;            ///< allocated: static + dynamic in the hardware's granules

  std::uint64_t workgroups() const { return groups[0] * groups[1] * groups[2]; }
  static Result<LaunchShape> of(const dispatch::Case& launch, const object::Kernel& kernel,
                                const object::Target& target);
};

/// Everything that is the same for all workgroups of a launch.
class LaunchState final : public WorkgroupFactory {
 public:
  /// `memory` outlives the state; regions: code, packet, kernarg first.
  static Result<LaunchState> create(const LaunchShape& shape, const object::Kernel& kernel, const CodeImage& image,
                                    GuestMemory& memory, const RunOptions& options, const object::Target& target);
  void start(Workgroup& group, std::uint64_t index, std::uint64_t* coverage, Watch* watch) const override;
  std::uint64_t bytesPerGroup() const override;

 private:
  void startWave(Wave& wave, const Workgroup& group, const std::array<std::uint32_t, 3>& size, unsigned number,
                 unsigned waves) const;

  LaunchShape shape;
  const CodeImage* image = nullptr;
  GuestMemory* memory = nullptr;
  RunOptions options;
  std::vector<std::uint32_t> registerPoison; ///< one wave's VGPRs
  std::vector<std::uint8_t> ldsPoison;
  std::array<std::uint32_t, 256> scalars{}; ///< scalar space at entry but for the workgroup id
  unsigned passedSgprs = 0;                 ///< user SGPRs with a value
  unsigned firstSystemSgpr = 0;
  std::array<bool, 3> passesId{};
  bool passesInfo = false;
  unsigned workitemIdMode = 0;
  unsigned vgprs = 0;
  std::uint32_t scratchPerLane = 0;
  std::uint32_t mode = 0;
  std::uint64_t entry = 0; ///< guest address
};

} // namespace asmevo::emulator
