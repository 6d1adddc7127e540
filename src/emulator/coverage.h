/// Which instructions of a code object the emulator refuses.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "support/result.h"

#include <cstddef>
#include <map>
#include <string>

namespace asmevo::emulator {

struct Coverage {
  struct Refusal {
    std::size_t count = 0;
    std::string reason; ///< of the first
  };
  std::size_t instructions = 0;
  std::map<std::string, std::size_t> modelled; ///< instructions by mnemonic
  std::map<std::string, Refusal> refused;      ///< by mnemonic; some forms of it may be modelled
  void add(const Coverage& other);
};

/// Binds every instruction of the code sections. Bytes that are not instructions (padding, data in code) do not count.
Result<Coverage> coverageOf(const object::CodeObject& object, isa::Codec& codec);

} // namespace asmevo::emulator
