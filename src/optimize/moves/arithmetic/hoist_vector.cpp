#include "optimize/moves/arithmetic/hoist_vector.h"

#include "optimize/edit/registers.h"
#include "optimize/moves/arithmetic/copies.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/exec_relation.h"
#include "program/analysis/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace asmevo::optimize {

namespace {

using program::BlockId;
using program::ExecRelation;
using program::Lanes;
using program::Program;

constexpr std::size_t mostEntries = 4; ///< ways into a loop: each gets the hoisted code

/// A loop and where control comes into it from outside.
struct Home {
  const program::Loop* loop = nullptr;
  std::vector<BlockId> entries;
};

std::optional<Home> homeOf(const Program& program, const program::Loop& loop) {
  Home home{&loop, {}};
  for (const BlockId id : loop.blocks) {
    const program::Block& block = program.blocks[id];
    if (block.entersByRegister || block.opaque)
      return std::nullopt;
    for (const program::Instr& instr : block.instrs)
      if (!instr.inst->isComplete || instr.inst->cls == isa::InstClass::unknown ||
          instr.inst->cls == isa::InstClass::jump || instr.inst->leavesFunction())
        return std::nullopt;
    for (const BlockId p : block.predecessors)
      if (!std::ranges::binary_search(loop.blocks, p)) {
        if (id != loop.header || program.blocks[p].opaque)
          return std::nullopt;
        home.entries.push_back(p);
      }
  }
  if (home.entries.empty() || home.entries.size() > mostEntries)
    return std::nullopt;
  return home;
}

/// EXEC in the loop against EXEC at the end of the blocks that enter it.
struct LanesInLoop {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = ExecRelation;
  const Program& program;
  BlockId header;

  State initial(BlockId id) const { return id == header ? ExecRelation::atPoint(false) : ExecRelation{}; }
  bool join(State& into, const State& from) const { return into.join(from); }
  template <class Solver> void transfer(BlockId id, State& state, Solver&) {
    for (const program::Instr& instr : program.blocks[id].instrs)
      state.step(*instr.inst);
  }
};

class Hoister {
 public:
  Hoister(const Program& p, const FunctionFacts& f, const MoveContext& c, const RegisterKit& k, const Home& h)
      : program(p), facts(f), context(c), kit(k), home(h) {
    for (const BlockId id : home.loop->blocks)
      for (const program::Instr& instr : program.blocks[id].instrs)
        written |= instr.inst->writes(kit.accumOffset());
    std::vector<BlockId> all = home.loop->blocks;
    all.insert(all.end(), home.entries.begin(), home.entries.end());
    busy = kit.busyOver(all);
  }

  /// At most `most` registers' worth; nothing where there is nothing to be hoisted.
  std::optional<Proposal> propose(std::size_t most) {
    LanesInLoop problem{program, home.loop->header};
    program::Solver<LanesInLoop> solver(program, home.loop->blocks, problem);
    solver.run();
    Proposal proposal;
    proposal.program = program;
    for (const BlockId id : home.loop->blocks) {
      StraightCode code(facts, id);
      ExecRelation exec = solver.at(id);
      std::size_t done = 0;
      for (std::size_t i = 0; i < code.size(); ++i) {
        const bool within = exec.exec() != Lanes::other;
        exec.step(*program.blocks[id].instrs[i].inst);
        if (within && code.has(i) && isInvariant(code, i) && hoist(code, i, most))
          ++done;
      }
      if (done != 0)
        proposal.program.blocks[id].instrs = code.instructions();
      taken += done;
    }
    if (taken == 0)
      return std::nullopt;
    for (const BlockId entry : home.entries) {
      auto& instrs = proposal.program.blocks[entry].instrs;
      const bool branches = !instrs.empty() && instrs.back().inst->isBranch();
      instrs.insert(instrs.end() - (branches ? 1 : 0), hoisted.begin(), hoisted.end());
    }
    if (!finishEdit(program, proposal, context))
      return std::nullopt;
    proposal.reason =
        fmt::format("{} vector instructions of the loop at {:#x} give the same in every turn: {} are done "
                    "once in front of it",
                    taken, program.blocks[home.loop->header].address, hoisted.size());
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[home.loop->header]);
    return proposal;
  }

