/// The handlers of vector memory and LDS ops, as tables per host instruction set that the binders choose from.
#pragma once

#include "emulator/memory/lane_access.h"

#include <array>
#include <string_view>

namespace asmevo::emulator {

enum AddressMode : std::size_t { globalMode, globalScalarMode, flatMode, scratchMode, bufferMode, addressModes };
/// One data part under every address part.
using ByAddress = std::array<Handler, addressModes>;

struct VectorForm {
  std::string_view name; ///< behind "buffer_", "flat_", "global_" or "scratch_"
  ByAddress handlers;
  unsigned dataDwords = 0; ///< of a store's data register range
  bool store = false;
};

/// To LDS, by the type of what is loaded.
struct LdsLoadForm {
  std::string_view type;
  ByAddress handlers;
};

enum class LdsAddress : std::uint8_t { vgpr, none };

/// Forms without an AtomicForm: reads, writes and lane exchanges.
struct LdsForm {
  std::string_view name;
  Handler fn;
  bool reads = false;      ///< has a destination
  unsigned dataDwords = 0; ///< of a source behind the address
  unsigned dataOperands = 0;
  LdsAddress address = LdsAddress::vgpr;
  unsigned pairUnit = 0; ///< two-element forms: bytes that offset0 and offset1 count in
};

/// A table by name; no library template, whose code would be shared between instruction sets.
template <class Form> struct FormTable {
  const Form* first;
  std::size_t count;
};

struct VectorHandlers {
  FormTable<VectorForm> forms;
  FormTable<LdsLoadForm> toLds;
  ByAddress atomic, atomicReturning;
  Resolver buffer; ///< for formats, whose data parts are not vectorised
};
struct LdsHandlers {
  FormTable<LdsForm> forms;
  Handler atomic, atomicReturning;
  Handler atomicAligned; ///< returning; the low address bits are ignored (ds_condxchg32)
};

namespace scalar {
extern const VectorHandlers vectorHandlers;
extern const LdsHandlers ldsHandlers;
} // namespace scalar
namespace avx2 {
extern const VectorHandlers vectorHandlers;
extern const LdsHandlers ldsHandlers;
} // namespace avx2
namespace avx512 {
extern const VectorHandlers vectorHandlers;
extern const LdsHandlers ldsHandlers;
} // namespace avx512

} // namespace asmevo::emulator
