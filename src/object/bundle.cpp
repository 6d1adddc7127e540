#include "object/bundle.h"

#include "support/round_up.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MD5.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <zlib.h>
#include <zstd.h>

namespace asmevo::object {

namespace {

constexpr std::uint64_t longestId = 1024;
constexpr std::uint64_t pieceSize = 1U << 20;

template <class T> T at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T> void put(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::uint64_t hashOf(std::span<const std::uint8_t> bytes) {
  llvm::MD5 hash;
  hash.update(llvm::ArrayRef<std::uint8_t>(bytes.data(), bytes.size()));
  llvm::MD5::MD5Result result;
  hash.final(result);
  return result.low();
}

/// Reads `size` bytes of a bundle whose `available` bytes start at `offset`.
Result<Bytes> readPart(const ByteSource& source, std::uint64_t offset, std::uint64_t available, std::uint64_t from,
                       std::uint64_t size, std::string_view what) {
  if (from > available || size > available - from)
    return badInput("{}: offload bundle at 0x{:x}: {} needs {} bytes, {} present", source.name(), offset, what,
                    from + size, available);
  return source.read(offset + from, size);
}

/// Decompressed bytes, at most as many as the header promised.
class Sink {
 public:
  explicit Sink(std::uint64_t promised) : limit(promised) {}

  /// Room for the next piece; empty if all that was promised is there.
  std::span<std::uint8_t> room() {
    const std::size_t piece = std::min<std::uint64_t>(pieceSize, limit - filled);
    if (bytes.size() < filled + piece)
      bytes.resize(filled + piece);
    return std::span(bytes).subspan(filled, piece);
  }
  void take(std::size_t count) { filled += count; }
  std::uint64_t size() const { return filled; }
  Bytes finish() {
    bytes.resize(filled);
    return std::move(bytes);
  }

 private:
  Bytes bytes;
  std::uint64_t limit;
  std::size_t filled = 0;
};

/// What a decompressor says after one step.
enum class Step { more, end, broken };

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Consumes the front of `in`, fills the front of `out`; both shrink by what was used.
  virtual Step step(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) = 0;
};

class ZlibDecompressor : public Decompressor {
 public:
  ZlibDecompressor() { ready = inflateInit(&stream) == Z_OK; }
  ~ZlibDecompressor() override {
    if (ready)
      inflateEnd(&stream);
  }
  Step step(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) override {
    if (!ready)
      return Step::broken;
    stream.next_in = const_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    in = in.last(stream.avail_in);
    out = out.last(stream.avail_out);
    if (code == Z_STREAM_END)
      return Step::end;
    return code == Z_OK || code == Z_BUF_ERROR ? Step::more : Step::broken;
  }

 private:
  z_stream stream{};
  bool ready = false;
};

class ZstdDecompressor : public Decompressor {
 public:
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context); }
  Step step(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) override {
    if (!context)
      return Step::broken;
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(context, &output, &input);
    if (ZSTD_isError(code))
      return Step::broken;
    in = in.subspan(input.pos);
    out = out.subspan(output.pos);
    return code == 0 ? Step::end : Step::more;
  }

 private:
  ZSTD_DCtx* context = ZSTD_createDCtx();
};

} // namespace

bool BundleEntry::isDevice() const {
  return id.find("amdgcn") != std::string::npos && !id.starts_with("host");
}

std::string BundleEntry::target() const {
  // kind-triple-target; the triple's environment is empty, hence the double dash. Old bundlers wrote a single one.
  if (!isDevice())
    return {};
  const std::size_t begin = id.rfind("-gfx");
  return begin == std::string::npos ? std::string() : id.substr(begin + 1);
}

Result<BundleTable> readBundleTable(const ByteSource& source, std::uint64_t offset, std::uint64_t available) {
  constexpr std::uint64_t fixed = bundleMagic.size() + 8;
  ASMEVO_TRY(const Bytes head, readPart(source, offset, available, 0, fixed, "the header"));
  if (!std::equal(bundleMagic.begin(), bundleMagic.end(), head.begin()))
    return badInput("{}: no offload bundle at 0x{:x}", source.name(), offset);
  const auto count = at<std::uint64_t>(head, bundleMagic.size());
  if (count > mostBundleEntries)
    return badInput("{}: offload bundle at 0x{:x}: {} entries, more than {}", source.name(), offset, count,
                    mostBundleEntries);
  BundleTable table;
  std::uint64_t cursor = fixed;
  for (std::uint64_t i = 0; i < count; ++i) {
    ASMEVO_TRY(const Bytes numbers, readPart(source, offset, available, cursor, 24, fmt::format("table entry {}", i)));
    BundleEntry entry;
    entry.offset = at<std::uint64_t>(numbers, 0);
    entry.size = at<std::uint64_t>(numbers, 8);
    const auto length = at<std::uint64_t>(numbers, 16);
    if (length > longestId)
      return badInput("{}: offload bundle at 0x{:x}: the name of entry {} has {} bytes, more than {}", source.name(),
                      offset, i, length, longestId);
    ASMEVO_TRY(const Bytes name, readPart(source, offset, available, cursor + 24, length, "an entry's name"));
    entry.id.assign(name.begin(), name.end());
    if (entry.offset > available || entry.size > available - entry.offset)
      return badInput("{}: offload bundle at 0x{:x}: entry {} ({}) needs {} bytes at 0x{:x} of the bundle, {} present",
                      source.name(), offset, i, entry.id, entry.size, entry.offset,
                      entry.offset > available ? 0 : available - entry.offset);
    cursor += 24 + length;
    table.size = std::max(table.size, entry.offset + entry.size);
    table.entries.push_back(std::move(entry));
  }
  table.headerSize = cursor;
  table.size = std::max(table.size, cursor);
  for (const BundleEntry& entry : table.entries)
    if (entry.size != 0 && entry.offset < table.headerSize)
      return badInput("{}: offload bundle at 0x{:x}: entry {} starts inside the table", source.name(), offset,
                      entry.id);
  return table;
}

