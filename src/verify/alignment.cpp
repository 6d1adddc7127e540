#include "verify/alignment.h"

#include "verify/instruction_alignment.h"

#include <algorithm>
#include <span>

namespace asmevo::verify {

using program::Block;
using program::BlockId;
using program::Instr;
using program::Program;

namespace {

using Key = SequenceKey;

Key mix(Key hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3 + (hash >> 29);
}

/// Branches and pc-relative halves are compared without what depends on layout.
bool dependsOnLayout(const Instr& instr) {
  return instr.pcRef || (instr.inst->branchOffset && instr.target);
}

} // namespace

std::uint64_t instructionKey(const Instr& instr) {
  Key key = mix(0xcbf29ce484222325, instr.inst->opcode);
  if (!dependsOnLayout(instr)) {
    for (const std::uint8_t byte : instr.inst->bytes())
      key = mix(key, byte);
    return key;
  }
  for (const isa::Operand& operand : instr.inst->operands)
    if (operand.kind == isa::OperandKind::sgpr)
      key = mix(key, operand.index);
  return key;
}

namespace {

std::vector<Key> keysOf(const Block& block) {
  std::vector<Key> keys;
  keys.reserve(block.instrs.size());
  for (const Instr& instr : block.instrs)
    keys.push_back(instructionKey(instr));
  return keys;
}

Key signatureOf(const Block& block) {
  Key key = mix(block.section, block.opaque);
  for (const Instr& instr : block.instrs)
    key = mix(key, instructionKey(instr));
  return key;
}

/// Instructions two blocks have in common, in any order.
std::size_t common(const std::vector<Key>& a, const std::vector<Key>& b) {
  std::vector<Key> shared;
  std::ranges::set_intersection(a, b, std::back_inserter(shared));
  return shared.size();
}

/// Pairs blocks of two programs in order.
class Aligner {
 public:
  Aligner(const Program& p0, const Program& p1) : p0(p0), p1(p1) {
    result.toK1.resize(p0.blocks.size());
    result.toK0.resize(p1.blocks.size());
    for (const Block& block : p0.blocks)
      a.push_back(signatureOf(block));
    for (const Block& block : p1.blocks)
      b.push_back(signatureOf(block));
  }

  Alignment run() {
    std::size_t x0 = 0, y0 = 0;
    for (const auto& [x, y] : entries()) {
      matchRange(x0, x, y0, y);
      pair(x, y);
      x0 = x + 1;
      y0 = y + 1;
    }
    matchRange(x0, a.size(), y0, b.size());
    return std::move(result);
  }

 private:
  const Program& p0;
  const Program& p1;
  std::vector<Key> a, b;
  Alignment result;

  /// Entry blocks of the same kernel that begin with the same instruction, ascending on both sides: what is cut off
  /// such a block never takes its place, however much of it that is.
  std::vector<MatchedPair> entries() const {
    std::vector<MatchedPair> found;
    for (const program::Function& f : p0.functions)
      for (const program::Function& g : p1.functions) {
        if (!f.kernel || f.kernel != g.kernel)
          continue;
        const auto &x = p0.blocks[f.entryBlock].instrs, &y = p1.blocks[g.entryBlock].instrs;
        if (!x.empty() && !y.empty() && instructionKey(x.front()) == instructionKey(y.front()))
          found.emplace_back(f.entryBlock, g.entryBlock);
      }
    std::ranges::sort(found);
    std::vector<MatchedPair> ascending;
    for (const MatchedPair& one : found)
      if (ascending.empty() || (one.first > ascending.back().first && one.second > ascending.back().second))
        ascending.push_back(one);
    return ascending;
  }

  void pair(std::size_t x, std::size_t y) {
    result.toK1[x] = static_cast<BlockId>(y);
    result.toK0[y] = static_cast<BlockId>(x);
  }

  /// Equal ends, then blocks whose signature is unique on both sides as anchors, then what is between them.
  void matchRange(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1) {
    while (x0 < x1 && y0 < y1 && a[x0] == b[y0])
      pair(x0++, y0++);
    while (x0 < x1 && y0 < y1 && a[x1 - 1] == b[y1 - 1])
      pair(--x1, --y1);
    if (x0 == x1 || y0 == y1)
      return;
    const auto anchors =
        uniqueAnchors(std::span<const Key>(a).subspan(x0, x1 - x0), std::span<const Key>(b).subspan(y0, y1 - y0));
    const std::size_t left = x0, right = y0;
    for (const auto& [i, j] : anchors) {
      const std::size_t x = left + i, y = right + j;
      // Between two anchors no signature is unique any more: no further recursion into anchors of the same range.
      matchGap(x0, x, y0, y);
      pair(x, y);
      x0 = x + 1;
      y0 = y + 1;
    }
    matchGap(x0, x1, y0, y1);
  }

