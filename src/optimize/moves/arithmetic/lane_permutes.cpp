#include "optimize/moves/arithmetic/lane_permutes.h"

#include "optimize/edit/lane_values.h"
#include "optimize/edit/registers.h"
#include "optimize/edit/waits.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/dataflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;
using program::BlockId;
using program::Program;

constexpr unsigned lanes = 64;
constexpr std::size_t hottestAlone = 3;
constexpr std::string_view itemAssumption =
    "workgroups of the dispatch are multiples of 64 work-items in x, so a lane's number is the low six bits of its x";

/// A DPP control and the lane that each lane reads.
struct Control {
  std::string text;
  LanePattern from{};
};

template <class From> Control control(std::string text, const From& from) {
  Control made{std::move(text), {}};
  for (unsigned lane = 0; lane < lanes; ++lane)
    made.from[lane] = static_cast<std::uint8_t>(from(lane));
  return made;
}

/// The permutation within quads that the pattern is; nothing if it is none.
std::optional<Control> quadPermutation(const LanePattern& pattern) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (pattern[lane] / 4 != lane / 4 || pattern[lane] % 4 != pattern[lane % 4])
      return std::nullopt;
  return Control{fmt::format("quad_perm:[{},{},{},{}]", pattern[0], pattern[1], pattern[2], pattern[3]), pattern};
}

/// All others (CDNA3 ISA, "DPP": row rotations, shifts and mirrors, wave rotations, one lane for a row). Lanes without
/// a source have number `lanes`, which no pattern has.
const std::vector<Control>& controls() {
  static const std::vector<Control> all = [] {
    std::vector<Control> list;
    list.push_back(control("row_half_mirror", [](unsigned l) { return l ^ 7; }));
    list.push_back(control("row_mirror", [](unsigned l) { return l ^ 15; }));
    for (unsigned n = 1; n < 16; ++n)
      list.push_back(control(fmt::format("row_ror:{}", n), [n](unsigned l) { return (l & 48) | ((l - n) & 15); }));
    for (unsigned n = 1; n < 16; ++n) {
      list.push_back(control(fmt::format("row_shr:{}", n), [n](unsigned l) { return l % 16 < n ? lanes : l - n; }));
      list.push_back(
          control(fmt::format("row_shl:{}", n), [n](unsigned l) { return l % 16 + n > 15 ? lanes : l + n; }));
    }
    for (unsigned n = 0; n < 16; ++n)
      list.push_back(control(fmt::format("row_newbcast:{}", n), [n](unsigned l) { return (l & 48) | n; }));
    list.push_back(control("wave_ror:1", [](unsigned l) { return (l - 1) & 63; }));
    list.push_back(control("wave_rol:1", [](unsigned l) { return (l + 1) & 63; }));
    return list;
  }();
  return all;
}

