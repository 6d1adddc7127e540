/// Hand-built programs and traces for the timing tests.
#pragma once

#include "timing/synthetic.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace asmevo::timing::fixture {

object::Target gfx942();
const Chip& chip(const std::string& name = "mi300x");

/// A gfx942 program; a statement that does not assemble fails the test.
class Program : public SyntheticProgram {
 public:
  explicit Program(std::vector<std::string> statements);
};

/// Every wave in one workgroup, cold caches.
Replay simulate(const Program& program, std::vector<emulator::WaveTrace> waves, const Chip& onChip = chip());
/// One wave that executes everything once, memory accesses aside.
Replay simulate(const Program& program);
/// Workgroups, each of the given waves; all resident when `residents` allows.
Replay simulateGroups(const Program& program, const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents,
                      const Chip& onChip = chip());

} // namespace asmevo::timing::fixture
