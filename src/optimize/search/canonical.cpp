#include "optimize/search/canonical.h"

#include "support/file_io.h"

#include <fmt/format.h>

#include <map>

namespace asmevo::optimize {

std::string canonicalForm(std::span<const program::Instr> instrs) {
  using isa::OperandKind;
  std::map<std::pair<OperandKind, unsigned>, std::size_t> numbers;
  std::string text;
  for (const program::Instr& instr : instrs) {
    const isa::Instruction& inst = *instr.inst;
    if (inst.branchOffset || instr.pcRef) {
      text += inst.mnemonic + '\n';
      continue;
    }
    std::size_t done = 0;
    for (const isa::Operand& operand : inst.operands) {
      // VCC, EXEC and other named registers mean themselves.
      const bool numbered = operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr ||
                            (operand.kind == OperandKind::sgpr && operand.index < isa::sreg::vccLo);
      if (!numbered || operand.textBegin < done || operand.textEnd > inst.text.size())
        continue;
      text.append(inst.text, done, operand.textBegin - done);
      text += operand.kind == OperandKind::vgpr ? 'v' : operand.kind == OperandKind::agpr ? 'a' : 's';
      for (unsigned d = 0; d < operand.dwords; ++d)
        text += fmt::format("{},",
                            numbers.emplace(std::pair(operand.kind, operand.index + d), numbers.size()).first->second);
      done = operand.textEnd;
    }
    text.append(inst.text, done);
    text += '\n';
  }
  return sha256Hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

} // namespace asmevo::optimize