/// The lanes that the exchange reads, if they are the same in every launch.
std::optional<LanePattern> patternOf(const isa::Instruction& inst, const LaneState& state) {
  LanePattern pattern{};
  // Bytes 0 and 1 of a DS encoding are its offset.
  const std::uint32_t offset = inst.encoding[0] | std::uint32_t{inst.encoding[1]} << 8;
  if (inst.base == "ds_swizzle_b32" && inst.operands.size() >= 2 && offset < 0xc000) {
    // Quad mode, or masks within 32 lanes (CDNA3 ISA, DS_SWIZZLE_B32).
    for (unsigned lane = 0; lane < lanes; ++lane)
      pattern[lane] = static_cast<std::uint8_t>(
          offset >= 0x8000
              ? lane / 4 * 4 + (offset >> 2 * (lane % 4) & 3)
              : lane / 32 * 32 + ((((lane % 32 & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) & 31));
    return pattern;
  }
  if (inst.base != "ds_bpermute_b32" || inst.operands.size() < 3 || inst.operands[1].kind != OperandKind::vgpr)
    return std::nullopt;
  const LaneBits* address = state.of(isa::vgprUnit(inst.operands[1].index));
  if (!address)
    return std::nullopt;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    // Bits 7:2 of the sum say which; a carry out of the lower two must be known too.
    if ((address->known[lane] & 0xff) != 0xff)
      return std::nullopt;
    pattern[lane] = static_cast<std::uint8_t>(((address->value[lane] + offset) >> 2) % lanes);
  }
  return pattern;
}

struct Exchange {
  std::size_t at = 0;
  std::vector<isa::InstRef> moves;
};

class Finder {
 public:
  Finder(const Program& p, const program::Function& f, const MoveContext& c, LaneValues::Entry entry)
      : program(p), context(c), values(p, f, c.accumOffset, entry) {}

  std::vector<Exchange> in(BlockId block) const {
    std::vector<Exchange> found;
    values.walk(block, [&](std::size_t at, const LaneState& state, bool) {
      const program::Instr& instr = program.blocks[block].instrs[at];
      const isa::Instruction& inst = *instr.inst;
      if (inst.cls != isa::InstClass::lds || inst.mods.gds)
        return;
      const auto pattern = patternOf(inst, state);
      const auto moves = pattern ? dppMoves(*pattern) : std::nullopt;
      if (!moves)
        return;
      const isa::Operand& data = inst.operands[inst.base == "ds_swizzle_b32" ? 1 : 2];
      const isa::Operand& target = inst.operands[0];
      // The second of two moves reads what the first must have left alone.
      if (data.kind != OperandKind::vgpr || target.kind != OperandKind::vgpr ||
          (moves->size() > 1 && data.index == target.index))
        return;
      Exchange exchange{at, {}};
      for (const std::string& text : *moves) {
        // With bound_ctrl a lane reads 0 of one that is off, as it does over LDS.
        auto made = context.codec.assemble(fmt::format("v_mov_b32_dpp v{}, v{} {}", target.index, data.index, text));
        if (!made)
          return;
        exchange.moves.push_back(context.codec.complete(*made));
        if (!exchange.moves.back()->mods.boundCtrl)
          return;
      }
      found.push_back(std::move(exchange));
    });
    return found;
  }

 private:
  const Program& program;
  const MoveContext& context;
  LaneValues values;
};

/// Waits for LDS that count what is left behind them: made to wait for everything, before settle() finds what they must
/// wait for.
bool strengthenWaits(Program& program, const program::Function& function, isa::Codec& codec) {
  for (const BlockId id : function.blocks)
    for (program::Instr& instr : program.blocks[id].instrs) {
      if (instr.inst->base != "s_waitcnt")
        continue;
      isa::WaitCount wait = instr.inst->waitCount();
      if (wait.lgkm == 0 || wait.lgkm >= 15)
        continue;
      wait.lgkm = 0;
      auto made = codec.assemble(waitText(wait));
      if (!made)
        return false;
      instr.inst = codec.complete(*made);
    }
  return true;
}

class LanePermutesMove final : public Move {
 public:
  std::string_view name() const override { return "lane-permutes"; }
  std::string_view purpose() const override { return "exchange values between lanes by DPP instead of LDS permutes"; }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    const std::string_view processor = context.object.target().processor;
    if (!function || context.kernel.descriptor.isWave32() ||
        !(processor.starts_with("gfx90a") || processor.starts_with("gfx94") || processor.starts_with("gfx95")) ||
        program::usesGprIndexing(program, *function) || program::maySkipVectors(program, *function))
      return {};
    const auto exchanges = [&](const program::Instr& i) {
      return i.inst->base == "ds_bpermute_b32" || i.inst->base == "ds_swizzle_b32";
    };
    std::vector<BlockId> blocks;
    for (const HotWindow& window : context.windows)
      if (window.block < program.blocks.size() && std::ranges::binary_search(function->blocks, window.block) &&
          !program.blocks[window.block].opaque && std::ranges::any_of(program.blocks[window.block].instrs, exchanges))
        blocks.push_back(window.block);
    if (blocks.empty())
      return {};
    std::vector<Proposal> proposals;
    const WholeWaves waves = wholeWavesOf(context);
    const auto [itemIsLane, itemAssumed] = itemsInX(context);
    std::size_t most = 0;
    for (const bool evidence : {false, true}) {
      if (evidence && waves == WholeWaves::unknown)
        break;
      const LaneValues::Entry entry{evidence ? waves != WholeWaves::unknown : waves == WholeWaves::known,
                                    itemIsLane && (evidence || !itemAssumed)};
      const Finder finder(program, *function, context, entry);
      std::map<BlockId, std::vector<Exchange>> found;
      std::size_t count = 0;
      for (const BlockId id : blocks)
        if (auto list = finder.in(id); !list.empty()) {
          count += list.size();
          found.emplace(id, std::move(list));
        }
      if (count <= most)
        continue;
      most = count;
      proposals.clear();
      std::vector<std::string> assumptions;
      if (evidence && waves == WholeWaves::assumed)
        assumptions.emplace_back(wholeWavesAssumption);
      if (evidence && itemIsLane && itemAssumed)
        assumptions.emplace_back(itemAssumption);
      const auto propose = [&](const std::vector<BlockId>& chosen) {
        if (auto proposal = replaced(program, context, found, chosen)) {
          proposal->assumptions = assumptions;
          proposals.push_back(*std::move(proposal));
        }
      };
      std::vector<BlockId> edited;
      for (const BlockId id : blocks)
        if (found.contains(id))
          edited.push_back(id);
      propose(edited);
      for (std::size_t i = 0; edited.size() > 1 && i < std::min(edited.size(), hottestAlone); ++i)
        propose({edited[i]});
    }
    return proposals;
  }

 private:
  /// Is a lane's number the low six bits of its work-item's x, and is that known of the launches only?
  static std::pair<bool, bool> itemsInX(const MoveContext& context) {
    if (context.kernel.metadata && context.kernel.metadata->requiredWorkgroupSize)
      if (const auto x = (*context.kernel.metadata->requiredWorkgroupSize)[0]; x != 0 && x % lanes == 0)
        return {true, false};
    const bool all = context.launches && !context.launches->cases.empty() &&
                     std::ranges::all_of(context.launches->cases,
                                         [](const auto& launch) { return launch.workgroupSize[0] % lanes == 0; });
    return {all, true};
  }

  static std::optional<Proposal> replaced(const Program& program, const MoveContext& context,
                                          const std::map<BlockId, std::vector<Exchange>>& found,
                                          const std::vector<BlockId>& chosen) {
    Proposal proposal;
    proposal.program = program;
    proposal.begin = program::noAddress;
    std::size_t count = 0, moves = 0;
    for (const BlockId id : chosen) {
      auto& instrs = proposal.program.blocks[id].instrs;
      const auto& list = found.at(id);
      for (auto exchange = list.rbegin(); exchange != list.rend(); ++exchange) {
        const auto at = instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(exchange->at));
        std::vector<program::Instr> made(exchange->moves.size());
        for (std::size_t i = 0; i < made.size(); ++i)
          made[i].inst = exchange->moves[i];
        instrs.insert(at, made.begin(), made.end());
        ++count;
        moves += made.size();
      }
      const auto [begin, end] = addressRange(program.blocks[id]);
      proposal.begin = std::min(proposal.begin, begin);
      proposal.end = std::max(proposal.end, end);
    }
    const program::Function* function = kernelFunction(proposal.program, context);
    if (!function || !strengthenWaits(proposal.program, *function, context.codec) ||
        !settle(program, proposal.program, context))
      return std::nullopt;
    proposal.reason = fmt::format(
        "{} lane exchanges over LDS read constant lanes: {} DPP moves do them in the vector unit", count, moves);
    return proposal;
  }
};

} // namespace

