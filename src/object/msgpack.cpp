#include "object/msgpack.h"

#include <llvm/BinaryFormat/MsgPack.h>

#include <algorithm>

namespace asmevo::object {

namespace first = llvm::msgpack::FirstByte;

namespace {

constexpr unsigned maxDepth = 32;

/// What the first byte of an encoding announces.
struct Form {
  MsgpackNode::Kind kind;
  unsigned lengthBytes; ///< big-endian length or number that follows
  std::uint64_t inlineValue;
  bool isNumber; ///< the following bytes are the value itself, not a length
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> input) : bytes(input) {}

  Result<MsgpackNode> read(unsigned depth) {
    if (depth > maxDepth)
      return badInput("msgpack offset {}: nested deeper than {}", at, maxDepth);
    MsgpackNode node;
    node.begin = at;
    if (at >= bytes.size())
      return badInput("msgpack offset {}: a value is missing", at);
    ASMEVO_TRY(const Form form, formOf(bytes[at]));
    ++at;
    std::uint64_t number = form.inlineValue;
    if (form.lengthBytes != 0) {
      if (bytes.size() - at < form.lengthBytes)
        return badInput("msgpack offset {}: cut off inside a value", node.begin);
      for (unsigned i = 0; i < form.lengthBytes; ++i)
        number = number << 8 | bytes[at++];
    }
    node.kind = form.kind;
    ASMEVO_CHECK(fill(node, form, number, depth));
    node.end = at;
    return node;
  }

  std::size_t position() const { return at; }

 private:
  Status fill(MsgpackNode& node, const Form& form, std::uint64_t number, unsigned depth) {
    using Kind = MsgpackNode::Kind;
    switch (form.kind) {
    case Kind::nil:
    case Kind::boolean:
    case Kind::unsignedInt:
    case Kind::floating:
      node.number = number;
      return {};
    case Kind::signedInt: {
      const unsigned unused = 64 - 8 * std::max(form.lengthBytes, 1U);
      node.number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number << unused) >> unused);
      return {};
    }
    case Kind::string:
    case Kind::binary:
    case Kind::extension: {
      const std::uint64_t length = number + (form.kind == Kind::extension ? 1 : 0);
      if (bytes.size() - at < length)
        return badInput("msgpack offset {}: {} bytes announced, {} left", node.begin, length, bytes.size() - at);
      node.text = {reinterpret_cast<const char*>(bytes.data()) + at, static_cast<std::size_t>(length)};
      at += static_cast<std::size_t>(length);
      return {};
    }
    case Kind::array:
    case Kind::map: {
      const std::uint64_t count = number * (form.kind == Kind::map ? 2 : 1);
      if (bytes.size() - at < count)
        return badInput("msgpack offset {}: {} elements announced, {} bytes left", node.begin, count,
                        bytes.size() - at);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASMEVO_TRY(MsgpackNode child, read(depth + 1));
        node.children.push_back(std::move(child));
      }
      return {};
    }
    }
    return {};
  }

  Result<Form> formOf(std::uint8_t byte) const {
    using Kind = MsgpackNode::Kind;
    if ((byte & llvm::msgpack::FixBitsMask::PositiveInt) == llvm::msgpack::FixBits::PositiveInt)
      return Form{Kind::unsignedInt, 0, byte, true};
    if ((byte & llvm::msgpack::FixBitsMask::NegativeInt) == llvm::msgpack::FixBits::NegativeInt)
      return Form{Kind::signedInt, 0, byte, true};
    if ((byte & llvm::msgpack::FixBitsMask::String) == llvm::msgpack::FixBits::String)
      return Form{Kind::string, 0, byte & 0x1fU, false};
    if ((byte & llvm::msgpack::FixBitsMask::Array) == llvm::msgpack::FixBits::Array)
      return Form{Kind::array, 0, byte & 0x0fU, false};
    if ((byte & llvm::msgpack::FixBitsMask::Map) == llvm::msgpack::FixBits::Map)
      return Form{Kind::map, 0, byte & 0x0fU, false};
    switch (byte) {
    case first::Nil:
      return Form{Kind::nil, 0, 0, true};
    case first::False:
      return Form{Kind::boolean, 0, 0, true};
    case first::True:
      return Form{Kind::boolean, 0, 1, true};
    case first::UInt8:
      return Form{Kind::unsignedInt, 1, 0, true};
    case first::UInt16:
      return Form{Kind::unsignedInt, 2, 0, true};
    case first::UInt32:
      return Form{Kind::unsignedInt, 4, 0, true};
    case first::UInt64:
      return Form{Kind::unsignedInt, 8, 0, true};
    case first::Int8:
      return Form{Kind::signedInt, 1, 0, true};
    case first::Int16:
      return Form{Kind::signedInt, 2, 0, true};
    case first::Int32:
      return Form{Kind::signedInt, 4, 0, true};
    case first::Int64:
      return Form{Kind::signedInt, 8, 0, true};
    case first::Float32:
      return Form{Kind::floating, 4, 0, true};
    case first::Float64:
      return Form{Kind::floating, 8, 0, true};
    case first::Str8:
      return Form{Kind::string, 1, 0, false};
    case first::Str16:
      return Form{Kind::string, 2, 0, false};
    case first::Str32:
      return Form{Kind::string, 4, 0, false};
    case first::Bin8:
      return Form{Kind::binary, 1, 0, false};
    case first::Bin16:
      return Form{Kind::binary, 2, 0, false};
    case first::Bin32:
      return Form{Kind::binary, 4, 0, false};
    case first::Array16:
      return Form{Kind::array, 2, 0, false};
    case first::Array32:
      return Form{Kind::array, 4, 0, false};
    case first::Map16:
      return Form{Kind::map, 2, 0, false};
    case first::Map32:
      return Form{Kind::map, 4, 0, false};
    case first::Ext8:
      return Form{Kind::extension, 1, 0, false};
    case first::Ext16:
      return Form{Kind::extension, 2, 0, false};
    case first::Ext32:
      return Form{Kind::extension, 4, 0, false};
    case first::FixExt1:
      return Form{Kind::extension, 0, 1, false};
    case first::FixExt2:
      return Form{Kind::extension, 0, 2, false};
    case first::FixExt4:
      return Form{Kind::extension, 0, 4, false};
    case first::FixExt8:
      return Form{Kind::extension, 0, 8, false};
    case first::FixExt16:
      return Form{Kind::extension, 0, 16, false};
    default:
      return badInput("msgpack offset {}: 0x{:02x} starts no value", at, byte);
    }
  }

  std::span<const std::uint8_t> bytes;
  std::size_t at = 0;
};

} // namespace

