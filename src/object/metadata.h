/// NT_AMDGPU_METADATA: what the msgpack note says about each kernel. A hint only: the descriptor and the code are the
/// truth.
#pragma once

#include "support/file_io.h"
#include "support/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::object {

struct KernelArgument {
  std::string name;
  std::string valueKind; ///< "global_buffer", "by_value", "hidden_block_count_x", ...
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool isHidden() const { return valueKind.rfind("hidden_", 0) == 0; }
};

struct KernelMetadata {
  std::string name;
  std::string symbol;                    ///< with ".kd"
  std::vector<KernelArgument> arguments; ///< in metadata order
  std::uint32_t kernargSegmentSize = 0;
  std::uint32_t kernargSegmentAlign = 0;
  std::uint32_t groupSegmentFixedSize = 0;
  std::uint32_t privateSegmentFixedSize = 0;
  std::uint32_t wavefrontSize = 0;
  std::uint32_t maxFlatWorkgroupSize = 0;
  std::optional<std::array<std::uint32_t, 3>> requiredWorkgroupSize;
  std::uint32_t sgprCount = 0;
  std::uint32_t vgprCount = 0;
  std::optional<std::uint32_t> agprCount;
  std::uint32_t sgprSpillCount = 0;
  std::uint32_t vgprSpillCount = 0;
  bool usesDynamicStack = false;
};

struct Metadata {
  std::vector<KernelMetadata> kernels;
  std::string targetId; ///< amdhsa.target, or ""
  std::string yaml;     ///< the whole note as YAML
};

/// Reads a msgpack note descriptor. Hostile documents give badInput, never a crash.
Result<Metadata> parseMetadata(std::span<const std::uint8_t> msgpack);

/// Overwrites an unsigned field (".vgpr_count", ".group_segment_fixed_size") of the kernel whose ".symbol" is
/// `symbol`, inside the note's own bytes and with its own length, so that every other byte stays. False if the field is
/// absent or the new value does not fit its encoding.
bool patchMetadataField(std::span<std::uint8_t> msgpack, const std::string& symbol, const std::string& field,
                        std::uint32_t value);

/// The document with the field set, longer where its encoding was too short for the value. Nothing if the field is
/// absent or no unsigned integer.
std::optional<Bytes> withMetadataField(std::span<const std::uint8_t> msgpack, const std::string& symbol,
                                       const std::string& field, std::uint32_t value);

/// Whether the kernel's map has the field at all.
bool hasMetadataField(std::span<const std::uint8_t> msgpack, const std::string& symbol, const std::string& field);

} // namespace asmevo::object
