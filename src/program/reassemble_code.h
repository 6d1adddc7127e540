/// Code sections of edited text as blocks, with everything they refer to resolved at the end.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/assembly_lines.h"
#include "program/program.h"
#include "program/statements.h"
#include "program/text_diagnostics.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace asmevo::program {

class CodeReader {
 public:
  CodeReader(const object::CodeObject& object, const Program& original, isa::Codec& codec, Statements& statements,
             TextDiagnostics& diagnostics);

  /// The statements that take the place of the section's blocks [first, last).
  void section(std::size_t index, BlockId first, BlockId last, const std::vector<Statement>& text);
  /// The original program with the blocks of the text, linked; not to be used if diagnostics were made.
  Program finish();

  std::size_t kept = 0, assembled = 0, gone = 0;
  /// New instructions of the finished program and where they come from.
  struct Fresh {
    BlockId block;
    std::size_t index;
    const Statement* statement;
  };
  std::vector<Fresh> fresh;

 private:
  struct OriginalPlace {
    BlockId block;
    std::size_t index;
  };
  /// A block under construction with the statement of each instruction (null: taken over unread).
  struct Draft {
    Block block;
    std::vector<const Statement*> origins;
    std::vector<bool> isNew;
  };
  struct Label {
    std::size_t section, draft;
  };
  /// A label that an instruction refers to, to be resolved when all are known.
  struct LabelUse {
    std::size_t section, draft, index;
    const Statement* statement;
    std::size_t offset; ///< of the name in the statement
    std::string name;
  };
  /// "TARGET@rel32@lo+(.Lliteral_1774-4-.Lpc1)" and its like.
  struct ReferenceText {
    std::string target; ///< label or symbol
    std::string anchor; ///< label behind the s_getpc_b64; empty: the last one in front of it
    std::int64_t addend = 0;
    bool high = false, negated = false, isGot = false;
    std::size_t begin = 0, size = 0; ///< of the expression in the statement
  };
  struct AnchorUse {
    std::size_t section, draft, index;
    const Statement* statement;
    std::string name;
  };

  const object::CodeObject& object;
  const Program& original;
  isa::Codec& codec;
  Statements& statements;
  TextDiagnostics& diagnostics;

  std::unordered_map<std::uint64_t, OriginalPlace> byAddress;
  std::unordered_map<std::string, std::uint64_t> knownLabels; ///< labels and symbols of the original
  std::set<std::uint64_t> fixedPlaces;                        ///< that something other than a branch refers to
  std::map<std::size_t, std::vector<Draft>> drafts;           ///< by section
  std::unordered_map<std::string, Label> labels;
  std::unordered_map<std::string, std::uint32_t> anchors; ///< ".Lpc1" to getpc id
  std::vector<LabelUse> labelUses;
  std::vector<AnchorUse> anchorUses;
  std::set<std::uint32_t> usedAnchors;
  std::uint32_t nextAnchor;

  // While a section is read.
  std::size_t current = 0;
  std::set<std::uint64_t> labelledHere, startedHere;
  std::uint64_t lastBlockAddress = 0, lastAddress = 0;
  std::optional<OriginalPlace> expected; ///< next instruction of the original
  std::uint32_t pendingAlignment = 0;
  bool begun = false; ///< a label or instruction of the text was read
  std::unordered_map<isa::InstRef, std::string> canonicalWords;

  std::vector<Draft>& list() { return drafts[current]; }
  Draft& draft() { return list().back(); }

  void collectPlaces();
  void startBlock(std::uint64_t address);
  void takeOver(BlockId id);
  void label(const Statement& statement);
  void directive(const Statement& statement);
  void words(const Statement& statement, std::size_t element);
  void instruction(const Statement& statement);
  std::optional<OriginalPlace> unchanged(const Statement& statement);
  bool says(const Statement& statement, const std::string& canonical, OriginalPlace place);
  void keep(const Statement& statement, OriginalPlace place);
  void append(const Statement& statement, Instr instr, bool isNew);
  void appendBranch(const Statement& statement, std::string_view target);
  void appendReference(const Statement& statement, const ReferenceText& reference);
  std::optional<ReferenceText> referenceIn(const Statement& statement) const;
  std::optional<isa::InstRef> assemble(const Statement& statement, const std::string& text);
  std::string exampleOf(std::string_view mnemonic);
  std::optional<OriginalPlace> after(OriginalPlace place) const;

  void linkLabels(Program& program, const std::map<std::pair<std::size_t, std::size_t>, BlockId>& ids);
  void linkOriginals(Program& program, const std::map<std::pair<std::size_t, std::size_t>, BlockId>& ids);
  std::string unknownLabelHint(const std::string& name) const;
};

} // namespace asmevo::program