 private:
  /// Does it give the same in every turn, from registers that the loop leaves alone?
  bool isInvariant(const StraightCode& code, std::size_t at) const {
    const isa::Instruction& inst = code.at(at);
    if (inst.cls != isa::InstClass::valu || !code.isEditable(at) || !isPureAlu(inst) || inst.tiedDest ||
        inst.operands.size() < 2 || !inst.operands[0].isDef || inst.mods.dpp != isa::DppCtrl::none ||
        std::string_view(inst.base).starts_with("v_permlane") || std::string_view(inst.base).starts_with("v_swap"))
      return false;
    const auto target = tupleOf(inst.operands[0]);
    if (!target || target->file != RegisterFile::vgpr || unitsOf(*target, kit.accumOffset()) != code.writes(at))
      return false;
    isa::RegSet reads = code.reads(at);
    reads.reset(isa::sreg::execLo);
    reads.reset(isa::sreg::execHi);
    return !reads.intersects(written);
  }

  bool hoist(StraightCode& code, std::size_t at, std::size_t most) {
    const isa::Instruction& inst = code.at(at);
    const RegisterTuple target = *tupleOf(inst.operands[0]);
    const std::string key = inst.mnemonic + inst.text.substr(inst.operands[0].textEnd);
    const auto known = homes.find(key);
    if (known != homes.end())
      return readFrom(code, at, target, known->second);
    if (used + target.count > most)
      return false;
    isa::RegSet trial = busy;
    const auto home = kit.take(RegisterFile::vgpr, target.count, trial);
    if (!home)
      return false;
    const OperandRename rename{0, home->first, RegisterFile::vgpr};
    auto made = renameOperands(inst, std::span(&rename, 1), code.codec());
    if (!made || !readFrom(code, at, target, *home))
      return false;
    busy = trial;
    used += target.count;
    homes.emplace(key, *home);
    program::Instr instr;
    instr.inst = code.codec().complete(*made);
    hoisted.push_back(instr);
    return true;
  }

  const Program& program;
  const FunctionFacts& facts;
  const MoveContext& context;
  const RegisterKit& kit;
  const Home& home;
  isa::RegSet written, busy;
  std::map<std::string, RegisterTuple> homes; ///< by what they hold
  std::vector<program::Instr> hoisted;
  std::size_t used = 0, taken = 0;
};

class HoistVectorMove final : public Move {
 public:
  std::string_view name() const override { return "hoist-vector"; }
  std::string_view purpose() const override {
    return "do vector work that is the same in every turn of a loop once, in free registers";
  }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    std::set<BlockId> hot;
    for (const HotWindow& window : context.windows)
      hot.insert(window.block);
    const auto loops = program::naturalLoops(program, *function);
    const WholeWaves waves = wholeWavesOf(context);
    // Registers that are free for every launch first; then those that are for launches of whole waves.
    for (const WholeWaves known : {waves == WholeWaves::known ? waves : WholeWaves::unknown, waves}) {
      if (!proposals.empty())
        break;
      const RegisterKit kit(program, context, known);
      const MoveContext wide = kit.editedContext();
      const FunctionFacts facts(program, *function, wide);
      if (!kit.isKnown() || !facts.isKnown())
        return proposals;
      for (const program::Loop& loop : loops) {
        if (std::ranges::none_of(loop.blocks, [&](BlockId id) { return hot.contains(id); }))
          continue;
        const auto home = homeOf(program, loop);
        if (!home)
          continue;
        for (const std::size_t most : {std::size_t{64}, std::size_t{8}})
          if (auto proposal = Hoister(program, facts, wide, kit, *home).propose(most)) {
            if (known == WholeWaves::assumed)
              proposal->assumptions.emplace_back(wholeWavesAssumption);
            proposals.push_back(*std::move(proposal));
          }
      }
    }
    return proposals;
  }
};

} // namespace

const Move& hoistVectorMove() {
  static const HoistVectorMove move;
  return move;
}

} // namespace asmevo::optimize
