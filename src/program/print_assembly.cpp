#include "program/print_assembly.h"

#include "program/analysis/loops.h"
#include "program/descriptor_text.h"
#include "program/print_data.h"
#include "program/statements.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

namespace asmevo::program {

namespace {

namespace elf = llvm::ELF;

class Printer {
 public:
  Printer(const object::CodeObject& object, const Program& program, isa::Codec& codec, const PrintOptions& options)
      : object(object), program(program), options(options), statements(object, program, codec) {}

  Result<std::string> run() {
    if (object.elfType() == elf::ET_REL)
      return refused("{}: relocatable: link it first", object.name());
    findLoops();
    usage();
    if (options.part) {
      out += partMarker(program, *options.part);
      ASMEVO_CHECK(codeSection(program.blocks[options.part->first].section));
      return std::move(out);
    }
    header();
    for (std::size_t i = 0; i < object.sections().size(); ++i) {
      const object::Section& section = object.sections()[i];
      if ((section.flags & elf::SHF_ALLOC) == 0 || isMadeByLinker(section))
        continue;
      if (section.isCode() && section.type != elf::SHT_NOBITS) {
        ASMEVO_CHECK(codeSection(i));
      } else {
        ASMEVO_TRY(const std::string data, printDataSection(object, section, statements.labels()));
        out += data;
      }
    }
    out += printMetadata(object);
    return std::move(out);
  }

 private:
  const object::CodeObject& object;
  const Program& program;
  const PrintOptions& options;
  Statements statements;
  std::string out;
  std::vector<unsigned> loopDepth; ///< by block

  void findLoops() {
    loopDepth.assign(program.blocks.size(), 0);
    for (const Function& function : program.functions) {
      std::map<BlockId, unsigned> depths;
      for (const Loop& loop : naturalLoops(program, function))
        for (const BlockId id : loop.blocks)
          ++depths[id];
      for (const auto& [id, depth] : depths)
        loopDepth[id] = std::max(loopDepth[id], depth);
    }
  }

  void usage() {
    if (!options.patchable && !options.part)
      out += "// Reassemble with (-mcpu= takes the whole target id):\n"
             "//   clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu=" +
             object.target().id() + " K.s -o K.co\n";
    out += "// Put back into the original file, edits included:\n"
           "//   asmevo asm K.s --original K0.co -o K1.co\n";
  }

  void header() {
    out += fmt::format("\t.amdgcn_target \"{}\"\n", object.target().isaName());
    out += fmt::format("\t.amdhsa_code_object_version {}\n", codeObjectVersion(object.abiVersion()));
    for (const object::Symbol* symbol : statements.labels().absolutes())
      out += fmt::format("\t.set {}, {}\n", assemblerName(symbol->name), symbol->value);
    for (const object::Symbol& symbol : object.symbols())
      if (symbol.sectionIndex == elf::SHN_UNDEF && symbol.dynamic && !assemblerName(symbol.name).empty())
        out += symbolDirectives(symbol);
  }

  bool isPrinted(BlockId id) const { return !options.part || (id >= options.part->first && id <= options.part->last); }

  Status codeSection(std::size_t index) {
    const object::Section& section = object.sections()[index];
    const Labels& labels = statements.labels();
    out += sectionDirective(section);
    const std::uint64_t end = section.address + section.size;
    const std::set<std::uint64_t> places = labels.placesIn(section.address, end);
    auto place = places.begin();
    const auto placesUpTo = [&](std::uint64_t address) {
      for (; place != places.end() && *place <= address; ++place)
        out += labelLines(labels, *place, true);
    };
    for (BlockId id = 0; id < program.blocks.size(); ++id) {
      const Block& block = program.blocks[id];
      if (block.section != index || !isPrinted(id))
        continue;
      if (options.part && id == options.part->first && block.address != noAddress)
        place = places.lower_bound(block.address);
      blockComment(id, block);
      if (block.alignment > 1 && std::has_single_bit(block.alignment) &&
          (block.address - section.address) % block.alignment == 0 && section.alignment % block.alignment == 0)
        out += fmt::format("\t.p2align {}\n", std::countr_zero(block.alignment));
      if (block.address != noAddress)
        placesUpTo(block.address);
      else if (statements.isReferenced(id))
        out += statements.blockLabel(id) + ":\n";
      for (const Instr& instr : block.instrs) {
        if (instr.address != noAddress)
          placesUpTo(instr.address);
        ASMEVO_CHECK(instruction(block, instr));
      }
    }
    if (options.part)
      return {};
    placesUpTo(noAddress - 1);
    // A label at the very end, unless it is the start of what follows.
    const bool followed = std::ranges::any_of(
        object.sections(), [&](const object::Section& s) { return &s != &section && s.contains(end); });
    if (!followed)
      out += labelLines(labels, end, true);
    return {};
  }

  static std::string idList(const std::vector<BlockId>& ids) {
    std::string text;
    for (const BlockId id : ids)
      text += fmt::format(" {}", id);
    return text;
  }

