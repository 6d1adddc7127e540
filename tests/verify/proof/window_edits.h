/// Seeded edits of windows of real kernels, wrong and legal ones, and an oracle that runs both windows concretely.
#pragma once

#include "verify/proof/sides.h"
#include "verify/proof/value_proof.h"
#include "verify/proof/window.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace asmevo::tests {

/// A kernel to edit windows of.
struct EditSubject {
  std::string name;
  std::unique_ptr<object::CodeObject> object;
  verify::Side side;
  std::vector<program::BlockId> windows; ///< blocks that the machine can run
  std::vector<isa::RegSet> liveIn, liveOut;
};
/// Kernels of an object; those without a window to edit are left out.
std::vector<EditSubject> editSubjects(const std::string& path);

struct WindowEdit {
  std::string kind;
  std::string what; ///< the instruction before and after
  program::BlockId block = 0;
  program::Program program;
};

class WindowEditor {
 public:
  WindowEditor(const EditSubject& subject, std::uint64_t seed) : subject(subject), random(seed) {}

  /// Something that changes what the window computes, or so it seems: nothing if this seed finds no place.
  std::optional<WindowEdit> wrong();
  /// Something that changes nothing. `kind`: one of legalKinds().
  std::optional<WindowEdit> legal(const std::string& kind);
  static const std::vector<std::string>& legalKinds();

 private:
  const EditSubject& subject;
  std::mt19937_64 random;

  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }
  isa::InstRef assembled(const std::string& text) const;
  const isa::Instruction& at(program::BlockId block, std::size_t index) const;
  std::string withOperand(const isa::Instruction& inst, std::size_t operand, const std::string& text) const;
  std::string withOffset(const isa::Instruction& inst, int change) const;
  std::optional<std::string> mutated(const isa::Instruction& inst, std::string& kind);
  WindowEdit editOf(const std::string& kind, program::BlockId block) const;
  bool replace(WindowEdit& edit, std::size_t index, const std::string& text) const;
  bool insert(WindowEdit& edit, std::size_t index, const std::string& text) const;
  std::optional<unsigned> freeVgpr(program::BlockId block) const;
  std::optional<unsigned> freeSgpr(program::BlockId block) const;
  std::optional<WindowEdit> renamed(program::BlockId block);
  std::optional<WindowEdit> reordered(program::BlockId block);
  std::optional<WindowEdit> copied(program::BlockId block);
  std::optional<WindowEdit> deadCode(program::BlockId block);
  std::optional<WindowEdit> materialised(program::BlockId block);
  std::optional<WindowEdit> rewritten(program::BlockId block, const std::string& kind);
};

/// Runs the edited block from states that are equal on both sides; other states than the engine's own search.
/// Nothing found in `trials` runs: equal as far as they go; `conclusive` counts the runs that could be made.
std::optional<verify::Counterexample> concreteDifference(const EditSubject& subject, verify::Side& edited,
                                                         program::BlockId block, std::uint64_t seed, unsigned trials,
                                                         unsigned& conclusive);

} // namespace asmevo::tests
