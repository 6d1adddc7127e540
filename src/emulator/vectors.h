/// Runs instruction test vectors through the emulator's handlers: one instruction, all registers compared.
///
/// A vector file has one JSON object a line: {"op", "asm", "in": {"s": {"4": hex}, "v": {"8": hex or [hex ...]}, "vcc",
/// "scc", "exec", "m0", "mode", "lds"}, "out": {...}, "note", "nan"}. Values are hex; a list under "v" is lanes 0, 1,
/// ... What "out" does not name must be unchanged. "nan": fields that may hold any NaN. Notes "approx ulp N" and
/// "approx abs X" give the tolerance of a transcendental.
#pragma once

#include "emulator/bind.h"
#include "object/target.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::emulator {

struct VectorCounts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t inexact = 0;    ///< of the passed: within the tolerance, not the same bits
  std::size_t unmodelled = 0; ///< refused by the emulator
};

struct VectorReport {
  VectorCounts total;
  std::map<std::string, VectorCounts> byOpcode; ///< by base mnemonic
  std::vector<std::string> differences;         ///< "v_add_f32 v4, v8, v12: v4[0] is 0x..., expected 0x... (line 7)"
  std::vector<std::string> refusals;            ///< one per refused base mnemonic
};

struct VectorOptions {
  SimdLevel simd = bestSimdLevel();
  std::size_t differencesPerOpcode = 3;
};

/// Errors: no such target, a line that is not a vector or does not assemble.
Result<VectorReport> checkVectors(std::string_view text, const object::Target& target, const VectorOptions& options);

/// Output elements of the matrix instruction `opcode`: a JSON object a line, {"a": [bits of the K elements of A's row],
/// "b": [of B's column], "c": bits, "d": expected bits, "kind": "f16" and the like, optional}. K is half the
/// instruction's for SMFMAC, which is run with fixed indices.
Result<VectorReport> checkMfmaVectors(std::string_view text, std::string_view opcode, const object::Target& target,
                                      const VectorOptions& options);

} // namespace asmevo::emulator
