#include "object/msgpack.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/BinaryFormat/MsgPack.h>
#include <llvm/BinaryFormat/MsgPackReader.h>
#include <llvm/Support/Error.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace asmevo::object {

namespace {

using Kind = MsgpackNode::Kind;

constexpr std::size_t maxDepth = 32;

/// Bytes of the number or element count that follow the first byte of a value without text. LLVM's reader keeps its
/// position to itself, but the first byte alone decides this.
std::size_t payloadBytes(std::uint8_t firstByte) {
  namespace first = llvm::msgpack::FirstByte;
  switch (firstByte) {
  case first::UInt8:
  case first::Int8:
    return 1;
  case first::UInt16:
  case first::Int16:
  case first::Array16:
  case first::Map16:
    return 2;
  case first::UInt32:
  case first::Int32:
  case first::Float32:
  case first::Array32:
  case first::Map32:
    return 4;
  case first::UInt64:
  case first::Int64:
  case first::Float64:
    return 8;
  default:
    return 0;
  }
}

/// LLVM's token stream, with the position of each token.
class Tokens {
 public:
  explicit Tokens(std::span<const std::uint8_t> bytes)
      : input(reinterpret_cast<const char*>(bytes.data()), bytes.size()), reader(input) {}

  std::size_t position() const { return at; }
  std::size_t left() const { return input.size() - at; }

  /// The next value without its children; `elements` is the number of those.
  Result<MsgpackNode> next(std::uint64_t& elements) {
    llvm::msgpack::Object token;
    auto found = reader.read(token);
    if (!found)
      return badInput("msgpack offset {}: {}", at, llvm::toString(found.takeError()));
    if (!*found)
      return badInput("msgpack offset {}: a value is missing", at);
    MsgpackNode node;
    node.begin = at;
    elements = fill(node, token);
    node.end = at;
    return node;
  }

 private:
  /// Takes the value over and steps behind it. Returns its number of elements.
  std::uint64_t fill(MsgpackNode& node, const llvm::msgpack::Object& token) {
    using llvm::msgpack::Type;
    switch (token.Kind) {
    case Type::String:
      return takeText(node, Kind::string, token.Raw);
    case Type::Binary:
      return takeText(node, Kind::binary, token.Raw);
    case Type::Extension:
      return takeText(node, Kind::extension, token.Extension.Bytes);
    default:
      break;
    }
    at += 1 + payloadBytes(static_cast<std::uint8_t>(input[at]));
    switch (token.Kind) {
    case Type::UInt:
      node.kind = Kind::unsignedInt;
      node.number = token.UInt;
      return 0;
    case Type::Int:
      node.kind = Kind::signedInt;
      node.number = static_cast<std::uint64_t>(token.Int);
      return 0;
    case Type::Boolean:
      node.kind = Kind::boolean;
      node.number = token.Bool ? 1 : 0;
      return 0;
    case Type::Float:
      node.kind = Kind::floating;
      return 0;
    case Type::Array:
      node.kind = Kind::array;
      return token.Length;
    case Type::Map:
      node.kind = Kind::map;
      return 2 * std::uint64_t{token.Length};
    default:
      node.kind = Kind::nil;
      return 0;
    }
  }

  std::uint64_t takeText(MsgpackNode& node, Kind kind, llvm::StringRef text) {
    node.kind = kind;
    node.text = text;
    at = static_cast<std::size_t>(text.end() - input.begin());
    return 0;
  }

  llvm::StringRef input;
  llvm::msgpack::Reader reader;
  std::size_t at = 0;
};

/// An array or map whose elements are still being read.
struct Open {
  MsgpackNode node;
  std::uint64_t missing; ///< elements
};

/// Puts a whole node into what is open around it, likewise each array and map that this makes whole. Gives the
/// document when nothing is open any longer.
std::optional<MsgpackNode> close(std::vector<Open>& open, MsgpackNode node) {
  while (!open.empty()) {
    Open& parent = open.back();
    parent.node.end = node.end;
    parent.node.children.push_back(std::move(node));
    if (--parent.missing != 0)
      return std::nullopt;
    node = std::move(parent.node);
    open.pop_back();
  }
  return node;
}

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
  Tokens tokens(bytes);
  std::vector<Open> open;
  while (true) {
    std::uint64_t elements = 0;
    ASMEVO_TRY(MsgpackNode node, tokens.next(elements));
    if (elements > tokens.left())
      return badInput("msgpack offset {}: {} elements announced, {} bytes left", node.begin, elements, tokens.left());
    if (elements != 0) {
      if (open.size() == maxDepth)
        return badInput("msgpack offset {}: nested deeper than {}", node.begin, maxDepth);
      open.push_back({std::move(node), elements});
      continue;
    }
    std::optional<MsgpackNode> document = close(open, std::move(node));
    if (!document)
      continue;
    for (std::size_t i = document->end; i < bytes.size(); ++i)
      if (bytes[i] != 0)
        return badInput("msgpack offset {}: bytes follow the document", i);
    return *std::move(document);
  }
}

bool isPrintable(const MsgpackNode& node) {
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
  if (node.kind != Kind::unsignedInt || node.end > bytes.size() || node.begin >= node.end)
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

void replaceUnsigned(std::vector<std::uint8_t>& bytes, const MsgpackNode& node, std::uint64_t value) {
  const unsigned payload = value >> 16 == 0 ? 2 : value >> 32 == 0 ? 4 : 8;
  // The format's tags of uint 16, 32 and 64 follow each other from 0xcd on.
  std::vector<std::uint8_t> encoding{static_cast<std::uint8_t>(payload == 2 ? 0xcd : payload == 4 ? 0xce : 0xcf)};
  for (unsigned i = payload; i-- > 0;)
    encoding.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  const auto at = bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(node.begin),
                              bytes.begin() + static_cast<std::ptrdiff_t>(node.end));
  bytes.insert(at, encoding.begin(), encoding.end());
}

} // namespace asmevo::object
