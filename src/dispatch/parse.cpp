#include "dispatch/element.h"
#include "dispatch/initial.h"
#include "dispatch/json_node.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <new>

namespace asmevo::dispatch {
namespace {

constexpr std::uint64_t maxTotalBytes = std::uint64_t{16} << 30;
constexpr std::uint64_t maxJsonBytes = std::uint64_t{256} << 20;
constexpr std::size_t maxCases = 1024, maxBuffers = 1024, maxArguments = 4096, maxDimensions = 16;
constexpr std::size_t maxNameLength = 200;
constexpr std::uint32_t maxKernargBytes = 1u << 20;
constexpr std::uint32_t maxWorkgroup = 1024;
constexpr std::uint32_t maxDynamicLds = 1u << 20;

const auto anyCaseKey = {"name", "comment",           "kernel",  "workgroup_size", "grid_size",
                         "args", "dynamic_lds_bytes", "kernarg", "buffers",        "compare"};
const auto topKeys = {"asmevo_dispatch", "cases",     "name",    "comment",           "kernel",
                      "workgroup_size",  "grid_size", "buffers", "dynamic_lds_bytes", "args",
                      "kernarg",         "compare"};

/// Buffers become file names of `run --out`, so a name is a plain word.
bool isPlainName(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= maxNameLength && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), plain);
}

std::vector<std::string> bufferNames(const Case& launch) {
  std::vector<std::string> names;
  for (const Buffer& buffer : launch.buffers)
    names.push_back(buffer.name);
  return names;
}

const Buffer* findBuffer(const Case& launch, const std::string& name) {
  for (const Buffer& buffer : launch.buffers)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

/// Reads one case, whose fields default to the document's.
class CaseReader {
 public:
  CaseReader(const Node& document, const std::string& sourceFolder) : top(document), folder(sourceFolder) {}

  Result<Case> read(const std::optional<Node>& ownFields, std::size_t index);

 private:
  std::optional<Node> field(const char* key) const {
    if (own && own->has(key))
      return own->find(key);
    return top.find(key);
  }
  const Node& place() const { return own ? *own : top; }

  Result<std::array<std::uint32_t, 3>> size3(const char* key, std::uint64_t most) const;
  Status readShape(Case& launch) const;
  Result<Buffer> readBuffer(const std::string& name, const Node& node);
  Status readBuffers(Case& launch);
  Status checkPointers(const Case& launch) const;
  Result<Argument> readArgument(const Node& node, const Case& launch, bool placed) const;
  Status readArguments(Case& launch) const;
  Status readCompare(Case& launch) const;
  static Result<Comparison> readComparison(const Node& node);
  /// Members of the document's object `key`, overridden by name and followed by the case's own.
  Result<std::vector<std::pair<std::string, Node>>> merged(const char* key) const;

  Node top;
  std::optional<Node> own;
  std::string folder;
  std::uint64_t bytesLeft = maxTotalBytes;
};

Result<Case> CaseReader::read(const std::optional<Node>& ownFields, std::size_t index) {
  own = ownFields;
  if (own)
    ASMEVO_CHECK(own->requireObject(anyCaseKey));
  Case launch;
  launch.name = fmt::format("case {}", index);
  for (const auto& [key, value] : {std::pair{"name", &launch.name}, std::pair{"kernel", &launch.kernel}})
    if (const auto node = field(key)) {
      ASMEVO_TRY(*value, node->asString());
    }
  ASMEVO_CHECK(readShape(launch));
  ASMEVO_CHECK(readBuffers(launch));
  ASMEVO_CHECK(checkPointers(launch));
  ASMEVO_CHECK(readArguments(launch));
  ASMEVO_CHECK(readCompare(launch));
  return launch;
}

Result<std::array<std::uint32_t, 3>> CaseReader::size3(const char* key, std::uint64_t most) const {
  const auto node = field(key);
  if (!node)
    return place().error("'{}' is missing", key);
  ASMEVO_CHECK(node->requireArray(1, 3));
  std::array<std::uint32_t, 3> size{1, 1, 1};
  for (std::size_t i = 0; i < node->value().size(); ++i) {
    ASMEVO_TRY(const std::uint64_t extent, node->element(i).asUnsigned(1, most));
    size[i] = static_cast<std::uint32_t>(extent);
  }
  return size;
}

Status CaseReader::readShape(Case& launch) const {
  ASMEVO_TRY(launch.workgroupSize, size3("workgroup_size", maxWorkgroup));
  ASMEVO_TRY(launch.gridSize, size3("grid_size", std::numeric_limits<std::uint32_t>::max()));
  std::uint64_t items = 1;
  double workgroups = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    items *= launch.workgroupSize[i];
    workgroups *= static_cast<double>(launch.gridSize[i]) / launch.workgroupSize[i] + 1;
  }
  if (items > maxWorkgroup)
    return field("workgroup_size")->error("{} work-items; a workgroup has at most {}", items, maxWorkgroup);
  if (workgroups > 0x1p40)
    return field("grid_size")->error("about {:.3g} workgroups; at most 2^40 are accepted", workgroups);
  if (const auto node = field("dynamic_lds_bytes")) {
    ASMEVO_TRY(const std::uint64_t bytes, node->asUnsigned(0, maxDynamicLds));
    launch.dynamicLdsBytes = static_cast<std::uint32_t>(bytes);
  }
  return {};
}

