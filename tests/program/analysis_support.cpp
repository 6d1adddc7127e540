#include "analysis_support.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace asmevo::program::test {

std::pair<BlockId, std::uint32_t> Listing::place(std::size_t number) const {
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    if (number < program.blocks[b].instrs.size())
      return {static_cast<BlockId>(b), static_cast<std::uint32_t>(number)};
    number -= program.blocks[b].instrs.size();
  }
  ADD_FAILURE() << "no such instruction";
  return {0, 0};
}

const isa::Instruction& Listing::at(std::size_t number) const {
  const auto [block, index] = place(number);
  return *program.blocks[block].instrs[index].inst;
}

std::size_t Listing::numberOf(BlockId block, std::uint32_t index) const {
  std::size_t number = index;
  for (BlockId b = 0; b < block; ++b)
    number += program.blocks[b].instrs.size();
  return number;
}

Listing listing(const std::string& text, const std::string& processor) {
  object::Target target;
  target.processor = processor;
  auto codec = isa::Codec::create(target);
  if (!codec) {
    ADD_FAILURE() << codec.error().message;
    return {};
  }
  Listing result = listing(text, **codec);
  result.codec = *std::move(codec);
  return result;
}

Listing listing(const std::string& text, isa::Codec& codec) {
  Listing result;
  std::map<std::string, BlockId> labels;
  std::vector<std::pair<std::pair<BlockId, std::size_t>, std::string>> references;
  std::vector<std::pair<std::string, BlockId>> functions{{"k", 0}};
  std::uint64_t address = 0x1000;
  auto& blocks = result.program.blocks;
  bool open = false;
  const auto block = [&]() -> Block& {
    if (!open) {
      blocks.emplace_back();
      blocks.back().address = address;
      open = true;
    }
    return blocks.back();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos)
      continue;
    line = line.substr(begin, line.find_last_not_of(' ') - begin + 1);
    const bool isFunction = line.starts_with("func ");
    if (isFunction)
      line = line.substr(5);
    if (line.ends_with(":")) {
      open = false;
      block();
      const auto id = static_cast<BlockId>(blocks.size() - 1);
      labels[line.substr(0, line.size() - 1)] = id;
      if (isFunction)
        functions.emplace_back(line.substr(0, line.size() - 1), id);
      continue;
    }
    std::string target;
    if (const std::size_t at = line.find('@'); at != std::string::npos) {
      target = line.substr(at + 1);
      line = line.substr(0, at) + (line.starts_with("s_swappc") ? "" : "0");
    }
    const auto inst = codec.assemble(line);
    if (!inst) {
      ADD_FAILURE() << inst.error().message;
      return result;
    }
    Block& current = block();
    Instr instr;
    instr.inst = *inst;
    instr.address = address;
    address += (*inst)->size;
    if (!target.empty())
      references.push_back({{static_cast<BlockId>(blocks.size() - 1), current.instrs.size()}, target});
    current.instrs.push_back(instr);
    const Flow flow = flowOf(*inst);
    open = flow == Flow::next || flow == Flow::call;
  }
  for (const auto& [from, label] : references) {
    const auto found = labels.find(label);
    if (found == labels.end()) {
      ADD_FAILURE() << "no label " << label;
      continue;
    }
    blocks[from.first].instrs[from.second].target = found->second;
  }
  for (const auto& [name, entry] : functions) {
    Function function;
    function.name = name;
    function.entryBlock = entry;
    function.entry = blocks[entry].address;
    if (entry == 0)
      function.kernel = 0;
    result.program.functions.push_back(function);
  }
  if (!blocks.empty())
    blocks[0].entersByRegister = true;
  result.program.relink();
  return result;
}

} // namespace asmevo::program::test
