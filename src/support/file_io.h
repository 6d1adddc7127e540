/// Whole-file reads and atomic writes.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace asmevo {

using Bytes = std::vector<std::uint8_t>;

/// Reads a whole regular file. Errors name the path; files above `limit` bytes are refused before reading.
Result<Bytes> readFile(const std::string& path, std::uint64_t limit = std::uint64_t{4} << 30);

/// Writes through a temporary file in the same folder and a rename, so that nobody ever sees half a file.
Status writeFileAtomic(const std::string& path, std::span<const std::uint8_t> bytes);
Status writeFileAtomic(const std::string& path, const std::string& text);

/// Lower-case hex SHA-256.
std::string sha256Hex(std::span<const std::uint8_t> bytes);

} // namespace asmevo
