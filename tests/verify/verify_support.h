/// Kernels of kernels/ with edits, and verdicts on them.
#pragma once

#include "device/device.h"
#include "program/program.h"
#include "verify/verify.h"

#include <functional>
#include <memory>
#include <string>

namespace asmevo::tests {

object::CodeObject kernelObject(const std::string& name);
std::string kernelDispatchPath(const std::string& name);
dispatch::Dispatch kernelDispatch(const std::string& name);
device::Device& simulator();

/// A recovered object with its codec.
struct Editable {
  explicit Editable(object::CodeObject object);
  object::CodeObject object;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;

  struct Place {
    program::BlockId block;
    std::size_t index;
  };
  /// The n-th reachable instruction of that base mnemonic.
  Place find(const std::string& base, std::size_t n = 0) const;
  program::Instr& at(Place place) { return program.blocks[place.block].instrs[place.index]; }
  void replace(Place place, const std::string& text);
  void insert(Place place, const std::string& text);
  void erase(Place place);
  /// Lays the edited program out again.
  object::CodeObject rebuilt() const;
};

/// The kernel with `edit` done to it.
object::CodeObject edited(const object::CodeObject& k0, const std::function<void(Editable&)>& edit);

} // namespace asmevo::tests
