#include "verify/proof/kept_counterexamples.h"
#include "verify/proof/window.h"
#include "verify/proof/window_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

namespace asmevo::verify {

using isa::RegUnit;

namespace {

/// The EXEC masks that tell most: all lanes, some, one, none.
std::uint64_t chosenExec(std::uint64_t hash) {
  switch (hash % 8) {
  case 0:
  case 1:
  case 2:
    return ~std::uint64_t{0};
  case 3:
    return mixed(hash) & mixed(hash + 1);
  case 4:
    return std::uint64_t{1} << (mixed(hash) & 63);
  case 5:
    return hash % 5 == 0 ? 0 : 0xffffffff;
  default:
    return mixed(hash);
  }
}

class Search {
 public:
  explicit Search(const SearchInput& input)
      : in(input), w(*input.window), variables(entryVariables(input.window->entry)),
        machines{WindowMachine(codeOf(0), w.side[0]->accumOffset), WindowMachine(codeOf(1), w.side[1]->accumOffset)} {
    for (const std::size_t s : bothSides)
      for (const auto& [instr, place] : w.path[s].code)
        if (instr->inst->cls == isa::InstClass::vmem)
          for (const auto& operand : instr->inst->operands)
            if (operand.kind == isa::OperandKind::sgpr && operand.dwords == 4)
              descriptors.push_back({s, operand.index});
    // Only facts that the windows can see matter.
    for (const std::size_t s : bothSides) {
      const FactMap& all = w.side[s]->facts[w.path[s].blocks.front()];
      isa::RegSet needed;
      for (const std::size_t other : bothSides)
        for (const auto& [instr, place] : w.path[other].code)
          needed |= instr->inst->reads(w.side[other]->accumOffset);
      for (const auto& [mine, theirs] : in.outputs)
        needed.set(s == 0 ? mine : theirs);
      FactMap chosen;
      for (bool progress = true; progress;) {
        progress = false;
        for (const auto& [unit, instr] : all)
          if (needed.test(unit) && chosen.emplace(unit, instr).second) {
            needed |= instr->inst->reads(w.side[s]->accumOffset);
            progress = true;
          }
      }
      facts[s].assign(chosen.begin(), chosen.end());
    }
  }

  std::optional<Counterexample> run(std::string& obstacle, unsigned& conclusive) {
    for (const std::size_t s : bothSides)
      if (!machines[s].unsupported().empty()) {
        obstacle = machines[s].unsupported();
        return std::nullopt;
      }
    const Deadline end(in.seconds);
    for (const Counterexample& one : in.kept) {
      std::array<MachineState, 2> start;
      fill(start, 0, one.memorySeed);
      for (const Counterexample::Register& given : one.registers)
        if (const auto unit = registerUnit(given.name))
          set(start, 0, *unit, given.lanes);
      if (auto found = compareFrom(start, one.memorySeed, end, obstacle, conclusive))
        return found;
    }
    for (unsigned trial = 0; trial < in.trials && !end.passed(); ++trial) {
      const std::uint64_t seed = mixed(in.seed * 1000003 + trial + 1);
      std::array<MachineState, 2> start;
      fill(start, trial, seed);
      if (auto found = compareFrom(start, seed, end, obstacle, conclusive))
        return found;
    }
    return std::nullopt;
  }

 private:
  const SearchInput& in;
  const Window& w;
  std::array<std::vector<std::uint32_t>, 2> variables;
  std::array<WindowMachine, 2> machines;
  std::vector<std::pair<std::size_t, unsigned>> descriptors;
  std::array<std::vector<std::pair<RegUnit, const program::Instr*>>, 2> facts;

  std::vector<isa::InstRef> codeOf(std::size_t s) const {
    std::vector<isa::InstRef> list;
    for (const auto& [instr, place] : w.path[s].code)
      list.push_back(instr->inst);
    return list;
  }

