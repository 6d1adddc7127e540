#include "verify/proof/window.h"

#include "verify/proof/kept_counterexamples.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace asmevo::verify {

using isa::Instruction;
using isa::RegUnit;
using program::Instr;

namespace {

constexpr std::uint32_t memoryVariable = 5000, firstFreshVariable = 10000;

/// Instructions that address registers in ways only the machine's state tells, or leave the block for a while. Both
/// sides must run the same of them from states that are equal in every register.
bool isOpaque(const Instruction& inst) {
  const std::string_view base = inst.base;
  return inst.cls == isa::InstClass::jump || base.starts_with("s_set_gpr_idx") || base.starts_with("s_movrel") ||
         base.starts_with("v_movrel") || base.starts_with("s_setvskip");
}

class Comparison {
 public:
  Comparison(const Window& window, const ProofOptions& options)
      : w(window), options(options), end(options.windowSeconds),
        equality(t, options.resourceLimit, options.questions, end), variables(entryVariables(window.entry)) {}

  /// Cheap things first: structure, then runs that may tell the windows apart, then the solver.
  WindowResult run() {
    const auto open = [&] { return result.status == ProofStatus::unknown || result.status == ProofStatus::timeout; };
    for (const bool solving : {false, true}) {
      if (solving) {
        if (searchCounterexample(options.trials))
          return std::move(result);
        equality.allowSolver();
      }
      attempt(false);
      if (result.status == ProofStatus::proved)
        sharpen();
      if (!open())
        return std::move(result);
      if (options.useFacts && hasFacts()) {
        WindowResult plain = std::move(result);
        attempt(true);
        if (!open()) {
          result.usedFacts = true;
          return std::move(result);
        }
        result = std::move(plain);
      }
    }
    if (model)
      searchCounterexample(1);
    return std::move(result);
  }

 private:
  const Window& w;
  const ProofOptions& options;
  Deadline end;
  TermTable t;
  Equality equality;
  std::array<std::vector<std::uint32_t>, 2> variables;
  std::array<SymbolicState, 2> state, entry;
  WindowResult result;
  bool askedOutside = false; ///< disjointness by analyses of the whole function was used
  std::uint32_t fresh = firstFreshVariable;
  std::optional<Model> model;

  void stop(ProofStatus status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
  }

  const FactMap& factsOf(std::size_t s) const { return w.side[s]->facts[w.path[s].blocks.front()]; }
  bool hasFacts() const { return !factsOf(0).empty() || !factsOf(1).empty(); }

  /// A register that both sides may still read and that is not known to agree in all lanes by its own name may agree by
  /// what is known at the entry. The blocks behind may need it.
  void sharpen() {
    if (!options.useFacts || !hasFacts() || !(w.liveOut[0] & w.liveOut[1]).remove(result.exit.same).any())
      return;
    WindowResult plain = std::move(result);
    attempt(true);
    if (result.status != ProofStatus::proved || result.branchIsInverted != plain.branchIsInverted) {
      result = std::move(plain);
      return;
    }
    const auto unite = [](std::vector<RegPair>& into, const std::vector<RegPair>& more) {
      into.insert(into.end(), more.begin(), more.end());
      std::ranges::sort(into);
      const auto repeated = std::ranges::unique(into);
      into.erase(repeated.begin(), repeated.end());
    };
    result.exit.same |= plain.exit.same;
    unite(result.exit.renamed, plain.exit.renamed);
    unite(result.exit.active, plain.exit.active);
    std::erase_if(result.exit.active, [&](const RegPair& pair) { return result.exit.isFull(pair); });
    result.widensLds |= plain.widensLds;
    result.usedFacts = true;
  }

  std::string atEntry() const {
    const auto& blocks = w.path[0].blocks;
    return fmt::format("the block at {:#x}", w.side[0]->program->blocks[blocks.front()].address);
  }

  // The entry.

  TermId variable(std::size_t s, RegUnit unit) {
    const std::uint32_t number = variables[s][unit];
    bool varies = true;
    // A register that a scalar one is equal to is the same in all lanes.
    const RegUnit name = static_cast<RegUnit>(number % 1000);
    varies = name >= isa::vgprBase && unit >= isa::vgprBase;
    return t.variable(number, unitSort(unit), varies);
  }