Result<std::vector<std::pair<std::string, Node>>> CaseReader::merged(const char* key) const {
  std::vector<std::pair<std::string, Node>> members;
  const auto add = [&](const std::optional<Node>& node) -> Status {
    if (!node)
      return {};
    if (!node->value().is_object())
      return node->error("expected an object, found {}", node->kind());
    for (const auto& [name, unused] : node->value().items()) {
      const auto same = [&name = name](const auto& member) { return member.first == name; };
      const auto existing = std::find_if(members.begin(), members.end(), same);
      if (existing != members.end())
        existing->second = node->member(name);
      else if (members.size() == maxBuffers)
        return node->error("more than {} members", maxBuffers);
      else
        members.emplace_back(name, node->member(name));
    }
    return {};
  };
  ASMEVO_CHECK(add(top.find(key)));
  if (own)
    ASMEVO_CHECK(add(own->find(key)));
  return members;
}

Result<Buffer> CaseReader::readBuffer(const std::string& name, const Node& node) {
  if (!isPlainName(name))
    return node.error("a buffer's name is 1 to {} letters, digits, '_', '-' or '.', not starting with '.'",
                      maxNameLength);
  ASMEVO_CHECK(node.requireObject({"dtype", "shape", "init"}));
  for (const char* key : {"dtype", "shape", "init"})
    if (!node.has(key))
      return node.error("'{}' is missing", key);
  Buffer buffer;
  buffer.name = name;
  const Node dtype = *node.find("dtype");
  ASMEVO_TRY(const std::string dtypeText, dtype.asString());
  auto type = parseDType(dtypeText);
  if (!type)
    return dtype.wrap(type.error().message);
  buffer.dtype = *type;

  const Node shape = *node.find("shape");
  ASMEVO_CHECK(shape.requireArray(1, maxDimensions));
  std::uint64_t bytes = dtypeSize(buffer.dtype);
  for (std::size_t i = 0; i < shape.value().size(); ++i) {
    ASMEVO_TRY(const std::uint64_t extent, shape.element(i).asUnsigned(0, maxTotalBytes));
    // Both factors are at most 2^34, so the product cannot wrap before it is checked.
    bytes *= extent;
    if (bytes > maxTotalBytes)
      break;
    buffer.shape.push_back(extent);
  }
  if (bytes > bytesLeft)
    return shape.error("the buffers of this dispatch would have more than {} GiB", maxTotalBytes >> 30);
  bytesLeft -= bytes;
  buffer.initial.resize(bytes);
  ASMEVO_CHECK(fillBuffer(buffer, *node.find("init"), folder));
  return buffer;
}

Status CaseReader::readBuffers(Case& launch) {
  ASMEVO_TRY(const auto members, merged("buffers"));
  for (const auto& [name, node] : members) {
    ASMEVO_TRY(Buffer buffer, readBuffer(name, node));
    launch.buffers.push_back(std::move(buffer));
  }
  return {};
}

