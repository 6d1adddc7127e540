/// Bytes to instructions and text to bytes, through LLVM's MC layer only.
#pragma once

#include "isa/instruction.h"
#include "object/code_object.h"
#include "object/target.h"
#include "support/result.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::isa {

/// What LLVM's assembler says about one line.
struct AssemblerDiagnostic {
  unsigned column = 0; ///< from 1; 0: the line as a whole
  std::string message; ///< without the text it is about
};

/// Decoder, encoder and assembler for one target. Instructions it hands out live as long as it does and are interned by
/// encoding. Not thread-safe: one per thread.
class Codec {
 public:
  /// `waveSize` (32 or 64) decides how wide the masks in VCC, EXEC and SGPRs are that gfx10 and later instructions use;
  /// nothing: LLVM's default, 64 up to gfx9 and 32 later.
  static Result<std::unique_ptr<Codec>> create(const object::Target& target,
                                               std::optional<unsigned> waveSize = std::nullopt);
  /// For the object's kernels: of 64 lanes where all their descriptors say so.
  static Result<std::unique_ptr<Codec>> create(const object::CodeObject& object);
  ~Codec();
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// Decodes the instruction at the start of `bytes` (at least 4). Undecodable words give a 4-byte instruction of class
  /// unknown whose text is ".long 0x...". Fewer than 4 bytes: likewise, with the bytes there are.
  InstRef decode(std::span<const std::uint8_t> bytes);

  /// Only size, class and branch offset, without operands: what control-flow recovery needs. Same object as decode()
  /// returns, completed lazily by `complete`.
  InstRef decodeShallow(std::span<const std::uint8_t> bytes);
  InstRef complete(InstRef instruction);

  /// Assembles exactly one instruction in LLVM's syntax. Directives, labels, comments and several statements are
  /// refused. Branch targets are raw simm16 immediates. Errors carry LLVM's diagnostic with its column.
  Result<InstRef> assemble(const std::string& text);
  /// The same for whoever shows the place: on failure `diagnostic` says where and what.
  Result<InstRef> assemble(const std::string& text, AssemblerDiagnostic& diagnostic);

  /// The same instruction with another branch offset (class branch, or s_call_b64).
  Result<InstRef> withBranchOffset(InstRef branch, std::int32_t dwords);

  /// LLVM's own encoding of the decoded instruction, for comparing with the bytes it came from.
  Result<std::vector<std::uint8_t>> reencode(InstRef instruction);

  const object::Target& target() const;
  unsigned waveSize() const;
  /// Every base mnemonic LLVM can print for this target is not listed anywhere; this lists all opcodes' LLVM names
  /// ("V_ADD_F32_e32_vi") so that tables can be checked against them.
  std::vector<std::string> opcodeNames() const;

 private:
  struct Impl;
  explicit Codec(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace asmevo::isa
