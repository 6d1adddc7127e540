#include "verify/diff.h"

#include "verify/alignment.h"
#include "verify/instruction_alignment.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <unordered_map>

namespace asmevo::verify {

namespace elf = llvm::ELF;

using isa::Operand;
using isa::OperandKind;
using program::Block;
using program::BlockId;
using program::Instr;
using program::Program;

namespace {

bool isRegister(const Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr || operand.kind == OperandKind::sgpr;
}

/// Special scalar registers keep their meaning: only s0 and on can be renamed.
bool canBeRenamed(const Operand& operand) {
  return isRegister(operand) && (operand.kind != OperandKind::sgpr || operand.index < isa::sreg::flatScratchLo);
}

std::string registerName(OperandKind kind, unsigned index) {
  return fmt::format("{}{}", kind == OperandKind::vgpr ? 'v' : kind == OperandKind::agpr ? 'a' : 's', index);
}

/// The text with every register that can be renamed as its file and width only.
SequenceKey shapeKey(const isa::Instruction& inst) {
  std::string shape;
  std::size_t at = 0;
  std::vector<const Operand*> inOrder;
  for (const Operand& operand : inst.operands)
    if (canBeRenamed(operand) && operand.textEnd > operand.textBegin)
      inOrder.push_back(&operand);
  std::ranges::sort(inOrder, {}, &Operand::textBegin);
  for (const Operand* operand : inOrder) {
    if (operand->textBegin < at || operand->textEnd > inst.text.size())
      continue;
    shape.append(inst.text, at, operand->textBegin - at);
    shape += fmt::format("{}:{}", static_cast<int>(operand->kind), operand->dwords);
    at = operand->textEnd;
  }
  shape.append(inst.text, std::min(at, inst.text.size()));
  return std::hash<std::string>{}(shape);
}

/// Counters that a wait names ("vmcnt(3)"), or its number if it has only that.
std::map<std::string, unsigned> waitCounters(const isa::Instruction& inst) {
  std::map<std::string, unsigned> counters;
  const std::string& text = inst.text;
  for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('(', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && text[begin - 1] != ' ' && text[begin - 1] != '&')
      --begin;
    unsigned value = 0;
    std::from_chars(text.data() + open + 1, text.data() + text.size(), value);
    counters[text.substr(begin, open - begin)] = value;
  }
  if (counters.empty())
    counters[inst.base] = inst.simm16;
  return counters;
}

/// "vmcnt 0 -> 2: weaker".
std::string compareWaits(const isa::Instruction& before, const isa::Instruction& after) {
  if (before.cls == isa::InstClass::nop)
    return fmt::format("{} -> {} wait states", before.simm16 + 1, after.simm16 + 1);
  constexpr unsigned none = ~0u;
  auto a = waitCounters(before), b = waitCounters(after);
  for (const auto& [name, value] : a)
    b.try_emplace(name, none);
  for (const auto& [name, value] : b)
    a.try_emplace(name, none);
  std::string text;
  bool weaker = false, stronger = false;
  const auto shown = [](unsigned value) { return value == none ? std::string("none") : std::to_string(value); };
  for (const auto& [name, value] : a) {
    const unsigned now = b[name];
    if (value == now)
      continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name, shown(value), shown(now));
    (now > value ? weaker : stronger) = true;
  }
  if (text.empty())
    return "other bits, the same counts";
  return text + (weaker && stronger ? ": neither weaker nor stronger" : weaker ? ": weaker" : ": stronger");
}

bool isWait(const isa::Instruction& inst) {
  return inst.cls == isa::InstClass::waitcnt || inst.cls == isa::InstClass::nop;
}

/// Compares two recovered programs.
class ProgramDiff {
 public:
  ProgramDiff(const object::CodeObject& k0, const object::CodeObject& k1, const ProgramPair& pair)
      : k0(k0), k1(k1), pair(pair), alignment(alignBlocks(k0, pair.k0, k1, pair.k1)) {}

  void run(ObjectDiff& diff) {
    nameFunctions();
    BlockId x = 0;
    for (BlockId y = 0; y < pair.k1.blocks.size(); ++y) {
      if (alignment.toK0[y]) {
        for (; x < *alignment.toK0[y]; ++x)
          gone(x);
        x = *alignment.toK0[y] + 1;
      }
      compare(alignment.toK0[y], y);
    }
    for (; x < pair.k0.blocks.size(); ++x)
      gone(x);
    findMoves();
    collectRenames();
    for (Draft& draft : drafts)
      finish(draft, diff);
    diff.renames = std::move(renameNames);
  }

