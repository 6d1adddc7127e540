#include "optimize/moves/arithmetic/group_nan_guards.h"

#include "optimize/edit/branches.h"
#include "optimize/edit/registers.h"
#include "optimize/moves/arithmetic/copies.h"
#include "optimize/moves/arithmetic/nan_test.h"
#include "optimize/moves/arithmetic/straight_code.h"
#include "optimize/moves/move_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;
using program::BlockId;

constexpr std::size_t fewest = 4;       ///< values of a group: below, the test costs more than the guards
constexpr std::size_t most = 128;       ///< values of a group
constexpr std::size_t longest = 1500;   ///< instructions of a cold copy
constexpr std::size_t mostGroups = 12;  ///< of one proposal
constexpr std::size_t mostBlocks = 12;  ///< looked at, hottest first
constexpr std::size_t hottestAlone = 2; ///< blocks that are proposed on their own
constexpr std::array allForms = {NanTestForm::packed, NanTestForm::sums, NanTestForm::compares};

/// A comparison of a value with itself and the select it decides, which takes a constant where the value is a NaN.
struct Guard {
  std::size_t compare = 0, select = 0;
  unsigned value = 0;     ///< VGPR
  std::size_t normal = 0; ///< operand of the select that is taken for numbers
};

/// Guards that one test in front of position `at` decides. Of those that are compared before, the comparison goes to
/// the cold copy.
struct Group {
  std::size_t at = 0, end = 0;
  std::vector<Guard> guards;
};

/// The pair of SGPRs, or VCC, that a mask operand names.
bool isMask(const isa::Operand& operand) {
  return operand.kind == OperandKind::sgpr && operand.dwords == 2 && operand.index <= isa::sreg::vccLo;
}

std::vector<Guard> guardsOf(const StraightCode& code) {
  std::vector<Guard> guards;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const isa::Instruction& compare = code.at(i);
    const bool unordered = compare.base == "v_cmp_u_f32";
    if ((!unordered && compare.base != "v_cmp_o_f32") || !code.isEditable(i) || !isPlain(compare) ||
        compare.operands.size() != 3 || !isMask(compare.operands[0]) || compare.operands[1].kind != OperandKind::vgpr)
      continue;
    const auto value = code.unitOf(compare.operands[1]);
    if (!value || value != code.unitOf(compare.operands[2]))
      continue;
    const auto low = static_cast<isa::RegUnit>(compare.operands[0].index);
    const auto uses = code.usesOf(low, i), alsoUses = code.usesOf(static_cast<isa::RegUnit>(low + 1), i);
    if (!uses || uses != alsoUses || uses->size() != 1 || !code.sameLanes(i, uses->front()))
      continue;
    const isa::Instruction& select = code.at(uses->front());
    if (select.base != "v_cndmask_b32" || !code.isEditable(uses->front()) || !isPlain(select) ||
        select.operands.size() != 4 || !isMask(select.operands[3]) || select.operands[3].index != low ||
        select.operands[0].kind != OperandKind::vgpr)
      continue;
    const std::size_t normal = unordered ? 1 : 2;
    if (select.operands[normal].kind != OperandKind::vgpr)
      continue;
    guards.push_back({i, uses->front(), compare.operands[1].index, normal});
  }
  return guards;
}

