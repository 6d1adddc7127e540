#include "optimize/moves/loops/prefetch.h"

#include "optimize/edit/loop_slice.h"
#include "optimize/edit/registers.h"
#include "optimize/edit/waits.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/wait_lint.h"

#include <algorithm>
#include <array>
#include <map>

namespace asmevo::optimize {

namespace {

using program::BlockId;
using program::Instr;

/// Registers next to each other that are renamed as one.
struct Group {
  RegisterFile file = RegisterFile::sgpr;
  unsigned first = 0, end = 0; ///< numbers, end exclusive
  unsigned step = 1;           ///< what the largest tuple in it is aligned to
  unsigned fresh = 0;          ///< number that `first` gets
  unsigned other = 0;          ///< of what loads bring: likewise in the second set
  bool contains(const RegisterTuple& tuple) const {
    return file == tuple.file && first <= tuple.first && tuple.first + tuple.count <= end;
  }
};

/// Adds a tuple to groups that do not overlap.
void addTo(std::vector<Group>& groups, const RegisterTuple& tuple, const object::Target& target) {
  Group group{tuple.file, tuple.first, tuple.first + tuple.count, alignmentOf(tuple.file, tuple.count, target), 0, 0};
  for (bool merged = true; merged;) {
    merged = false;
    for (auto it = groups.begin(); it != groups.end(); ++it)
      if (it->file == group.file && it->first < group.end && group.first < it->end) {
        group = {group.file,
                 std::min(group.first, it->first),
                 std::max(group.end, it->end),
                 std::max(group.step, it->step),
                 0,
                 0};
        groups.erase(it);
        merged = true;
        break;
      }
  }
  groups.push_back(group);
}

const Group* groupOf(const std::vector<Group>& groups, const RegisterTuple& tuple) {
  const auto found = std::ranges::find_if(groups, [&](const Group& group) { return group.contains(tuple); });
  return found == groups.end() ? nullptr : &*found;
}

/// One try: these loads of that loop.
class Prefetch {
 public:
  Prefetch(const program::Program& p, const MoveContext& c, const RegisterKit& k, const BlockLoop& l, LoopSlice s)
      : program(p), context(c), kit(k), loop(l), slice(std::move(s)), accum(k.accumOffset()),
        body(p.blocks[l.block].instrs) {}

  /// Nothing where registers do not suffice, or a use cannot be given other ones.
  std::optional<Proposal> run() {
    const BlockId blocks[] = {loop.block};
    isa::RegSet busy = kit.busyOver(blocks);
    if (!findUses() || !makeGroups() || !allocate(busy))
      return std::nullopt;
    const auto flag = kit.take(RegisterFile::sgpr, 1, busy);
    if (!flag)
      return std::nullopt;
    flagText = registerText(*flag);
    Proposal proposal;
    proposal.program = program;
    if (!build(proposal.program))
      return std::nullopt;
    const MoveContext edited = kit.editedContext();
    const program::Function* after = kernelFunction(proposal.program, context);
    std::size_t weakened = 0;
    if (!after || !weakenWaits(proposal.program, *after, edited, weakened))
      return std::nullopt;
    const auto uncovered = [&](const program::Program& which) {
      return program::uncoveredUses(which, *kernelFunction(which, context), accum).size();
    };
    if (uncovered(proposal.program) > uncovered(program) || !repairWaitStates(program, proposal.program, edited))
      return std::nullopt;
    proposal.reason =
        fmt::format("{} loads issued an iteration earlier, into two sets of registers in turn; the last iteration is "
                    "peeled, so that nothing is read beyond the end",
                    slice.loads.size());
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[loop.block]);
    return proposal;
  }

 private:
  bool findUses() {
    const isa::RegSet atExit = kit.liveness().liveIn[loop.exit], atTop = kit.liveness().liveIn[loop.block];
    for (const std::size_t load : slice.loads) {
      const isa::Instruction& inst = *body[load].inst;
      const auto destination = inst.operands.empty() ? std::nullopt : tupleOf(inst.operands.front());
      if (!destination || !inst.operands.front().isDef || destination->file == RegisterFile::sgpr || inst.mods.tfe)
        return false;
      isa::RegSet tracked = unitsOf(*destination, accum);
      if (inst.reads(accum).intersects(tracked)) { // its own address: read when it is issued, as before
        isa::RegSet address;
        for (std::size_t o = 1; o < inst.operands.size(); ++o)
          if (const auto tuple = tupleOf(inst.operands[o]))
            address |= unitsOf(*tuple, accum);
        isa::RegSet implicit = inst.reads(accum);
        if (implicit.remove(address).intersects(tracked))
          return false;
      }
      if (tracked.intersects(atExit) || tracked.intersects(atTop))
        return false;
      addTo(brought, *destination, context.object.target());
      destinations |= tracked;
      for (std::size_t i = load + 1; i < loop.length && tracked.any(); ++i)
        if (!followUses(i, tracked))
          return false;
    }
    // A register beside what was loaded, in a tuple of both, is copied to its place there: no load may want that place.
    return std::ranges::none_of(strangers, [&](const auto& entry) { return entry.second.intersects(destinations); });
  }