  /// Runs both sides from there. Changes `start` to what the facts make of it.
  std::optional<Counterexample> compareFrom(std::array<MachineState, 2>& start, std::uint64_t seed, const Deadline& end,
                                            std::string& obstacle, unsigned& conclusive) const {
    if (!applyFacts(start, end))
      return std::nullopt;
    std::array<MachineState, 2> finish = start;
    std::string reason;
    if (!machines[0].run(finish[0], end, reason) || !machines[1].run(finish[1], end, reason)) {
      obstacle = reason;
      return std::nullopt;
    }
    ++conclusive;
    if (auto difference = differenceOf(finish))
      return describe(start[0], seed, *difference);
    return std::nullopt;
  }

  void fill(std::array<MachineState, 2>& state, unsigned trial, std::uint64_t seed) const {
    const bool fromModel = in.model && trial == 0;
    // Every fourth trial keeps all values small, so that addresses meet.
    const auto kindOf = [&](std::uint64_t h) {
      return trial % 4 == 1   ? 2u
             : trial % 4 == 3 ? 1u + static_cast<unsigned>(h >> 59) % 3
                              : static_cast<unsigned>(h >> 61);
    };
    for (const std::size_t s : bothSides) {
      MachineState& m = state[s];
      for (RegUnit u = 0; u < isa::regUnitCount; ++u) {
        const std::uint32_t number = variables[s][u];
        const std::uint64_t h = mixed(seed ^ mixed(number + 1));
        const auto given = fromModel ? in.model->find(number) : Model::const_iterator();
        const bool known = fromModel && given != in.model->end();
        const bool uniform = number % 1000 < isa::vgprBase;
        if (u < isa::sreg::count) {
          m.scalars[u] = known ? static_cast<std::uint32_t>(given->second) : chosenDword(h, kindOf(h));
        } else if (u >= isa::vgprBase) {
          std::uint32_t* lanes = m.lanes(u - isa::vgprBase);
          const unsigned kind = kindOf(h);
          for (unsigned lane = 0; lane < 64; ++lane)
            lanes[lane] = known       ? static_cast<std::uint32_t>(given->second)
                          : uniform   ? chosenDword(h, kind)
                          : kind == 7 ? 4 * lane
                                      : chosenDword(h + lane * 0x9e3779b97f4a7c15, kind);
        }
      }
    }
    for (const auto& [s, first] : descriptors) {
      const std::uint64_t h = mixed(seed ^ 77 ^ first);
      set(state, s, first + 1, static_cast<std::uint32_t>(h & 0xffff));
      static constexpr std::uint32_t records[] = {0x7ffffffe, 0xffffffff, 0x100, 0x40, 0x80000000, 0x7ffffffe};
      set(state, s, first + 2, records[h >> 20 & 3]);
      set(state, s, first + 3, 0x00020000);
    }
    const std::uint64_t exec = w.execIsFull ? ~std::uint64_t{0} : chosenExec(mixed(seed + 5));
    if (!fromModel || w.execIsFull) {
      set(state, 0, isa::sreg::execLo, static_cast<std::uint32_t>(exec));
      set(state, 0, isa::sreg::execHi, static_cast<std::uint32_t>(exec >> 32));
      if (w.execIsFull) {
        set(state, 1, isa::sreg::execLo, ~0u);
        set(state, 1, isa::sreg::execHi, ~0u);
      }
    }
    const std::uint64_t lanesOn =
        state[0].scalars[isa::sreg::execLo] | std::uint64_t{state[0].scalars[isa::sreg::execHi]} << 32;
    for (const auto& [mine, theirs] : w.entry.active)
      for (unsigned lane = 0; lane < 64; ++lane)
        if (lanesOn >> lane & 1)
          state[1].lanes(theirs - isa::vgprBase)[lane] = state[0].lanes(mine - isa::vgprBase)[lane];
    static constexpr std::uint32_t modes[] = {0x2f0, 0xf0, 0x3c0, 0x1f0};
    set(state, 0, isa::sreg::mode, modes[mixed(seed + 9) & 3]);
    set(state, 1, isa::sreg::mode, modes[mixed(seed + 9) & 3]);
    for (MachineState& m : state) {
      m.scalars[isa::sreg::scc] &= 1;
      m.global = SparseMemory(seed ^ 1);
      m.lds = SparseMemory(seed ^ 2);
      m.scratch = SparseMemory(seed ^ 3);
    }
  }

