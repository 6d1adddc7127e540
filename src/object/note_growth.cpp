#include "object/note_growth.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>

namespace asmevo::object {

namespace elf = llvm::ELF;

namespace {

constexpr std::uint64_t nameBytes = 8; ///< "AMDGPU", padded

constexpr std::uint64_t padded(std::uint64_t size) {
  return (size + 3) / 4 * 4;
}

} // namespace

Result<std::optional<SectionEdit>> grownNote(const CodeObject& object, const std::vector<Rewrite::Field>& fields) {
  if (fields.empty() || !object.metadataNote())
    return std::optional<SectionEdit>();
  const auto [offset, size] = *object.metadataNote();
  const auto old = object.bytes().subspan(offset, size);
  Bytes document(old.begin(), old.end());
  for (const Rewrite::Field& field : fields) {
    if (field.kernel >= object.kernels().size())
      return internalError("{}: metadata of kernel {} of {}", object.name(), field.kernel, object.kernels().size());
    if (auto changed =
            withMetadataField(document, object.kernels()[field.kernel].name + ".kd", field.field, field.value))
      document = std::move(*changed);
  }
  if (document.size() == old.size())
    return std::optional<SectionEdit>();
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const Section& section = object.sections()[i];
    if (section.type != elf::SHT_NOTE || section.offset + sizeof(elf::Elf64_Nhdr) + nameBytes > offset ||
        offset + size > section.offset + section.size)
      continue;
    if (offset - section.offset + padded(size) < section.size)
      return refused("{}: its metadata cannot grow: another note follows in section '{}'", object.name(), section.name);
    const auto contents = object.contents(section).first(offset - section.offset);
    SectionEdit edit{i, Bytes(contents.begin(), contents.end())};
    elf::Elf64_Nhdr header;
    std::uint8_t* headerAt = edit.contents.data() + edit.contents.size() - nameBytes - sizeof header;
    std::memcpy(&header, headerAt, sizeof header);
    header.n_descsz = static_cast<std::uint32_t>(document.size());
    std::memcpy(headerAt, &header, sizeof header);
    edit.contents.insert(edit.contents.end(), document.begin(), document.end());
    edit.contents.resize(std::max(section.size, offset - section.offset + padded(document.size())));
    return std::optional(std::move(edit));
  }
  return refused("{}: its metadata cannot grow: it lies in no note section", object.name());
}

} // namespace asmevo::object
