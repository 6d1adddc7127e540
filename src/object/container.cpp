#include "object/container.h"

#include "support/round_up.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

namespace asmevo::object {

namespace elf = llvm::ELF;

namespace {

constexpr std::string_view fatbinSection = ".hip_fatbin";
constexpr std::string_view archiveMagic = "!<arch>\n";
constexpr std::string_view thinArchiveMagic = "!<thin>\n";
constexpr std::size_t mostBundles = 1U << 16;
constexpr std::uint64_t searchChunk = 1U << 20;

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool startsBundle(std::string_view start) {
  return start.starts_with(bundleMagic) || start.starts_with(compressedMagic);
}

} // namespace

/// Finds the bundles of a file.
class ContainerReader {
 public:
  explicit ContainerReader(Container& destination) : container(destination), source(destination.file) {}

  Status run() {
    ASMEVO_TRY(const Bytes head, source.read(0, std::min<std::uint64_t>(source.size(), 64)));
    const std::string_view start = text(head);
    if (startsBundle(start)) {
      container.form = ContainerKind::bundles;
      ASMEVO_CHECK(findBundles(0, source.size(), {}, {}));
    } else if (start.starts_with(archiveMagic)) {
      container.form = ContainerKind::archive;
      ASMEVO_CHECK(readArchive());
    } else if (start.starts_with(thinArchiveMagic)) {
      return badInput("{}: a thin archive: its members are files of their own", source.name());
    } else if (start.starts_with(elf::ElfMagic)) {
      ASMEVO_CHECK(readElf(0, source.size(), {}));
    } else {
      return badInput("{}: not an ELF file, offload bundle or archive", source.name());
    }
    return {};
  }

 private:
  static std::uint16_t machineOf(const Bytes& head) {
    return head.size() < 20 ? std::uint16_t{0} : static_cast<std::uint16_t>(head[18] | (head[19] << 8));
  }

  Status readElf(std::uint64_t base, std::uint64_t size, const std::string& member) {
    ASMEVO_TRY(const Bytes head, source.read(base, std::min<std::uint64_t>(size, 64)));
    if (machineOf(head) == elf::EM_AMDGPU || head.size() < 20) {
      BundlePlace place;
      place.offset = base;
      place.size = place.room = size;
      place.member = member;
      place.isCodeObject = true;
      container.places.push_back(std::move(place));
      return {};
    }
    ASMEVO_TRY(HostFile host, HostFile::read(source, base, size));
    const std::size_t first = container.places.size();
    std::uint64_t searched = 0;
    for (const HostFile::Section& section : host.sections()) {
      if (section.name != fatbinSection || section.header.sh_type == elf::SHT_NOBITS)
        continue;
      // Many section headers can claim the same bytes.
      searched += section.header.sh_size;
      if (searched > size)
        return badInput("{}: .hip_fatbin sections overlap", source.name());
      ASMEVO_CHECK(
          findBundles(base + section.header.sh_offset, section.header.sh_size, std::string(fatbinSection), member));
    }
    if (host.sections().empty())
      ASMEVO_CHECK(findInSegments(host, member));
    if (host.isLinked())
      ASMEVO_CHECK(orderByRegistration(host, first));
    if (member.empty()) {
      container.form = ContainerKind::hostElf;
      if (container.places.empty())
        return badInput("{}: a host program (ELF machine {}) without device code: there is no .hip_fatbin section",
                        source.name(), host.header().e_machine);
      container.hostFile = std::move(host);
    }
    return {};
  }

  /// A file without section headers: bundles start at page boundaries of what is loaded.
  Status findInSegments(const HostFile& host, const std::string& member) {
    for (const elf::Elf64_Phdr& segment : host.segments()) {
      if (segment.p_type != elf::PT_LOAD || segment.p_offset > host.size() ||
          segment.p_filesz > host.size() - segment.p_offset)
        continue;
      const std::uint64_t end = segment.p_offset + segment.p_filesz;
      for (std::uint64_t at = roundUp(segment.p_offset, pageSize); at + 24 <= end; at += pageSize) {
        ASMEVO_TRY(const Bytes start, source.read(host.base() + at, 24));
        if (startsBundle(text(start)))
          return findBundles(host.base() + at, end - at, {}, member);
      }
    }
    return {};
  }