  /// Gives a register of one side a value, and every register that starts as the same variable.
  void set(std::array<MachineState, 2>& state, std::size_t side, unsigned unit, std::uint32_t value) const {
    const std::uint32_t number = variables[side][unit];
    for (const std::size_t s : bothSides)
      for (RegUnit u = 0; u < isa::regUnitCount; ++u)
        if (variables[s][u] == number) {
          if (u < isa::sreg::count)
            state[s].scalars[u] = value;
          else if (u >= isa::vgprBase)
            std::fill_n(state[s].lanes(u - isa::vgprBase), 64, value);
        }
  }

  /// Likewise with one value, or one a lane.
  void set(std::array<MachineState, 2>& state, std::size_t side, RegUnit unit,
           const std::vector<std::uint32_t>& lanes) const {
    set(state, side, unit, lanes.front());
    if (unit < isa::vgprBase || lanes.size() != 64)
      return;
    for (const std::size_t s : bothSides)
      for (RegUnit u = isa::vgprBase; u < isa::regUnitCount; ++u)
        if (variables[s][u] == variables[side][unit])
          std::ranges::copy(lanes, state[s].lanes(u - isa::vgprBase));
  }

  /// Makes both states such that their sides' facts hold. False where the relation does not survive that.
  bool applyFacts(std::array<MachineState, 2>& state, const Deadline& end) const {
    for (const std::size_t s : bothSides) {
      std::map<RegUnit, const program::Instr*> open(facts[s].begin(), facts[s].end());
      // Sources first: a fact whose sources have facts of their own waits for them.
      for (bool progress = true; progress && !open.empty();) {
        progress = false;
        for (auto it = open.begin(); it != open.end();) {
          const auto reads = it->second->inst->reads(w.side[s]->accumOffset);
          if (std::ranges::any_of(open, [&](const auto& other) { return reads.test(other.first); })) {
            ++it;
            continue;
          }
          progress = true;
          if (!runFact(s, it->first, *it->second, state, end))
            return false;
          it = open.erase(it);
        }
      }
      if (!open.empty())
        return false;
    }
    for (RegUnit u = 0; u < isa::regUnitCount; ++u)
      for (const auto& [mine, theirs] : pairsOf(u))
        if (!equalUnits(state[0], mine, state[1], theirs))
          return false;
    return true;
  }

  std::vector<std::pair<RegUnit, RegUnit>> pairsOf(RegUnit u) const {
    std::vector<std::pair<RegUnit, RegUnit>> list;
    if (w.entry.same.test(u))
      list.emplace_back(u, u);
    for (const auto& pair : w.entry.renamed)
      if (pair.first == u)
        list.push_back(pair);
    return list;
  }

  /// Recomputes what a fact says about a register, and hands it on to the registers that are equal to it.
  bool runFact(std::size_t s, RegUnit unit, const program::Instr& instr, std::array<MachineState, 2>& state,
               const Deadline& end) const {
    MachineState scratch = state[s];
    const isa::InstRef code[] = {instr.inst};
    const WindowMachine machine(code, w.side[s]->accumOffset);
    std::string reason;
    if (!machine.run(scratch, end, reason))
      return false;
    const std::uint32_t number = variables[s][unit];
    for (const std::size_t other : bothSides)
      for (RegUnit u = 0; u < isa::regUnitCount; ++u) {
        if (variables[other][u] != number)
          continue;
        if (u < isa::sreg::count)
          state[other].scalars[u] = scratch.scalars[unit];
        else if (u >= isa::vgprBase)
          std::copy_n(scratch.lanes(unit - isa::vgprBase), 64, state[other].lanes(u - isa::vgprBase));
      }
    return true;
  }

  static std::uint32_t laneOf(MachineState& state, RegUnit unit, unsigned lane) {
    return unit < isa::sreg::count ? state.scalars[unit] : state.lanes(unit - isa::vgprBase)[lane];
  }