 private:
  /// A block pair under comparison: what is matched, by index into either block.
  struct Match {
    std::size_t a, b;
    DiffKind kind;
    std::string detail;
  };
  struct Draft {
    std::optional<BlockId> x, y;
    std::vector<Match> matches;
    std::map<std::size_t, std::string> movedFrom, movedTo; ///< by index in K1's and K0's block
  };
  using Unit = std::pair<OperandKind, unsigned>;

  const object::CodeObject& k0;
  const object::CodeObject& k1;
  const ProgramPair& pair;
  const Alignment alignment;
  std::vector<Draft> drafts;
  std::set<std::pair<Unit, Unit>> renamedDefinitions;
  std::map<std::string, std::string> renameNames;
  std::map<BlockId, std::string> functionOfK0, functionOfK1;

  void nameFunctions() {
    for (const auto& [program, names] : {std::pair(&pair.k0, &functionOfK0), std::pair(&pair.k1, &functionOfK1)})
      for (const program::Function& function : program->functions)
        for (const BlockId id : function.blocks)
          names->try_emplace(id, function.name);
  }

  const Block* blockA(const Draft& draft) const { return draft.x ? &pair.k0.blocks[*draft.x] : nullptr; }
  const Block* blockB(const Draft& draft) const { return draft.y ? &pair.k1.blocks[*draft.y] : nullptr; }

  bool same(const Instr& a, const Instr& b) const { return sameInstruction(k0, pair.k0, k1, pair.k1, alignment, a, b); }

  void gone(BlockId x) {
    if (!isPadding(pair.k0.blocks[x]))
      drafts.push_back({x, {}, {}, {}, {}});
  }

  void compare(std::optional<BlockId> x, BlockId y) {
    const Block& b = pair.k1.blocks[y];
    if (!x) {
      if (!isPadding(b))
        drafts.push_back({{}, y, {}, {}, {}});
      return;
    }
    const Block& a = pair.k0.blocks[*x];
    if (isPadding(a) && isPadding(b))
      return;
    Draft draft{x, y, {}, {}, {}};
    std::vector<SequenceKey> left, right;
    for (const Instr& instr : a.instrs)
      left.push_back(instructionKey(instr));
    for (const Instr& instr : b.instrs)
      right.push_back(instructionKey(instr));
    for (const auto& [i, j] : alignSequences(left, right))
      draft.matches.push_back(matched(a.instrs[i], b.instrs[j], i, j));
    drafts.push_back(std::move(draft));
    matchShapes(drafts.back());
  }

  Match matched(const Instr& a, const Instr& b, std::size_t i, std::size_t j) const {
    if (same(a, b))
      return {i, j, DiffKind::same, {}};
    std::string detail = "other encoding of the same text";
    if (a.target && b.target) {
      const auto counterpart = alignment.toK1[*a.target];
      detail = counterpart ? fmt::format("to block {} instead of {}", *b.target, *counterpart)
                           : fmt::format("to block {}; the old target is gone", *b.target);
    } else if (a.pcRef && b.pcRef) {
      detail = fmt::format("refers to {:#x}, was {:#x}", b.pcRef->target, a.pcRef->target);
    }
    return {i, j, DiffKind::changed, std::move(detail)};
  }