Result<CompressedHeader> readCompressedHeader(const ByteSource& source, std::uint64_t offset, std::uint64_t available) {
  ASMEVO_TRY(const Bytes start, readPart(source, offset, available, 0, 8, "a compressed header"));
  if (!std::equal(compressedMagic.begin(), compressedMagic.end(), start.begin()))
    return badInput("{}: no compressed offload bundle at 0x{:x}", source.name(), offset);
  CompressedHeader header;
  header.version = at<std::uint16_t>(start, 4);
  const auto method = at<std::uint16_t>(start, 6);
  if (header.version < 1 || header.version > 3)
    return badInput("{}: compressed offload bundle at 0x{:x}: version {}, known are 1 to 3", source.name(), offset,
                    header.version);
  if (method > 1)
    return badInput("{}: compressed offload bundle at 0x{:x}: method {}, known are 0 (zlib) and 1 (zstd)",
                    source.name(), offset, method);
  header.method = static_cast<CompressedHeader::Method>(method);
  constexpr std::array<std::uint64_t, 3> sizes = {20, 24, 32};
  header.headerSize = sizes[header.version - 1];
  ASMEVO_TRY(const Bytes raw, readPart(source, offset, available, 0, header.headerSize, "the compressed header"));
  switch (header.version) {
  case 1:
    header.uncompressedSize = at<std::uint32_t>(raw, 8);
    break;
  case 2:
    header.fileSize = at<std::uint32_t>(raw, 8);
    header.uncompressedSize = at<std::uint32_t>(raw, 12);
    break;
  default:
    header.fileSize = at<std::uint64_t>(raw, 8);
    header.uncompressedSize = at<std::uint64_t>(raw, 16);
    break;
  }
  header.hash = at<std::uint64_t>(raw, header.headerSize - 8);
  if (header.fileSize && *header.fileSize < header.headerSize)
    return badInput("{}: compressed offload bundle at 0x{:x}: states {} bytes, its header has {}", source.name(),
                    offset, *header.fileSize, header.headerSize);
  if (header.fileSize && *header.fileSize > available)
    return badInput("{}: compressed offload bundle at 0x{:x}: cut off, {} bytes needed, {} present", source.name(),
                    offset, *header.fileSize, available);
  if (header.uncompressedSize > largestBundle)
    return badInput("{}: compressed offload bundle at 0x{:x}: {} bytes uncompressed, more than {}", source.name(),
                    offset, header.uncompressedSize, largestBundle);
  return header;
}

