/// What differs between two code objects for the same target, instruction by instruction: what is the same up to a
/// renaming of registers, what moved, which waits became weaker, what is new. And everything that is not code.
#pragma once

#include "object/code_object.h"
#include "program/program.h"
#include "support/result.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

enum class DiffKind : std::uint8_t {
  same,    ///< equal, or equal but for where its targets lie
  renamed, ///< equal but for registers that are renamed consistently
  moved,   ///< equal, at another place in the order
  wait,    ///< an s_waitcnt or s_nop with other counts
  changed, ///< the same opcode with other operands
  removed,
  added,
};
inline constexpr std::size_t diffKinds = 7;
const char* diffKindName(DiffKind kind);

/// One instruction of K0, of K1, or a pair.
struct DiffEntry {
  DiffKind kind = DiffKind::same;
  std::optional<std::uint64_t> before, after; ///< addresses
  std::string textBefore, textAfter;          ///< without differences in layout: branch targets as blocks
  std::string detail;                         ///< "v5 -> v9", "vmcnt 0 -> 2: weaker", "to block 4 instead of 3"
};

/// A block of K0, of K1, or a pair of corresponding ones that differ.
struct BlockDiff {
  std::optional<program::BlockId> before, after;
  std::string function;
  std::vector<DiffEntry> entries;
};

/// A number or text outside of code.
struct FieldDiff {
  std::string what; ///< "kernel k: .amdhsa_next_free_vgpr"
  std::string before, after;
};

struct ObjectDiff {
  bool identical = false;        ///< every byte of the two files
  std::vector<BlockDiff> blocks; ///< those that differ, in K1's order
  std::vector<FieldDiff> descriptors, metadata, data, symbols;
  std::array<std::size_t, diffKinds> counts{}; ///< instructions by kind, of the whole program
  std::map<std::string, std::string> renames;  ///< "v5" to "v9": definitions that got another register
  std::size_t bytesDiffer = 0;                 ///< of the files, the longer one's surplus included

  /// Nothing but layout differs: addresses and padding.
  bool onlyLayout() const;
};

/// Refused where the targets differ.
Result<ObjectDiff> diffObjects(const object::CodeObject& k0, const object::CodeObject& k1);

struct DiffStyle {
  bool colour = false;
  std::size_t context = 3; ///< unchanged instructions around a change
};
std::string diffText(const ObjectDiff& diff, const DiffStyle& style);
nlohmann::json diffJson(const ObjectDiff& diff);

} // namespace asmevo::verify