/// The largest group of the block.
Group largestGroup(const StraightCode& code, const std::vector<Guard>& guards) {
  Group best;
  if (guards.size() < fewest)
    return best;
  // How often lanes changed and code that is not to be copied came, up to each position.
  std::vector<std::size_t> epoch(code.size() + 1);
  for (std::size_t i = 0; i < code.size(); ++i)
    epoch[i + 1] = epoch[i] + (!code.sameLanes(i, i + 1) || !code.isEditable(i) ? 1 : 0);
  struct Span {
    std::size_t from = 0, to = 0; ///< positions in front of which the value is the one compared
  };
  std::vector<Span> spans;
  for (const Guard& guard : guards) {
    const isa::RegUnit unit = isa::vgprUnit(guard.value);
    Span span{0, code.size()};
    for (std::size_t i = guard.compare; i-- > 0 && span.from == 0;)
      if (code.writes(i).test(unit))
        span.from = i + 1;
    for (std::size_t i = guard.compare; i < code.size() && span.to == code.size(); ++i)
      if (code.writes(i).test(unit))
        span.to = i;
    spans.push_back(span);
  }
  std::vector<std::size_t> places;
  for (const Guard& guard : guards) {
    places.push_back(guard.compare);
    places.push_back(guard.select);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (const std::size_t at : places) {
    Group group{at, at, {}};
    for (std::size_t g = 0; g < guards.size() && group.guards.size() < most; ++g) {
      const Guard& guard = guards[g];
      if (guard.select < at || guard.select - at >= longest || spans[g].from > at ||
          (guard.compare < at && spans[g].to < at) || epoch[std::min(at, guard.compare)] != epoch[guard.select + 1])
        continue;
      group.guards.push_back(guard);
      group.end = std::max(group.end, guard.select + 1);
    }
    if (group.guards.size() > best.guards.size())
      best = std::move(group);
  }
  if (best.guards.size() < fewest)
    best.guards.clear();
  return best;
}

std::vector<unsigned> valuesOf(const Group& group) {
  std::vector<unsigned> values;
  for (const Guard& guard : group.guards)
    if (std::ranges::find(values, guard.value) == values.end())
      values.push_back(guard.value);
  return values;
}

/// Registers in front of the group whose value nobody needs, in the cold copy or out of it.
NanTestRegisters freeRegisters(const program::Program& program, const MoveContext& context, const StraightCode& code,
                               const Group& group) {
  NanTestRegisters found;
  const auto dead = [&](const StraightCode& line, isa::RegUnit unit) { return line.deadAfter(unit, group.at - 1); };
  // Masks of the group are made anew in the cold copy.
  StraightCode without = code;
  for (const Guard& guard : group.guards) {
    without.remove(guard.compare);
    without.remove(guard.select);
  }
  found.scc = dead(code, isa::sreg::scc);
  if (dead(without, isa::sreg::vccLo) && dead(without, isa::sreg::vccHi))
    found.masks.emplace_back("vcc");
  const RegisterKit kit(program, context);
  const BlockId id = code.block();
  isa::RegSet busy = kit.busyOver(std::span(&id, 1));
  for (const Guard& guard : group.guards) {
    const isa::Operand& mask = code.at(guard.compare).operands[0];
    const auto low = static_cast<isa::RegUnit>(mask.index), high = static_cast<isa::RegUnit>(low + 1);
    const std::string text = operandText(code.at(guard.compare), 0);
    if (found.masks.size() < 2 && std::ranges::find(found.masks, text) == found.masks.end() && dead(without, low) &&
        dead(without, high))
      found.masks.push_back(text);
  }
  while (found.masks.size() < 2)
    if (const auto pair = kit.take(RegisterFile::sgpr, 2, busy))
      found.masks.push_back(registerText(*pair));
    else
      break;

  // What vector code writes next with no wait before cannot be in flight.
  const std::vector<unsigned> values = valuesOf(group);
  std::vector<bool> isFree(256);
  for (std::size_t i = group.at; i < group.end && code.at(i).cls != isa::InstClass::waitcnt; ++i) {
    const isa::Instruction& inst = code.at(i);
    if (inst.cls != isa::InstClass::valu || inst.operands.empty() || inst.operands[0].kind != OperandKind::vgpr ||
        !inst.operands[0].isDef || inst.operands[0].dwords != 1)
      continue;
    const unsigned v = inst.operands[0].index & 255;
    isFree[v] = isFree[v] || (std::ranges::find(values, v) == values.end() && dead(code, isa::vgprUnit(v)));
  }
  for (unsigned v = 0; v < isFree.size(); ++v) {
    if (isFree[v] && !found.vgpr)
      found.vgpr = v;
    if (v % 2 == 0 && isFree[v] && isFree[v + 1] && !found.vgprPair)
      found.vgprPair = v;
  }
  if (!found.vgprPair)
    if (const auto pair = kit.take(RegisterFile::vgpr, 2, busy))
      found.vgprPair = pair->first;
  if (!found.vgpr && found.vgprPair)
    found.vgpr = found.vgprPair;
  return found;
}

/// What made the value that a guard took for NaN goes where nobody else needs it.
void removeUnused(StraightCode& code, std::size_t select, const isa::Operand& operand) {
  const auto unit = code.unitOf(operand);
  if (!unit || operand.kind != OperandKind::vgpr)
    return;
  const std::size_t maker = code.definition(*unit, select);
  if (maker == StraightCode::npos || !code.isEditable(maker) || code.at(maker).cls != isa::InstClass::valu)
    return;
  bool others = false;
  code.writes(maker).forEach([&](isa::RegUnit written) { others = others || written != *unit; });
  if (others || !code.deadAfter(*unit, maker))
    return;
  code.remove(maker);
}

/// Takes the group's guards out of the block that begins at position `shift` of the block they were found in.
bool dropGuards(StraightCode& code, const Group& group, std::size_t& copies) {
  for (const Guard& guard : group.guards) {
    const std::size_t select = guard.select - group.at;
    const isa::Instruction inst = code.at(select);
    const auto target = tupleOf(inst.operands[0]), source = tupleOf(inst.operands[guard.normal]);
    if (!target || !source)
      return false;
    if (guard.compare >= group.at)
      code.remove(guard.compare - group.at);
    if (target == source)
      code.remove(select);
    else if (!code.replace(select,
                           fmt::format("v_mov_b32_e32 {}, {}", operandText(inst, 0), operandText(inst, guard.normal))))
      return false;
    else if (!writeTo(code, select, *target, *source) && !readFrom(code, select, *target, *source))
      ++copies;
    removeUnused(code, select, inst.operands[3 - guard.normal]);
  }
  return true;
}

class Grouping {
 public:
  Grouping(program::Program p, const MoveContext& c) : program(std::move(p)), context(c) {}

  /// Groups guards of the block until none are left that are worth it.
  void group(BlockId id, NanTestForm wanted) {
    while (groups < mostGroups) {
      const program::Function* function = kernelFunction(program, context);
      if (!function)
        return;
      const FunctionFacts facts(program, *function, context);
      if (!facts.isKnown())
        return;
      const StraightCode code(facts, id);
      const Group found = largestGroup(code, guardsOf(code));
      if (found.guards.empty())
        return;
      const NanTestRegisters registers = freeRegisters(program, context, code, found);
      std::optional<NanTest> test = nanTest(wanted, valuesOf(found), registers, context.codec);
      for (const NanTestForm form : allForms)
        if (!test)
          test = nanTest(form, valuesOf(found), registers, context.codec);
      if (!test || !rewrite(*function, code, found, *test))
        return;
      id += 2;
    }
  }

  program::Program program;
  std::size_t groups = 0, values = 0, tests = 0, copies = 0;

 private:
  const MoveContext& context;

  /// The block becomes three: up to the test, without guards, behind them.
  bool rewrite(const program::Function& function, const StraightCode& code, const Group& group, const NanTest& test) {
    const BlockId id = code.block();
    const program::Block original = program.blocks[id];
    // Behind the function's last block, which control does not leave downwards.
    const BlockId last = *std::ranges::max_element(function.blocks);
    const auto& lastInstrs = program.blocks[last].instrs;
    if (lastInstrs.empty() || !program::neverFallsThrough(program::flowOf(lastInstrs.back().inst)) ||
        program.blocks[last].section != original.section)
      return false;
    const BlockId hot = id + 1, behind = id + 2, cold = last + 3;
    auto branch = branchTo(test.branch, cold, context.codec), back = branchTo("s_branch", behind, context.codec);
    if (!branch || !back)
      return false;
    program::Program edited = program;
    edited.insertBlock(last + 1, original.section);
    edited.insertBlock(id + 1, original.section);
    edited.insertBlock(id + 1, original.section);
    // References into the block itself were renumbered by the insertions: take its instructions from there.
    const std::vector<program::Instr> instrs = std::move(edited.blocks[id].instrs);
    const auto at = [&](std::size_t i) { return instrs.begin() + static_cast<std::ptrdiff_t>(i); };
    std::vector<bool> sunk(group.at);
    for (const Guard& guard : group.guards)
      if (guard.compare < group.at)
        sunk[guard.compare] = true;
    auto &front = edited.blocks[id].instrs, &copy = edited.blocks[cold].instrs;
    front.clear();
    for (std::size_t i = 0; i < group.at; ++i)
      (sunk[i] ? copy : front).push_back(instrs[i]);
    front.insert(front.end(), test.code.begin(), test.code.end());
    front.push_back(*branch);
    edited.blocks[hot].instrs.assign(at(group.at), at(group.end));
    edited.blocks[behind].instrs.assign(at(group.end), instrs.end());
    copy.insert(copy.end(), at(group.at), at(group.end));
    for (program::Instr& instr : copy)
      instr.address = program::noAddress;
    copy.push_back(*back);
    edited.relink();

    const program::Function* changed = kernelFunction(edited, context);
    if (!changed)
      return false;
    const FunctionFacts facts(edited, *changed, context);
    if (!facts.isKnown())
      return false;
    StraightCode straight(facts, hot);
    std::size_t left = 0;
    if (!dropGuards(straight, group, left))
      return false;
    edited.blocks[hot].instrs = straight.instructions();
    program = std::move(edited);
    ++groups;
    values += group.guards.size();
    tests += test.code.size() + 1;
    copies += left;
    return true;
  }
};

class GroupNanGuardsMove final : public Move {
 public:
  std::string_view name() const override { return "group-nan-guards"; }
  std::string_view purpose() const override {
    return "test many values for NaN at once and round them without guards, with the old code as a cold copy";
  }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function || !program.pinned.empty())
      return proposals;
    std::vector<BlockId> blocks;
    {
      const FunctionFacts facts(program, *function, context);
      if (!facts.isKnown())
        return proposals;
      for (const BlockId id : editableBlocks(program, *function, context, mostBlocks)) {
        const StraightCode code(facts, id);
        if (!largestGroup(code, guardsOf(code)).guards.empty())
          blocks.push_back(id);
      }
    }
    if (blocks.empty())
      return proposals;
    for (const NanTestForm form : allForms) {
      if (blocks.size() > 1)
        propose(program, context, blocks, form, proposals);
      for (std::size_t i = 0; i < std::min(blocks.size(), hottestAlone); ++i)
        propose(program, context, std::span(blocks).subspan(i, 1), form, proposals);
    }
    return proposals;
  }

 private:
  static void propose(const program::Program& program, const MoveContext& context, std::span<const BlockId> blocks,
                      NanTestForm form, std::vector<Proposal>& proposals) {
    // Last blocks first: those before keep their numbers.
    std::vector<BlockId> order(blocks.begin(), blocks.end());
    std::ranges::sort(order, std::greater());
    Grouping grouping(program, context);
    for (const BlockId id : order)
      grouping.group(id, form);
    if (grouping.groups == 0)
      return;
    Proposal proposal;
    proposal.begin = program::noAddress;
    for (const BlockId id : blocks) {
      const auto [begin, end] = addressRange(program.blocks[id]);
      proposal.begin = std::min(proposal.begin, begin);
      proposal.end = std::max(proposal.end, end);
    }
    proposal.program = std::move(grouping.program);
    proposal.reason = fmt::format(
        "{} values are tested for NaN in {} group{} ({} instructions in place of {}) and rounded without a guard each; "
        "the old code is a cold copy",
        grouping.values, grouping.groups, grouping.groups == 1 ? "" : "s", grouping.tests + grouping.copies,
        2 * grouping.values);
    if (finishEdit(program, proposal, context))
      proposals.push_back(std::move(proposal));
  }
};

} // namespace

const Move& groupNanGuardsMove() {
  static const GroupNanGuardsMove move;
  return move;
}

} // namespace asmevo::optimize