  static bool equalUnits(MachineState& a, RegUnit x, MachineState& b, RegUnit y) {
    if ((x >= isa::sreg::count && x < isa::vgprBase) || (y >= isa::sreg::count && y < isa::vgprBase))
      return true;
    for (unsigned lane = 0; lane < 64; ++lane)
      if (laneOf(a, x, lane) != laneOf(b, y, lane))
        return false;
    return true;
  }

  std::optional<std::string> differenceOf(std::array<MachineState, 2>& end) const {
    for (const auto& [mine, theirs] : in.outputs) {
      if (equalUnits(end[0], mine, end[1], theirs))
        continue;
      for (unsigned lane = 0; lane < 64; ++lane) {
        const std::uint32_t x = laneOf(end[0], mine, lane), y = laneOf(end[1], theirs, lane);
        if (x != y)
          return fmt::format("{}{}: {:#x} in K0, {:#x} in K1", isa::regUnitName(mine),
                             mine >= isa::vgprBase ? fmt::format(" lane {}", lane) : "", x, y);
      }
    }
    const auto taken = [&](std::size_t s) {
      const program::Instr* branch = w.path[s].branch;
      if (!branch)
        return -1;
      const MachineState& m = end[s];
      const auto zero = [&](unsigned u) { return m.scalars[u] == 0 && m.scalars[u + 1] == 0; };
      const std::string_view base = branch->inst->base;
      if (base == "s_cbranch_scc1" || base == "s_cbranch_scc0")
        return static_cast<int>((m.scalars[isa::sreg::scc] != 0) == (base == "s_cbranch_scc1"));
      if (base == "s_cbranch_vccz" || base == "s_cbranch_vccnz")
        return static_cast<int>(zero(isa::sreg::vccLo) == (base == "s_cbranch_vccz"));
      if (base == "s_cbranch_execz" || base == "s_cbranch_execnz")
        return static_cast<int>(zero(isa::sreg::execLo) == (base == "s_cbranch_execz"));
      return -1;
    };
    if ((taken(0) != taken(1)) != (in.branchIsInverted && taken(0) >= 0))
      return fmt::format("the branch: {} in K0, {} in K1", taken(0) ? "taken" : "not taken",
                         taken(1) ? "taken" : "not taken");
    if (!end[0].global.sameAs(end[1].global))
      return "global memory differs at the end";
    if (!end[0].lds.sameAs(end[1].lds))
      return "LDS differs at the end";
    if (!end[0].scratch.sameAs(end[1].scratch))
      return "scratch memory differs at the end";
    return std::nullopt;
  }

  Counterexample describe(MachineState& start, std::uint64_t seed, std::string difference) const {
    Counterexample c;
    c.address = w.side[0]->program->blocks[w.path[0].blocks.front()].address;
    c.memorySeed = seed;
    c.difference = std::move(difference);
    isa::RegSet reads;
    for (const auto& [instr, place] : w.path[0].code)
      reads |= instr->inst->reads(w.side[0]->accumOffset);
    reads.forEach([&](RegUnit u) {
      if (u >= isa::sreg::count && u < isa::vgprBase)
        return;
      Counterexample::Register r{isa::regUnitName(u), {}};
      for (unsigned lane = 0; lane < (u >= isa::vgprBase ? 64u : 1u); ++lane)
        r.lanes.push_back(laneOf(start, u, lane));
      c.registers.push_back(std::move(r));
    });
    return c;
  }
};

} // namespace

std::string Counterexample::text() const {
  std::string out = fmt::format("window at {:#x}, memory seed {:#x}: {}\n", address, memorySeed, difference);
  for (const Register& r : registers) {
    out += fmt::format("  {} =", r.name);
    const bool same = std::ranges::all_of(r.lanes, [&](std::uint32_t v) { return v == r.lanes[0]; });
    for (std::size_t lane = 0; lane < (same ? 1 : r.lanes.size()); ++lane)
      out += fmt::format(" {:#x}", r.lanes[lane]);
    out += '\n';
  }
  return out;
}

std::optional<Counterexample> findCounterexample(const SearchInput& input, std::string& obstacle,
                                                 unsigned& conclusive) {
  return Search(input).run(obstacle, conclusive);
}

} // namespace asmevo::verify
