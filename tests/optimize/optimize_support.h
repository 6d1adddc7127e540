/// Programs as a move sees them, and what a test asks of a proposal.
#pragma once

#include "optimize/optimize.h"
#include "program/program_support.h"

#include <memory>
#include <string>
#include <vector>

namespace asmevo::tests {

/// An object recovered, timed and ranked on the simulator.
class MoveFixture {
 public:
  MoveFixture(object::CodeObject codeObject, dispatch::Dispatch launches);
  MoveFixture(const MoveFixture&) = delete;

  optimize::MoveContext context() const;
  std::vector<optimize::Proposal> propose(const optimize::Move& move) const { return move.propose(program, context()); }
  object::CodeObject rebuilt(const program::Program& edited) const;
  /// Texts of the kernel's instructions, in layout order; branches without their offset.
  std::vector<std::string> lines(const program::Program& of) const;

  object::CodeObject object;
  dispatch::Dispatch dispatch;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;
  const object::Kernel* kernel = nullptr;
  timing::Estimate profile;
  std::vector<optimize::HotWindow> windows;
};

/// Kernel `k` of a text with one buffer of 4 MiB, in workgroups of 64.
dispatch::Dispatch textDispatch(unsigned workgroups = 4);

/// A kernel that has v1 = 4 * work-item id, s[2:3] = the buffer and s[6:7] loaded from it; ends with `lines` and
/// s_endpgm.
program::test::KernelText bodyOf(const std::string& lines);

object::CodeObject assembledObject(const std::string& file);
/// bodyOf(lines), assembled.
std::unique_ptr<MoveFixture> textFixture(const std::string& lines);

/// Position of the first line that starts with `prefix` at or after `from`; lines.size() if there is none.
std::size_t position(const std::vector<std::string>& lines, const std::string& prefix, std::size_t from = 0);

} // namespace asmevo::tests