  /// Blocks that differ: by place where there are as many on both sides, else those that share most instructions.
  void matchGap(std::size_t x0, std::size_t x1, std::size_t y0, std::size_t y1) {
    while (x0 < x1 && y0 < y1 && a[x0] == b[y0])
      pair(x0++, y0++);
    while (x0 < x1 && y0 < y1 && a[x1 - 1] == b[y1 - 1])
      pair(--x1, --y1);
    const std::size_t m = x1 - x0, n = y1 - y0;
    if (m == 0 || n == 0)
      return;
    constexpr std::size_t largestTable = 1 << 16;
    if (m == n || m > largestTable / n) {
      for (std::size_t i = 0; i < std::min(m, n); ++i)
        if (p0.blocks[x0 + i].section == p1.blocks[y0 + i].section)
          pair(x0 + i, y0 + i);
      return;
    }
    std::vector<std::vector<Key>> left, right;
    for (std::size_t i = 0; i < m; ++i)
      std::ranges::sort(left.emplace_back(keysOf(p0.blocks[x0 + i])));
    for (std::size_t j = 0; j < n; ++j)
      std::ranges::sort(right.emplace_back(keysOf(p1.blocks[y0 + j])));
    // best[i][j]: most shared instructions from blocks i.. and j.. on; a pair that shares none still counts a little.
    std::vector<std::size_t> best((m + 1) * (n + 1)), score(m * n);
    const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return best[i * (n + 1) + j]; };
    for (std::size_t i = m; i-- > 0;)
      for (std::size_t j = n; j-- > 0;) {
        const bool sameSection = p0.blocks[x0 + i].section == p1.blocks[y0 + j].section;
        score[i * n + j] = sameSection ? 4 * common(left[i], right[j]) + 1 : 0;
        at(i, j) = std::max({at(i + 1, j), at(i, j + 1), at(i + 1, j + 1) + score[i * n + j]});
      }
    for (std::size_t i = 0, j = 0; i < m && j < n;) {
      if (score[i * n + j] != 0 && at(i, j) == at(i + 1, j + 1) + score[i * n + j])
        pair(x0 + i++, y0 + j++);
      else if (at(i, j) == at(i + 1, j))
        ++i;
      else
        ++j;
    }
  }
};

std::optional<std::size_t> dataSectionAt(const object::CodeObject& object, std::uint64_t address) {
  for (std::size_t i = 0; i < object.sections().size(); ++i)
    if (object.sections()[i].contains(address) && object.sections()[i].address != 0)
      return i;
  return std::nullopt;
}

} // namespace

Result<ProgramPair> recoverPair(const object::CodeObject& k0, const object::CodeObject& k1) {
  if (k0.target().id() != k1.target().id())
    return refused("{} is for {}, {} for {}: not the same kernel", k0.name(), k0.target().id(), k1.name(),
                   k1.target().id());
  ProgramPair pair;
  ASMEVO_TRY(pair.codec, isa::Codec::create(k0));
  ASMEVO_TRY(pair.k0, Program::recover(k0, *pair.codec));
  ASMEVO_TRY(pair.k1, Program::recover(k1, *pair.codec));
  return pair;
}

bool isPadding(const Block& block) {
  return !block.reachable &&
         std::ranges::all_of(block.instrs, [](const Instr& instr) { return instr.inst->cls == isa::InstClass::nop; });
}

std::optional<std::uint64_t> correspondingAddress(const object::CodeObject& k0, const Program& p0,
                                                  const object::CodeObject& k1, const Program& p1,
                                                  const Alignment& alignment, std::uint64_t address) {
  if (const auto block = p0.blockAt(address)) {
    // Code that follows a block which is gone is reached through the first one that stayed behind it.
    const auto counterpart = alignment.toK1[*block];
    return counterpart ? std::optional(p1.blocks[*counterpart].address) : std::nullopt;
  }
  const auto section = dataSectionAt(k0, address);
  if (!section || *section >= k1.sections().size() || k0.sections()[*section].isCode() ||
      k1.sections()[*section].name != k0.sections()[*section].name)
    return std::nullopt;
  return k1.sections()[*section].address + (address - k0.sections()[*section].address);
}

bool sameInstruction(const object::CodeObject& k0, const Program& p0, const object::CodeObject& k1, const Program& p1,
                     const Alignment& alignment, const Instr& a, const Instr& b) {
  if (dependsOnLayout(a) != dependsOnLayout(b) || instructionKey(a) != instructionKey(b))
    return false;
  if (!dependsOnLayout(a))
    return a.inst == b.inst;
  if (a.target.has_value() != b.target.has_value() || a.pcRef.has_value() != b.pcRef.has_value())
    return false;
  if (a.target && alignment.toK1[*a.target] != b.target)
    return false;
  if (!a.pcRef)
    return true;
  return a.pcRef->high == b.pcRef->high && a.pcRef->negated == b.pcRef->negated &&
         correspondingAddress(k0, p0, k1, p1, alignment, a.pcRef->target) == b.pcRef->target;
}

Alignment alignBlocks(const object::CodeObject& k0, const Program& p0, const object::CodeObject& k1,
                      const Program& p1) {
  Alignment alignment = Aligner(p0, p1).run();
  alignment.edited.assign(p0.blocks.size(), false);
  for (BlockId x = 0; x < p0.blocks.size(); ++x) {
    const Block& before = p0.blocks[x];
    if (!alignment.toK1[x]) {
      alignment.edited[x] = !before.instrs.empty() && !isPadding(before);
      continue;
    }
    const Block& after = p1.blocks[*alignment.toK1[x]];
    if (isPadding(before) && isPadding(after))
      continue;
    alignment.edited[x] = !std::ranges::equal(before.instrs, after.instrs, [&](const Instr& a, const Instr& b) {
      return sameInstruction(k0, p0, k1, p1, alignment, a, b);
    });
  }
  return alignment;
}

} // namespace asmevo::verify
