/// What is launched: the dispatch.json format (docs/dispatch.md), its buffers, kernarg and comparison rules.
#pragma once

#include "dispatch/shared_contents.h"
#include "object/code_object.h"
#include "support/file_io.h"
#include "support/result.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace asmevo::dispatch {

enum class DType {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  fp8E4m3fnuz,
  fp8E5m2fnuz,
  fp8E4m3fn,
  fp8E5m2
};
std::size_t dtypeSize(DType type); ///< bytes
std::string_view dtypeName(DType type);
Result<DType> parseDType(const std::string& name);
/// Value of one element as double; for comparisons with tolerance and for messages.
double elementValue(DType type, const std::uint8_t* bytes);

/// A u64 element that holds a device address: filled in when buffers have their addresses.
struct PointerElement {
  std::uint64_t byteOffset; ///< inside the buffer that holds it
  std::string buffer;
  std::uint64_t offset;
};

/// Contents of a part of a sparse buffer.
struct SparsePiece {
  std::uint64_t offset;
  Bytes bytes;
};

struct Buffer {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;
  Bytes initial;                        ///< materialised contents
  std::vector<PointerElement> pointers; ///< patched into `initial` at launch
  /// Size where that is more than `initial`: the rest is zero, takes memory only where the kernel touches it and is not
  /// read back. For launches of which a few sampled workgroups run.
  std::uint64_t sparseBytes = 0;
  std::vector<SparsePiece> pieces;              ///< copied into the sparse part at launch
  std::shared_ptr<const SharedContents> shared; ///< `initial` once more, see shareContents(); may be empty
};

struct Argument {
  std::optional<std::uint32_t> at; ///< explicit kernarg byte offset ("kernarg" form)
  std::string buffer;              ///< non-empty: a pointer to buffer + offset
  std::uint64_t offset = 0;
  Bytes bytes; ///< otherwise the scalar's bytes
};

struct Comparison {
  enum class Mode { bitwise, tolerance, ignore } mode = Mode::bitwise;
  double rtol = 0, atol = 0;
};

/// One launch.
struct Case {
  std::string name;   ///< "case 0", or the json's "name"
  std::string kernel; ///< may be empty where the object has one kernel
  std::array<std::uint32_t, 3> workgroupSize{1, 1, 1};
  std::array<std::uint32_t, 3> gridSize{1, 1, 1}; ///< in work-items
  std::uint32_t dynamicLdsBytes = 0;
  std::vector<Buffer> buffers; ///< in the json's order
  std::vector<Argument> arguments;
  bool explicitKernarg = false;
  std::map<std::string, Comparison> compare; ///< buffers not named: bitwise

  Comparison comparisonOf(const std::string& buffer) const;
};

struct Dispatch {
  std::vector<Case> cases;
  std::string path; ///< where it came from, for messages
};

/// Parses text; `folder` is where relative init files are looked up (an init file outside it is refused).
Result<Dispatch> parseDispatch(const std::string& json, const std::string& folder, const std::string& name);
Result<Dispatch> loadDispatch(const std::string& path);

/// Kernarg segment of a case: explicit arguments in metadata order or at explicit offsets, then hidden arguments by
/// metadata (block counts, group sizes, remainders, grid dims, global offsets 0, dynamic LDS size, ...).
/// `addressOf` gives the device address of a buffer. Errors name the argument.
Result<Bytes> buildKernarg(const Case& launch, const object::Kernel& kernel,
                           const std::map<std::string, std::uint64_t>& addressOf);

/// A difference between two outputs of one buffer under a comparison rule.
struct Difference {
  std::string buffer;
  std::uint64_t element = 0;
  std::uint64_t count = 0; ///< differing elements in all
  std::string expected, actual;
};
std::optional<Difference> compareBuffer(const Buffer& buffer, const Comparison& rule, const Bytes& expected,
                                        const Bytes& actual);

} // namespace asmevo::dispatch