std::optional<std::vector<std::string>> dppMoves(const LanePattern& pattern) {
  constexpr std::string_view everywhere = " row_mask:0xf bank_mask:0xf bound_ctrl:0";
  if (const auto quads = quadPermutation(pattern))
    return std::vector{quads->text + std::string(everywhere)};
  for (const Control& one : controls())
    if (one.from == pattern)
      return std::vector{one.text + std::string(everywhere)};
  // Two moves, each for some banks of four lanes in every row.
  const auto banksOf = [&](const Control& c) {
    unsigned banks = 0xf;
    for (unsigned lane = 0; lane < lanes; ++lane)
      if (c.from[lane] != pattern[lane])
        banks &= ~(1U << lane % 16 / 4);
    return banks;
  };
  for (const Control& first : controls())
    if (const unsigned some = banksOf(first); some != 0)
      for (const Control& second : controls())
        if ((some | banksOf(second)) == 0xf)
          return std::vector{fmt::format("{} row_mask:0xf bank_mask:{:#x} bound_ctrl:0", first.text, some),
                             fmt::format("{} row_mask:0xf bank_mask:{:#x} bound_ctrl:0", second.text, 0xf & ~some)};
  return std::nullopt;
}

const Move& lanePermutesMove() {
  static const LanePermutesMove move;
  return move;
}

} // namespace asmevo::optimize
