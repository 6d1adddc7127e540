#include "program/analysis/loops.h"
#include "program/labels.h"
#include "program/pc_reference.h"
#include "program/print_data.h"
#include "program/program.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace asmevo::program {

namespace {

namespace elf = llvm::ELF;

/// .amdhsa_code_object_version of an EI_ABIVERSION (LLVM AMDGPUUsage, "AMDGPU ELF Header EI_ABIVERSION Values").
unsigned codeObjectVersion(std::uint8_t abiVersion) {
  switch (abiVersion) {
  case elf::ELFABIVERSION_AMDGPU_HSA_V5:
    return 5;
  case elf::ELFABIVERSION_AMDGPU_HSA_V6:
    return 6;
  default:
    return 4;
  }
}

class Printer {
 public:
  Printer(const object::CodeObject& object, const Program& program, isa::Codec& codec)
      : object(object), program(program), codec(codec), labels(object) {}

  Result<std::string> run() {
    if (object.elfType() == elf::ET_REL)
      return refused("{}: relocatable: link it first", object.name());
    requireReferences();
    findLoops();
    header();
    for (std::size_t i = 0; i < object.sections().size(); ++i) {
      const object::Section& section = object.sections()[i];
      if ((section.flags & elf::SHF_ALLOC) == 0 || isMadeByLinker(section))
        continue;
      if (section.isCode() && section.type != elf::SHT_NOBITS) {
        ASMEVO_CHECK(codeSection(i));
      } else {
        ASMEVO_TRY(const std::string data, printDataSection(object, section, labels));
        out += data;
      }
    }
    out += printMetadata(object);
    return std::move(out);
  }

 private:
  const object::CodeObject& object;
  const Program& program;
  isa::Codec& codec;
  Labels labels;
  std::string out;
  std::unordered_map<isa::InstRef, bool> reproducible;
  std::map<std::uint32_t, std::size_t> anchors; ///< getpc id to section
  std::vector<bool> referenced;                 ///< blocks without an old address that are branched to
  std::size_t literals = 0;
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

  void header() {
    const std::string target = object.target().id();
    out +=
        "// Reassemble with:\n//   clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu=" + target + " K.s -o K.co\n";
    out += fmt::format("\t.amdgcn_target \"{}\"\n", object.target().isaName());
    out += fmt::format("\t.amdhsa_code_object_version {}\n", codeObjectVersion(object.abiVersion()));
    for (const object::Symbol* symbol : labels.absolutes())
      out += fmt::format("\t.set {}, {}\n", assemblerName(symbol->name), symbol->value);
    for (const object::Symbol& symbol : object.symbols())
      if (symbol.sectionIndex == elf::SHN_UNDEF && symbol.dynamic && !assemblerName(symbol.name).empty())
        out += symbolDirectives(symbol);
  }

  const object::Section* printedSection(std::uint64_t address) const {
    for (const object::Section& section : object.sections())
      if ((section.flags & elf::SHF_ALLOC) != 0 && !isMadeByLinker(section) && section.contains(address))
        return &section;
    return nullptr;
  }

  void requireReferences() {
    requireDataReferences(object, labels);
    referenced.assign(program.blocks.size(), false);
    for (const Block& block : program.blocks)
      for (const Instr& instr : block.instrs) {
        if (instr.target && instr.inst->branchOffset && *instr.target < program.blocks.size()) {
          const std::uint64_t address = program.blocks[*instr.target].address;
          if (address == noAddress)
            referenced[*instr.target] = true;
          else
            labels.require(address);
        }
        if (instr.pcRef && printedSection(instr.pcRef->target))
          labels.require(instr.pcRef->target);
        if (instr.getpcId != 0)
          anchors[instr.getpcId] = block.section;
      }
  }

  std::string blockLabel(BlockId id) const {
    const std::uint64_t address = program.blocks[id].address;
    return address == noAddress ? fmt::format("L_block_{}", id) : labels.local(address);
  }

  Status codeSection(std::size_t index) {
    const object::Section& section = object.sections()[index];
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
      if (block.section != index)
        continue;
      blockComment(id, block);
      if (block.alignment > 1 && std::has_single_bit(block.alignment) &&
          (block.address - section.address) % block.alignment == 0 && section.alignment % block.alignment == 0)
        out += fmt::format("\t.p2align {}\n", std::countr_zero(block.alignment));
      if (block.address != noAddress)
        placesUpTo(block.address);
      else if (referenced[id])
        out += blockLabel(id) + ":\n";
      for (const Instr& instr : block.instrs) {
        if (instr.address != noAddress)
          placesUpTo(instr.address);
        ASMEVO_CHECK(instruction(block, instr));
      }
    }
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