  static std::vector<std::size_t> leftOver(std::size_t size, const std::vector<Match>& matches, bool ofA) {
    std::vector<bool> taken(size);
    for (const Match& match : matches)
      taken[ofA ? match.a : match.b] = true;
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < size; ++i)
      if (!taken[i])
        rest.push_back(i);
    return rest;
  }

  /// Pairs what is left of a block pair: equal but for registers, then waits and equal opcodes.
  void matchShapes(Draft& draft) {
    const Block &a = *blockA(draft), &b = *blockB(draft);
    // Between exact matches only, so that pairs do not cross them.
    const std::vector<Match> exact = draft.matches;
    const auto gapOf = [&](std::size_t index, bool ofA) {
      const auto after = std::ranges::lower_bound(exact, index, {}, ofA ? &Match::a : &Match::b);
      return static_cast<SequenceKey>(after - exact.begin());
    };
    using KeyOf = SequenceKey (*)(const isa::Instruction&);
    for (const KeyOf key : {KeyOf(shapeKey), KeyOf([](const isa::Instruction& inst) {
                              return std::hash<std::string>{}(inst.mnemonic);
                            })}) {
      const auto restA = leftOver(a.instrs.size(), draft.matches, true);
      const auto restB = leftOver(b.instrs.size(), draft.matches, false);
      std::vector<SequenceKey> left, right;
      for (const std::size_t i : restA)
        left.push_back(key(*a.instrs[i].inst) * 31 + gapOf(i, true));
      for (const std::size_t j : restB)
        right.push_back(key(*b.instrs[j].inst) * 31 + gapOf(j, false));
      const bool byShape = key == KeyOf(shapeKey);
      for (const auto& [i, j] : alignSequences(left, right)) {
        const isa::Instruction &before = *a.instrs[restA[i]].inst, &after = *b.instrs[restB[j]].inst;
        if (isWait(before) && isWait(after))
          draft.matches.push_back({restA[i], restB[j], DiffKind::wait, compareWaits(before, after)});
        else
          draft.matches.push_back({restA[i], restB[j], byShape ? DiffKind::renamed : DiffKind::changed, {}});
      }
    }
    std::ranges::sort(draft.matches, {}, &Match::b);
  }

  /// Equal instructions that are left on both sides, nearest blocks first by order.
  void findMoves() {
    struct Place {
      std::size_t draft, index;
    };
    std::unordered_map<SequenceKey, std::vector<Place>> left;
    for (std::size_t d = 0; d < drafts.size(); ++d) {
      const Block* a = blockA(drafts[d]);
      if (!a)
        continue;
      for (const std::size_t i : leftOver(a->instrs.size(), drafts[d].matches, true))
        left[instructionKey(a->instrs[i])].push_back({d, i});
    }
    for (const bool sameBlock : {true, false})
      for (std::size_t d = 0; d < drafts.size(); ++d) {
        const Block* b = blockB(drafts[d]);
        if (!b)
          continue;
        for (const std::size_t j : leftOver(b->instrs.size(), drafts[d].matches, false)) {
          if (drafts[d].movedFrom.contains(j) || (!sameBlock && isWait(*b->instrs[j].inst)))
            continue;
          const auto found = left.find(instructionKey(b->instrs[j]));
          if (found == left.end())
            continue;
          std::vector<Place>& places = found->second;
          const auto place = std::ranges::find_if(places, [&](const Place& each) {
            return (each.draft == d) == sameBlock && same(blockA(drafts[each.draft])->instrs[each.index], b->instrs[j]);
          });
          if (place == places.end())
            continue;
          const Instr& from = blockA(drafts[place->draft])->instrs[place->index];
          drafts[d].movedFrom[j] = fmt::format("from {:#x}", from.address);
          drafts[place->draft].movedTo[place->index] = fmt::format("to {:#x}", b->instrs[j].address);
          places.erase(place);
        }
      }
  }

  template <class Visit> static void forUnits(const isa::Instruction& a, const isa::Instruction& b, Visit&& visit) {
    for (std::size_t k = 0; k < a.operands.size() && k < b.operands.size(); ++k) {
      const Operand &before = a.operands[k], &after = b.operands[k];
      if (!isRegister(before) || before.kind != after.kind || before.dwords != after.dwords)
        continue;
      for (unsigned i = 0; i < before.dwords; ++i)
        visit(before, Unit{before.kind, before.index + i}, Unit{after.kind, after.index + i});
    }
  }

  /// Which register a definition has in K1, over all blocks: what a use may be renamed to before its block defines it.
  void collectRenames() {
    for (const Draft& draft : drafts)
      for (const Match& match : draft.matches)
        if (match.kind == DiffKind::renamed)
          forUnits(*blockA(draft)->instrs[match.a].inst, *blockB(draft)->instrs[match.b].inst,
                   [&](const Operand& operand, Unit before, Unit after) {
                     if (operand.isDef && before != after)
                       renamedDefinitions.insert({before, after});
                   });
    for (Draft& draft : drafts)
      checkRenames(draft);
  }

  /// Follows registers through a block: a renamed instruction has to read what was written for it.
  void checkRenames(Draft& draft) {
    std::map<Unit, Unit> now; // K0's register to K1's that holds the same value
    for (Match& match : draft.matches) {
      if (match.kind != DiffKind::same && match.kind != DiffKind::renamed)
        continue;
      const isa::Instruction& a = *blockA(draft)->instrs[match.a].inst;
      const isa::Instruction& b = *blockB(draft)->instrs[match.b].inst;
      bool consistent = true;
      std::map<Unit, Unit> here;
      forUnits(a, b, [&](const Operand& operand, Unit before, Unit after) {
        if (before != after)
          here.emplace(before, after);
        if (operand.isDef && !a.tiedDest)
          return;
        const auto known = now.find(before);
        consistent &= known != now.end() ? known->second == after
                                         : before == after || renamedDefinitions.contains({before, after});
      });
      forUnits(a, b, [&](const Operand& operand, Unit before, Unit after) {
        if (operand.isDef)
          now[before] = after;
      });
      if (match.kind != DiffKind::renamed)
        continue;
      std::string detail;
      for (const auto& [before, after] : here) {
        const std::string from = registerName(before.first, before.second),
                          to = registerName(after.first, after.second);
        detail += fmt::format("{}{} -> {}", detail.empty() ? "" : ", ", from, to);
        if (consistent && renamedDefinitions.contains({before, after}))
          renameNames.emplace(from, to);
      }
      match.detail = detail;
      if (!consistent)
        match.kind = DiffKind::changed;
    }
  }

  std::string textOf(const Instr& instr, bool ofK1) const {
    const isa::Instruction& inst = *instr.inst;
    if (!instr.target || !inst.branchOffset)
      return inst.text;
    const Program& program = ofK1 ? pair.k1 : pair.k0;
    return fmt::format("{}{:#x}", inst.text.substr(0, inst.text.rfind(' ') + 1), program.blocks[*instr.target].address);
  }

  void finish(const Draft& draft, ObjectDiff& diff) const {
    static const std::vector<Instr> none;
    const std::vector<Instr>& a = draft.x ? blockA(draft)->instrs : none;
    const std::vector<Instr>& b = draft.y ? blockB(draft)->instrs : none;
    BlockDiff block;
    block.before = draft.x;
    block.after = draft.y;
    const auto& names = draft.y ? functionOfK1 : functionOfK0;
    if (const auto name = names.find(draft.y ? *draft.y : *draft.x); name != names.end())
      block.function = name->second;
    std::vector<bool> matchedA(a.size());
    for (const Match& match : draft.matches)
      matchedA[match.a] = true;
    std::size_t next = 0; // first instruction of K0 that is not written
    const auto removedUpTo = [&](std::size_t end) {
      for (; next < end; ++next) {
        if (matchedA[next])
          continue;
        const auto moved = draft.movedTo.find(next);
        if (moved != draft.movedTo.end())
          continue; // shown where it went
        block.entries.push_back({DiffKind::removed, a[next].address, {}, textOf(a[next], false), {}, {}});
      }
    };
    auto match = draft.matches.begin();
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (match != draft.matches.end() && match->b == j) {
        removedUpTo(match->a);
        next = std::max(next, match->a + 1);
        block.entries.push_back({match->kind, a[match->a].address, b[j].address, textOf(a[match->a], false),
                                 textOf(b[j], true), match->detail});
        ++match;
      } else if (const auto moved = draft.movedFrom.find(j); moved != draft.movedFrom.end()) {
        block.entries.push_back({DiffKind::moved, {}, b[j].address, {}, textOf(b[j], true), moved->second});
      } else {
        block.entries.push_back({DiffKind::added, {}, b[j].address, {}, textOf(b[j], true), {}});
      }
    }
    removedUpTo(a.size());
    bool differs = false;
    for (const DiffEntry& entry : block.entries) {
      ++diff.counts[static_cast<std::size_t>(entry.kind)];
      differs |= entry.kind != DiffKind::same;
    }
    if (differs)
      diff.blocks.push_back(std::move(block));
  }
};