Status CaseReader::checkPointers(const Case& launch) const {
  ASMEVO_TRY(const auto members, merged("buffers"));
  for (std::size_t i = 0; i < members.size(); ++i)
    for (const PointerElement& pointer : launch.buffers[i].pointers) {
      const Node list = members[i].second.member("init").member("pointers");
      const Node element = list.element(pointer.byteOffset / 8);
      const Buffer* target = findBuffer(launch, pointer.buffer);
      if (!target)
        return element.error("no buffer '{}'{}", pointer.buffer, suggestion(pointer.buffer, bufferNames(launch)));
      if (pointer.offset > target->initial.size())
        return element.error("offset {} is past the end of '{}' ({} bytes)", pointer.offset, target->name,
                             target->initial.size());
    }
  return {};
}

Result<Bytes> hexBytes(const Node& node) {
  ASMEVO_TRY(const std::string text, node.asString());
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  if (text.empty() || text.size() % 2 != 0 || text.size() > 2 * std::size_t{maxKernargBytes} ||
      !std::all_of(text.begin(), text.end(), [&](char c) { return digit(c) >= 0; }))
    return node.error("expected an even number of hexadecimal digits, found {}", node.kind());
  Bytes bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  return bytes;
}

Result<Argument> CaseReader::readArgument(const Node& node, const Case& launch, bool placed) const {
  Argument argument;
  if (!node.value().is_object())
    return node.error("expected an object such as {{\"buffer\": \"a\"}} or {{\"i32\": 1}}, found {}", node.kind());
  std::vector<std::string> known{"buffer", "offset", "bytes"};
  for (int type = 0; type <= static_cast<int>(DType::f64); ++type)
    known.emplace_back(dtypeName(static_cast<DType>(type)));
  if (placed) {
    known.emplace_back("at");
    const auto at = node.find("at");
    if (!at)
      return node.error("'at' is missing: the byte offset in the kernarg segment");
    ASMEVO_TRY(const std::uint64_t offset, at->asUnsigned(0, maxKernargBytes - 1));
    argument.at = static_cast<std::uint32_t>(offset);
  }
  std::string value;
  for (const auto& [key, unused] : node.value().items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return node.error("unknown key '{}'{}", key.substr(0, 60), suggestion(key, known));
    if (key == "at" || key == "offset")
      continue;
    if (!value.empty())
      return node.error("both '{}' and '{}': an argument has one value", value, key);
    value = key;
  }
  if (value.empty())
    return node.error("no value: expected a buffer, a scalar such as \"i32\", or \"bytes\"");
  if (value != "buffer" && node.has("offset"))
    return node.error("'offset' goes with 'buffer' only");

  const Node member = node.member(value);
  if (value == "buffer") {
    ASMEVO_TRY(argument.buffer, member.asString());
    const Buffer* buffer = findBuffer(launch, argument.buffer);
    if (!buffer)
      return member.error("no buffer '{}'{}", argument.buffer.substr(0, 60),
                          suggestion(argument.buffer, bufferNames(launch)));
    if (const auto offset = node.find("offset")) {
      ASMEVO_TRY(argument.offset, offset->asUnsigned(0, buffer->initial.size()));
    }
    return argument;
  }
  if (value == "bytes") {
    ASMEVO_TRY(argument.bytes, hexBytes(member));
    return argument;
  }
  ASMEVO_TRY(const DType type, parseDType(value));
  ASMEVO_TRY(const std::uint64_t bits, scalarBits(member, type));
  argument.bytes.resize(dtypeSize(type));
  storeElement(type, bits, argument.bytes.data());
  return argument;
}