Result<Unpacked> unpackBundle(const ByteSource& source, std::uint64_t offset, std::uint64_t available) {
  ASMEVO_TRY(const CompressedHeader header, readCompressedHeader(source, offset, available));
  const auto bad = [&](std::string text) {
    return badInput("{}: compressed offload bundle at 0x{:x}: {}", source.name(), offset, text);
  };
  std::unique_ptr<Decompressor> decompressor;
  if (header.method == CompressedHeader::Method::zlib)
    decompressor = std::make_unique<ZlibDecompressor>();
  else
    decompressor = std::make_unique<ZstdDecompressor>();

  Sink sink(header.uncompressedSize);
  const std::uint64_t end = header.fileSize.value_or(available);
  std::uint64_t cursor = header.headerSize;
  std::uint64_t consumed = cursor;
  Bytes buffer;
  std::span<const std::uint8_t> in;
  Step step = Step::more;
  while (step == Step::more) {
    if (in.empty() && cursor < end) {
      buffer.resize(std::min(pieceSize, end - cursor));
      ASMEVO_CHECK(source.read(offset + cursor, std::span(buffer)));
      cursor += buffer.size();
      in = buffer;
    }
    const std::span<std::uint8_t> room = sink.room();
    // With no room left the stream may still have its end to say, which needs no room.
    std::array<std::uint8_t, 1> spare{};
    std::span<std::uint8_t> out = room.empty() ? std::span<std::uint8_t>(spare) : room;
    const std::size_t offered = out.size(), given = in.size();
    step = decompressor->step(in, out);
    consumed += given - in.size();
    const std::size_t written = offered - out.size();
    if (room.empty() && written != 0)
      return bad(fmt::format("more comes out than the {} bytes its header states", header.uncompressedSize));
    sink.take(room.empty() ? 0 : written);
    if (step == Step::more && written == 0 && in.size() == given && cursor == end)
      return bad(fmt::format("the {} data end early: {} bytes needed, {} came out", header.methodName(),
                             header.uncompressedSize, sink.size()));
  }
  if (step == Step::broken)
    return bad(fmt::format("the {} data are damaged after {} of {} bytes", header.methodName(), sink.size(),
                           header.uncompressedSize));
  if (sink.size() != header.uncompressedSize)
    return bad(fmt::format("{} bytes came out, its header states {}", sink.size(), header.uncompressedSize));
  Unpacked result{sink.finish(), header.fileSize.value_or(consumed)};
  if (const std::uint64_t hash = hashOf(result.bytes); hash != header.hash)
    return bad(fmt::format("bad hash: the header says {:016x}, the contents have {:016x}", header.hash, hash));
  return result;
}

Result<Bytes> packBundle(std::span<const std::uint8_t> plain, const CompressedHeader& like) {
  Bytes packed;
  std::size_t size = 0;
  if (like.method == CompressedHeader::Method::zlib) {
    uLongf bound = compressBound(plain.size());
    packed.resize(like.headerSize + bound);
    if (compress2(packed.data() + like.headerSize, &bound, plain.data(), plain.size(), Z_BEST_COMPRESSION) != Z_OK)
      return internalError("zlib cannot compress {} bytes", plain.size());
    size = bound;
  } else {
    packed.resize(like.headerSize + ZSTD_compressBound(plain.size()));
    constexpr int level = 19;
    size = ZSTD_compress(packed.data() + like.headerSize, packed.size() - like.headerSize, plain.data(), plain.size(),
                         level);
    if (ZSTD_isError(size))
      return internalError("zstd cannot compress {} bytes: {}", plain.size(), ZSTD_getErrorName(size));
  }
  packed.resize(like.headerSize + size);
  if (like.version < 3 && std::max(plain.size(), packed.size()) > std::numeric_limits<std::uint32_t>::max())
    return refused("a compressed bundle of version {} cannot hold {} bytes", like.version, plain.size());
  std::copy(compressedMagic.begin(), compressedMagic.end(), packed.begin());
  put(packed, 4, static_cast<std::uint16_t>(like.version));
  put(packed, 6, static_cast<std::uint16_t>(like.method));
  switch (like.version) {
  case 1:
    put(packed, 8, static_cast<std::uint32_t>(plain.size()));
    break;
  case 2:
    put(packed, 8, static_cast<std::uint32_t>(packed.size()));
    put(packed, 12, static_cast<std::uint32_t>(plain.size()));
    break;
  default:
    put(packed, 8, std::uint64_t{packed.size()});
    put(packed, 16, std::uint64_t{plain.size()});
    break;
  }
  put(packed, like.headerSize - 8, hashOf(plain));
  return packed;
}

Bytes writeBundle(std::span<const BundleContent> contents, std::uint64_t alignment) {
  std::uint64_t header = bundleMagic.size() + 8;
  for (const BundleContent& content : contents)
    header += 24 + content.id.size();
  Bytes bundle(header);
  std::copy(bundleMagic.begin(), bundleMagic.end(), bundle.begin());
  put(bundle, bundleMagic.size(), std::uint64_t{contents.size()});
  std::size_t row = bundleMagic.size() + 8;
  for (const BundleContent& content : contents) {
    // An empty entry takes no room but, as clang-offload-bundler has it, an aligned place.
    const std::uint64_t offset = roundUp(bundle.size(), alignment);
    put(bundle, row, offset);
    put(bundle, row + 8, std::uint64_t{content.bytes.size()});
    put(bundle, row + 16, std::uint64_t{content.id.size()});
    std::copy(content.id.begin(), content.id.end(), bundle.begin() + static_cast<std::ptrdiff_t>(row + 24));
    row += 24 + content.id.size();
    if (content.bytes.empty())
      continue;
    bundle.resize(offset);
    bundle.insert(bundle.end(), content.bytes.begin(), content.bytes.end());
  }
  return bundle;
}

std::uint64_t alignmentOf(const BundleTable& table) {
  std::uint64_t alignment = pageSize;
  for (const BundleEntry& entry : table.entries)
    while (entry.size != 0 && entry.offset % alignment != 0)
      alignment /= 2;
  return alignment;
}

} // namespace asmevo::object
