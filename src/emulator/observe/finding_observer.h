/// An observer that judges what it sees.
#pragma once

#include "emulator/observe/observer.h"
#include "emulator/strict.h"

#include <string>
#include <vector>

namespace asmevo::emulator {

class FindingObserver : public Observer {
 public:
  /// One for each rule and pair of instructions, in the order of their first occurrence.
  virtual std::vector<StrictFinding> findings() const = 0;
  /// What limits the judgement, as sentences: memory that ran out, for example. Empty: nothing.
  virtual std::vector<std::string> notes() const { return {}; }
};

} // namespace asmevo::emulator