  TermId entryValue(std::size_t s, RegUnit unit, bool withFacts, std::set<std::pair<std::size_t, RegUnit>>& open,
                    std::unordered_map<std::uint32_t, TermId>& done) {
    if (w.execIsFull && (unit == isa::sreg::execLo || unit == isa::sreg::execHi))
      return t.word(~0u);
    const std::uint32_t number = variables[s][unit];
    if (const auto it = done.find(number); it != done.end())
      return it->second;
    const TermId plain = variable(s, unit);
    if (!withFacts || !open.insert({0, static_cast<RegUnit>(number)}).second)
      return plain;
    TermId value = plain;
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      // The register of either side that starts as this variable.
      const FactMap& facts = factsOf(side);
      const auto fact = std::ranges::find_if(facts, [&](const auto& f) { return variables[side][f.first] == number; });
      if (fact == facts.end())
        continue;
      const Instr& instr = *fact->second;
      SymbolicState temporary;
      temporary.units.assign(isa::regUnitCount, 0);
      temporary.memory = t.variable(memoryVariable, Sort::memory, false);
      const auto reads = instr.inst->reads(w.side[side]->accumOffset);
      auto touched = instr.inst->writes(w.side[side]->accumOffset);
      touched.set(isa::sreg::execLo);
      touched.set(isa::sreg::execHi);
      touched.set(isa::sreg::mode);
      touched.set(isa::sreg::scc);
      touched.forEach([&](RegUnit u) { temporary.units[u] = variable(side, u); });
      for (const unsigned u : {isa::sreg::execLo, isa::sreg::execHi})
        temporary.units[u] = entryValue(side, static_cast<RegUnit>(u), withFacts, open, done);
      reads.forEach([&](RegUnit u) { temporary.units[u] = entryValue(side, u, withFacts, open, done); });
      SymbolicExecutor executor(t, w.side[side]->accumOffset, {});
      std::string reason;
      if (executor.execute(*instr.inst, {}, literalKey(*w.side[side], instr), temporary, reason)) {
        value = temporary.units[fact->first];
        break;
      }
    }
    open.erase({0, static_cast<RegUnit>(number)});
    done.emplace(number, value);
    return value;
  }

  void enter(bool withFacts) {
    std::set<std::pair<std::size_t, RegUnit>> open;
    std::unordered_map<std::uint32_t, TermId> done;
    for (const std::size_t s : bothSides) {
      SymbolicState fresh;
      fresh.units.resize(isa::regUnitCount);
      for (RegUnit u = 0; u < isa::regUnitCount; ++u)
        fresh.units[u] = entryValue(s, u, withFacts, open, done);
      fresh.memory = t.variable(memoryVariable, Sort::memory, false);
      state[s] = std::move(fresh);
    }
    // Registers that agree in the active lanes only.
    const TermId seen = activeLanes(0);
    for (const auto& [mine, theirs] : w.entry.active)
      state[1].units[theirs] = t.select(seen, state[0].units[mine], state[1].units[theirs]);
    entry = state;
  }

  TermId activeLanes(std::size_t s) {
    return t.laneBit(t.pack(state[s].units[isa::sreg::execLo], state[s].units[isa::sreg::execHi]));
  }

  // Execution.

  /// Looks at the clock now and then.
  bool withinLimits(std::size_t step) {
    constexpr std::size_t stepsPerLook = 16;
    if (t.size() <= options.terms && (step % stepsPerLook != 0 || !end.passed()))
      return true;
    stop(ProofStatus::timeout, fmt::format("{} is too large to be compared within the limits", atEntry()));
    return false;
  }

  SymbolicExecutor::Disjoint oracle(std::size_t s) {
    if (!options.useFacts)
      return {};
    return [this, s](program::Place p, program::Place q) {
      const bool apart = w.side[s]->disjoint(p, q);
      askedOutside |= apart;
      return apart;
    };
  }

  bool executeRun(std::size_t s, SymbolicExecutor& executor, std::size_t& at) {
    std::string reason;
    const auto& code = w.path[s].code;
    for (; at < code.size(); ++at) {
      if (!withinLimits(at))
        return false;
      const auto& [instr, place] = code[at];
      if (isOpaque(*instr->inst))
        return true;
      if (instr->inst->base == "s_getpc_b64" && !w.side[s]->program->pinned.empty()) {
        stop(ProofStatus::refused, fmt::format("the program counter is a value: {}", w.side[s]->program->pinned));
        return false;
      }
      if (!executor.execute(*instr->inst, place, literalKey(*w.side[s], *instr), state[s], reason)) {
        stop(ProofStatus::refused, reason);
        return false;
      }
    }
    return true;
  }