  /// Bundles one behind the other in [begin, begin + size), with padding between them.
  Status findBundles(std::uint64_t begin, std::uint64_t size, const std::string& section, const std::string& member) {
    const std::uint64_t end = begin + size;
    const std::size_t first = container.places.size();
    std::uint64_t at = begin;
    while (true) {
      ASMEVO_TRY(at, source.skipZeros(at, end));
      if (at == end)
        break;
      ASMEVO_TRY(const Bytes start, source.read(at, std::min<std::uint64_t>(bundleMagic.size(), end - at)));
      if (!startsBundle(text(start))) {
        const std::uint64_t from = at;
        ASMEVO_TRY(at, nextMagic(at + 1, end));
        container.notes.push_back(fmt::format("{} bytes at 0x{:x} are no offload bundle", at - from, from));
        continue;
      }
      if (container.places.size() - first >= mostBundles)
        return badInput("{}: more than {} offload bundles", source.name(), mostBundles);
      BundlePlace place;
      place.offset = at;
      place.section = section;
      place.member = member;
      const auto extent = extentOf(place, end - at);
      if (extent) {
        place.size = *extent;
        at += std::max<std::uint64_t>(*extent, 1);
      } else {
        place.problem = extent.error();
        ASMEVO_TRY(at, nextMagic(at + 1, end));
      }
      container.places.push_back(std::move(place));
    }
    for (std::size_t i = first; i < container.places.size(); ++i)
      container.places[i].room =
          (i + 1 < container.places.size() ? container.places[i + 1].offset : end) - container.places[i].offset;
    return {};
  }

  Result<std::uint64_t> extentOf(BundlePlace& place, std::uint64_t available) {
    ASMEVO_TRY(const Bytes start, source.read(place.offset, 4));
    if (!text(start).starts_with(compressedMagic)) {
      ASMEVO_TRY(const BundleTable table, readBundleTable(source, place.offset, available));
      return table.size;
    }
    ASMEVO_TRY(const CompressedHeader header, readCompressedHeader(source, place.offset, available));
    place.compressed = header;
    if (header.fileSize)
      return *header.fileSize;
    // Version 1 does not say how long it is: only decompressing tells.
    ASMEVO_TRY(const Unpacked unpacked, unpackBundle(source, place.offset, available));
    return unpacked.packed;
  }

  /// Offset of the next bundle magic in [begin, end), or `end`.
  Result<std::uint64_t> nextMagic(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t overlap = bundleMagic.size() - 1;
    while (begin < end) {
      ASMEVO_TRY(const Bytes part, source.read(begin, std::min(searchChunk, end - begin)));
      const std::size_t found = std::min(text(part).find(bundleMagic), text(part).find(compressedMagic));
      if (found != std::string_view::npos)
        return begin + found;
      if (part.size() <= overlap)
        return end;
      begin += part.size() == end - begin ? part.size() : part.size() - overlap;
    }
    return end;
  }

  Status orderByRegistration(const HostFile& host, std::size_t first) {
    ASMEVO_TRY(const auto wrappers, host.wrappers());
    std::map<std::uint64_t, std::size_t> order;
    for (std::size_t i = 0; i < wrappers.size(); ++i)
      order.emplace(wrappers[i].target, i);
    std::vector<std::pair<std::size_t, BundlePlace>> ranked;
    for (std::size_t i = first; i < container.places.size(); ++i) {
      BundlePlace& place = container.places[i];
      place.address = host.addressOf(place.offset - host.base());
      const auto found = place.address ? order.find(*place.address) : order.end();
      place.registered = found != order.end();
      ranked.emplace_back(place.registered ? found->second : wrappers.size(), std::move(place));
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.offset < b.second.offset;
    });
    for (std::size_t i = 0; i < ranked.size(); ++i)
      container.places[first + i] = std::move(ranked[i].second);
    return {};
  }

