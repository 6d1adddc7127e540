/// The shared ALU bodies as functions from terms to terms, one per row of the semantics tables.
#pragma once

#include "verify/proof/term_domain.h"

#include <array>
#include <span>
#include <string_view>

namespace asmevo::verify {

/// Dwords of one source, or its mask in element 0.
using SourceTerms = std::array<TermId, 4>;

struct AluResult {
  std::array<TermId, 4> dwords{};
  unsigned count = 0; ///< dwords that are results
  TermId mask = 0;    ///< lane mask, or SCC
  bool hasMask = false;
  TermId exec = 0; ///< new EXEC, 64 bits
  bool hasExec = false;
};

struct AluRow {
  std::string_view name;
  isa::semantics::SignatureInfo signature;
  Rounding rounding = Rounding::nearest;
  void (*run)(const TermDomain&, std::span<const SourceTerms>, AluResult&) = nullptr;
};

/// Rows of vector and of scalar instructions by base mnemonic (isa/semantics/table.h); null when there is none.
const AluRow* findVectorRow(std::string_view base);
const AluRow* findScalarRow(std::string_view base);

} // namespace asmevo::verify