  /// Operands of instruction `i` that read `tracked`; what it writes is tracked no more.
  bool followUses(std::size_t i, isa::RegSet& tracked) {
    const isa::Instruction& inst = *body[i].inst;
    isa::RegSet unexplained = inst.reads(accum) & tracked;
    for (std::size_t o = 0; o < inst.operands.size(); ++o) {
      const auto tuple = tupleOf(inst.operands[o]);
      if (!tuple || !unitsOf(*tuple, accum).intersects(tracked) || inst.operands[o].isDef)
        continue;
      const isa::RegSet units = unitsOf(*tuple, accum);
      addTo(brought, *tuple, context.object.target());
      uses[i].insert(o);
      mine[i] |= units & tracked;
      unexplained.remove(units);
      strangers[i] |= units;
    }
    if (const auto found = strangers.find(i); found != strangers.end())
      found->second.remove(mine[i]);
    if (unexplained.any()) // implicitly, or a destination whose old value counts
      return false;
    tracked.remove(inst.writes(accum));
    return true;
  }

  bool makeGroups() {
    isa::RegSet written;
    for (const std::size_t i : slice.work)
      for (const isa::Operand& operand : body[i].inst->operands)
        if (operand.isDef)
          if (const auto tuple = tupleOf(operand)) {
            if (tuple->file == RegisterFile::agpr)
              return false;
            written |= unitsOf(*tuple, accum);
          }
    // Grow until every operand lies wholly in one group or outside all.
    std::vector<RegisterTuple> operands;
    for (const auto* list : {&slice.work, &slice.loads})
      for (const std::size_t i : *list)
        for (std::size_t o = slice.loads.contains(i) ? 1 : 0; o < body[i].inst->operands.size(); ++o)
          if (const auto tuple = tupleOf(body[i].inst->operands[o]); tuple && tuple->file != RegisterFile::agpr)
            operands.push_back(*tuple);
    isa::RegSet members = written;
    for (bool grows = true; grows;) {
      grows = false;
      for (const RegisterTuple& tuple : operands) {
        const isa::RegSet units = unitsOf(tuple, accum);
        isa::RegSet rest = units;
        if (units.intersects(members) && rest.remove(members).any()) {
          members |= units;
          grows = true;
        }
      }
    }
    for (const RegisterTuple& tuple : operands)
      if (unitsOf(tuple, accum).intersects(members))
        addTo(groups, tuple, context.object.target());
    // Unused results still need a place.
    for (const std::size_t i : slice.work)
      for (const isa::Operand& operand : body[i].inst->operands)
        if (const auto tuple = tupleOf(operand); tuple && operand.isDef && !groupOf(groups, *tuple))
          return false;
    return true;
  }

  bool allocate(isa::RegSet& busy) {
    for (Group& group : groups) {
      const auto tuple = kit.take(group.file, group.end - group.first, busy, group.step, group.first % group.step);
      if (!tuple)
        return false;
      group.fresh = tuple->first;
    }
    for (Group& group : brought)
      for (unsigned* place : {&group.fresh, &group.other}) {
        const auto fresh = kit.take(group.file, group.end - group.first, busy, group.step, group.first % group.step);
        if (!fresh)
          return false;
        *place = fresh->first;
      }
    return true;
  }

  /// Number that a register of what loads bring has in a set.
  unsigned inSet(const RegisterTuple& tuple, std::size_t set) const {
    const Group& group = *groupOf(brought, tuple);
    return (set == 0 ? group.fresh : group.other) + (tuple.first - group.first);
  }

  bool assemble(std::vector<Instr>& into, const std::string& text) const {
    auto inst = context.codec.assemble(text);
    if (!inst)
      return false;
    Instr instr;
    instr.inst = context.codec.complete(*inst);
    into.push_back(instr);
    return true;
  }

