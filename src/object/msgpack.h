/// A msgpack document, read by LLVM, as a tree that knows where in the bytes each value lies, so that one value can be
/// overwritten in place. LLVM's own tree gives no positions, and both its reader and its YAML writer assume a
/// well-behaved document: see `readMsgpack` and `isPrintable`.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::object {

/// One value. Strings refer to the bytes the tree was read from.
struct MsgpackNode {
  enum class Kind { nil, boolean, unsignedInt, signedInt, floating, string, binary, extension, array, map };
  Kind kind = Kind::nil;
  std::uint64_t number = 0; ///< boolean, unsignedInt; signedInt as two's complement
  std::string_view text;    ///< string; the bytes of binary and extension
  std::size_t begin = 0;    ///< offset of the first byte of its encoding
  std::size_t end = 0;      ///< one past its last byte, children included
  /// Elements of an array; keys and values of a map, alternating.
  std::vector<MsgpackNode> children;

  /// The value of a string key, or null.
  const MsgpackNode* find(std::string_view key) const;
};

/// Reads one document that fills `bytes` but for trailing zero padding. Depth is limited to 32 and the number of values
/// by the number of bytes; everything else out of form is badInput naming the offset.
Result<MsgpackNode> readMsgpack(std::span<const std::uint8_t> bytes);

/// Whether LLVM's msgpack::Document can hold and print the tree: maps keyed by distinct strings, no binary or extension
/// values.
bool isPrintable(const MsgpackNode& node);

/// Overwrites the unsigned integer `node` of `bytes`, in its own encoding and length. False if it is no unsigned
/// integer or `value` does not fit.
bool overwriteUnsigned(std::span<std::uint8_t> bytes, const MsgpackNode& node, std::uint64_t value);

/// Puts `value` in the place of the unsigned integer `node` in its shortest encoding of at least 16 bits; what follows
/// moves. Containers count values, not bytes, so nothing else changes.
void replaceUnsigned(std::vector<std::uint8_t>& bytes, const MsgpackNode& node, std::uint64_t value);

} // namespace asmevo::object
