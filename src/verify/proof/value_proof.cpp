#include "verify/proof/value_proof.h"

#include "program/analysis/exec_mask.h"
#include "program/analysis/liveness.h"
#include "support/file_io.h"
#include "verify/proof/indexed_mode.h"
#include "verify/proof/window.h"

#include <algorithm>
#include <deque>
#include <map>

namespace asmevo::verify {

using isa::InstClass;
using isa::RegSet;
using isa::RegUnit;
using program::Block;
using program::BlockId;
using program::Function;
using program::Instr;

std::string_view statusName(ProofStatus status) {
  switch (status) {
  case ProofStatus::proved:
    return "proved";
  case ProofStatus::differs:
    return "differs";
  case ProofStatus::unknown:
    return "unknown";
  case ProofStatus::timeout:
    return "timeout";
  case ProofStatus::refused:
    return "refused";
  }
  return "unknown";
}

namespace {

/// Blocks that a window may be extended by, on each side.
constexpr std::size_t longestPath = 6;
/// A pair of blocks is compared again whenever its relation loses something; more often than this it is not.
constexpr std::size_t mostVisits = 64;

class Proof {
 public:
  Proof(Side& k0, Side& k1, const ProofOptions& options) : side{&k0, &k1}, options(options), end(options.seconds) {
    for (const std::size_t s : bothSides) {
      liveness[s] = program::liveness(*side[s]->program, *side[s]->function, side[s]->accumOffset, options.wholeWaves);
      indexed[s] = indexedAtEntry(*side[s]->program, *side[s]->function);
      full[s].emplace(*side[s]->program, *side[s]->function, options.wholeWaves);
    }
  }

  ProofResult run() {
    Relation all = Relation::identity();
    if (side[0]->accumOffset != side[1]->accumOffset) {
      // AGPRs lie elsewhere in K1's file. They hold nothing at the entry; where they go then, the windows find out.
      for (unsigned v = std::min(side[0]->accumOffset, side[1]->accumOffset); v < 512; ++v)
        all.same.reset(isa::vgprUnit(v));
      movedAccumulators = usesAccumulators();
    }
    push(side[0]->function->entryBlock, side[1]->function->entryBlock, side[0]->kernel->entryAddress, all);
    pushOtherEntries(all);
    while (!queue.empty() && !failure) {
      const Pair pair = queue.front();
      queue.pop_front();
      queued.erase(pair);
      if (end.passed())
        return fail(ProofStatus::timeout, block(0, pair.first).address,
                    fmt::format("the whole proof takes longer than {:g} s of processor time", options.seconds));
      comparePair(pair);
    }
    if (!failure && hasCalls)
      compareCallees();
    if (failure)
      return *failure;
    result.status = ProofStatus::proved;
    result.blocks = entry.size();
    result.editedBlocks = edited.size();
    result.reason =
        fmt::format("{} blocks compared, {} edited: live-out registers, branch conditions and ordered memory effects "
                    "are equal for every input",
                    result.blocks, result.editedBlocks);
    if (options.wholeWaves)
      result.assumptions.push_back(
          "every workgroup is a whole number of waves: all lanes are on at the kernel's entry");
    if (widensLds)
      result.assumptions.push_back(
          "LDS accesses of the edited windows stay inside the allocation (beyond it a wide access fails as a whole)");
    return result;
  }

 private:
  using Pair = std::pair<BlockId, BlockId>;
  std::array<Side*, 2> side;
  const ProofOptions& options;
  Deadline end;
  std::array<program::Liveness, 2> liveness;
  std::array<std::vector<bool>, 2> indexed; ///< by block: VGPR indexing may be on at its entry
  std::array<std::optional<program::ExecMask>, 2> full;
  std::map<Pair, Relation> entry;
  std::map<Pair, std::size_t> visits;
  std::set<Pair> queued, edited;
  std::deque<Pair> queue;
  bool hasCalls = false, widensLds = false;
  bool movedAccumulators = false; ///< one text means other registers on either side
  ProofResult result;
  std::optional<ProofResult> failure;

  const Block& block(std::size_t s, BlockId id) const { return side[s]->program->blocks[id]; }

