#include "dispatch/dispatch.h"

#include <algorithm>
#include <cstring>

namespace asmevo::dispatch {
namespace {

constexpr std::uint64_t maxSegment = 1u << 20;

template <unsigned d> std::uint64_t blockCount(const Case& c) {
  return c.gridSize[d] / c.workgroupSize[d];
}
template <unsigned d> std::uint64_t groupSize(const Case& c) {
  return c.workgroupSize[d];
}
template <unsigned d> std::uint64_t remainder(const Case& c) {
  return c.gridSize[d] % c.workgroupSize[d];
}
std::uint64_t gridDims(const Case&) {
  return 3;
}
std::uint64_t dynamicLds(const Case& c) {
  return c.dynamicLdsBytes;
}
std::uint64_t zero(const Case&) {
  return 0;
}

struct HiddenArgument {
  std::string_view kind;
  std::uint64_t (*value)(const Case&);
};

// LLVM AMDGPUUsage, "Code Object V5 Metadata", value kinds. A launch here has no runtime behind it: there is no printf
// or hostcall buffer, no device heap or queue, and the grid starts at 0. gfx9 reads apertures from registers, so the
// base arguments are never loaded there.
constexpr HiddenArgument hiddenArguments[] = {
    {"hidden_block_count_x", blockCount<0>},
    {"hidden_block_count_y", blockCount<1>},
    {"hidden_block_count_z", blockCount<2>},
    {"hidden_group_size_x", groupSize<0>},
    {"hidden_group_size_y", groupSize<1>},
    {"hidden_group_size_z", groupSize<2>},
    {"hidden_remainder_x", remainder<0>},
    {"hidden_remainder_y", remainder<1>},
    {"hidden_remainder_z", remainder<2>},
    {"hidden_grid_dims", gridDims},
    {"hidden_dynamic_lds_size", dynamicLds},
    {"hidden_global_offset_x", zero},
    {"hidden_global_offset_y", zero},
    {"hidden_global_offset_z", zero},
    {"hidden_none", zero},
    {"hidden_printf_buffer", zero},
    {"hidden_hostcall_buffer", zero},
    {"hidden_heap_v1", zero},
    {"hidden_default_queue", zero},
    {"hidden_completion_action", zero},
    {"hidden_multigrid_sync_arg", zero},
    {"hidden_queue_ptr", zero},
    {"hidden_private_base", zero},
    {"hidden_shared_base", zero},
};

/// A kernarg segment that grows as needed, up to a limit.
class Segment {
 public:
  explicit Segment(std::uint64_t size) : bytes(size) {}

  Status place(std::uint64_t at, const std::uint8_t* data, std::size_t size, const std::string& what) {
    if (at > maxSegment || size > maxSegment - at)
      return badInput("{}: kernarg offset {} + {} bytes is past {}, the largest segment", what, at, size, maxSegment);
    bytes.resize(std::max<std::size_t>(bytes.size(), at + size));
    std::memcpy(bytes.data() + at, data, size);
    return {};
  }

  Bytes bytes;
};

std::string describe(std::size_t index, const object::KernelArgument* parameter) {
  if (!parameter || parameter->name.empty())
    return fmt::format("argument {}", index);
  return fmt::format("argument {} ('{}')", index, parameter->name);
}

Status placeHidden(Segment& segment, const Case& launch, const object::KernelMetadata& metadata) {
  for (const object::KernelArgument& argument : metadata.arguments) {
    if (!argument.isHidden())
      continue;
    const auto known = std::find_if(std::begin(hiddenArguments), std::end(hiddenArguments),
                                    [&](const HiddenArgument& h) { return h.kind == argument.valueKind; });
    if (known == std::end(hiddenArguments))
      return refused("kernel '{}' wants the hidden argument '{}', whose value is not known", metadata.name,
                     argument.valueKind);
    const std::uint64_t value = known->value(launch);
    if (argument.size > sizeof value || (argument.size < sizeof value && value >> (8 * argument.size) != 0))
      return badInput("kernel '{}': hidden argument '{}' of {} bytes cannot hold {}", metadata.name, argument.valueKind,
                      argument.size, value);
    std::uint8_t bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    ASMEVO_CHECK(segment.place(argument.offset, bytes, argument.size, argument.valueKind));
  }
  return {};
}

Result<Bytes> argumentBytes(const Argument& argument, const std::map<std::string, std::uint64_t>& addressOf,
                            const std::string& what) {
  if (argument.buffer.empty())
    return argument.bytes;
  const auto base = addressOf.find(argument.buffer);
  if (base == addressOf.end())
    return badInput("{}: buffer '{}' has no address", what, argument.buffer);
  const std::uint64_t address = base->second + argument.offset;
  Bytes bytes(sizeof address);
  std::memcpy(bytes.data(), &address, sizeof address);
  return bytes;
}

} // namespace

Result<Bytes> buildKernarg(const Case& launch, const object::Kernel& kernel,
                           const std::map<std::string, std::uint64_t>& addressOf) {
  const std::uint64_t declared = std::max<std::uint64_t>(kernel.metadata ? kernel.metadata->kernargSegmentSize : 0,
                                                         kernel.descriptor.kernargSize());
  if (declared > maxSegment)
    return badInput("kernel '{}' declares a kernarg segment of {} bytes; at most {} are accepted", kernel.name,
                    declared, maxSegment);
  Segment segment(declared);
  if (kernel.metadata)
    ASMEVO_CHECK(placeHidden(segment, launch, *kernel.metadata));

  if (launch.explicitKernarg) {
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string what = fmt::format("kernarg[{}]", i);
      const std::optional<std::uint32_t> at = launch.arguments[i].at;
      if (!at)
        return badInput("{}: no offset", what);
      ASMEVO_TRY(const Bytes bytes, argumentBytes(launch.arguments[i], addressOf, what));
      ASMEVO_CHECK(segment.place(*at, bytes.data(), bytes.size(), what));
    }
    return std::move(segment.bytes);
  }

  if (!kernel.metadata && !launch.arguments.empty())
    return badInput("kernel '{}' has no metadata that tells where arguments go; place them with \"kernarg\": "
                    "[{{\"at\": 0, ...}}]",
                    kernel.name);
  std::vector<const object::KernelArgument*> parameters;
  if (kernel.metadata)
    for (const object::KernelArgument& argument : kernel.metadata->arguments)
      if (!argument.isHidden())
        parameters.push_back(&argument);
  if (launch.arguments.size() != parameters.size()) {
    const std::string missing =
        launch.arguments.size() < parameters.size()
            ? fmt::format("; the next would be {}, {} of {} bytes",
                          describe(launch.arguments.size(), parameters[launch.arguments.size()]),
                          parameters[launch.arguments.size()]->valueKind, parameters[launch.arguments.size()]->size)
            : std::string();
    return badInput("kernel '{}' takes {} arguments, \"args\" has {}{} (with incomplete metadata, place arguments with "
                    "\"kernarg\" instead)",
                    kernel.name, parameters.size(), launch.arguments.size(), missing);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string what = describe(i, parameters[i]);
    ASMEVO_TRY(const Bytes bytes, argumentBytes(launch.arguments[i], addressOf, what));
    if (bytes.size() != parameters[i]->size)
      return badInput("kernel '{}', {}: {} bytes given, {} bytes ({}) expected", kernel.name, what, bytes.size(),
                      parameters[i]->size, parameters[i]->valueKind);
    ASMEVO_CHECK(segment.place(parameters[i]->offset, bytes.data(), bytes.size(), what));
  }
  return std::move(segment.bytes);
}

} // namespace asmevo::dispatch
