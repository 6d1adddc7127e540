#include "program/statements.h"

#include "program/pc_reference.h"
#include "program/print_data.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

std::string literalLabel(const Instr& instr) {
  return fmt::format(".Lliteral_{:x}", instr.address);
}

/// The printed two-operand instruction with its constant source replaced.
std::optional<std::string> withConstant(const isa::Instruction& inst, bool isSource1, const std::string& expression) {
  const std::size_t first = inst.text.find(", ");
  const std::size_t second = first == std::string::npos ? first : inst.text.find(", ", first + 2);
  if (second == std::string::npos)
    return std::nullopt;
  if (isSource1)
    return inst.text.substr(0, second + 2) + expression;
  return inst.text.substr(0, first + 2) + expression + inst.text.substr(second);
}

} // namespace

std::string asWords(const isa::Instruction& inst) {
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

Statements::Statements(const object::CodeObject& object, const Program& program, isa::Codec& codec)
    : object(object), program(program), codec(codec), places(object) {
  requireDataReferences(object, places);
  referenced.assign(program.blocks.size(), false);
  for (const Function& function : program.functions)
    if (function.preloadEntry)
      places.require(program.blocks[*function.preloadEntry].address);
  for (const CodeTable& table : program.codeTables)
    for (const BlockId target : table.targets)
      if (program.blocks[target].address != noAddress)
        places.require(program.blocks[target].address);
  for (const Block& block : program.blocks) {
    if (block.entersByRegister && block.address != noAddress)
      places.require(block.address);
    for (const Instr& instr : block.instrs) {
      if (instr.target && instr.inst->branchOffset && *instr.target < program.blocks.size()) {
        const std::uint64_t address = program.blocks[*instr.target].address;
        if (address == noAddress)
          referenced[*instr.target] = true;
        else
          places.require(address);
      }
      if (instr.pcRef && printedSection(instr.pcRef->target))
        places.require(instr.pcRef->target);
      if (instr.getpcId != 0)
        anchors[instr.getpcId] = block.section;
    }
  }
}

std::string Statements::blockLabel(BlockId id) const {
  const std::uint64_t address = program.blocks[id].address;
  return address == noAddress ? fmt::format("L_block_{}", id) : places.local(address);
}

Result<std::string> Statements::text(const Block& block, const Instr& instr) {
  const isa::InstRef inst = codec.complete(instr.inst);
  if (block.opaque || inst->cls == isa::InstClass::unknown)
    return asWords(*inst);
  if (instr.target && inst->branchOffset) {
    if (*instr.target >= program.blocks.size())
      return usageError("the branch at 0x{:x} has no target block", instr.address);
    return inst->text.substr(0, inst->text.rfind(' ') + 1) + blockLabel(*instr.target);
  }
  if (const auto reference = referenceText(block, instr))
    return *reference;
  return inst->text;
}

Result<std::string> Statements::exact(const Block& block, const Instr& instr) {
  ASMEVO_TRY(std::string statement, text(block, instr));
  const bool stands = block.opaque || instr.inst->cls == isa::InstClass::unknown || statement != instr.inst->text;
  return stands || assemblesToItself(instr.inst) ? std::move(statement) : asWords(*instr.inst);
}

std::string Statements::labelBehind(const Block& block, const Instr& instr) {
  if (instr.getpcId != 0)
    return fmt::format(".Lpc{}", instr.getpcId);
  if (const auto reference = referenceText(block, instr); reference && reference->find('@') != std::string::npos)
    return literalLabel(instr);
  return {};
}

const object::Section* Statements::printedSection(std::uint64_t address) const {
  for (const object::Section& section : object.sections())
    if ((section.flags & elf::SHF_ALLOC) != 0 && !isMadeByLinker(section) && section.contains(address))
      return &section;
  return nullptr;
}

/// Whether the assembler makes the same bytes of the printed text.
bool Statements::assemblesToItself(isa::InstRef inst) {
  const auto [it, fresh] = reproducible.try_emplace(inst, false);
  if (fresh) {
    const auto again = codec.assemble(inst->text);
    it->second = again && std::ranges::equal((*again)->bytes(), inst->bytes());
  }
  return it->second;
}

/// One half of a pc-relative address with its constant as an expression of labels; nothing where that would change its
/// encoding (inline constants) or the place has no name.
std::optional<std::string> Statements::referenceText(const Block& block, const Instr& instr) const {
  if (!instr.pcRef || block.opaque || instr.inst->cls == isa::InstClass::unknown)
    return std::nullopt;
  const PcReference& reference = *instr.pcRef;
  if (reference.wide || reference.keepsSign || reference.bias != 0)
    return std::nullopt;
  const auto constant = sop2Constant(*instr.inst);
  const auto anchor = anchors.find(reference.getpcId);
  if (!constant || !constant->isLiteral || anchor == anchors.end())
    return std::nullopt;
  const std::string pc = fmt::format(".Lpc{}", reference.getpcId);
  const object::Section* section = printedSection(reference.target);
  std::string expression;
  if (section == &object.sections()[block.section] && anchor->second == block.section) {
    const std::string target = places.local(reference.target);
    const std::string distance = reference.negated ? pc + "-" + target : target + "-" + pc;
    expression = fmt::format("({}){}", distance, reference.high ? ">>32" : "&4294967295");
  } else if (!reference.negated) {
    // The linker counts from the literal, the last four bytes of this instruction.
    const std::string got = gotSymbol(object, reference.target);
    if (!section && got.empty())
      return std::nullopt;
    const std::string base = section ? places.local(reference.target) + "@rel32" : got + "@gotpcrel32";
    expression = fmt::format("{}@{}+({}-4-{})", base, reference.high ? "hi" : "lo", literalLabel(instr), pc);
  } else {
    return std::nullopt;
  }
  return withConstant(*instr.inst, constant->isSource1, expression);
}

} // namespace asmevo::program
