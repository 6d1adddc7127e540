/// Workgroups and the order in which their waves run. Private to the emulator.
#pragma once

#include "emulator/emulator.h"
#include "emulator/wave.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace asmevo::emulator {

/// 64-byte aligned, uninitialised-by-default storage that grows but never shrinks.
template <class T> class AlignedBuffer {
 public:
  void ensure(std::size_t count) {
    if (count > capacity) {
      data.reset(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{64})));
      capacity = count;
    }
  }
  T* get() const { return data.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data;
  std::size_t capacity = 0;
};

/// A workgroup in flight with all its state.
struct Workgroup {
  std::uint64_t index = 0; ///< in dispatch order: x fastest
  std::array<std::uint32_t, 3> id{};
  std::vector<Wave> waves;
  AlignedBuffer<std::uint32_t> registers;
  AlignedBuffer<std::uint8_t> lds;
  AlignedBuffer<std::uint8_t> scratch;
  std::optional<WorkgroupTrace> trace;
  std::uint64_t turns = 0; ///< scheduling rounds taken, for the seeded interleaving
};

/// Makes workgroup `index` ready at the kernel's entry, reusing the object's storage.
class WorkgroupFactory {
 public:
  virtual ~WorkgroupFactory() = default;
  virtual void start(Workgroup& group, std::uint64_t index, std::uint64_t* coverage, Watch* watch) const = 0;
  virtual std::uint64_t bytesPerGroup() const = 0; ///< host memory of one in flight
};

struct ScheduleResult {
  std::uint64_t waveInstructions = 0;
  std::uint64_t waves = 0;
  LdsExtent lds;
  std::vector<WorkgroupTrace> traces;
  std::vector<std::uint64_t> coverage; ///< executions by dword of the code; empty unless asked for
};

/// Which workgroups run, in starting order: all of [0, count), or the chosen ones.
struct WorkgroupOrder {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> chosen; ///< `count` dispatch indices; empty: all
  std::uint64_t at(std::uint64_t slot) const { return chosen.empty() ? slot : chosen[slot]; }
};

/// Runs workgroups to their ends. Workgroups start in order; one that spins or uses
/// up its slice is set aside while others get a turn, up to a window of resident workgroups, so that workgroups may
/// wait for each other. Errors: the first fault (with all details), or the instruction limit with every wave's
/// position. An observed run (`watch` not null) takes one host thread.
Result<ScheduleResult> runWorkgroups(const WorkgroupFactory& factory, const WorkgroupOrder& order,
                                     std::size_t coverageDwords, const RunOptions& options, Watch* watch);

} // namespace asmevo::emulator
