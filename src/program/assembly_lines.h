/// Assembly text as lines of labels and statements, with comments taken off but not thrown away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::program {

/// A label, directive or instruction and where it stands.
struct Statement {
  enum class Kind { label, directive, instruction, metadata };
  Kind kind = Kind::instruction;
  std::string_view text; ///< label: its name without the colon; else without leading and trailing blanks
  std::size_t line = 0;  ///< index into AssemblyLines::raw
  std::size_t column = 0;
  std::string_view comment; ///< of the line, behind its //, ; or #
};

/// Views into the text given to lexAssembly, which has to outlive them.
struct AssemblyLines {
  std::vector<std::string_view> raw;
  std::vector<Statement> statements;
  std::vector<std::pair<std::size_t, std::string_view>> comments; ///< lines without a statement: index, comment
};

/// Never fails: what is no statement becomes one that the assembler refuses. Lines between .amdgpu_metadata and
/// .end_amdgpu_metadata come as kind metadata, blanks included.
AssemblyLines lexAssembly(std::string_view text);

/// The statement with one blank behind its first word and no others outside of quotes: equal for statements that differ
/// in spacing only.
std::string canonicalStatement(std::string_view text);

/// The first word of a statement, and what follows it without leading blanks.
std::string_view firstWord(std::string_view text);
std::string_view afterFirstWord(std::string_view text);

/// Operands separated by commas outside of brackets and quotes, without blanks around them.
std::vector<std::string_view> commaSeparated(std::string_view text);

/// A symbol name without the quotes the assembler may need around it.
std::string unquoted(std::string_view name);

/// An integer constant in assembler spelling: decimal, 0x, 0b, 0 (octal), negative ones as two's complement.
std::optional<std::uint64_t> integerConstant(std::string_view text);

/// The address that a printed line carries in its comment ("000000001700: BF8CC07F").
std::optional<std::uint64_t> commentAddress(std::string_view comment);

} // namespace asmevo::program
