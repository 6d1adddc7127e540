/// The parts of .asmpatch that its own files share: edits without the check of the result, and byte deltas.
#pragma once

#include "object/code_object.h"
#include "support/file_io.h"
#include "support/result.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace asmevo::verify {

/// Rows of hex digits, as patches hold bytes.
std::string hexText(std::span<const std::uint8_t> bytes);
Result<Bytes> bytesOfHex(const std::string& digits);

/// What hunks, resources and data of a patch make of K0.
Result<Bytes> applyEdits(const object::CodeObject& k0, const nlohmann::json& patch);

/// {"ops": [{"copy": [offset, size]}, {"bytes": "hex"}]}: pieces of `from` and literal bytes that make `to`.
nlohmann::json makeDelta(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to);
Result<Bytes> applyDelta(std::span<const std::uint8_t> from, const nlohmann::json& delta);

} // namespace asmevo::verify
