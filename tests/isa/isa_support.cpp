#include "isa_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace asmevo::isa::test {

std::unique_ptr<Codec> codecFor(const std::string& processor) {
  object::Target target;
  target.processor = processor;
  auto codec = Codec::create(target);
  if (!codec) {
    ADD_FAILURE() << codec.error().message;
    std::abort();
  }
  return *std::move(codec);
}

Codec& gfx942() {
  static const std::unique_ptr<Codec> codec = codecFor("gfx942");
  return *codec;
}

InstRef instruction(Codec& codec, const std::string& text) {
  const auto inst = codec.assemble(text);
  if (inst)
    return *inst;
  ADD_FAILURE() << inst.error().message;
  return *codec.assemble("s_nop 0");
}

namespace {

std::string registerText(const Operand& operand, char file) {
  return operand.dwords == 1 ? fmt::format("{}{}", file, operand.index)
                             : fmt::format("{}[{}:{}]", file, operand.index, operand.index + operand.dwords - 1);
}

std::string core(const Operand& operand) {
  switch (operand.kind) {
  case OperandKind::sgpr:
    return registerText(operand, 's');
  case OperandKind::vgpr:
    return registerText(operand, 'v');
  case OperandKind::agpr:
    return registerText(operand, 'a');
  case OperandKind::imm:
    return fmt::format("{}", operand.imm);
  case OperandKind::fpImm:
    return fmt::format("{}f", operand.fp);
  case OperandKind::off:
    return "off";
  case OperandKind::hwreg:
    return fmt::format("hwreg:{}", operand.imm);
  case OperandKind::other:
    return fmt::format("other:{}", operand.imm);
  }
  return "?";
}

} // namespace

std::string operands(const Instruction& inst) {
  std::string all;
  for (const Operand& operand : inst.operands) {
    std::string text = core(operand);
    if (operand.sext)
      text = "sext(" + text + ")";
    if (operand.abs)
      text = "|" + text + "|";
    all += fmt::format("{}{}{}{}", all.empty() ? "" : " ", operand.isDef ? "=" : "", operand.neg ? "-" : "", text);
  }
  return all;
}

std::string units(const RegSet& set) {
  std::string all;
  std::vector<unsigned> members;
  set.forEach([&](RegUnit unit) { members.push_back(unit); });
  const auto plain = [](unsigned unit) { return unit < sreg::flatScratchLo || unit >= vgprBase; };
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1 && plain(members[i]) && plain(members[end]))
      ++end;
    const std::string first = regUnitName(static_cast<RegUnit>(members[i]));
    all += all.empty() ? "" : " ";
    if (end - i == 1)
      all += first;
    else
      all += fmt::format("{}[{}:{}]", first[0], first.substr(1),
                         regUnitName(static_cast<RegUnit>(members[end - 1])).substr(1));
    i = end;
  }
  return all;
}

} // namespace asmevo::isa::test
