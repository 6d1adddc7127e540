#include "agent/window_text.h"

#include <charconv>
#include <map>
#include <optional>
#include <sstream>

namespace asmevo::agent {

using program::BlockId;
using program::Instr;
using program::Program;

namespace {

constexpr std::size_t textLimit = 1 << 20;
constexpr std::size_t instructionLimit = 20000;

/// A branch as "s_cbranch_scc1 L7"; other instructions as printed.
std::string lineOf(const Instr& instr) {
  if (instr.inst->isBranch() && instr.target)
    return fmt::format("{} L{}", instr.inst->mnemonic, *instr.target);
  return instr.inst->text;
}

std::string trimmed(const std::string& line) {
  const auto begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos)
    return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

std::optional<BlockId> parseLabel(std::string_view text) {
  if (text.size() < 2 || text[0] != 'L')
    return std::nullopt;
  BlockId id = 0;
  const auto [end, ec] = std::from_chars(text.data() + 1, text.data() + text.size(), id);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(id) : std::nullopt;
}

/// "s_cbranch_scc0 L12" -> instruction with that target; nothing if the line is no branch to a label.
Result<std::optional<Instr>> parseBranch(const Program& program, isa::Codec& codec, const std::string& line) {
  const auto space = line.find(' ');
  if (space == std::string::npos || (line.rfind("s_branch", 0) != 0 && line.rfind("s_cbranch", 0) != 0))
    return std::optional<Instr>();
  const auto target = parseLabel(trimmed(line.substr(space + 1)));
  if (!target || *target >= program.blocks.size())
    return badInput("'{}': a branch goes to a block of this kernel, written L<number>", line);
  ASMEVO_TRY(const isa::InstRef inst, codec.assemble(line.substr(0, space) + " 0"));
  Instr instr;
  instr.inst = codec.complete(inst);
  instr.target = target;
  return std::optional<Instr>(instr);
}

} // namespace

std::string printWindow(const Program& program, BlockId first, BlockId last) {
  std::string text;
  for (BlockId id = first; id <= last && id < program.blocks.size(); ++id) {
    text += fmt::format("L{}:\n", id);
    for (const Instr& instr : program.blocks[id].instrs)
      text += "  " + lineOf(instr) + "\n";
  }
  return text;
}

Result<Program> applyWindowText(const Program& program, isa::Codec& codec, BlockId first, BlockId last,
                                const std::string& text) {
  if (first > last || last >= program.blocks.size())
    return badInput("no window L{}..L{}: blocks are L0 to L{}", first, last, program.blocks.size() - 1);
  if (text.size() > textLimit)
    return badInput("the window text has {} bytes, more than {}", text.size(), textLimit);
  std::map<std::string, Instr> originals;
  for (BlockId id = first; id <= last; ++id) {
    if (program.blocks[id].opaque)
      return refused("L{} is not code that can be edited", id);
    for (const Instr& instr : program.blocks[id].instrs)
      originals.emplace(lineOf(instr), instr);
  }
  Program edited = program;
  for (BlockId id = first; id <= last; ++id)
    edited.blocks[id].instrs.clear();
  BlockId current = first;
  BlockId nextLabel = first;
  std::istringstream lines(text);
  std::string raw;
  std::size_t count = 0;
  for (std::size_t number = 1; std::getline(lines, raw); ++number) {
    const std::string line = trimmed(raw);
    if (line.empty())
      continue;
    if (line.back() == ':') {
      const auto label = parseLabel(std::string_view(line).substr(0, line.size() - 1));
      if (!label || *label != nextLabel)
        return badInput("line {}: '{}': the window's labels are L{} to L{}, in order", number, line, first, last);
      current = *label;
      nextLabel = *label + 1;
      continue;
    }
    if (nextLabel == first)
      nextLabel = first + 1;
    if (++count > instructionLimit)
      return badInput("line {}: more than {} instructions", number, instructionLimit);
    auto& block = edited.blocks[current];
    if (!block.instrs.empty() && (block.instrs.back().inst->isBranch() || block.instrs.back().inst->isTerminator))
      return badInput("line {}: '{}' follows the branch that ends L{}", number, line, current);
    if (const auto original = originals.find(line); original != originals.end()) {
      block.instrs.push_back(original->second);
      continue;
    }
    auto branch = parseBranch(program, codec, line);
    if (!branch)
      return badInput("line {}: {}", number, branch.error().message);
    if (const std::optional<Instr>& parsed = *branch) {
      block.instrs.push_back(*parsed);
      continue;
    }
    auto inst = codec.assemble(line);
    if (!inst)
      return badInput("line {}: '{}': {}", number, line, inst.error().message);
    Instr instr;
    instr.inst = codec.complete(*inst);
    if (instr.inst->cls == isa::InstClass::jump || instr.inst->isBranch())
      return refused("line {}: '{}': only branches to labels may be added", number, line);
    block.instrs.push_back(instr);
  }
  if (nextLabel != last + 1 && !(nextLabel == first && first == last))
    return badInput("the window's blocks are L{} to L{}; the text ends in L{}", first, last, current);
  edited.relink();
  return edited;
}

} // namespace asmevo::agent
