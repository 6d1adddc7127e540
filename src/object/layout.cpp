#include "object/layout.h"

#include "support/round_up.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

namespace asmevo::object {

namespace elf = llvm::ELF;

MoveMap::MoveMap(std::vector<Resize> resizes) : list(std::move(resizes)) {
  std::sort(list.begin(), list.end(), [](const Resize& a, const Resize& b) { return a.begin < b.begin; });
}

std::uint64_t MoveMap::start(std::uint64_t position) const {
  std::uint64_t shift = 0;
  for (const Resize& resize : list)
    if (resize.oldEnd <= position)
      shift += resize.shift;
  return position + shift;
}

std::uint64_t MoveMap::end(std::uint64_t position) const {
  std::uint64_t shift = 0;
  std::uint64_t least = 0;
  for (const Resize& resize : list) {
    if (resize.oldEnd > position)
      continue;
    least = std::max(resize.newEnd, resize.oldEnd) + shift;
    if (resize.oldEnd < position)
      shift += resize.shift;
  }
  return std::max(position + shift, least);
}

bool MoveMap::isIdentity() const {
  return std::all_of(list.begin(), list.end(),
                     [](const Resize& resize) { return resize.oldEnd == resize.newEnd && resize.shift == 0; });
}

namespace {

constexpr std::uint64_t nothing = std::numeric_limits<std::uint64_t>::max();
/// Larger alignments than this exist in no real object and would make tiny files huge.
constexpr std::uint64_t maxPage = std::uint64_t{1} << 21;

bool isAllocated(const Section& section) {
  return (section.flags & elf::SHF_ALLOC) != 0;
}

/// The step in which parts may move without breaking any alignment.
Result<std::uint64_t> pageOf(const CodeObject& object) {
  std::uint64_t page = 0x1000;
  for (const Segment& segment : object.segments())
    if (segment.type == elf::PT_LOAD)
      page = std::max(page, segment.alignment);
  for (const Section& section : object.sections())
    page = std::max(page, section.alignment);
  if (page > maxPage || (page & (page - 1)) != 0)
    return refused("{}: alignment 0x{:x} cannot be kept when sections move", object.name(), page);
  return page;
}

/// A part of the file besides the sections' contents: the header tables.
struct Part {
  std::uint64_t offset;
  std::uint64_t size;
};

std::vector<Part> headerTables(const CodeObject& object) {
  elf::Elf64_Ehdr header;
  std::memcpy(&header, object.bytes().data(), sizeof header);
  return {{0, sizeof header},
          {header.e_shoff, object.sections().size() * sizeof(elf::Elf64_Shdr)},
          {header.e_phoff, header.e_phnum * sizeof(elf::Elf64_Phdr)}};
}

bool overlap(std::uint64_t a, std::uint64_t aSize, std::uint64_t b, std::uint64_t bSize) {
  return aSize != 0 && bSize != 0 && a < b + bSize && b < a + aSize;
}

Status checkAlone(const CodeObject& object, std::size_t index) {
  const Section& section = object.sections()[index];
  for (const Part& part : headerTables(object))
    if (overlap(section.offset, section.size, part.offset, part.size))
      return refused("{}: section '{}' overlaps the headers", object.name(), section.name);
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const Section& other = object.sections()[i];
    if (i == index)
      continue;
    const bool inFile = other.type != elf::SHT_NOBITS && other.type != elf::SHT_NULL &&
                        overlap(section.offset, section.size, other.offset, other.size);
    const bool inMemory = isAllocated(other) && overlap(section.address, section.size, other.address, other.size);
    if (inFile || inMemory)
      return refused("{}: sections '{}' and '{}' overlap", object.name(), section.name, other.name);
  }
  return {};
}

/// Sections and loadable segments must tell one story of what lies where in memory, else moving follows neither.
Status checkSegments(const CodeObject& object) {
  for (const Section& section : object.sections()) {
    if (!isAllocated(section) || section.type == elf::SHT_NOBITS)
      continue;
    for (const Segment& segment : object.segments())
      if (segment.type == elf::PT_LOAD && overlap(section.offset, section.size, segment.offset, segment.fileSize) &&
          section.address - section.offset != segment.address - segment.offset)
        return refused("{}: section '{}' is at 0x{:x}, the segment that loads it puts it elsewhere", object.name(),
                       section.name, section.address);
  }
  return {};
}

/// Start of what follows in the file at or behind `end`.
std::uint64_t nextInFile(const CodeObject& object, std::uint64_t end) {
  std::uint64_t next = nothing;
  const auto consider = [&](std::uint64_t offset) {
    if (offset >= end)
      next = std::min(next, offset);
  };
  for (const Section& section : object.sections())
    if (section.type != elf::SHT_NOBITS && section.type != elf::SHT_NULL)
      consider(section.offset);
  for (const Segment& segment : object.segments())
    if (segment.fileSize != 0)
      consider(segment.offset);
  for (const Part& part : headerTables(object))
    if (part.size != 0)
      consider(part.offset);
  return next;
}

/// Start of what follows in memory at or behind `end`.
std::uint64_t nextInMemory(const CodeObject& object, std::uint64_t end) {
  std::uint64_t next = nothing;
  const auto consider = [&](std::uint64_t address) {
    if (address >= end)
      next = std::min(next, address);
  };
  for (const Section& section : object.sections())
    if (isAllocated(section))
      consider(section.address);
  for (const Segment& segment : object.segments())
    if (segment.memorySize != 0)
      consider(segment.address);
  return next;
}

/// Whether a loaded segment goes on behind the section: its tail must then move alike in file and memory.
bool segmentGoesOn(const CodeObject& object, const Section& section) {
  return std::any_of(object.segments().begin(), object.segments().end(), [&](const Segment& segment) {
    return segment.type == elf::PT_LOAD && segment.offset <= section.offset &&
           segment.offset + segment.fileSize > section.offset + section.size;
  });
}

struct Moves {
  MoveMap::Resize file;
  MoveMap::Resize memory;
};

Moves movesFor(const CodeObject& object, const Section& section, std::uint64_t newSize, std::uint64_t page) {
  Moves moves{{section.offset, section.offset + section.size, section.offset + newSize, 0},
              {section.address, section.address + section.size, section.address + newSize, 0}};
  if (newSize <= section.size)
    return moves;
  if (const std::uint64_t next = nextInFile(object, moves.file.oldEnd); next != nothing && moves.file.newEnd > next)
    moves.file.shift = roundUp(moves.file.newEnd - next, page);
  if (const std::uint64_t next = nextInMemory(object, moves.memory.oldEnd); next != nothing) {
    // Pages that were apart stay apart: their protection differs.
    const bool apart = roundUp(moves.memory.oldEnd, page) <= next / page * page;
    const std::uint64_t end = apart ? roundUp(moves.memory.newEnd, page) : moves.memory.newEnd;
    const std::uint64_t limit = apart ? next / page * page : next;
    if (end > limit)
      moves.memory.shift = roundUp(end - limit, page);
  }
  if (segmentGoesOn(object, section))
    moves.file.shift = moves.memory.shift = std::max(moves.file.shift, moves.memory.shift);
  return moves;
}

} // namespace