  /// Steps over equal opaque runs on both sides: one instruction, or all until indexing is off again.
  bool skipOpaque(std::size_t& i, std::size_t& j) {
    const auto &p = w.path[0].code, &q = w.path[1].code;
    std::vector<bool> untouched(isa::regUnitCount, false);
    std::string different;
    for (RegUnit u = 0; u < isa::regUnitCount; ++u) {
      // A scalar register that is dead at the entry and that nobody wrote since has a value of its own on each side;
      // operands name scalars, so the run cannot read it.
      untouched[u] = u < isa::vgprBase && !w.liveIn.test(u) && state[0].units[u] == entry[0].units[u] &&
                     state[1].units[u] == entry[1].units[u];
      if (!untouched[u] && state[0].units[u] != state[1].units[u] && different.empty())
        different = isa::regUnitName(u);
    }
    std::string why;
    if (different.empty() && !compareEffects(why))
      different = "memory";
    if (!different.empty()) {
      stop(ProofStatus::refused, fmt::format("{} differs in front of {}", different, p[i].first->inst->text));
      return false;
    }
    const std::string_view opener = p[i].first->inst->base;
    const bool region = opener == "s_set_gpr_idx_on" || opener == "s_set_gpr_idx_mode" || opener == "s_setvskip";
    for (bool first = true;; first = false, ++i, ++j) {
      while (!first && i < p.size() && isWaitLike(*p[i].first))
        ++i;
      while (!first && j < q.size() && isWaitLike(*q[j].first))
        ++j;
      if (i >= p.size() || j >= q.size() || !sameInstr(*w.side[0], *p[i].first, *w.side[1], *q[j].first)) {
        stop(ProofStatus::refused, fmt::format("{}: edited among indexed registers, calls or skips", opener));
        return false;
      }
      if (!region || p[i].first->inst->base == "s_set_gpr_idx_off")
        break;
    }
    ++i;
    ++j;
    // Equal code from equal state: whatever it left is equal again.
    for (RegUnit u = 0; u < isa::regUnitCount; ++u)
      if (!untouched[u])
        state[0].units[u] = state[1].units[u] = t.variable(fresh++, unitSort(u), u >= isa::vgprBase);
    state[0].memory = state[1].memory = t.variable(fresh++, Sort::memory, false);
    for (SymbolicState& side : state)
      side.effects.clear();
    return true;
  }

  // Comparison.

  static bool spacesMeet(const Effect& x, const Effect& y) {
    return (x.writes & (y.reads | y.writes)) != 0 || (y.writes & x.reads) != 0;
  }

  bool commute(std::size_t s, const Effect& x, const Effect& y) {
    if (!spacesMeet(x, y))
      return true;
    if (x.fence || y.fence || !options.useFacts)
      return false;
    const bool apart = w.side[s]->disjoint(x.place, y.place);
    askedOutside |= apart;
    return apart;
  }

  /// The same effects, in an order that differs only between effects that commute.
  bool compareEffects(std::string& why) { return matchEffects(false, why) || matchEffects(true, why); }

  bool matchEffects(bool solving, std::string& why) {
    std::vector<Effect> rest = state[1].effects;
    for (const Effect& effect : state[0].effects) {
      if (end.passed())
        return timedOut(why);
      const auto found = std::ranges::find_if(rest, [&](const Effect& other) {
        if (other.payload != effect.payload &&
            !(solving && sameKind(other.payload, effect.payload) && !equality.exhausted()))
          return false;
        for (const Effect* before = rest.data(); before != &other; ++before)
          if (!commute(1, *before, other))
            return false;
        return other.payload == effect.payload || note(equality.equal(effect.payload, other.payload));
      });
      if (found == rest.end()) {
        why = fmt::format("K1 does not do the same to memory as {}", textAt(0, effect.place));
        return false;
      }
      rest.erase(found);
    }
    if (!rest.empty())
      why = fmt::format("K1 has one more effect on memory: {}", textAt(1, rest.front().place));
    return rest.empty();
  }

  bool timedOut(std::string& why) {
    result.status = ProofStatus::timeout;
    why = fmt::format("{}: the limit of time is reached", atEntry());
    return false;
  }

  bool sameKind(TermId a, TermId b) const {
    const auto &x = t.at(a), &y = t.at(b);
    return x.op == y.op && x.payload == y.payload && x.argCount == y.argCount;
  }

  bool note(Answer answer) {
    if (answer == Answer::no)
      model = equality.model();
    if (answer == Answer::timeout)
      result.status = ProofStatus::timeout;
    return answer == Answer::yes;
  }