/// Explicit placements must not overlap and must end inside the largest segment we build.
Status checkPlacement(const Node& list, const std::vector<Argument>& arguments) {
  struct Range {
    std::uint64_t begin, end;
    std::size_t index;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::uint64_t begin = *arguments[i].at;
    ranges.push_back({begin, begin + (arguments[i].buffer.empty() ? arguments[i].bytes.size() : 8), i});
    if (ranges.back().end > maxKernargBytes)
      return list.element(i).error("ends past {} bytes, the largest kernarg segment", maxKernargBytes);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      return list.element(ranges[i].index)
          .error("bytes {} to {} overlap those of [{}]", ranges[i].begin, ranges[i].end, ranges[i - 1].index);
  return {};
}

Status CaseReader::readArguments(Case& launch) const {
  // A case's own form wins over the document's, whichever of the two it uses.
  const bool ownForm = own && (own->has("args") || own->has("kernarg"));
  const Node& source = ownForm ? *own : top;
  const auto arguments = source.find("args"), kernarg = source.find("kernarg");
  if (arguments && kernarg)
    return source.error("'args' and 'kernarg' exclude each other");
  launch.explicitKernarg = kernarg.has_value();
  const auto& list = kernarg ? kernarg : arguments;
  if (!list)
    return {};
  ASMEVO_CHECK(list->requireArray(0, maxArguments));
  for (std::size_t i = 0; i < list->value().size(); ++i) {
    ASMEVO_TRY(Argument argument, readArgument(list->element(i), launch, launch.explicitKernarg));
    launch.arguments.push_back(std::move(argument));
  }
  return launch.explicitKernarg ? checkPlacement(*list, launch.arguments) : Status();
}

Result<Comparison> CaseReader::readComparison(const Node& node) {
  ASMEVO_CHECK(node.requireObject({"bitwise", "rtol", "atol", "ignore"}));
  Comparison rule;
  unsigned rules = 0;
  for (const auto& [key, mode] :
       {std::pair{"bitwise", Comparison::Mode::bitwise}, std::pair{"ignore", Comparison::Mode::ignore}})
    if (const auto flag = node.find(key)) {
      ASMEVO_TRY(const bool on, flag->asBool());
      if (!on)
        return flag->error("can only be true; leave it out instead");
      rule.mode = mode;
      ++rules;
    }
  const auto relative = node.find("rtol"), absolute = node.find("atol");
  if (relative || absolute) {
    rule.mode = Comparison::Mode::tolerance;
    ++rules;
    for (const auto& [limit, value] : {std::pair{&relative, &rule.rtol}, std::pair{&absolute, &rule.atol}})
      if (*limit) {
        ASMEVO_TRY(*value, (*limit)->asNumber());
        if (!(*value >= 0) || *value > std::numeric_limits<double>::max())
          return (*limit)->error("a tolerance is a finite number, 0 or above");
      }
  }
  if (rules != 1)
    return node.error("expected one rule: {{\"bitwise\": true}}, {{\"rtol\": r, \"atol\": a}} or {{\"ignore\": true}}");
  return rule;
}

Status CaseReader::readCompare(Case& launch) const {
  ASMEVO_TRY(const auto members, merged("compare"));
  for (const auto& [name, node] : members) {
    if (!findBuffer(launch, name))
      return node.error("no buffer '{}'{}", name.substr(0, 60), suggestion(name, bufferNames(launch)));
    ASMEVO_TRY(launch.compare[name], readComparison(node));
  }
  return {};
}

} // namespace

Comparison Case::comparisonOf(const std::string& buffer) const {
  const auto rule = compare.find(buffer);
  return rule == compare.end() ? Comparison{} : rule->second;
}

Result<Dispatch> parseDispatch(const std::string& json, const std::string& folder, const std::string& name) {
  try {
    ASMEVO_TRY(const Json document, parseJson(json, name));
    const Node top(document, "", name);
    ASMEVO_CHECK(top.requireObject(topKeys));
    const auto version = top.find("asmevo_dispatch");
    if (!version)
      return top.error("'asmevo_dispatch' is missing: not a dispatch description");
    if (!version->value().is_number_unsigned() || version->value().get<std::uint64_t>() != 1)
      return version->error("version 1 is known, found {}", version->kind());
    Dispatch dispatch;
    dispatch.path = name;
    CaseReader reader(top, folder);
    const auto cases = top.find("cases");
    if (!cases) {
      ASMEVO_TRY(Case launch, reader.read(std::nullopt, 0));
      dispatch.cases.push_back(std::move(launch));
      return dispatch;
    }
    ASMEVO_CHECK(cases->requireArray(1, maxCases));
    for (std::size_t i = 0; i < cases->value().size(); ++i) {
      ASMEVO_TRY(Case launch, reader.read(cases->element(i), i));
      dispatch.cases.push_back(std::move(launch));
    }
    return dispatch;
  } catch (const std::bad_alloc&) {
    return internalError("{}: not enough memory for the buffers", name);
  }
}

Result<Dispatch> loadDispatch(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path file = fs::is_directory(path, failure) ? fs::path(path) / "dispatch.json" : fs::path(path);
  ASMEVO_TRY(const Bytes text, readFile(file.string(), maxJsonBytes));
  return parseDispatch(std::string(text.begin(), text.end()), file.parent_path().string(), file.string());
}

} // namespace asmevo::dispatch
