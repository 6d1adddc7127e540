/// The way back from printed assembly: edited text becomes an edit of the program it was printed from, to be laid out
/// by rebuild. Everything the text does not change keeps its bytes, whatever the assembler would make of it.
///
/// What may change: instructions and labels in code (with new labels and branches to them), constants in data sections,
/// .amdhsa_ directives and metadata values, as long as data and metadata keep their size. What may not: symbols, the
/// order of places that symbols or data refer to, addresses in data, the target.
///
/// A line is unchanged if it still says what is printed for the instruction at the address in its comment; lines
/// without such a comment are compared with what comes next. Sections that the text leaves out stay as they are, and
/// of a text of some blocks only (PrintOptions::part) so do the others.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/program.h"
#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace asmevo::program {

struct ReassembleOptions {
  std::string fileName = "text"; ///< for diagnostics
  /// Raises the descriptor's registers to what new instructions use; without it that is an error.
  bool growRegisters = false;
};

struct Reassembly {
  Program program;                ///< the original with the edits, linked
  std::size_t kept = 0;           ///< instructions that are as they were
  std::size_t assembled = 0;      ///< new or changed ones
  std::size_t gone = 0;           ///< of the original
  std::vector<std::string> notes; ///< resources that changed, data that changed
};

/// Errors (badInput) hold up to 20 diagnostics with file, line, column, the line itself and a suggestion.
Result<Reassembly> reassemble(const object::CodeObject& object, const Program& original, isa::Codec& codec,
                              std::string_view text, const ReassembleOptions& options);

} // namespace asmevo::program