  std::string textAt(std::size_t s, program::Place place) const {
    const auto& block = w.side[s]->program->blocks[place.block];
    return block.instrs[place.index].inst->text;
  }

  TermId condition(std::size_t s) {
    const Instr* branch = w.path[s].branch;
    const auto pair = [&](unsigned index) {
      return t.eq(t.pack(state[s].units[index], state[s].units[index + 1]), t.wide(0));
    };
    const std::string_view base = branch->inst->base;
    if (base == "s_cbranch_scc1")
      return state[s].units[isa::sreg::scc];
    if (base == "s_cbranch_scc0")
      return t.not_(state[s].units[isa::sreg::scc]);
    if (base == "s_cbranch_vccz")
      return pair(isa::sreg::vccLo);
    if (base == "s_cbranch_vccnz")
      return t.not_(pair(isa::sreg::vccLo));
    if (base == "s_cbranch_execz")
      return pair(isa::sreg::execLo);
    if (base == "s_cbranch_execnz")
      return t.not_(pair(isa::sreg::execLo));
    std::vector<TermId> arguments;
    branch->inst->reads(w.side[s]->accumOffset).forEach([&](RegUnit u) { arguments.push_back(state[s].units[u]); });
    return t.apply(fmt::format("taken {}", base), Sort::bit, arguments, true);
  }

  bool compareBranches() {
    if (!w.path[0].branch && !w.path[1].branch)
      return true;
    if (!w.path[0].branch || !w.path[1].branch) {
      stop(ProofStatus::refused, fmt::format("{} ends differently in K1", atEntry()));
      return false;
    }
    const TermId x = condition(0), y = condition(1);
    if (note(equality.equal(x, y)))
      return true;
    if (note(equality.equal(x, t.not_(y)))) {
      result.branchIsInverted = true;
      return true;
    }
    fail(fmt::format("the branch condition differs at the end of {}", atEntry()));
    return false;
  }

  void fail(std::string reason) {
    const bool limited = result.status == ProofStatus::timeout || equality.exhausted();
    stop(limited ? ProofStatus::timeout : ProofStatus::unknown, std::move(reason));
  }

  /// K1 may load only what K0 loads: an address that K0 leaves alone may fault.
  bool compareAccesses() {
    std::unordered_map<TermId, std::vector<TermId>> loaded;
    for (const Access& access : state[0].accesses)
      loaded[access.address].push_back(access.active);
    std::string why;
    for (const Access& access : state[1].accesses) {
      if (end.passed()) {
        timedOut(why);
        fail(std::move(why));
        return false;
      }
      const auto covers = [&](const std::vector<TermId>& masks) {
        return std::ranges::any_of(masks, [&](TermId active) { return t.implies(access.active, active); }) ||
               std::ranges::any_of(
                   masks, [&](TermId active) { return equality.implied(access.active, active) == Answer::yes; });
      };
      if (t.constantOf(access.active) == 0)
        continue;
      const auto same = loaded.find(access.address);
      bool found = same != loaded.end() && covers(same->second);
      for (auto it = loaded.begin(); !found && it != loaded.end() && !end.passed(); ++it)
        found = sameKind(it->first, access.address) && equality.equal(it->first, access.address) == Answer::yes &&
                covers(it->second);
      if (!found) {
        fail("K1 loads from an address that K0 does not load from here");
        return false;
      }
    }
    return true;
  }

  void compareRegisters() {
    Relation& exit = result.exit;
    std::unordered_map<TermId, std::vector<RegUnit>> holders, activeHolders;
    const TermId seen = activeLanes(0);
    const bool sameExec = seen == activeLanes(1);
    w.liveOut[1].forEach([&](RegUnit u) {
      holders[state[1].units[u]].push_back(u);
      if (sameExec && u >= isa::vgprBase)
        activeHolders[t.under(seen, state[1].units[u])].push_back(u);
    });
    for (RegUnit u = 0; u < isa::regUnitCount; ++u)
      if (state[0].units[u] == state[1].units[u])
        exit.same.set(u);
    std::string lost;
    w.liveOut[0].forEach([&](RegUnit u) {
      if (exit.same.test(u))
        return;
      const TermId value = state[0].units[u];
      if (const auto it = holders.find(value); it != holders.end()) {
        for (const RegUnit other : it->second)
          exit.renamed.emplace_back(u, other);
        return;
      }
      const bool varies = u >= isa::vgprBase && sameExec;
      if (const auto it = activeHolders.find(varies ? t.under(seen, value) : value);
          varies && it != activeHolders.end()) {
        for (const RegUnit other : it->second)
          exit.active.emplace_back(u, other);
        return;
      }
      if (!w.liveOut[1].test(u))
        return; // K1 does not look at that register any more: whether it needs the value shows where it is used
      if (lost.empty() && note(equality.equal(value, state[1].units[u]))) {
        exit.same.set(u);
        return;
      }
      if (lost.empty() && varies &&
          note(equality.equal(t.select(seen, value, t.word(0)), t.select(seen, state[1].units[u], t.word(0))))) {
        exit.active.emplace_back(u, u);
        return;
      }
      if (lost.empty())
        lost = isa::regUnitName(u);
    });
    std::ranges::sort(exit.renamed);
    std::ranges::sort(exit.active);
    if (!lost.empty())
      fail(fmt::format("{} differs at the end of {}", lost, atEntry()));
  }