  ProofResult fail(ProofStatus status, std::uint64_t address, std::string why) {
    result.status = status;
    result.reason = std::move(why);
    result.address = address;
    result.blocks = entry.size();
    result.editedBlocks = edited.size();
    failure = result;
    return result;
  }
  void refuse(std::uint64_t address, std::string why) { fail(ProofStatus::refused, address, std::move(why)); }

  bool usesAccumulators() const {
    for (const BlockId id : side[0]->function->blocks)
      for (const auto& instr : block(0, id).instrs)
        for (const auto& operand : instr.inst->operands)
          if (operand.kind == isa::OperandKind::agpr)
            return true;
    return false;
  }

  void push(std::optional<BlockId> x, std::optional<BlockId> y, std::uint64_t from, const Relation& relation) {
    x = resolve(*side[0]->program, x);
    y = resolve(*side[1]->program, y);
    if (x.has_value() != y.has_value())
      return refuse(from, fmt::format("control flow differs after {:#x}", from));
    if (!x)
      return;
    const Pair pair{*x, *y};
    const auto [it, fresh] = entry.emplace(pair, relation);
    if ((fresh || it->second.meet(relation)) && queued.insert(pair).second)
      queue.push_back(pair);
  }

  /// Hardware that preloads arguments starts behind the prologue, and jumps through registers go where the walk does
  /// not see: such blocks are entries of their own.
  void pushOtherEntries(const Relation& all) {
    const Function &f = *side[0]->function, &g = *side[1]->function;
    if (f.preloadEntry || g.preloadEntry)
      push(f.preloadEntry, g.preloadEntry, side[0]->kernel->entryAddress, all);
    const auto entered = [&](std::size_t s) {
      std::vector<BlockId> blocks;
      for (const BlockId id : side[s]->function->blocks)
        if (block(s, id).entersByRegister && id != side[s]->function->entryBlock)
          blocks.push_back(id);
      return blocks;
    };
    const auto x = entered(0), y = entered(1);
    if (x.size() != y.size())
      return refuse(side[0]->kernel->entryAddress,
                    "the blocks that jumps through registers may reach are not the same");
    for (std::size_t i = 0; i < x.size() && !failure; ++i)
      push(x[i], y[i], block(0, x[i]).address, all);
  }

  Path pathOf(std::size_t s, const std::vector<BlockId>& blocks) const {
    Path path;
    path.blocks = blocks;
    for (const BlockId id : blocks)
      for (std::uint32_t i = 0; i < block(s, id).instrs.size(); ++i) {
        const Instr& instr = block(s, id).instrs[i];
        if (!instr.inst->isBranch() && instr.inst->cls != InstClass::endpgm)
          path.code.push_back({&instr, program::Place{id, i}});
      }
    path.branch = exitOf(*side[s]->program, blocks.back()).branch;
    return path;
  }

  /// The next block of a path that goes on without a choice.
  bool extend(std::size_t s, std::vector<BlockId>& blocks) const {
    const Exit exit = exitOf(*side[s]->program, blocks.back());
    if (!exit.isPlain() || blocks.size() >= longestPath)
      return false;
    const auto next = resolve(*side[s]->program, exit.fallThrough);
    if (!next || block(s, *next).opaque || std::ranges::find(blocks, *next) != blocks.end())
      return false;
    blocks.push_back(*next);
    return true;
  }

  void comparePair(const Pair& pair) {
    const auto [x, y] = pair;
    const Block &p = block(0, x), &q = block(1, y);
    hasCalls |= std::ranges::any_of(p.instrs, [](const Instr& i) { return i.inst->cls == InstClass::jump; });
    if (p.opaque || q.opaque)
      return refuse(p.address, fmt::format("undecodable code is reached at {:#x}", p.address));
    if (++visits[pair] > mostVisits)
      return void(fail(ProofStatus::unknown, p.address, "the relation between the registers does not settle"));
    const Relation relation = entry.at(pair);
    const bool same = sameText(*side[0], p, *side[1], q);
    if (!same)
      edited.insert(pair);
    const Exit exit0 = exitOf(*side[0]->program, x), exit1 = exitOf(*side[1]->program, y);
    const bool sameExit = exit0.ends == exit1.ends && !exit0.branch == !exit1.branch &&
                          (!exit0.branch || exit0.branch->inst->base == exit1.branch->inst->base);
    if (same && sameExit && !movedAccumulators)
      if (const auto after = unchanged(pair, relation))
        return leave(exit0, exit1, p.address, *after, false);
    if (indexed[0][x] || indexed[1][y])
      return refuse(p.address,
                    fmt::format("the edited block at {:#x} is entered with VGPR indexing or skipping on", p.address));
    compareEdited(pair, relation);
  }

