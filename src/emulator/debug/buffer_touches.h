/// Which buffers each memory instruction reaches.
#pragma once

#include "emulator/observe/observer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace asmevo::emulator {

/// What one instruction's accesses to global memory touched, over all waves.
struct BufferTouch {
  std::set<std::string> buffers; ///< names of regions: buffers, kernargRegionName, the loaded object
  bool writes = false;           ///< stores and atomics
  bool outside = false;          ///< some byte lay in no buffer
};

class BufferTouches : public Observer {
 public:
  /// By virtual address in the object, of instructions that touched global memory at all.
  virtual std::map<std::uint64_t, BufferTouch> touches() const = 0;
};

/// For one run.
std::unique_ptr<BufferTouches> makeBufferTouches();

} // namespace asmevo::emulator
