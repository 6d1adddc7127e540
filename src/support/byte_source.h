/// Random access to the bytes of a file that need not fit in memory, and files written as pieces of it.
#pragma once

#include "support/file_io.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace asmevo {

/// A regular file that is read in parts, or bytes in memory under the same interface. Copies share the file. Reads go
/// through pread and not a mapping: a file that shrinks while it is read is an error and not a signal, and pages read
/// do not count as memory of this process.
class ByteSource {
 public:
  static Result<ByteSource> open(const std::string& path);
  static ByteSource of(Bytes bytes, std::string name);

  const std::string& name() const;
  std::uint64_t size() const;
  /// Whether [offset, offset + size) lies inside.
  bool holds(std::uint64_t offset, std::uint64_t size) const;
  /// Fills `out`. badInput names the bytes needed and present if they are not all there.
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  /// The same into new memory, allocated only once the range is known to be there.
  Result<Bytes> read(std::uint64_t offset, std::uint64_t size) const;
  /// Offset of the first byte in [begin, end) that is not zero, or `end`.
  Result<std::uint64_t> skipZeros(std::uint64_t begin, std::uint64_t end) const;

 private:
  struct State;
  explicit ByteSource(std::shared_ptr<const State> shared);
  std::shared_ptr<const State> state;
};

/// A new file: ranges of a source, new bytes and zeros, one after the other.
class FilePlan {
 public:
  void copy(std::uint64_t offset, std::uint64_t size); ///< a range of the source
  void bytes(Bytes contents);
  void zeros(std::uint64_t count);
  std::uint64_t size() const { return total; }

  /// The whole new file in memory.
  Result<Bytes> materialize(const ByteSource& source) const;
  /// Writes it through a temporary file and a rename; zeros become holes. The file gets the permissions of `modeOf` if
  /// that is not empty.
  Status writeAtomic(const ByteSource& source, const std::string& path, const std::string& modeOf = "") const;

 private:
  struct Range {
    std::uint64_t offset;
    std::uint64_t size;
  };
  struct Zeros {
    std::uint64_t count;
  };
  std::vector<std::variant<Range, Bytes, Zeros>> pieces;
  std::uint64_t total = 0;
};

/// Overwrites of single places of a file, in any order, plus a tail behind its end; `plan` turns them into a FilePlan.
class FilePatches {
 public:
  /// Replaces the bytes at `offset`. Ranges of different calls must not overlap.
  void overwrite(std::uint64_t offset, Bytes contents);
  void zero(std::uint64_t offset, std::uint64_t size);
  /// The old file of `oldSize` bytes with all overwrites, then what `tail` says.
  FilePlan plan(std::uint64_t oldSize) const;
  bool overlaps() const;

 private:
  struct Patch {
    std::uint64_t offset;
    std::uint64_t size;
    Bytes contents; ///< empty: zeros
  };
  std::vector<Patch> sorted() const;
  std::vector<Patch> patches;
};

} // namespace asmevo
