#include "object/replace.h"

#include "object/host_growth.h"
#include "support/round_up.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>

namespace asmevo::object {

namespace elf = llvm::ELF;

namespace {

class Replacer {
 public:
  Replacer(const Container& holder, const DeviceObject& which, const CodeObject& replacement)
      : container(holder), source(holder.source()), object(which), fresh(replacement),
        place(holder.bundles()[which.bundle]) {}

  Result<Replacement> run() {
    if (place.isCodeObject)
      return container.kind() == ContainerKind::archive
                 ? refused("{}: member {} is a code object: replace it with llvm-ar", source.name(), place.member)
                 : usageError("{}: a code object and not a container: there is nothing to replace in it",
                              source.name());
    ASMEVO_TRY(const OpenBundle bundle, container.openBundle(object.bundle));
    if (object.entry >= bundle.entries().size())
      return usageError("{}: bundle {} has no entry {}", source.name(), object.bundle, object.entry);
    const BundleEntry& entry = bundle.entries()[object.entry];
    result.oldSize = entry.size;
    result.newSize = fresh.bytes().size();
    ASMEVO_TRY(Bytes old, bundle.read(entry));
    ASMEVO_CHECK(checkFits(entry, std::move(old)));

    if (!place.compressed && fitsSlot(bundle, entry)) {
      writeIntoSlot(bundle, entry);
      result.file = patches.plan(source.size());
      return std::move(result);
    }
    ASMEVO_TRY(Bytes plain, layOut(bundle));
    if (place.compressed) {
      ASMEVO_TRY(plain, packBundle(plain, *place.compressed));
    }
    if (plain.size() <= place.room) {
      result.placement = Placement::bundle;
      const std::uint64_t taken = std::max<std::uint64_t>(place.size, plain.size());
      patches.zero(place.offset + plain.size(), taken - plain.size());
      patches.overwrite(place.offset, std::move(plain));
      result.file = patches.plan(source.size());
      return std::move(result);
    }
    ASMEVO_CHECK(grow(std::move(plain)));
    return std::move(result);
  }

 private:
  /// The host looks kernels up by name in an object for its device: both must still be there.
  Status checkFits(const BundleEntry& entry, Bytes old) const {
    if (fresh.elfType() == elf::ET_REL)
      return refused("{}: relocatable: link it first (asmevo extract FILE --link -o OUT)", fresh.name());
    const auto before = CodeObject::parse(std::move(old), fmt::format("{}#{}", source.name(), object.bundle));
    const std::string expected = before ? before->target().id() : entry.target();
    if (fresh.target().id() != expected)
      return refused("{}: for {}, the object it would replace is for {}", fresh.name(), fresh.target().id(), expected);
    if (!before)
      return {};
    for (const Kernel& kernel : before->kernels())
      if (std::none_of(fresh.kernels().begin(), fresh.kernels().end(),
                       [&](const Kernel& k) { return k.name == kernel.name; }))
        return refused("{}: has no kernel {}, which the host program may launch", fresh.name(), kernel.name);
    return {};
  }

  /// Bytes from the entry's start to whatever follows it.
  std::uint64_t slotSize(const OpenBundle& bundle, const BundleEntry& entry) const {
    std::uint64_t end = place.room;
    for (const BundleEntry& other : bundle.entries())
      if (&other != &entry && other.size != 0 && other.offset >= entry.offset)
        end = std::min(end, other.offset);
    return end - std::min(end, entry.offset);
  }

  bool fitsSlot(const OpenBundle& bundle, const BundleEntry& entry) const {
    // Two entries may share one object; then the slot is nobody's own.
    for (const BundleEntry& other : bundle.entries())
      if (&other != &entry && other.size != 0 && other.offset < entry.offset + entry.size &&
          entry.offset < other.offset + other.size)
        return false;
    return fresh.bytes().size() <= slotSize(bundle, entry);
  }

  void writeIntoSlot(const OpenBundle& bundle, const BundleEntry& entry) {
    const std::uint64_t size = fresh.bytes().size();
    patches.overwrite(place.offset + entry.offset, Bytes(fresh.bytes().begin(), fresh.bytes().end()));
    if (size < entry.size)
      patches.zero(place.offset + entry.offset + size, entry.size - size);
    std::uint64_t row = bundleMagic.size() + 8;
    for (const BundleEntry& other : bundle.entries()) {
      if (&other == &entry)
        break;
      row += 24 + other.id.size();
    }
    Bytes field(sizeof size);
    std::memcpy(field.data(), &size, sizeof size);
    patches.overwrite(place.offset + row + 8, std::move(field));
  }