  void compareLdsWidths() {
    auto x = state[0].ldsWidths, y = state[1].ldsWidths;
    std::ranges::sort(x);
    std::ranges::sort(y);
    result.widensLds = x != y;
  }

  void attempt(bool withFacts) {
    result = {};
    askedOutside = false;
    enter(withFacts);
    std::array<SymbolicExecutor, 2> executors{SymbolicExecutor(t, w.side[0]->accumOffset, oracle(0)),
                                              SymbolicExecutor(t, w.side[1]->accumOffset, oracle(1))};
    std::size_t i = 0, j = 0;
    for (;;) {
      if (!executeRun(0, executors[0], i) || !executeRun(1, executors[1], j))
        return;
      if (i == w.path[0].code.size() && j == w.path[1].code.size())
        break;
      if (i == w.path[0].code.size() || j == w.path[1].code.size())
        return stop(ProofStatus::refused, "indexed registers, a call or a skip on one side only");
      if (!skipOpaque(i, j))
        return;
    }
    if (!compareBranches())
      return;
    std::string why;
    if (!compareEffects(why))
      return fail(why);
    if (!compareAccesses())
      return;
    result.status = ProofStatus::proved;
    compareRegisters();
    compareLdsWidths();
    if (askedOutside)
      result.usedFacts = true;
  }

  bool searchCounterexample(unsigned trials) {
    SearchInput input;
    input.window = &w;
    w.liveOut[0].forEach([&](RegUnit u) {
      const auto isFirst = [&](const RegPair& pair) { return pair.first == u; };
      // Of what lives on in the active lanes only, the rest may differ.
      if (w.liveOut[1].test(u) && std::ranges::none_of(result.exit.renamed, isFirst) &&
          std::ranges::none_of(result.exit.active, isFirst))
        input.outputs.emplace_back(u, u);
    });
    for (const auto& pair : result.exit.renamed)
      input.outputs.push_back(pair);
    const std::uint64_t address = w.side[0]->program->blocks[w.path[0].blocks.front()].address;
    if (options.kept)
      input.kept = options.kept->at(address);
    input.model = model ? &*model : nullptr;
    input.trials = trials;
    input.seconds = options.windowSeconds / 2;
    std::string obstacle;
    unsigned conclusive = 0;
    if (auto found = findCounterexample(input, obstacle, conclusive)) {
      result.status = ProofStatus::differs;
      result.reason += "; " + found->difference;
      if (options.kept)
        options.kept->add(*found);
      result.counterexample = std::move(found);
      return true;
    }
    return false;
  }
};

} // namespace

std::array<std::vector<std::uint32_t>, 2> entryVariables(const Relation& relation) {
  std::array<std::vector<std::uint32_t>, 2> number;
  for (std::uint32_t s = 0; s < 2; ++s)
    for (std::uint32_t u = 0; u < isa::regUnitCount; ++u)
      number[s].push_back(s == 0 || relation.same.test(u) ? u : u + 1000 * s);
  const auto merge = [&](std::uint32_t from, std::uint32_t to) {
    for (auto& list : number)
      std::ranges::replace(list, from, to);
  };
  for (const auto& [mine, theirs] : relation.renamed) {
    const std::uint32_t x = number[0][mine], y = number[1][theirs];
    // The name of a scalar register goes first: then the value is known to be uniform.
    if (x != y)
      merge(std::max(x % 1000, y % 1000) == x % 1000 ? x : y, std::max(x % 1000, y % 1000) == x % 1000 ? y : x);
  }
  return number;
}

WindowResult compareWindow(const Window& window, const ProofOptions& options) {
  return Comparison(window, options).run();
}

} // namespace asmevo::verify
