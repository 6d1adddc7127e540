/// A loaded code object: relocated bytes and its code as arrays of bound operations. Private to the emulator.
#pragma once

#include "emulator/bind.h"
#include "emulator/wave.h"
#include "isa/shared_codec.h"
#include "object/code_object.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace asmevo::emulator {

/// Parallel op arrays of one code: same instructions at the same index, other handlers.
enum Stream : std::uint8_t {
  plainStream,
  skipStream,         ///< VSKIP is on: vector instructions do nothing
  instrumentedStream, ///< every op first records itself (trace, coverage)
  instrumentedSkipStream,
  observedStream, ///< and goes through the wave's Watch; instructions that VSKIP skips do not
  observedSkipStream,
  streamCount
};
inline bool isSkip(unsigned stream) {
  return stream & skipStream;
}
/// The stream of the same kind with VSKIP on or off.
inline Stream withSkip(unsigned stream, bool skip) {
  return static_cast<Stream>((stream & ~unsigned{skipStream}) | (skip ? unsigned{skipStream} : 0u));
}

/// Immutable once loaded, but for straight-line pieces decoded on demand when a jump lands inside a longer instruction;
/// those are guarded by a lock.
class CodeImage {
 public:
  /// Lays out the loadable segments at GuestMemory::firstRegionAddress, applies dynamic relocations and binds all code.
  /// Errors: undefined symbols, relocations of an unknown kind, images that are unreasonably large.
  static Result<std::shared_ptr<const CodeImage>> load(const object::CodeObject& object, const object::Kernel& kernel,
                                                       SimdLevel simd = bestSimdLevel(),
                                                       std::shared_ptr<isa::SharedCodec> codec = nullptr);

  const Bytes& bytes() const { return image; }
  /// Leading bytes of the image that the guest must not write (all segments before the first writable one).
  std::uint64_t readOnlyBytes() const { return readOnly; }
  std::uint64_t guestAddress(std::uint64_t objectAddress) const { return objectAddress + bias; }
  std::uint64_t objectAddress(std::uint64_t guestAddress) const { return guestAddress - bias; }
  std::uint64_t codeBegin() const { return firstCode; }     ///< guest address of the first code byte
  std::size_t codeDwords() const { return codeSpanDwords; } ///< from codeBegin to the end of the last code section

  /// Builds the instrumented or the observed streams if they are not there yet; needed before a wave runs in one.
  void instrument() const;
  void observe() const;
  /// The op at a guest address, or null outside the code.
  const Op* opAt(std::uint64_t guestAddress, unsigned stream) const;
  const std::string& kernelName() const { return kernel; }
  unsigned accumOffset() const { return context.accumOffset; } ///< physical number of a0
  /// The code has s_memtime or the like: its behaviour may depend on how long it has run.
  bool readsClock() const { return clock; }

 private:
  struct Section {
    std::uint64_t begin = 0, end = 0;   ///< guest addresses
    std::vector<std::uint32_t> opIndex; ///< by dword; noOp inside an instruction
  };
  using Ops = std::array<std::vector<Op>, streamCount>;
  static constexpr std::uint32_t noOp = 0xffffffff;

  CodeImage() = default;
  Status loadSegments(const object::CodeObject& object);
  Status relocate(const object::CodeObject& object);
  Status bindCode(const object::CodeObject& object);
  Op bind(std::uint64_t guestAddress, isa::InstRef inst) const;
  /// Copies the plain stream of `ops` into stream `to` with the handlers that belong there.
  void derive(Ops& ops, Stream to) const;
  void deriveMain(Stream to) const;
  /// Resolves the branch targets of one stream.
  void link(std::vector<Op>& ops, unsigned stream) const;
  const Op* straightPiece(const Section& section, std::uint64_t guestAddress, unsigned stream) const;
  const Section* sectionOf(std::uint64_t guestAddress) const;

  std::string kernel;
  Bytes image;
  std::uint64_t bias = 0;
  std::uint64_t readOnly = 0;
  std::uint64_t firstCode = 0;
  std::size_t codeSpanDwords = 0;
  unsigned vgprs = 0;
  BindContext context;
  std::vector<Section> sections;
  bool usesSkip = false;
  bool clock = false;
  mutable Ops main; ///< all but the plain streams are built once, on demand
  mutable std::once_flag instrumentedOnce, observedOnce;

  mutable std::recursive_mutex lock; ///< guards everything below
  std::shared_ptr<isa::SharedCodec> codec;
  mutable Arena arena;
  mutable std::map<std::string, const std::string*> reasons;
  mutable std::map<std::uint64_t, std::unique_ptr<Ops>> pieces;
  mutable std::deque<Op> strays; ///< targets of branches that leave the code
};

} // namespace asmevo::emulator