Result<Layout> planLayout(const CodeObject& object, const Rewrite& rewrite) {
  if (object.elfType() == elf::ET_REL)
    return refused("{}: relocatable: link it first (asmevo extract FILE --link -o OUT)", object.name());
  if (object.abiVersion() == elf::ELFABIVERSION_AMDGPU_HSA_V2 &&
      !(rewrite.code.empty() && rewrite.descriptors.empty() && rewrite.metadata.empty()))
    return refused("{}: code object v2 is read-only", object.name());
  if (!rewrite.code.empty())
    ASMEVO_CHECK(checkSegments(object));
  ASMEVO_TRY(const std::uint64_t page, pageOf(object));
  std::vector<MoveMap::Resize> file;
  std::vector<MoveMap::Resize> memory;
  std::set<std::size_t> seen;
  for (const SectionEdit& edit : rewrite.code) {
    if (edit.section >= object.sections().size() || !seen.insert(edit.section).second)
      return internalError("{}: section {} edited twice or not there", object.name(), edit.section);
    const Section& section = object.sections()[edit.section];
    if (section.type == elf::SHT_NOBITS || section.type == elf::SHT_NULL)
      return internalError("{}: section '{}' has no contents to edit", object.name(), section.name);
    if (!section.isCode() && section.type != elf::SHT_NOTE) {
      if (edit.contents.size() != section.size)
        return internalError("{}: data section '{}' must keep its {} bytes", object.name(), section.name, section.size);
      continue;
    }
    ASMEVO_CHECK(checkAlone(object, edit.section));
    if (section.size == 0 && !edit.contents.empty())
      return refused("{}: empty code section '{}' cannot grow", object.name(), section.name);
    const Moves moves = movesFor(object, section, edit.contents.size(), page);
    file.push_back(moves.file);
    memory.push_back(moves.memory);
  }
  return Layout{MoveMap(std::move(file)), MoveMap(std::move(memory))};
}

} // namespace asmevo::object