void diffDescriptors(const object::CodeObject& k0, const object::CodeObject& k1, ObjectDiff& diff) {
  for (const object::Kernel& kernel : k0.kernels()) {
    const auto other = k1.findKernel(kernel.name);
    if (!other) {
      diff.descriptors.push_back({fmt::format("kernel {}", kernel.name), "present", "absent"});
      continue;
    }
    const auto before = kernel.descriptor.fields(k0.target()), after = (*other)->descriptor.fields(k1.target());
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i)
      if (before[i] != after[i])
        diff.descriptors.push_back({fmt::format("kernel {}: {}", kernel.name, before[i].first),
                                    std::to_string(before[i].second), std::to_string(after[i].second)});
  }
  for (const object::Kernel& kernel : k1.kernels())
    if (!k0.findKernel(kernel.name))
      diff.descriptors.push_back({fmt::format("kernel {}", kernel.name), "absent", "present"});
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void diffMetadata(const object::CodeObject& k0, const object::CodeObject& k1, ObjectDiff& diff) {
  const auto a = linesOf(k0.metadataText()), b = linesOf(k1.metadataText());
  std::vector<SequenceKey> left, right;
  for (const std::string& line : a)
    left.push_back(std::hash<std::string>{}(line));
  for (const std::string& line : b)
    right.push_back(std::hash<std::string>{}(line));
  auto pairs = alignSequences(left, right);
  pairs.emplace_back(a.size(), b.size());
  std::size_t x = 0, y = 0;
  const auto trimmed = [](const std::string& line) {
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  };
  for (const auto& [i, j] : pairs) {
    while (x < i || y < j) {
      FieldDiff field;
      field.what = "metadata";
      if (x < i)
        field.before = trimmed(a[x++]);
      if (y < j)
        field.after = trimmed(b[y++]);
      diff.metadata.push_back(std::move(field));
    }
    x = i + 1;
    y = j + 1;
  }
}

