/// Hands one run's events to its observers. Private to the emulator.
#pragma once

#include "emulator/observe/observer.h"
#include "emulator/wave.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace asmevo::emulator {

/// One per observed run, on one host thread. A handler leaves by a tail call, so an op is known to have executed when
/// the wave's next one begins or the wave stops.
class Watch {
 public:
  explicit Watch(std::vector<Observer*> list) : observers(std::move(list)) {}

  void step(Wave& wave, const Op* op) {
    finish(wave);
    for (Observer* observer : observers)
      observer->before(wave, op);
    pending = op;
  }
  void access(Wave& wave, const Op* op, const AccessEvent& event) {
    for (Observer* observer : observers)
      observer->access(wave, op, event);
  }
  /// The wave's turn is over: it stopped, or faulted at its last op.
  void stopped(Wave& wave) {
    if (wave.stop == Stop::fault && wave.resume == pending)
      pending = nullptr;
    finish(wave);
    if (wave.stop == Stop::ended)
      for (Observer* observer : observers)
        observer->waveEnded(wave);
  }
  bool stopRequested() const {
    return std::ranges::any_of(observers, [](const Observer* observer) { return observer->stopRun; });
  }
  void workgroupStarted(Workgroup& group) {
    for (Observer* observer : observers)
      observer->workgroupStarted(group);
  }
  void barrierReleased(Workgroup& group) {
    for (Observer* observer : observers)
      observer->barrierReleased(group);
  }
  void workgroupEnded(Workgroup& group) {
    for (Observer* observer : observers)
      observer->workgroupEnded(group);
  }

 private:
  void finish(Wave& wave) {
    if (!pending)
      return;
    const Op* done = std::exchange(pending, nullptr);
    for (Observer* observer : observers)
      observer->after(wave, done);
  }

  std::vector<Observer*> observers;
  const Op* pending = nullptr; ///< begun by the wave whose turn it is
};

} // namespace asmevo::emulator
