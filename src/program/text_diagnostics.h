/// Errors in assembly text as compilers show them, with what was probably meant.
#pragma once

#include "isa/codec.h"
#include "program/assembly_lines.h"
#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace asmevo::program {

/// Collects up to a screenful of errors of one text.
class TextDiagnostics {
 public:
  TextDiagnostics(std::string file, const AssemblyLines& lines) : file(std::move(file)), lines(lines) {}

  /// `offset` counts from the statement's first character; `hint` is a line of its own ("did you mean ...?") or empty.
  void error(const Statement& statement, std::size_t offset, const std::string& message, const std::string& hint = {});
  /// About the text as a whole.
  void error(const std::string& message);

  bool any() const { return count > 0; }
  bool full() const { return count >= most; }
  /// All of them as one badInput error.
  Error asError() const;
  /// "K.s:12"
  std::string place(const Statement& statement) const;

 private:
  static constexpr std::size_t most = 20;
  std::string file;
  const AssemblyLines& lines;
  std::string text;
  std::size_t count = 0;
};

/// Edits (insert, delete, replace, swap of neighbours) from one word to the other; `limit` + 1 if there are more.
std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit);

/// The candidate nearest to `word`; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Mnemonics that the target has and that are nearest to a misspelt or foreign one, best first, at most three.
std::vector<std::string> nearestMnemonics(std::string_view word, isa::Codec& codec);

} // namespace asmevo::program