  void blockComment(BlockId id, const Block& block) {
    out += fmt::format("// block {}", id);
    if (!block.predecessors.empty())
      out += ", from" + idList(block.predecessors);
    if (!block.successors.empty())
      out += ", to" + idList(block.successors);
    if (loopDepth[id] > 0)
      out += fmt::format(", loop depth {}", loopDepth[id]);
    if (block.opaque)
      out += ", opaque";
    if (!block.reachable)
      out += ", not reached";
    out += '\n';
  }

  void line(const std::string& text, const Instr& instr, const std::string& note) {
    const auto bytes = instr.inst->bytes();
    std::string words;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
      words += fmt::format(" {:02X}{:02X}{:02X}{:02X}", bytes[i + 3], bytes[i + 2], bytes[i + 1], bytes[i]);
    const std::string where = instr.address == noAddress ? "inserted" : fmt::format("{:012X}", instr.address);
    out += fmt::format("\t{:<64} // {}:{}{}{}\n", text, where, words, note.empty() ? "" : "  ", note);
  }

  Status instruction(const Block& block, const Instr& instr) {
    ASMEVO_TRY(const std::string statement,
               options.patchable ? statements.text(block, instr) : statements.exact(block, instr));
    std::string note;
    if (instr.target && instr.inst->branchOffset)
      note = fmt::format("to block {}", *instr.target);
    else if (statement.starts_with('.') && !block.opaque && instr.inst->cls != isa::InstClass::unknown)
      note = instr.inst->text;
    else if (instr.pcRef && statement != instr.inst->text)
      note = "pc-relative";
    else if (instr.pcRef)
      note = "pc-relative: 'asmevo asm' keeps the distance up to date, an assembler does not";
    line(statement, instr, note);
    if (const std::string label = statements.labelBehind(block, instr); !label.empty())
      out += label + ":\n";
    return {};
  }
};

Result<BlockRange> checkedRange(const Program& program, BlockRange range) {
  for (BlockId id = range.first; id <= range.last; ++id)
    if (program.blocks[id].section != program.blocks[range.first].section)
      return usageError("blocks {} to {} lie in more than one section", range.first, range.last);
  return range;
}

constexpr std::string_view markerBegin = " part: blocks ";

} // namespace

Result<BlockRange> blocksByNumber(const Program& program, std::uint64_t first, std::uint64_t last) {
  if (first > last || last >= program.blocks.size())
    return usageError("there are no blocks {} to {}: the program has {} blocks, from 0 on", first, last,
                      program.blocks.size());
  return checkedRange(program, {static_cast<BlockId>(first), static_cast<BlockId>(last)});
}

Result<BlockRange> blocksOfKernel(const object::CodeObject& object, const Program& program, const std::string& kernel) {
  ASMEVO_TRY(const object::Kernel* found, object.findKernel(kernel));
  const Function* function = program.functionOf(static_cast<std::size_t>(found - object.kernels().data()));
  if (!function || function->blocks.empty())
    return usageError("the kernel '{}' has no code", found->name);
  return checkedRange(program, {function->blocks.front(), function->blocks.back()});
}

Result<BlockRange> blocksOfAddresses(const Program& program, std::uint64_t begin, std::uint64_t end) {
  std::optional<BlockRange> range;
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const Block& block = program.blocks[id];
    if (block.address == noAddress || block.address >= end || block.address + std::max(block.size, 1U) <= begin)
      continue;
    if (!range)
      range = BlockRange{id, id};
    range->last = id;
  }
  if (!range)
    return usageError("no code lies at 0x{:x} to 0x{:x}", begin, end);
  return checkedRange(program, *range);
}

std::string partMarker(const Program& program, BlockRange part) {
  return fmt::format("//{}{} to {} of {}\n", markerBegin, part.first, part.last, program.blocks.size());
}

std::optional<PartMarker> readPartMarker(std::string_view comment) {
  if (!comment.starts_with(markerBegin))
    return std::nullopt;
  comment.remove_prefix(markerBegin.size());
  const auto number = [&](auto& value, std::string_view behind) {
    const auto parsed = std::from_chars(comment.data(), comment.data() + comment.size(), value);
    if (parsed.ec != std::errc())
      return false;
    comment.remove_prefix(static_cast<std::size_t>(parsed.ptr - comment.data()));
    const bool fits = comment.starts_with(behind);
    comment.remove_prefix(fits ? behind.size() : 0);
    return fits;
  };
  PartMarker marker;
  if (!number(marker.part.first, " to ") || !number(marker.part.last, " of ") || !number(marker.blocks, ""))
    return std::nullopt;
  return marker;
}

Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec,
                                  const PrintOptions& options) {
  if (options.part)
    ASMEVO_CHECK(blocksByNumber(program, options.part->first, options.part->last));
  return Printer(object, program, codec, options).run();
}

Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec) {
  return printAssembly(object, program, codec, {});
}

} // namespace asmevo::program
