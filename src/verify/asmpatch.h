/// .asmpatch: the difference between K0 and K1 as instructions, from which K1 is rebuilt bit for bit.
///
///   {"asmevo_patch": 1, "target": ..., "kernels": [...], "k0_sha256": ..., "k1_sha256": ..., "hunks": [...],
///    "resources": [{"kernel": ..., "vgprs": n, "accum_offset": n, "sgprs": n, "lds_bytes": n,
///                   "descriptor": "128 hex digits, where the numbers do not say all of it"}],
///    "data": [{"at": "0x1a40", "original": "0b00", "replacement": "0c00"}], "receipt": {...},
///    "delta": {"ops": [{"copy": [offset, size]}, {"bytes": "..."}]}}
/// A hunk replaces one basic block of K0, or adds one:
///   {"block": "0x1900", "original": [{"at": "0x1900", "bytes": "00008cbf", "text": "..."}, ...], "replacement": [...]}
///   {"new": "n1", "before": "0x1a00", "replacement": [...]}      or "end_of": section number
/// Entries of a replacement:
///   {"keep": "0x1904"} or {"keep": ["0x1904", "0x1920"]}         instructions of K0 with their exact bytes, both ends
///   in
///   {"asm": "v_add_f32_e32 v0, v1, v2"}                          one instruction in LLVM's syntax
///   {"asm": "s_cbranch_scc1", "to": "0x1a00"} or "to": "n1"      a branch to a block
/// Data entries are bytes of sections without code, by K0's addresses. A delta turns what the rest gives into K1 where
/// K1's layout is not one that program::rebuild makes: pieces of that result and literal bytes.
/// The text can be nothing but instructions; a patch for other bytes than K0's, or one that does not give K1's hash, is
/// refused.
#pragma once

#include "object/code_object.h"
#include "support/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace asmevo::verify {

/// The patch from K0 to K1, checked by applying it. Refused where K1 is not what `program::rebuild` makes of an edited
/// K0, unless a delta may make up for it.
enum class PatchForm { editsOnly, anyBytes };
Result<nlohmann::json> createPatch(const object::CodeObject& k0, const object::CodeObject& k1,
                                   const nlohmann::json& receipt, PatchForm form = PatchForm::editsOnly);

/// The patch from K1 back to K0, given K0 and the patch to K1.
Result<nlohmann::json> reversePatch(const object::CodeObject& k0, const nlohmann::json& patch);

/// The patch for reading: resources, data, and each block with what goes and what comes.
Result<std::string> showPatch(const nlohmann::json& patch);

/// K1's bytes. Errors: badInput for a malformed patch, refused for another K0 or a result with another hash.
Result<Bytes> applyPatch(const object::CodeObject& k0, const nlohmann::json& patch);

/// Reads and parses a patch file (at most 256 MiB).
Result<nlohmann::json> loadPatch(const std::string& path);

} // namespace asmevo::verify