  void line(const std::string& text, const Instr& instr, const std::string& note = {}) {
    const auto bytes = instr.inst->bytes();
    std::string words;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
      words += fmt::format(" {:02X}{:02X}{:02X}{:02X}", bytes[i + 3], bytes[i + 2], bytes[i + 1], bytes[i]);
    const std::string where = instr.address == noAddress ? "inserted" : fmt::format("{:012X}", instr.address);
    out += fmt::format("\t{:<64} // {}:{}{}{}\n", text, where, words, note.empty() ? "" : "  ", note);
  }

  static std::string asWords(const isa::Instruction& inst) {
    const auto bytes = inst.bytes();
    std::string text = bytes.size() % 4 == 0 ? ".long" : ".byte";
    const std::size_t unit = bytes.size() % 4 == 0 ? 4 : 1;
    for (std::size_t i = 0; i < bytes.size(); i += unit) {
      std::uint32_t value = 0;
      for (std::size_t k = unit; k-- > 0;)
        value = value << 8 | bytes[i + k];
      text += fmt::format("{} 0x{:0{}x}", i ? "," : "", value, unit * 2);
    }
    return text;
  }

  /// Whether the assembler makes the same bytes of the printed text.
  bool assemblesToItself(isa::InstRef inst) {
    const auto [it, fresh] = reproducible.try_emplace(inst, false);
    if (fresh) {
      const auto again = codec.assemble(inst->text);
      it->second = again && std::ranges::equal((*again)->bytes(), inst->bytes());
    }
    return it->second;
  }

  Status instruction(const Block& block, const Instr& instr) {
    const isa::InstRef inst = codec.complete(instr.inst);
    if (block.opaque || inst->cls == isa::InstClass::unknown) {
      line(asWords(*inst), instr);
      return {};
    }
    if (instr.target && inst->branchOffset) {
      if (*instr.target >= program.blocks.size())
        return usageError("the branch at 0x{:x} has no target block", instr.address);
      const std::size_t lastOperand = inst->text.rfind(' ');
      line(inst->text.substr(0, lastOperand + 1) + blockLabel(*instr.target), instr,
           fmt::format("to block {}", *instr.target));
      return {};
    }
    if (instr.pcRef) {
      if (const auto text = referenceText(block, instr)) {
        line(*text, instr, "pc-relative");
        if (literals > 0 && text->find("@") != std::string::npos)
          out += fmt::format(".Lliteral{}:\n", literals);
        return {};
      }
    }
    if (assemblesToItself(inst))
      line(inst->text, instr);
    else
      line(asWords(*inst), instr, inst->text);
    if (instr.getpcId != 0)
      out += fmt::format(".Lpc{}:\n", instr.getpcId);
    return {};
  }

  /// One half of a pc-relative address with its constant as an expression of labels; nothing where that would change
  /// its encoding (inline constants) or the place has no name.
  std::optional<std::string> referenceText(const Block& block, const Instr& instr) {
    const PcReference& reference = *instr.pcRef;
    const auto constant = sop2Constant(*instr.inst);
    const auto anchor = anchors.find(reference.getpcId);
    if (!constant || !constant->isLiteral || anchor == anchors.end())
      return std::nullopt;
    const std::string pc = fmt::format(".Lpc{}", reference.getpcId);
    const object::Section* section = printedSection(reference.target);
    std::string expression;
    if (section == &object.sections()[block.section] && anchor->second == block.section) {
      const std::string target = labels.local(reference.target);
      const std::string distance = reference.negated ? pc + "-" + target : target + "-" + pc;
      expression = fmt::format("({}){}", distance, reference.high ? ">>32" : "&4294967295");
    } else if (!reference.negated) {
      // The linker counts from the literal, the last four bytes of this instruction.
      const std::string got = gotSymbol(object, reference.target);
      if (!section && got.empty())
        return std::nullopt;
      const std::string base = section ? labels.local(reference.target) + "@rel32" : got + "@gotpcrel32";
      expression = fmt::format("{}@{}+(.Lliteral{}-4-{})", base, reference.high ? "hi" : "lo", ++literals, pc);
    } else {
      return std::nullopt;
    }
    return withConstant(*instr.inst, constant->isSource1, expression);
  }

  /// The printed two-operand instruction with its constant source replaced.
  static std::optional<std::string> withConstant(const isa::Instruction& inst, bool isSource1,
                                                 const std::string& expression) {
    const std::size_t first = inst.text.find(", ");
    const std::size_t second = first == std::string::npos ? first : inst.text.find(", ", first + 2);
    if (second == std::string::npos)
      return std::nullopt;
    if (isSource1)
      return inst.text.substr(0, second + 2) + expression;
    return inst.text.substr(0, first + 2) + expression + inst.text.substr(second);
  }
};

} // namespace

Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec) {
  return Printer(object, program, codec).run();
}

} // namespace asmevo::program
