/// One offload bundle: code objects for several targets behind a table, plain (`__CLANG_OFFLOAD_BUNDLE__`, Clang's
/// "Clang Offload Bundler" page) or compressed as a whole (`CCOB`, llvm/Object/OffloadBundle.h).
#pragma once

#include "support/byte_source.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::object {

/// An entry of a bundle's table. Offsets count from the start of the uncompressed bundle.
struct BundleEntry {
  std::string id; ///< as written: "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "host-x86_64-unknown-linux-gnu-"
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  /// Whether it is for an AMD GPU; the host's entry is there for form's sake and mostly empty.
  bool isDevice() const;
  /// "gfx90a:xnack+" of a device entry, else "".
  std::string target() const;
};

struct BundleTable {
  std::vector<BundleEntry> entries;
  std::uint64_t headerSize = 0; ///< bytes up to the end of the table
  std::uint64_t size = 0;       ///< bytes up to the end of the last entry
};

/// Header of a compressed bundle.
struct CompressedHeader {
  enum class Method : std::uint16_t { zlib = 0, zstd = 1 };
  unsigned version = 0; ///< 1 to 3
  Method method = Method::zlib;
  std::uint64_t headerSize = 0;          ///< 20, 24, 32 bytes
  std::optional<std::uint64_t> fileSize; ///< header and payload; version 1 does not say
  std::uint64_t uncompressedSize = 0;
  std::uint64_t hash = 0; ///< low 8 bytes of the MD5 of the uncompressed bundle

  const char* methodName() const { return method == Method::zlib ? "zlib" : "zstd"; }
};

inline constexpr std::string_view bundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
inline constexpr std::string_view compressedMagic = "CCOB";

/// Bundles start at pages of the host, as do segments.
inline constexpr std::uint64_t pageSize = 4096;

/// Largest uncompressed bundle that is accepted, and largest number of entries.
inline constexpr std::uint64_t largestBundle = std::uint64_t{8} << 30;
inline constexpr std::uint64_t mostBundleEntries = 4096;

/// Reads the table of a plain bundle at `offset` of `source`, of which `available` bytes may belong to it. Errors
/// (badInput) name the bytes needed and present.
Result<BundleTable> readBundleTable(const ByteSource& source, std::uint64_t offset, std::uint64_t available);

/// Reads the header of a compressed bundle.
Result<CompressedHeader> readCompressedHeader(const ByteSource& source, std::uint64_t offset, std::uint64_t available);

struct Unpacked {
  Bytes bytes;              ///< the plain bundle
  std::uint64_t packed = 0; ///< bytes of the compressed one, header included
};

/// Decompresses a bundle; memory grows with what really comes out and never beyond the size the header states. A wrong
/// hash is an error that names both.
Result<Unpacked> unpackBundle(const ByteSource& source, std::uint64_t offset, std::uint64_t available);

/// A compressed bundle of the same version and method as `like`.
Result<Bytes> packBundle(std::span<const std::uint8_t> plain, const CompressedHeader& like);

/// A plain bundle: every content at a multiple of `alignment`, in the order of `ids`.
struct BundleContent {
  std::string id;
  std::span<const std::uint8_t> bytes;
};
Bytes writeBundle(std::span<const BundleContent> contents, std::uint64_t alignment);

/// The alignment (at most a page) that a bundle's entries keep.
std::uint64_t alignmentOf(const BundleTable& table);

} // namespace asmevo::object
