#include "support/file_io.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace asmevo {

namespace fs = std::filesystem;

Result<Bytes> readFile(const std::string& path, std::uint64_t limit) {
  std::error_code ec;
  if (!fs::exists(path, ec))
    return badInput("{}: no such file", path);
  if (!fs::is_regular_file(path, ec))
    return badInput("{}: not a regular file", path);
  const std::uintmax_t size = fs::file_size(path, ec);
  if (ec)
    return badInput("{}: {}", path, ec.message());
  if (size > limit)
    return badInput("{}: {} bytes, more than the limit of {}", path, size, limit);
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return badInput("{}: cannot be opened: {}", path, std::strerror(errno));
  Bytes bytes(static_cast<std::size_t>(size));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size))
    return badInput("{}: read {} of {} bytes", path, in.gcount(), size);
  return bytes;
}

Status writeFileAtomic(const std::string& path, std::span<const std::uint8_t> bytes) {
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  std::error_code ec;
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (out)
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) {
      const std::string why = std::strerror(errno);
      fs::remove(temporary, ec);
      return internalError("{}: cannot be written: {}", path, why);
    }
  }
  fs::rename(temporary, path, ec);
  if (ec) {
    const std::string why = ec.message();
    fs::remove(temporary, ec);
    return internalError("{}: cannot be written: {}", path, why);
  }
  return {};
}

Status writeFileAtomic(const std::string& path, const std::string& text) {
  return writeFileAtomic(path, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string sha256Hex(std::span<const std::uint8_t> bytes) {
  const auto digest = llvm::SHA256::hash(llvm::ArrayRef<std::uint8_t>(bytes.data(), bytes.size()));
  return llvm::toHex(llvm::ArrayRef<std::uint8_t>(digest.data(), digest.size()), /*LowerCase=*/true);
}

} // namespace asmevo