const MsgpackNode* MsgpackNode::find(std::string_view key) const {
  if (kind != Kind::map)
    return nullptr;
  for (std::size_t i = 0; i + 1 < children.size(); i += 2)
    if (children[i].kind == Kind::string && children[i].text == key)
      return &children[i + 1];
  return nullptr;
}

Result<MsgpackNode> readMsgpack(std::span<const std::uint8_t> bytes) {
  Reader reader(bytes);
  ASMEVO_TRY(MsgpackNode root, reader.read(0));
  for (std::size_t i = reader.position(); i < bytes.size(); ++i)
    if (bytes[i] != 0)
      return badInput("msgpack offset {}: bytes follow the document", i);
  return root;
}

bool isPrintable(const MsgpackNode& node) {
  using Kind = MsgpackNode::Kind;
  if (node.kind == Kind::binary || node.kind == Kind::extension)
    return false;
  if (node.kind == Kind::map) {
    std::vector<std::string_view> keys;
    for (std::size_t i = 0; i < node.children.size(); i += 2) {
      if (node.children[i].kind != Kind::string)
        return false;
      keys.push_back(node.children[i].text);
    }
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end())
      return false;
  }
  return std::all_of(node.children.begin(), node.children.end(), isPrintable);
}

bool overwriteUnsigned(std::span<std::uint8_t> bytes, const MsgpackNode& node, std::uint64_t value) {
  if (node.kind != MsgpackNode::Kind::unsignedInt || node.end > bytes.size() || node.begin >= node.end)
    return false;
  const std::size_t payload = node.end - node.begin - 1;
  if (payload == 0) {
    if (value > 0x7f)
      return false;
    bytes[node.begin] = static_cast<std::uint8_t>(value);
    return true;
  }
  if (payload < 8 && value >> (8 * payload) != 0)
    return false;
  for (std::size_t i = 0; i < payload; ++i)
    bytes[node.end - 1 - i] = static_cast<std::uint8_t>(value >> (8 * i));
  return true;
}

} // namespace asmevo::object
