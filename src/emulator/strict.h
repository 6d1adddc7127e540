/// Strict runs: what may break on hardware though it computes the right thing in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace asmevo::emulator {

/// When memory operations take effect in a strict run. Each order is one the ISA allows.
enum class Delivery : std::uint8_t {
  late, ///< all at the latest moment that waits and counter sizes leave: data moves to registers, LDS and memory then
  ldsEarly,     ///< as late, but LDS reads take place when they issue: shows a read moved above its barrier
  waveToBarrier ///< in order, each wave run to its next barrier before the others
};
std::string_view deliveryName(Delivery delivery); ///< "late", "lds-early", "wave"

struct StrictOptions {
  Delivery delivery = Delivery::late;
  /// Also report distances that LLVM keeps though the manual does not ask for them (Hazard::llvmOnly).
  bool llvmDistances = false;
  bool races = true;         ///< data races, stores whose lanes conflict, accesses outside buffers
  bool uninitialised = true; ///< registers and LDS that were never written and reach an address, a branch or a store
};

/// A rule of the hardware that the kernel broke, at its first occurrence. Rules of waits and distances have the names
/// that the static lint gives them: wait.{vm,lgkm}.{raw,waw}, wait.vm.lds-dma, states.*.
/// wait.lgkm.war and wait.lgkm.waw also name an LDS-DMA over what an LDS operation of its wave has yet to access.
struct StrictFinding {
  std::string rule;                         ///< "wait.vm.raw", "lds_race", "out_of_bounds_read", ...
  std::uint64_t producer = 0, consumer = 0; ///< virtual addresses in the object
  unsigned wave = 0, lane = 0;              ///< of the consumer; wave in its workgroup
  std::uint64_t workgroup = 0;              ///< dispatch index
  std::uint64_t count = 0;                  ///< occurrences in all
  unsigned shortfall = 0; ///< wait states missing, or operations more than allowed in flight; 64: no wait at all
  std::string message;
};

} // namespace asmevo::emulator