  /// The relation behind a pair with one text whose reads are all equal; nothing where they are not.
  std::optional<Relation> unchanged(const Pair& pair, const Relation& relation) {
    const auto [x, y] = pair;
    RegSet exposed, written, killed;
    bool needsAll = indexed[0][x] || indexed[1][y];
    const std::vector<bool> before = full[0]->fullBefore(x);
    // The same instructions set EXEC alike on both sides, so one look at K1's entry does.
    const bool alike = execIsFull(0, x) && execIsFull(1, y);
    for (std::size_t i = 0; i < block(0, x).instrs.size(); ++i) {
      const isa::Instruction& inst = *block(0, x).instrs[i].inst;
      needsAll |= inst.cls == InstClass::jump || inst.entersGprIdxMode() || inst.base.starts_with("s_movrel") ||
                  inst.base.starts_with("v_movrel") || inst.base.starts_with("s_setvskip");
      exposed |= inst.reads(side[0]->accumOffset).remove(killed);
      written |= inst.writes(side[0]->accumOffset);
      killed |= inst.kills(side[0]->accumOffset);
      const bool isVector = inst.cls == InstClass::valu || inst.cls == InstClass::mfma || inst.cls == InstClass::lds ||
                            inst.isVectorMemory();
      if (alike && isVector && before[i])
        killed |= inst.writes(side[0]->accumOffset);
    }
    if (needsAll)
      exposed = liveness[0].liveIn[x];
    RegSet missing = exposed;
    if (missing.remove(relation.same).any())
      return std::nullopt;
    Relation after = relation;
    if (needsAll) { // what is called or indexed may write anything, alike on both sides
      after.renamed.clear();
      after.active.clear();
      return after;
    }
    after.same |= killed;
    const auto isWritten = [&](const RegPair& pair) { return written.test(pair.first) || written.test(pair.second); };
    std::erase_if(after.renamed, isWritten);
    std::erase_if(after.active, isWritten);
    if (written.test(isa::sreg::execLo) || written.test(isa::sreg::execHi))
      after.active.clear();
    return after;
  }

  void leave(const Exit& exit0, const Exit& exit1, std::uint64_t address, const Relation& relation, bool inverted) {
    const auto &taken = inverted ? exit1.fallThrough : exit1.taken, &next = inverted ? exit1.taken : exit1.fallThrough;
    push(exit0.fallThrough, next, address, relation);
    if (!failure && exit0.branch)
      push(exit0.taken, taken, address, relation);
  }

  bool execIsFull(std::size_t s, BlockId id) const {
    const auto before = full[s]->fullBefore(id);
    return !before.empty() && before.front();
  }

  void compareEdited(const Pair& pair, const Relation& relation) {
    std::array<std::vector<BlockId>, 2> blocks{std::vector{pair.first}, std::vector{pair.second}};
    const auto kindOf = [&](std::size_t s) {
      const Exit exit = exitOf(*side[s]->program, blocks[s].back());
      return exit.ends ? 2 : exit.branch ? 1 : 0;
    };
    const auto align = [&] {
      while (kindOf(0) != kindOf(1)) {
        const std::size_t shorter = kindOf(0) == 0 ? 0 : 1;
        if (kindOf(shorter) != 0 || !extend(shorter, blocks[shorter]))
          return false;
      }
      return true;
    };
    const std::uint64_t address = block(0, pair.first).address;
    if (!align())
      return refuse(address, fmt::format("the block at {:#x} ends differently in K1", address));
    std::optional<WindowResult> first;
    for (;;) {
      WindowResult found = compareBlocks(blocks, relation);
      if (found.status == ProofStatus::proved) {
        widensLds |= found.widensLds;
        return leave(exitOf(*side[0]->program, blocks[0].back()), exitOf(*side[1]->program, blocks[1].back()), address,
                     found.exit, found.branchIsInverted);
      }
      if (!first)
        first = std::move(found);
      // Work may have moved over an edge that has no choice.
      if (first->status == ProofStatus::refused || end.passed() || !extend(0, blocks[0]) || !extend(1, blocks[1]) ||
          !align())
        break;
    }
    // Where K1 has blocks of its own, those that are paired need not be meant to do the same.
    if (first->counterexample && hasMoreBlocks())
      return void(fail(ProofStatus::unknown, address,
                       fmt::format("K1 has blocks of its own, and the block at {:#x} is no part of it that does "
                                   "the same",
                                   address)));
    result.counterexample = std::move(first->counterexample);
    fail(first->status, address, std::move(first->reason));
  }