  /// The members of an ar archive (System V form: 60-byte headers, even offsets, long names in "//").
  Status readArchive() {
    constexpr std::uint64_t headerSize = 60;
    std::string longNames;
    for (std::uint64_t at = archiveMagic.size(); at + headerSize <= source.size();) {
      ASMEVO_TRY(const Bytes raw, source.read(at, headerSize));
      const std::string_view header = text(raw);
      const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end != digits.data() ? std::optional(value) : std::nullopt;
      };
      const auto size = number(header.substr(48, 10));
      if (header.substr(58, 2) != "`\n" || !size)
        return badInput("{}: archive member header at 0x{:x} is damaged", source.name(), at);
      const std::uint64_t contents = at + headerSize;
      if (!source.holds(contents, *size))
        return badInput("{}: archive member at 0x{:x}: {} bytes needed, {} present", source.name(), at, *size,
                        source.size() - contents);
      std::string name(header.substr(0, 16));
      name.erase(name.find_last_not_of(' ') + 1);
      if (name == "//") {
        ASMEVO_TRY(const Bytes table, source.read(contents, std::min<std::uint64_t>(*size, 16U << 20)));
        longNames = text(table);
      } else if (name != "/" && name != "/SYM64/") {
        const auto longName =
            name.size() > 1 && name[0] == '/' ? number(std::string_view(name).substr(1)) : std::nullopt;
        if (longName && *longName < longNames.size())
          name = longNames.substr(*longName, std::min<std::size_t>(longNames.find('\n', *longName) - *longName, 1024));
        while (name.ends_with('/') || name.ends_with('\n'))
          name.pop_back();
        ASMEVO_CHECK(readMember(contents, *size, name.empty() ? "?" : name));
      }
      at = contents + *size + (*size & 1);
    }
    if (container.places.empty())
      return badInput("{}: an archive without device code", source.name());
    return {};
  }

  Status readMember(std::uint64_t contents, std::uint64_t size, const std::string& name) {
    ASMEVO_TRY(const Bytes head, source.read(contents, std::min<std::uint64_t>(size, 64)));
    if (text(head).starts_with(elf::ElfMagic)) {
      if (const Status read = readElf(contents, size, name); !read)
        container.notes.push_back(fmt::format("member {}: {}", name, read.error().message));
      return {};
    }
    if (startsBundle(text(head)))
      return findBundles(contents, size, {}, name);
    return {};
  }

  Container& container;
  const ByteSource& source;
};

Result<Container> Container::open(const std::string& path) {
  ASMEVO_TRY(ByteSource source, ByteSource::open(path));
  return read(std::move(source));
}

Result<Container> Container::read(ByteSource source) {
  Container container(std::move(source));
  ContainerReader reader(container);
  ASMEVO_CHECK(reader.run());
  return container;
}

Result<OpenBundle> Container::openBundle(std::size_t index) const {
  if (index >= places.size())
    return usageError("{}: no bundle {}: there are {}, from 0", file.name(), index, places.size());
  const BundlePlace& place = places[index];
  if (place.problem)
    return *place.problem;
  if (place.isCodeObject) {
    OpenBundle bundle(file, place.offset);
    bundle.table.size = place.size;
    BundleEntry entry;
    entry.size = place.size;
    // The header is enough for the target; everything else is for CodeObject to judge.
    if (place.size >= sizeof(elf::Elf64_Ehdr)) {
      elf::Elf64_Ehdr header{};
      ASMEVO_CHECK(file.read(place.offset, std::span(reinterpret_cast<std::uint8_t*>(&header), sizeof header)));
      if (const auto target = targetFromElf(header.e_flags, header.e_ident[elf::EI_ABIVERSION]))
        entry.id = target->isaName();
    }
    bundle.table.entries.push_back(std::move(entry));
    return bundle;
  }
  if (!place.compressed) {
    OpenBundle bundle(file, place.offset);
    ASMEVO_TRY(bundle.table, readBundleTable(file, place.offset, place.room));
    return bundle;
  }
  ASMEVO_TRY(Unpacked unpacked, unpackBundle(file, place.offset, place.room));
  const std::uint64_t size = unpacked.bytes.size();
  OpenBundle bundle(ByteSource::of(std::move(unpacked.bytes),
                                   fmt::format("{} (uncompressed from 0x{:x})", file.name(), place.offset)),
                    0);
  ASMEVO_TRY(bundle.table, readBundleTable(bundle.source, 0, size));
  return bundle;
}

Result<Bytes> OpenBundle::read(const BundleEntry& entry) const {
  return source.read(base + entry.offset, entry.size);
}

Result<Bytes> OpenBundle::readAll() const {
  return source.read(base, table.size);
}

namespace {

/// How well code for `id` serves a device, higher is better; nullopt if it does not run there.
std::optional<unsigned> rank(const std::string& id, const Target& device) {
  const auto code = parseTargetId(id);
  if (!code || whyNotOn(*code, device))
    return std::nullopt;
  if (id == device.id())
    return 4;
  if (code->processor != device.processor)
    return 0; // a generic target
  const auto agrees = [](Feature a, Feature b) { return a == b && (a == Feature::on || a == Feature::off); };
  return 1U + (agrees(code->xnack, device.xnack) ? 1U : 0U) + (agrees(code->sramecc, device.sramecc) ? 1U : 0U);
}

} // namespace

