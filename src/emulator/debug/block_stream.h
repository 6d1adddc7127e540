/// The course of every wave as a sequence of visits to chosen places, each with a summary of registers and of
/// everything stored so far: what two runs of related kernels are compared by.
#pragma once

#include "emulator/observe/observer.h"
#include "isa/registers.h"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace asmevo::emulator {

struct WaveKey {
  std::uint64_t workgroup = 0; ///< dispatch index
  unsigned wave = 0;
  auto operator<=>(const WaveKey&) const = default;
};

/// A place, by the virtual address of its instruction in the object.
struct Place {
  std::uint32_t label = 0;
  isa::RegSet registers; ///< to be summarised on arrival: scalars, and lanes of EXEC of vectors
};
using Places = std::unordered_map<std::uint64_t, Place>;

struct Visit {
  static constexpr std::uint32_t end = ~std::uint32_t{0}; ///< label of the last one: the wave has ended
  std::uint32_t label = 0;
  std::uint64_t registers = 0;
  /// Of all stores and atomics of the wave so far, whatever their order: address and value, or operand.
  std::uint64_t stores = 0;
};

/// Scalar registers that hold addresses inside the code are left out, since code lies elsewhere in another object.
using VisitSink = std::function<void(const WaveKey&, const Visit&)>;
std::unique_ptr<Observer> makeBlockStream(Places places, VisitSink sink);

/// One lane's store.
struct StoreDetail {
  std::uint64_t pc = 0; ///< in the object
  std::string text;
  Space space = Space::global;
  unsigned lane = 0;
  std::uint64_t address = 0; ///< guest, LDS or scratch
  std::string where;         ///< the same in words
  bool atomic = false;
  std::vector<std::uint8_t> bytes; ///< stored, or the operand of an atomic
};

/// What a wave did between two visits.
struct StretchDetail {
  bool reached = false;
  std::uint64_t entered = 0; ///< pc of the place at its end
  std::uint64_t lastPc = 0;  ///< last instruction before it
  std::string lastText;
  std::uint64_t exec = 0; ///< at its end
  std::vector<StoreDetail> stores;
  std::map<isa::RegUnit, std::vector<std::uint32_t>> registers; ///< of the place at its end
  struct Writer {
    std::uint64_t pc = 0;
    std::string text;
  };
  std::map<isa::RegUnit, Writer> writers; ///< last instruction of the stretch that wrote them
};

class StretchObserver : public Observer {
 public:
  virtual const StretchDetail& detail() const = 0;
};

/// The stretch that ends with visit number `visit` (from 0) of one wave; the run ends soon after.
std::unique_ptr<StretchObserver> makeStretchCapture(Places places, const WaveKey& wave, std::uint64_t visit,
                                                    unsigned accumOffset);

} // namespace asmevo::emulator
