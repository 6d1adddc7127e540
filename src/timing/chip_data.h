/// The chip files compiled into the binary (generated from chips/*.json by embed_chips.cmake).
#pragma once

#include <span>
#include <string_view>

namespace asmevo::timing {

struct EmbeddedChip {
  std::string_view name;
  std::string_view json;
};

/// In ascending order of name.
std::span<const EmbeddedChip> embeddedChips();

} // namespace asmevo::timing