Result<std::vector<DeviceObject>> selectObjects(const Container& container, const ObjectSelection& selection) {
  std::optional<Target> device;
  if (!selection.target.empty()) {
    ASMEVO_TRY(device, parseTargetId(selection.target));
  }
  const std::size_t count = container.bundles().size();
  if (selection.bundle && *selection.bundle >= count)
    return usageError("{}: no bundle {}: there are {}, from 0", container.source().name(), *selection.bundle, count);
  std::vector<DeviceObject> found;
  std::set<std::string> present;
  std::string reasons;
  for (std::size_t i = selection.bundle.value_or(0); i < (selection.bundle ? *selection.bundle + 1 : count); ++i) {
    ASMEVO_TRY(const OpenBundle bundle, container.openBundle(i));
    std::vector<std::pair<unsigned, DeviceObject>> ranked;
    unsigned best = 0;
    for (std::size_t e = 0; e < bundle.entries().size(); ++e) {
      const BundleEntry& entry = bundle.entries()[e];
      const bool isCodeObject = container.bundles()[i].isCodeObject;
      if (entry.size == 0 || (!entry.isDevice() && !isCodeObject))
        continue;
      const auto fits = device ? rank(entry.target(), *device) : std::optional(1U);
      if (!fits) {
        const auto code = parseTargetId(entry.target());
        const auto reason = code ? whyNotOn(*code, *device) : std::nullopt;
        if (present.insert(entry.target()).second && present.size() <= 20)
          reasons += fmt::format("\n  {}: {}", entry.target(), reason.value_or("an unknown target"));
        continue;
      }
      best = std::max(best, *fits);
      ranked.emplace_back(*fits, DeviceObject{i, e, entry});
    }
    for (auto& [fits, object] : ranked)
      if (fits == best)
        found.push_back(std::move(object));
  }
  if (found.empty() && device)
    return usageError("{}: no device object for {}:{}", container.source().name(), selection.target, reasons);
  if (found.empty())
    return badInput("{}: no device object in it", container.source().name());
  return found;
}

Result<ChosenObject> readObject(const Container& container, const DeviceObject& object) {
  const std::string& file = container.source().name();
  ASMEVO_TRY(const OpenBundle bundle, container.openBundle(object.bundle));
  ASMEVO_TRY(Bytes bytes, bundle.read(object.info));
  const bool whole = container.kind() == ContainerKind::codeObject;
  return ChosenObject{std::move(bytes),
                      whole ? file : fmt::format("{}#{}:{}", file, object.bundle, object.info.target())};
}

Result<ChosenObject> chooseObject(const Container& container, const ObjectSelection& selection) {
  ASMEVO_TRY(const auto objects, selectObjects(container, selection));
  const std::string& file = container.source().name();
  if (objects.size() != 1) {
    constexpr std::size_t shown = 20;
    std::string list;
    for (std::size_t i = 0; i < objects.size() && i < shown; ++i)
      list += fmt::format("\n  {}#{}:{} ({} bytes)", file, objects[i].bundle, objects[i].info.target(),
                          objects[i].info.size);
    if (objects.size() > shown)
      list += fmt::format("\n  and {} more", objects.size() - shown);
    return usageError("{}: {} device objects, name one with --bundle and --target or as below, or take it out with "
                      "`asmevo extract`:{}",
                      file, objects.size(), list);
  }
  return readObject(container, objects.front());
}

ObjectPath parseObjectPath(const std::string& path) {
  std::error_code ec;
  const std::size_t hash = path.rfind('#');
  if (hash == std::string::npos || std::filesystem::exists(path, ec))
    return {path, {}};
  ObjectPath result{path.substr(0, hash), {}};
  std::string_view rest = std::string_view(path).substr(hash + 1);
  std::size_t bundle = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bundle);
  const std::size_t digits = static_cast<std::size_t>(end - rest.data());
  if (error == std::errc() && (digits == rest.size() || rest[digits] == ':')) {
    result.selection.bundle = bundle;
    rest.remove_prefix(std::min(rest.size(), digits + 1));
  }
  result.selection.target = rest;
  return result;
}

} // namespace asmevo::object