  /// The slice in registers of its own, the loads into a set, then what the loop's test says.
  bool ahead(std::vector<Instr>& into, std::size_t set) const {
    std::set<std::size_t> order = slice.work;
    order.insert(slice.loads.begin(), slice.loads.end());
    for (const std::size_t i : order) {
      const isa::Instruction& inst = *body[i].inst;
      const bool isLoad = slice.loads.contains(i);
      std::vector<OperandRename> renames;
      for (std::size_t o = 0; o < inst.operands.size(); ++o) {
        const auto tuple = tupleOf(inst.operands[o]);
        if (!tuple)
          continue;
        if (isLoad && o == 0)
          renames.push_back({o, inSet(*tuple, set), tuple->file});
        else if (const Group* group = groupOf(groups, *tuple))
          renames.push_back({o, group->fresh + (tuple->first - group->first), tuple->file});
      }
      auto renamed = renameOperands(inst, renames, context.codec);
      if (!renamed)
        return false;
      Instr instr;
      instr.inst = *renamed;
      into.push_back(instr);
    }
    return assemble(
        into, fmt::format("s_cselect_b32 {}, {}, {}", flagText, loop.repeatsOnOne ? 1 : 0, loop.repeatsOnOne ? 0 : 1));
  }

  /// The rest of an iteration, whose loads came from a set. Waits are complete ones: they are weakened later.
  bool iteration(std::vector<Instr>& into, std::size_t set, bool keepsAddresses) const {
    for (std::size_t i = 0; i < loop.length; ++i) {
      if (slice.loads.contains(i))
        continue;
      Instr instr = body[i];
      if (!keepsAddresses)
        instr.address = program::noAddress;
      const isa::Instruction& inst = *instr.inst;
      if (inst.cls == isa::InstClass::waitcnt && inst.base == "s_waitcnt") {
        isa::WaitCount wait = inst.waitCount();
        if (wait.vm < 63)
          wait.vm = 0;
        auto strong = context.codec.assemble(waitText(wait));
        if (!strong)
          return false;
        instr.inst = context.codec.complete(*strong);
      }
      if (const auto found = uses.find(i); found != uses.end()) {
        std::vector<OperandRename> renames;
        for (const std::size_t operand : found->second) {
          const auto tuple = tupleOf(inst.operands[operand]);
          renames.push_back({operand, inSet(*tuple, set), tuple->file});
          for (unsigned d = 0; d < tuple->count; ++d)
            if (const RegisterTuple one{tuple->file, tuple->first + d, 1};
                unitsOf(one, accum).intersects(strangers.at(i)) &&
                !assemble(into, fmt::format("v_mov_b32_e32 {}, {}", registerText({one.file, inSet(one, set), 1}),
                                            registerText(one))))
              return false;
        }
        auto renamed = renameOperands(inst, renames, context.codec);
        if (!renamed || !assemble(into, "s_waitcnt vmcnt(0)"))
          return false;
        instr.inst = *renamed;
      }
      into.push_back(instr);
    }
    return true;
  }

  bool branch(std::vector<Instr>& into, const char* mnemonic, BlockId target) const {
    if (!assemble(into, fmt::format("{} 0", mnemonic)))
      return false;
    into.back().target = target;
    return true;
  }

  bool build(program::Program& edited) const {
    enum : BlockId { before, testX, turnX, testY, turnY, lastX, lastY };
    const BlockId at = loop.block;
    const std::size_t section = program.blocks[at].section;
    for (BlockId i = before; i < lastY; ++i)
      edited.insertBlock(at, section);
    const BlockId old = at + lastY;
    for (program::Block& block : edited.blocks)
      for (Instr& instr : block.instrs)
        if (instr.target == old)
          instr.target = at + before;
    const auto code = [&](BlockId which) -> std::vector<Instr>& { return edited.blocks[at + which].instrs; };
    code(lastY).clear();
    if (!assemble(code(before), "s_waitcnt vmcnt(0) lgkmcnt(0)"))
      return false;
    for (const Group& group : groups)
      for (unsigned r = group.first; r < group.end; ++r)
        if (isInput(group, r) && !assemble(code(before), copyText(group, r)))
          return false;
    const auto check = [&](BlockId which, BlockId last) {
      return assemble(code(which), fmt::format("s_cmp_lg_u32 {}, 0", flagText)) &&
             branch(code(which), "s_cbranch_scc0", at + last);
    };
    return ahead(code(before), 0) && check(testX, lastX) && ahead(code(turnX), 1) && iteration(code(turnX), 0, false) &&
           check(testY, lastY) && ahead(code(turnY), 0) && iteration(code(turnY), 1, false) &&
           branch(code(turnY), "s_branch", at + testX) && iteration(code(lastX), 0, false) &&
           branch(code(lastX), "s_branch", at + lastY + 1) && iteration(code(lastY), 1, true) &&
           (edited.relink(), true);
  }