  bool hasMoreBlocks() const {
    const auto blocksOf = [&](std::size_t s) {
      return std::ranges::count_if(side[s]->function->blocks,
                                   [&](BlockId id) { return resolve(*side[s]->program, id) == id; });
    };
    return blocksOf(1) > blocksOf(0);
  }

  WindowResult compareBlocks(const std::array<std::vector<BlockId>, 2>& blocks, const Relation& relation) {
    Window window;
    window.side = side;
    window.entry = relation;
    window.liveIn = liveness[0].liveIn[blocks[0].front()];
    for (const std::size_t s : bothSides) {
      window.path[s] = pathOf(s, blocks[s]);
      window.liveOut[s] = liveness[s].liveOut[blocks[s].back()];
    }
    window.execIsFull = options.useFacts && execIsFull(0, blocks[0].front()) && execIsFull(1, blocks[1].front());
    WindowProof report;
    report.address = block(0, blocks[0].front()).address;
    report.instructions = window.path[0].code.size() + window.path[1].code.size();
    const double before = end.spent();
    const std::string key = options.cache ? cacheKey(window) : std::string();
    WindowResult found;
    if (!key.empty() && options.cache->contains(key)) {
      found.status = ProofStatus::proved;
      found.exit = cachedExit(window);
      report.fromCache = true;
    } else {
      ProofOptions limited = options;
      limited.windowSeconds = std::min(options.windowSeconds, end.left());
      found = compareWindow(window, limited);
      if (!key.empty() && found.status == ProofStatus::proved && isPlain(found, window))
        options.cache->insert(key);
    }
    report.status = found.status;
    report.usedFacts = found.usedFacts;
    report.seconds = end.spent() - before;
    result.windows.push_back(report);
    return found;
  }

  // The cache.

  static RegSet writtenBy(const Window& window) {
    RegSet written;
    for (const std::size_t s : bothSides)
      for (const auto& [instr, place] : window.path[s].code)
        written |= instr->inst->writes(window.side[s]->accumOffset);
    return written;
  }

  /// What a cached proof says: everything live and written is equal under its own name.
  static Relation cachedExit(const Window& window) {
    Relation exit = window.entry;
    RegSet live = window.liveOut[0];
    writtenBy(window).forEach([&](RegUnit u) {
      if (live.test(u))
        exit.same.set(u);
      else
        exit.same.reset(u);
    });
    return exit;
  }

  /// Proved without help from around the window, with all results under their own names.
  static bool isPlain(const WindowResult& found, const Window& window) {
    RegSet live = window.liveOut[0];
    return !found.usedFacts && !found.widensLds && !found.branchIsInverted && found.exit.renamed.empty() &&
           found.exit.active.empty() && !live.remove(found.exit.same).any();
  }

