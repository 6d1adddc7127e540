#include "verify/reach.h"

#include "program/analysis/kernarg_reads.h"
#include "program/analysis/reaching_definitions.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace asmevo::verify {

namespace {

using program::Block;
using program::BlockId;
using program::Instr;
using program::Place;
using program::Program;

constexpr std::size_t namedBranches = 4, maxSlice = 400;

bool runs(const Block& block, const std::set<std::uint64_t>& executed) {
  const auto first = executed.lower_bound(block.address);
  return first != executed.end() && *first < block.address + block.size;
}

class Reach {
 public:
  Reach(const object::CodeObject& object, const Program& program, const program::Function& function,
        const VariedDispatch& dispatch)
      : program(program), dispatch(dispatch), kernel(object.kernels()[*function.kernel]),
        accumOffset(kernel.descriptor.accumOffset(object.target())), definitions(program, function, accumOffset) {
    for (const program::KernargRead& read : program::kernargReads(object, program, *function.kernel))
      reads.emplace(read.address, read);
  }

  std::string sentence(BlockId block) const {
    const auto& instrs = program.blocks[block].instrs;
    const Place branch{block, static_cast<std::uint32_t>(instrs.size() - 1)};
    const Instr& last = instrs.back();
    std::string maker;
    const std::set<std::uint32_t> offsets = slice(branch, maker);
    std::string text = fmt::format("'{}' at {:#x}{}", last.inst->text, last.address, maker);
    if (offsets.empty())
      return text + " does not depend on a kernel argument that could be followed";
    text += " depends on ";
    bool more = false;
    for (const std::uint32_t offset : offsets) {
      text += (more ? ", " : "") + argumentName(offset);
      more = true;
    }
    return text;
  }

 private:
  /// Kernarg offsets that the branch's condition comes from. `maker`: the instruction that makes the condition.
  std::set<std::uint32_t> slice(Place branch, std::string& maker) const {
    std::set<std::uint32_t> offsets;
    std::set<std::pair<Place, isa::RegUnit>> seen;
    std::vector<std::pair<Place, isa::RegUnit>> open;
    at(branch).inst->reads(accumOffset).forEach([&](isa::RegUnit unit) { open.emplace_back(branch, unit); });
    while (!open.empty() && seen.size() < maxSlice) {
      const auto [place, unit] = open.back();
      open.pop_back();
      if (!seen.emplace(place, unit).second)
        continue;
      for (const Place definition : definitions.before(place, unit).places) {
        const Instr& instr = at(definition);
        if (maker.empty())
          maker = fmt::format(" after '{}' at {:#x}", instr.inst->text, instr.address);
        if (const auto read = reads.find(instr.address); read != reads.end()) {
          const unsigned first = instr.inst->operands.front().index;
          offsets.insert(read->second.offset + 4 * (unit - first));
          continue;
        }
        if (instr.inst->mayLoad)
          continue;
        instr.inst->reads(accumOffset).forEach([&, definition = definition](isa::RegUnit read) {
          if (read != isa::sreg::mode)
            open.emplace_back(definition, read);
        });
      }
    }
    return offsets;
  }

  const Instr& at(Place place) const { return program.blocks[place.block].instrs[place.index]; }

  /// "argument 3 'n' (now 8100)"
  std::string argumentName(std::uint32_t offset) const {
    const dispatch::Case& launch = dispatch.dispatch.cases.front();
    std::size_t index = 0;
    if (kernel.metadata)
      for (const object::KernelArgument& argument : kernel.metadata->arguments) {
        if (offset >= argument.offset && offset < argument.offset + argument.size) {
          if (argument.isHidden())
            return argument.valueKind;
          std::string text = fmt::format("argument {}", index);
          if (!argument.name.empty())
            text += fmt::format(" '{}'", argument.name);
          if (!launch.explicitKernarg && index < launch.arguments.size())
            text += valueOf(launch.arguments[index]);
          return text;
        }
        index += !argument.isHidden();
      }
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      if (const auto& argument = launch.arguments[i];
          argument.at && offset >= *argument.at &&
          offset < *argument.at + std::max<std::size_t>(argument.bytes.size(), argument.buffer.empty() ? 0 : 8))
        return fmt::format("argument {} at byte {} of the kernarg segment{}", i, *argument.at, valueOf(argument));
    return fmt::format("byte {} of the kernarg segment", offset);
  }

  static std::string valueOf(const dispatch::Argument& argument) {
    if (!argument.buffer.empty())
      return fmt::format(" (buffer '{}')", argument.buffer);
    if (argument.bytes.empty() || argument.bytes.size() > 8)
      return "";
    std::uint64_t value = 0;
    std::memcpy(&value, argument.bytes.data(), argument.bytes.size());
    return fmt::format(" (now {})", value);
  }

  const Program& program;
  const VariedDispatch& dispatch;
  const object::Kernel& kernel;
  unsigned accumOffset;
  program::ReachingDefinitions definitions;
  std::map<std::uint64_t, program::KernargRead> reads;
};

} // namespace

std::vector<std::string> whatReaches(const object::CodeObject& object, const Program& program, std::uint64_t address,
                                     const std::set<std::uint64_t>& executed, const VariedDispatch& dispatch) {
  const auto target = program.blockAt(address);
  if (!target || dispatch.dispatch.cases.empty())
    return {};
  const program::Function* owner = nullptr;
  for (const program::Function& function : program.functions)
    if (function.kernel && std::ranges::binary_search(function.blocks, *target))
      owner = &function;
  if (!owner)
    return {"the block is in no kernel's own code: who calls it decides"};
  std::vector<BlockId> gates, open{*target};
  std::set<BlockId> seen{*target};
  for (std::size_t i = 0; i < open.size(); ++i)
    for (const BlockId before : program.blocks[open[i]].predecessors) {
      if (!seen.insert(before).second)
        continue;
      const Block& block = program.blocks[before];
      if (!runs(block, executed))
        open.push_back(before);
      else if (!block.instrs.empty() && block.instrs.back().inst->isConditional)
        gates.push_back(before);
    }
  if (gates.empty())
    return {"no branch that runs reach leads to it"};
  const Reach reach(object, program, *owner, dispatch);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < gates.size() && i < namedBranches; ++i)
    sentences.push_back(reach.sentence(gates[i]));
  return sentences;
}

} // namespace asmevo::verify