  /// The plain bundle with the new object in it.
  Result<Bytes> layOut(const OpenBundle& bundle) const {
    std::vector<Bytes> held;
    for (std::size_t i = 0; i < bundle.entries().size(); ++i) {
      Bytes contents;
      if (i != object.entry) {
        ASMEVO_TRY(contents, bundle.read(bundle.entries()[i]));
      }
      held.push_back(std::move(contents));
    }
    std::vector<BundleContent> contents;
    for (std::size_t i = 0; i < held.size(); ++i)
      contents.push_back({bundle.entries()[i].id, i == object.entry ? fresh.bytes() : std::span(held[i])});
    return writeBundle(contents, alignmentOf(bundle.layout()));
  }

  Status grow(Bytes bundle) {
    if (!place.member.empty())
      return refused(
          "{}: the new bundle needs {} bytes, {} are there: take member {} out (llvm-ar x), replace in it, and "
          "put it back",
          source.name(), bundle.size(), place.room, place.member);
    if (container.kind() == ContainerKind::bundles)
      return growFile(std::move(bundle));
    if (!container.host())
      return refused("{}: the new bundle needs {} bytes, {} are there", source.name(), bundle.size(), place.room);
    if (!container.host()->isLinked())
      return growRelocatable(std::move(bundle));
    if (!place.address)
      return refused("{}: the bundle at 0x{:x} is in no loaded segment", source.name(), place.offset);
    result.placement = Placement::segment;
    ASMEVO_TRY(result.newAddress,
               growHost(*container.host(), source, *place.address, place.size, std::move(bundle), patches));
    if (patches.overlaps())
      return refused("{}: headers, relocations and bundles overlap", source.name());
    result.file = patches.plan(source.size());
    return {};
  }

  Status growFile(Bytes bundle) {
    result.placement = Placement::file;
    const std::uint64_t size = bundle.size();
    result.file.copy(0, place.offset);
    result.file.bytes(std::move(bundle));
    const std::uint64_t rest = place.offset + place.room;
    if (rest < source.size()) {
      // What follows keeps its place within a page.
      const std::uint64_t moved = roundUp(size - place.room, pageSize);
      result.file.zeros(place.room + moved - size);
      result.file.copy(rest, source.size() - rest);
    }
    return {};
  }

  /// An object for the linker has no addresses yet: its section can lie anywhere in the file.
  Status growRelocatable(Bytes bundle) {
    const auto& host = *container.host();
    const std::uint64_t at = place.offset - host.base();
    for (std::size_t i = 0; i < host.sections().size(); ++i) {
      elf::Elf64_Shdr section = host.sections()[i].header;
      if (host.sections()[i].name != ".hip_fatbin" || section.sh_type == elf::SHT_NOBITS || section.sh_offset != at)
        continue;
      if (place.room < section.sh_size)
        return refused("{}: several bundles in one section of a relocatable host object: the first cannot grow",
                       source.name());
      result.placement = Placement::section;
      patches.zero(place.offset, section.sh_size);
      section.sh_offset = roundUp(source.size(), pageSize);
      section.sh_size = bundle.size();
      patches.overwrite(section.sh_offset, std::move(bundle));
      Bytes raw(sizeof section);
      std::memcpy(raw.data(), &section, sizeof section);
      patches.overwrite(host.header().e_shoff + i * sizeof section, std::move(raw));
      if (patches.overlaps())
        return refused("{}: section headers and sections overlap", source.name());
      result.file = patches.plan(source.size());
      return {};
    }
    return refused(
        "{}: the bundle at 0x{:x} is not the first of its section: it cannot grow in a relocatable host object",
        source.name(), place.offset);
  }

  const Container& container;
  const ByteSource& source;
  const DeviceObject& object;
  const CodeObject& fresh;
  const BundlePlace& place;
  FilePatches patches;
  Replacement result;
};

} // namespace

Result<Replacement> replaceObject(const Container& container, const DeviceObject& object, const CodeObject& fresh) {
  if (object.bundle >= container.bundles().size())
    return usageError("{}: no bundle {}", container.source().name(), object.bundle);
  if (container.bundles()[object.bundle].problem)
    return *container.bundles()[object.bundle].problem;
  return Replacer(container, object, fresh).run();
}

} // namespace asmevo::object
