#include "support/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace asmevo {

namespace {

constexpr std::uint64_t chunk = 1U << 20;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : fd(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }

 private:
  int fd;
};

Status writeAll(int fd, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return internalError("{}: cannot be written: {}", path, std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

} // namespace

struct ByteSource::State {
  State(std::string sourceName, int descriptor, std::uint64_t length)
      : name(std::move(sourceName)), file(descriptor), size(length) {}
  std::string name;
  Descriptor file; ///< -1: the bytes are in `memory`
  Bytes memory;
  std::uint64_t size;
};

ByteSource::ByteSource(std::shared_ptr<const State> shared) : state(std::move(shared)) {}

Result<ByteSource> ByteSource::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return errno == ENOENT ? badInput("{}: no such file", path)
                           : badInput("{}: cannot be opened: {}", path, std::strerror(errno));
  auto state = std::make_shared<State>(path, fd, 0);
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    return badInput("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return badInput("{}: not a regular file", path);
  state->size = static_cast<std::uint64_t>(info.st_size);
  return ByteSource(std::move(state));
}

ByteSource ByteSource::of(Bytes bytes, std::string name) {
  auto state = std::make_shared<State>(std::move(name), -1, bytes.size());
  state->memory = std::move(bytes);
  return ByteSource(std::move(state));
}

const std::string& ByteSource::name() const {
  return state->name;
}

std::uint64_t ByteSource::size() const {
  return state->size;
}

bool ByteSource::holds(std::uint64_t offset, std::uint64_t size) const {
  return offset <= state->size && size <= state->size - offset;
}

Status ByteSource::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (!holds(offset, out.size()))
    return badInput("{}: {} bytes needed at 0x{:x}, {} present", name(), out.size(), offset,
                    offset < size() ? size() - offset : 0);
  if (state->file.get() < 0) {
    std::copy_n(state->memory.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  while (!out.empty()) {
    const ssize_t count = ::pread(state->file.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return badInput("{}: cannot be read at 0x{:x}: {}", name(), offset, std::strerror(errno));
    if (count == 0)
      return badInput("{}: {} bytes needed at 0x{:x}, 0 present: the file became shorter", name(), out.size(), offset);
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<Bytes> ByteSource::read(std::uint64_t offset, std::uint64_t size) const {
  if (!holds(offset, size))
    return read(offset, std::span<std::uint8_t>(static_cast<std::uint8_t*>(nullptr), size)).error();
  Bytes bytes(size);
  ASMEVO_CHECK(read(offset, std::span(bytes)));
  return bytes;
}

Result<std::uint64_t> ByteSource::skipZeros(std::uint64_t begin, std::uint64_t end) const {
  end = std::min(end, size());
  Bytes buffer;
  while (begin < end) {
    buffer.resize(std::min(chunk, end - begin));
    ASMEVO_CHECK(read(begin, std::span(buffer)));
    const auto found = std::find_if(buffer.begin(), buffer.end(), [](std::uint8_t byte) { return byte != 0; });
    begin += static_cast<std::uint64_t>(found - buffer.begin());
    if (found != buffer.end())
      return begin;
  }
  return end;
}

void FilePlan::copy(std::uint64_t offset, std::uint64_t size) {
  if (size == 0)
    return;
  pieces.emplace_back(Range{offset, size});
  total += size;
}

void FilePlan::bytes(Bytes contents) {
  if (contents.empty())
    return;
  total += contents.size();
  pieces.emplace_back(std::move(contents));
}

void FilePlan::zeros(std::uint64_t count) {
  if (count == 0)
    return;
  pieces.emplace_back(Zeros{count});
  total += count;
}

Result<Bytes> FilePlan::materialize(const ByteSource& source) const {
  Bytes file(total);
  std::size_t at = 0;
  for (const auto& piece : pieces) {
    if (const auto* range = std::get_if<Range>(&piece)) {
      ASMEVO_CHECK(source.read(range->offset, std::span(file).subspan(at, range->size)));
      at += range->size;
    } else if (const auto* contents = std::get_if<Bytes>(&piece)) {
      std::copy(contents->begin(), contents->end(), file.begin() + static_cast<std::ptrdiff_t>(at));
      at += contents->size();
    } else {
      at += std::get<Zeros>(piece).count;
    }
  }
  return file;
}

Status FilePlan::writeAtomic(const ByteSource& source, const std::string& path, const std::string& modeOf) const {
  namespace fs = std::filesystem;
  const std::string temporary = fmt::format("{}.tmp{}", path, ::getpid());
  std::error_code ignored;
  const auto write = [&]() -> Status {
    const Descriptor out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (out.get() < 0)
      return internalError("{}: cannot be written: {}", path, std::strerror(errno));
    std::uint64_t at = 0;
    Bytes buffer;
    for (const auto& piece : pieces) {
      if (const auto* range = std::get_if<Range>(&piece)) {
        for (std::uint64_t done = 0; done < range->size; done += buffer.size()) {
          buffer.resize(std::min(chunk, range->size - done));
          ASMEVO_CHECK(source.read(range->offset + done, std::span(buffer)));
          ASMEVO_CHECK(writeAll(out.get(), at + done, buffer, path));
        }
        at += range->size;
      } else if (const auto* contents = std::get_if<Bytes>(&piece)) {
        ASMEVO_CHECK(writeAll(out.get(), at, *contents, path));
        at += contents->size();
      } else {
        at += std::get<Zeros>(piece).count;
      }
    }
    struct stat info{};
    if (::ftruncate(out.get(), static_cast<off_t>(total)) != 0 ||
        (!modeOf.empty() && ::stat(modeOf.c_str(), &info) == 0 && ::fchmod(out.get(), info.st_mode & 0777) != 0))
      return internalError("{}: cannot be written: {}", path, std::strerror(errno));
    return {};
  };
  if (Status written = write(); !written) {
    fs::remove(temporary, ignored);
    return written;
  }
  std::error_code ec;
  fs::rename(temporary, path, ec);
  if (!ec)
    return {};
  fs::remove(temporary, ignored);
  return internalError("{}: cannot be written: {}", path, ec.message());
}

void FilePatches::overwrite(std::uint64_t offset, Bytes contents) {
  if (contents.empty())
    return;
  const std::uint64_t size = contents.size();
  patches.push_back({offset, size, std::move(contents)});
}

void FilePatches::zero(std::uint64_t offset, std::uint64_t size) {
  if (size != 0)
    patches.push_back({offset, size, {}});
}

std::vector<FilePatches::Patch> FilePatches::sorted() const {
  std::vector<Patch> list = patches;
  std::sort(list.begin(), list.end(), [](const Patch& a, const Patch& b) { return a.offset < b.offset; });
  return list;
}

bool FilePatches::overlaps() const {
  const auto list = sorted();
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].offset - list[i - 1].offset < list[i - 1].size)
      return true;
  return false;
}

FilePlan FilePatches::plan(std::uint64_t oldSize) const {
  FilePlan plan;
  std::uint64_t at = 0;
  for (const Patch& patch : sorted()) {
    // A patch behind the old end makes the file longer; the gap reads as zeros.
    const std::uint64_t copied = std::min(patch.offset, oldSize);
    if (copied > at)
      plan.copy(at, copied - at);
    plan.zeros(patch.offset - std::max(at, copied));
    if (patch.contents.empty())
      plan.zeros(patch.size);
    else
      plan.bytes(patch.contents);
    at = patch.offset + patch.size;
  }
  if (at < oldSize)
    plan.copy(at, oldSize - at);
  return plan;
}

} // namespace asmevo
