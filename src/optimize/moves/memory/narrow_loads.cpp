#include "optimize/moves/memory/narrow_loads.h"

#include "optimize/edit/registers.h"
#include "optimize/moves/arithmetic/straight_code.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using isa::OperandKind;

struct Width {
  unsigned dwords;
  std::string_view suffix;
};
constexpr std::array vectorWidths = {Width{1, ""}, Width{2, "x2"}, Width{3, "x3"}, Width{4, "x4"}};
constexpr std::array scalarWidths = {Width{1, ""}, Width{2, "x2"}, Width{4, "x4"}, Width{8, "x8"}, Width{16, "x16"}};

/// Loads whose dwords do not depend on each other: every dword comes from its own address. Buffer loads are left alone,
/// since a swizzled resource, which only its descriptor tells, checks the range of the whole element; so are LDS loads,
/// whose misaligned accesses at the end of the allocation are checked as a whole.
struct LoadKind {
  std::string_view prefix;
  std::span<const Width> widths;
  std::int32_t lowestOffset,
      highestOffset; ///< of the immediate (CDNA3 ISA, FLAT: 13 bits signed; SMEM: 21 bits signed)
};

std::optional<LoadKind> kindOf(const isa::Instruction& inst) {
  if (inst.operands.size() < 2 || !inst.operands[0].isDef || inst.operands[0].dwords < 2 || inst.mods.sc0 ||
      inst.mods.sc1 || inst.mods.tfe || inst.mods.lds)
    return std::nullopt;
  const auto named = [&](std::string_view prefix) {
    return inst.base.starts_with(prefix) && (inst.base.size() == prefix.size() || inst.base[prefix.size()] == 'x');
  };
  if (inst.cls == InstClass::global && named("global_load_dword"))
    return LoadKind{"global_load_dword", vectorWidths, -4096, 4095};
  // The offset of a scalar load must be a constant: with an SGPR, LLVM's text has both.
  if (named("s_load_dword") && inst.operands.size() == 3 && inst.operands[2].kind == OperandKind::imm &&
      inst.operands[0].kind == OperandKind::sgpr && inst.operands[0].index + inst.operands[0].dwords <= 102 &&
      inst.mods.offset == 0 && inst.operands[2].imm % 4 == 0)
    return LoadKind{"s_load_dword", scalarWidths, 0, (1 << 20) - 1};
  return std::nullopt;
}

/// The load of `width` dwords from `skip` on.
std::string narrowed(const isa::Instruction& inst, const LoadKind& kind, const RegisterTuple& all, unsigned skip,
                     const Width& width, std::int64_t offset) {
  const RegisterTuple part{all.file, all.first + skip, width.dwords};
  std::string text = fmt::format("{}{} {}", kind.prefix, width.suffix, registerText(part));
  const std::string_view old = inst.text;
  if (kind.prefix == "s_load_dword")
    return text +
           fmt::format("{}{:#x}{}",
                       old.substr(inst.operands[0].textEnd, inst.operands[2].textBegin - inst.operands[0].textEnd),
                       offset, old.substr(inst.operands[2].textEnd));
  std::string rest(old.substr(inst.operands[0].textEnd));
  constexpr std::string_view key = " offset:";
  std::size_t at = rest.find(key);
  if (at != std::string::npos) {
    rest.erase(at, rest.find(' ', at + key.size()) - at);
  } else {
    // Modifiers stand after the last operand.
    at = inst.operands.back().textEnd - inst.operands[0].textEnd;
    if (inst.operands.back().textEnd <= inst.operands[0].textEnd)
      return {};
  }
  if (offset != 0)
    rest.insert(std::min(at, rest.size()), fmt::format("{}{}", key, offset));
  return text + rest;
}

/// Does the instruction still do what it did, for the dwords of `part`?
bool reads(const isa::Instruction& now, const isa::Instruction& before, const RegisterTuple& part,
           std::int64_t offset) {
  if (now.operands.size() != before.operands.size() || tupleOf(now.operands[0]) != part ||
      now.mods.nt != before.mods.nt)
    return false;
  for (std::size_t i = 1; i < now.operands.size(); ++i)
    if (now.operands[i].kind != before.operands[i].kind || now.operands[i].index != before.operands[i].index ||
        now.operands[i].dwords != before.operands[i].dwords)
      return false;
  const bool scalar = now.operands.size() > 2 && now.operands[2].kind == OperandKind::imm;
  return (scalar ? now.operands[2].imm : std::int64_t{now.mods.offset}) == offset;
}

/// Dwords no longer loaded; 0: nothing to gain.
unsigned narrow(StraightCode& code, std::size_t at) {
  const isa::Instruction& inst = code.at(at);
  const auto kind = kindOf(inst);
  const auto all = kind ? tupleOf(inst.operands[0]) : std::nullopt;
  if (!all || !code.isEditable(at))
    return 0;
  unsigned first = all->count, last = 0;
  for (unsigned k = 0; k < all->count; ++k) {
    const isa::RegSet unit = unitsOf({all->file, all->first + k, 1}, code.accumOffset());
    bool dead = true;
    unit.forEach([&](isa::RegUnit each) { dead = dead && code.deadAfter(each, at); });
    if (!dead) {
      first = std::min(first, k);
      last = k;
    }
  }
  if (first >= all->count)
    return 0; // wholly dead: whether it may fault is another question
  const bool scalar = all->file == RegisterFile::sgpr;
  const std::int64_t offset = scalar ? inst.operands[2].imm : std::int64_t{inst.mods.offset};
  if (offset < kind->lowestOffset)
    return 0;
  for (const Width& width : kind->widths) {
    if (width.dwords >= all->count)
      break;
    for (unsigned skip = 0; skip <= first && skip + width.dwords <= all->count; ++skip) {
      if (skip + width.dwords <= last)
        continue;
      const RegisterTuple part{all->file, all->first + skip, width.dwords};
      const std::int64_t shifted = offset + 4 * std::int64_t{skip};
      if (shifted > kind->highestOffset ||
          part.first % alignmentOf(part.file, part.count, code.functionFacts().context.object.target()) != 0)
        continue;
      const std::string text = narrowed(inst, *kind, *all, skip, width, shifted);
      if (text.empty())
        return 0;
      const auto made = code.codec().assemble(text);
      if (!made || !reads(**made, inst, part, shifted))
        continue;
      code.replace(at, *made);
      return all->count - width.dwords;
    }
  }
  return 0;
}

class NarrowLoadsMove final : public Move {
 public:
  std::string_view name() const override { return "narrow-loads"; }
  std::string_view purpose() const override { return "load only those dwords of wide loads that are read"; }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    return proposeForBlocks(program, context, [](StraightCode& code) {
      unsigned loads = 0, dwords = 0;
      for (std::size_t i = 0; i < code.size(); ++i)
        if (code.has(i))
          if (const unsigned saved = narrow(code, i)) {
            ++loads;
            dwords += saved;
          }
      return loads ? fmt::format("{} loads narrowed by {} dwords that are overwritten or never read", loads, dwords)
                   : std::string();
    });
  }
};

} // namespace

const Move& narrowLoadsMove() {
  static const NarrowLoadsMove move;
  return move;
}

} // namespace asmevo::optimize