  /// The window with its registers numbered in order of appearance; "" where it has no such form.
  std::string cacheKey(const Window& window) const {
    if (!window.entry.renamed.empty() || !window.entry.active.empty())
      return {};
    std::map<RegUnit, std::size_t> number;
    std::string text = window.execIsFull ? "full\n" : "any\n";
    const auto name = [&](RegUnit unit) {
      const auto [it, fresh] = number.emplace(unit, number.size());
      return fmt::format("{}{}", unit >= isa::vgprBase ? 'v' : 's', it->second);
    };
    for (const std::size_t s : bothSides) {
      text += "side\n";
      for (const auto& [instr, place] : window.path[s].code) {
        const isa::Instruction& inst = *instr->inst;
        if (instr->pcRef || inst.cls == InstClass::jump || inst.base == "s_getpc_b64")
          return {};
        std::size_t tail = 0;
        text += inst.mnemonic;
        for (const auto& operand : inst.operands) {
          text += fmt::format("{}{}{}", operand.isDef ? " =" : " ", operand.neg ? "-" : "", operand.abs ? "|" : "");
          const bool vector = operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
          if (!vector && !(operand.kind == isa::OperandKind::sgpr && operand.index < isa::sreg::flatScratchLo)) {
            text += inst.text.substr(operand.textBegin, operand.textEnd - operand.textBegin);
          } else {
            const unsigned first = vector
                                       ? isa::vgprBase + operand.index +
                                             (operand.kind == isa::OperandKind::agpr ? window.side[s]->accumOffset : 0)
                                       : operand.index;
            for (unsigned d = 0; d < operand.dwords; ++d)
              text += name(static_cast<RegUnit>(first + d));
          }
          tail = operand.textEnd;
        }
        text += inst.text.substr(std::min(tail, inst.text.size())) + '\n';
      }
      if (window.path[s].branch)
        text += window.path[s].branch->inst->base + '\n';
    }
    for (const auto& [unit, index] : number)
      text += fmt::format("{} {}{}\n", index, window.entry.same.test(unit) ? "same" : "other",
                          window.liveOut[0].test(unit) ? " live" : "");
    for (RegUnit u = isa::sreg::flatScratchLo; u < isa::sreg::count; ++u)
      text += fmt::format("{}{}", window.entry.same.test(u) ? '=' : '!', window.liveOut[0].test(u) ? '+' : '-');
    return sha256Hex(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }

  /// A call runs code that the walk does not follow: all other functions must be the same text.
  void compareCallees() {
    const auto &f = side[0]->program->functions, &g = side[1]->program->functions;
    if (f.size() != g.size())
      return refuse(side[0]->kernel->entryAddress, "the object's functions are not the same");
    for (std::size_t i = 0; i < f.size() && !failure; ++i)
      if (!f[i].kernel && !sameFunction(f[i], g[i]))
        refuse(f[i].entry, fmt::format("the device function {} was edited", f[i].name));
  }

  bool sameFunction(const Function& f, const Function& g) const {
    if (g.kernel || f.blocks.size() != g.blocks.size())
      return false;
    // Branches must go to corresponding blocks; control that leaves the function goes to places compared elsewhere.
    const auto place = [](const Function& function, const std::optional<BlockId>& id) {
      return id ? std::ranges::find(function.blocks, *id) - function.blocks.begin() : std::ptrdiff_t{-1};
    };
    const auto sameExit = [&](BlockId x, BlockId y) {
      const Exit p = exitOf(*side[0]->program, x), q = exitOf(*side[1]->program, y);
      return p.ends == q.ends && (p.branch != nullptr) == (q.branch != nullptr) &&
             place(f, p.taken) == place(g, q.taken) && place(f, p.fallThrough) == place(g, q.fallThrough);
    };
    return place(f, f.entryBlock) == place(g, g.entryBlock) &&
           std::ranges::equal(f.blocks, g.blocks, [&](BlockId x, BlockId y) {
             const Block &p = block(0, x), &q = block(1, y);
             return !p.opaque && !q.opaque && sameText(*side[0], p, *side[1], q) && sameExit(x, y);
           });
  }
};

} // namespace

Status ProofCache::load(const std::string& path) {
  ASMEVO_TRY(const Bytes bytes, readFile(path));
  std::string line;
  for (const std::uint8_t byte : bytes) {
    if (byte != '\n') {
      line += static_cast<char>(byte);
      continue;
    }
    if (line.size() == 64 && line.find_first_not_of("0123456789abcdef") == std::string::npos)
      keys.insert(line);
    line.clear();
  }
  return {};
}

Status ProofCache::save(const std::string& path) const {
  std::string text;
  for (const std::string& key : keys)
    text += key + '\n';
  return writeFileAtomic(path, text);
}

ProofResult proveSides(Side& k0, Side& k1, const ProofOptions& options) {
  return Proof(k0, k1, options).run();
}

Result<ProofResult> proveEquivalent(const object::CodeObject& k0, const object::CodeObject& k1,
                                    const std::string& kernel, const ProofOptions& options) {
  ASMEVO_TRY(Side a, openSide(k0, kernel));
  ASMEVO_TRY(Side b, openSide(k1, a.kernel->name));
  return proveSides(a, b, options);
}

} // namespace asmevo::verify
