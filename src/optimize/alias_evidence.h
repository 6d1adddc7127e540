/// What the launches show about which accesses of a kernel never meet: evidence for moves that let a load pass a store.
///
/// Two pointers that a kernel is given may be equal, and nothing in a code object's metadata denies it:
/// `.actual_access` tells what is done through an argument, not what others do to the same bytes (LLVM AMDGPUUsage,
/// "Code Object Metadata"). What the program's own addresses prove is MemoryDependence's business. What is left is the
/// dispatch: its buffers are allocations of their own, and a run shows which of them each instruction reaches. That
/// holds for these launches only, so it comes with a sentence for Proposal::assumptions.
#pragma once

#include "dispatch/dispatch.h"
#include "object/code_object.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace asmevo::optimize {

class AliasEvidence {
 public:
  /// Keeps references. Nothing runs before the first question; all cases are run once then.
  AliasEvidence(const object::CodeObject& object, const object::Kernel& kernel, const dispatch::Dispatch& launches);
  ~AliasEvidence();
  AliasEvidence(AliasEvidence&&) noexcept;

  /// May the load at address `load` pass the store at `store`, either way, in one wave? The assumption that it rests
  /// on: in every case both stay inside buffers, and no buffer is touched by both. Nothing where that is not so, or
  /// where one of them was never executed. Addresses are those of the object (program::Instr::address).
  std::optional<std::string> mayCross(std::uint64_t store, std::uint64_t load) const;

  /// May the load pass anything at all, barriers and synchronisation with other waves included? The assumption: nothing
  /// in the launch writes the buffers that it reads.
  std::optional<std::string> isNeverWritten(std::uint64_t load) const;

 private:
  struct Runs;
  const Runs& runs() const;

  const object::CodeObject& object;
  const object::Kernel& kernel;
  const dispatch::Dispatch& launches;
  mutable std::unique_ptr<Runs> known;
};

} // namespace asmevo::optimize