void diffData(const object::CodeObject& k0, const object::CodeObject& k1, ObjectDiff& diff) {
  const auto isData = [](const object::Section& section) {
    return (section.flags & elf::SHF_ALLOC) != 0 && section.type == elf::SHT_PROGBITS && !section.isCode();
  };
  for (const object::Section& section : k0.sections()) {
    if (!isData(section))
      continue;
    const auto other = std::ranges::find_if(
        k1.sections(), [&](const object::Section& each) { return isData(each) && each.name == section.name; });
    if (other == k1.sections().end()) {
      diff.data.push_back({section.name, fmt::format("{} bytes", section.size), "absent"});
      continue;
    }
    const auto a = k0.contents(section), b = k1.contents(*other);
    if (a.size() != b.size()) {
      diff.data.push_back({section.name, fmt::format("{} bytes", a.size()), fmt::format("{} bytes", b.size())});
      continue;
    }
    // Descriptors are compared field by field.
    std::vector<bool> skip(a.size());
    for (const object::Kernel& kernel : k0.kernels())
      if (section.contains(kernel.descriptorAddress))
        for (std::uint64_t i = kernel.descriptorAddress - section.address,
                           end = std::min<std::uint64_t>(i + 64, a.size());
             i < end; ++i)
          skip[i] = true;
    for (std::size_t i = 0; i < a.size();) {
      if (a[i] == b[i] || skip[i]) {
        ++i;
        continue;
      }
      std::size_t end = i;
      FieldDiff field{fmt::format("{} at {:#x}", section.name, section.address + i), {}, {}};
      constexpr std::size_t mostShown = 16;
      for (; end < a.size() && a[end] != b[end] && !skip[end]; ++end)
        if (end < i + mostShown) {
          field.before += fmt::format("{:02x}", a[end]);
          field.after += fmt::format("{:02x}", b[end]);
        }
      if (end > i + mostShown)
        field.after += fmt::format("... ({} bytes)", end - i);
      diff.data.push_back(std::move(field));
      i = end;
    }
  }
}

void diffSymbols(const object::CodeObject& k0, const object::CodeObject& k1, ObjectDiff& diff) {
  const auto names = [](const object::CodeObject& object) {
    std::set<std::string> set;
    for (const object::Symbol& symbol : object.symbols())
      if (!symbol.name.empty())
        set.insert(symbol.name);
    return set;
  };
  const auto a = names(k0), b = names(k1);
  for (const std::string& name : a)
    if (!b.contains(name))
      diff.symbols.push_back({"symbol " + name, "present", "absent"});
  for (const std::string& name : b)
    if (!a.contains(name))
      diff.symbols.push_back({"symbol " + name, "absent", "present"});
}

} // namespace

const char* diffKindName(DiffKind kind) {
  static constexpr const char* names[diffKinds] = {"same", "renamed", "moved", "wait", "changed", "removed", "added"};
  return names[static_cast<std::size_t>(kind)];
}

bool ObjectDiff::onlyLayout() const {
  return blocks.empty() && descriptors.empty() && metadata.empty() && data.empty() && symbols.empty();
}

Result<ObjectDiff> diffObjects(const object::CodeObject& k0, const object::CodeObject& k1) {
  ObjectDiff diff;
  const auto a = k0.bytes(), b = k1.bytes();
  diff.identical = std::ranges::equal(a, b);
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i)
    diff.bytesDiffer += a[i] != b[i];
  diff.bytesDiffer += std::max(a.size(), b.size()) - shared;
  ASMEVO_TRY(const ProgramPair pair, recoverPair(k0, k1));
  ProgramDiff(k0, k1, pair).run(diff);
  diffDescriptors(k0, k1, diff);
  diffMetadata(k0, k1, diff);
  diffData(k0, k1, diff);
  diffSymbols(k0, k1, diff);
  return diff;
}

} // namespace asmevo::verify
