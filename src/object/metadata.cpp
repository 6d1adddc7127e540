#include "object/metadata.h"

#include "object/msgpack.h"

#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Support/raw_ostream.h>

#include <limits>

namespace asmevo::object {

namespace {

using Kind = MsgpackNode::Kind;

std::optional<std::uint32_t> unsignedField(const MsgpackNode& map, std::string_view key) {
  const MsgpackNode* node = map.find(key);
  if (!node)
    return std::nullopt;
  // Writers other than LLVM's may choose a signed encoding for a non-negative number.
  const bool isNumber = node->kind == Kind::unsignedInt || node->kind == Kind::signedInt;
  if (!isNumber || node->number > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return static_cast<std::uint32_t>(node->number);
}

std::string textField(const MsgpackNode& map, std::string_view key) {
  const MsgpackNode* node = map.find(key);
  return node && node->kind == Kind::string ? std::string(node->text) : std::string();
}

std::vector<KernelArgument> readArguments(const MsgpackNode& kernel) {
  std::vector<KernelArgument> arguments;
  const MsgpackNode* list = kernel.find(".args");
  if (!list || list->kind != Kind::array)
    return arguments;
  for (const MsgpackNode& node : list->children) {
    KernelArgument argument;
    argument.name = textField(node, ".name");
    argument.valueKind = textField(node, ".value_kind");
    argument.offset = unsignedField(node, ".offset").value_or(0);
    argument.size = unsignedField(node, ".size").value_or(0);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

KernelMetadata readKernel(const MsgpackNode& node) {
  const auto number = [&](std::string_view key) { return unsignedField(node, key).value_or(0); };
  KernelMetadata kernel;
  kernel.name = textField(node, ".name");
  kernel.symbol = textField(node, ".symbol");
  kernel.arguments = readArguments(node);
  kernel.kernargSegmentSize = number(".kernarg_segment_size");
  kernel.kernargSegmentAlign = number(".kernarg_segment_align");
  kernel.groupSegmentFixedSize = number(".group_segment_fixed_size");
  kernel.privateSegmentFixedSize = number(".private_segment_fixed_size");
  kernel.wavefrontSize = number(".wavefront_size");
  kernel.maxFlatWorkgroupSize = number(".max_flat_workgroup_size");
  kernel.sgprCount = number(".sgpr_count");
  kernel.vgprCount = number(".vgpr_count");
  kernel.agprCount = unsignedField(node, ".agpr_count");
  kernel.sgprSpillCount = number(".sgpr_spill_count");
  kernel.vgprSpillCount = number(".vgpr_spill_count");
  if (const MsgpackNode* dynamic = node.find(".uses_dynamic_stack"))
    kernel.usesDynamicStack = dynamic->kind == Kind::boolean && dynamic->number != 0;
  if (const MsgpackNode* size = node.find(".reqd_workgroup_size");
      size && size->kind == Kind::array && size->children.size() == 3) {
    std::array<std::uint32_t, 3> required{};
    for (std::size_t i = 0; i < 3; ++i)
      required[i] = static_cast<std::uint32_t>(size->children[i].number);
    kernel.requiredWorkgroupSize = required;
  }
  return kernel;
}

const MsgpackNode* kernelList(const MsgpackNode& root) {
  const MsgpackNode* kernels = root.find("amdhsa.kernels");
  return kernels && kernels->kind == Kind::array ? kernels : nullptr;
}

const MsgpackNode* fieldOf(const MsgpackNode& root, const std::string& symbol, const std::string& field) {
  const MsgpackNode* kernels = kernelList(root);
  if (!kernels)
    return nullptr;
  for (const MsgpackNode& kernel : kernels->children)
    if (textField(kernel, ".symbol") == symbol)
      return kernel.find(field);
  return nullptr;
}

std::string yamlOf(std::span<const std::uint8_t> msgpack, const MsgpackNode& root) {
  if (!isPrintable(root))
    return "# the note holds values that YAML metadata cannot express\n";
  llvm::msgpack::Document document;
  // The padding after the document would read as further values.
  const llvm::StringRef blob(reinterpret_cast<const char*>(msgpack.data()), root.end);
  if (!document.readFromBlob(blob, /*Multi=*/false))
    return "# the note holds values that YAML metadata cannot express\n";
  std::string text;
  llvm::raw_string_ostream stream(text);
  document.toYAML(stream);
  if (!text.empty() && text.back() != '\n')
    text += '\n';
  return text;
}

} // namespace

Result<Metadata> parseMetadata(std::span<const std::uint8_t> msgpack) {
  ASMEVO_TRY(const MsgpackNode root, readMsgpack(msgpack));
  if (root.kind != Kind::map)
    return badInput("the metadata note is no map");
  Metadata metadata;
  metadata.targetId = textField(root, "amdhsa.target");
  metadata.yaml = yamlOf(msgpack, root);
  if (const MsgpackNode* kernels = kernelList(root))
    for (const MsgpackNode& node : kernels->children)
      metadata.kernels.push_back(readKernel(node));
  return metadata;
}

bool patchMetadataField(std::span<std::uint8_t> msgpack, const std::string& symbol, const std::string& field,
                        std::uint32_t value) {
  const auto root = readMsgpack(msgpack);
  const MsgpackNode* node = root ? fieldOf(*root, symbol, field) : nullptr;
  return node && overwriteUnsigned(msgpack, *node, value);
}

std::optional<Bytes> withMetadataField(std::span<const std::uint8_t> msgpack, const std::string& symbol,
                                       const std::string& field, std::uint32_t value) {
  Bytes out(msgpack.begin(), msgpack.end());
  const auto root = readMsgpack(msgpack);
  const MsgpackNode* node = root ? fieldOf(*root, symbol, field) : nullptr;
  if (!node || node->kind != MsgpackNode::Kind::unsignedInt)
    return std::nullopt;
  if (!overwriteUnsigned(out, *node, value))
    replaceUnsigned(out, *node, value);
  return out;
}

bool hasMetadataField(std::span<const std::uint8_t> msgpack, const std::string& symbol, const std::string& field) {
  const auto root = readMsgpack(msgpack);
  return root && fieldOf(*root, symbol, field) != nullptr;
}

} // namespace asmevo::object