  /// Of a group: is the loop's value at its start needed, and does it fit the group's register?
  bool isInput(const Group& group, unsigned number) const {
    return slice.inputs.intersects(unitsOf({group.file, number, 1}, accum));
  }

  std::string copyText(const Group& group, unsigned number) const {
    return fmt::format("{} {}, {}", group.file == RegisterFile::sgpr ? "s_mov_b32" : "v_mov_b32_e32",
                       registerText({group.file, group.fresh + (number - group.first), 1}),
                       registerText({group.file, number, 1}));
  }

  const program::Program& program;
  const MoveContext& context;
  const RegisterKit& kit;
  const BlockLoop& loop;
  LoopSlice slice;
  unsigned accum;
  const std::vector<Instr>& body;
  std::string flagText;
  std::vector<Group> groups;                          ///< registers of the slice
  std::vector<Group> brought;                         ///< what the loads bring, with what stands beside it in operands
  isa::RegSet destinations;                           ///< of the loads
  std::map<std::size_t, std::set<std::size_t>> uses;  ///< operands that read it, by instruction
  std::map<std::size_t, isa::RegSet> mine, strangers; ///< units of these operands: brought, and beside it
};

class PrefetchMove final : public Move {
 public:
  std::string_view name() const override { return "prefetch"; }
  std::string_view purpose() const override {
    return "issue a loop's loads one iteration earlier, with its address arithmetic run ahead and its end peeled";
  }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    const WholeWaves waves = wholeWavesOf(context);
    const RegisterKit kit(program, context, waves);
    if (!kit.isKnown())
      return proposals;
    for (const BlockId id : hotBlocks(*function, context, 0.02)) {
      const auto loop = blockLoopAt(program, *function, id, kit.accumOffset());
      if (!loop || program.blocks[id].instrs.size() > longestBody)
        continue;
      for (const std::set<std::size_t>& loads : choices(program, *loop, kit.accumOffset())) {
        auto slice = sliceOf(program, *loop, loads, kit.accumOffset());
        if (!slice || clobbersFlags(program, kit, *loop, *slice))
          continue;
        if (auto proposal = Prefetch(program, context, kit, *loop, *std::move(slice)).run()) {
          if (waves == WholeWaves::assumed)
            proposal->assumptions.emplace_back(wholeWavesAssumption);
          proposals.push_back(*std::move(proposal));
        }
      }
    }
    return proposals;
  }

 private:
  static constexpr std::size_t longestBody = 2000, mostChoices = 8;

  /// What is run ahead writes SCC, and may write VCC, at places where the loop does not.
  static bool clobbersFlags(const program::Program& program, const RegisterKit& kit, const BlockLoop& loop,
                            const LoopSlice& slice) {
    isa::RegSet flags;
    flags.set(isa::sreg::scc);
    for (const std::size_t i : slice.work)
      for (const unsigned unit : {unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}})
        if (program.blocks[loop.block].instrs[i].inst->writes(kit.accumOffset()).test(unit))
          flags.set(unit);
    return kit.liveness().liveIn[loop.block].intersects(flags) || kit.liveness().liveIn[loop.exit].intersects(flags);
  }

  /// Sets of loads to try: all that have a slice, then those of one size, then single ones.
  static std::vector<std::set<std::size_t>> choices(const program::Program& program, const BlockLoop& loop,
                                                    unsigned accumOffset) {
    const auto& body = program.blocks[loop.block].instrs;
    std::set<std::size_t> all;
    std::map<unsigned, std::set<std::size_t>, std::greater<>> bySize;
    for (std::size_t i = 0; i < loop.length; ++i) {
      const isa::Instruction& inst = *body[i].inst;
      if (!inst.isVectorMemory() || !inst.mayLoad || inst.cls == isa::InstClass::scratch ||
          !sliceOf(program, loop, {i}, accumOffset))
        continue;
      all.insert(i);
      bySize[inst.operands.empty() ? 0 : inst.operands.front().dwords].insert(i);
    }
    std::vector<std::set<std::size_t>> list;
    const auto add = [&](std::set<std::size_t> loads) {
      if (!loads.empty() && list.size() < mostChoices && std::ranges::find(list, loads) == list.end())
        list.push_back(std::move(loads));
    };
    add(all);
    for (const auto& [size, loads] : bySize)
      add(loads);
    for (const std::size_t load : all)
      add({load});
    return list;
  }
};

} // namespace

const Move& prefetchMove() {
  static const PrefetchMove move;
  return move;
}

} // namespace asmevo::optimize
