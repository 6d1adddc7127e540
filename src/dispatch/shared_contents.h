/// Contents of large buffers as host memory that many runs map privately instead of copying.
#pragma once

#include "support/file_io.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <span>

namespace asmevo::dispatch {

struct Dispatch;

/// An anonymous file with a buffer's initial bytes, zero up to whole pages. Closed with the object.
class SharedContents {
 public:
  static Result<std::shared_ptr<const SharedContents>> of(std::span<const std::uint8_t> bytes);
  ~SharedContents();
  SharedContents(const SharedContents&) = delete;
  SharedContents& operator=(const SharedContents&) = delete;
  /// Puts a private copy-on-write view over [at, at + mappedBytes()), which is the caller's and page-aligned.
  bool mapOver(std::uint8_t* at) const;
  std::uint64_t mappedBytes() const { return mapped; }

 private:
  SharedContents(int descriptor, std::uint64_t bytes) : file(descriptor), mapped(bytes) {}
  int file;
  std::uint64_t mapped;
};

/// Buffers of that many bytes start at page boundaries in the guest.
inline constexpr std::uint64_t largeBufferBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t hostPageBytes = 4096;

/// Gives every large buffer its SharedContents, for launches that run many times of which each touches little. What the
/// host does not allow is left as it is: then runs copy.
void shareContents(Dispatch& dispatch);

} // namespace asmevo::dispatch
