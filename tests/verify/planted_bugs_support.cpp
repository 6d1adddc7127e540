#include "verify/planted_bugs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace asmevo::tests {

using isa::InstClass;
using isa::Instruction;
using program::Instr;

namespace {

std::string operandText(const Instruction& inst, const isa::Operand& operand) {
  return inst.text.substr(operand.textBegin, operand.textEnd - operand.textBegin);
}

/// The needed waits of a block, found without any dataflow: a load before the wait, no other wait between, and a reader
/// of the loaded register after it before anything overwrites it or waits again.
bool waitIsNeeded(const program::Block& block, std::size_t at) {
  const auto isLoad = [](const Instruction& i) {
    return i.mayLoad && (i.isVectorMemory() || i.cls == InstClass::lds || i.cls == InstClass::smem) && !i.mods.lds;
  };
  isa::RegSet pending;
  for (std::size_t i = at; i-- > 0;) {
    const Instruction& inst = *block.instrs[i].inst;
    if (inst.cls == InstClass::waitcnt)
      break;
    if (isLoad(inst))
      pending |= inst.writes(256);
  }
  for (std::size_t i = at + 1; i < block.instrs.size(); ++i) {
    const Instruction& inst = *block.instrs[i].inst;
    if (inst.cls == InstClass::waitcnt)
      return false;
    if (inst.reads(256).intersects(pending))
      return true;
    pending.remove(inst.writes(256));
  }
  return false;
}

/// The first memory counter such a wait names covers all loads before it: only full waits are dropped, so that the wait
/// is the one that matters.
bool isFullWait(const Instruction& inst) {
  const auto count = inst.waitCount();
  return inst.base == "s_waitcnt" && (count.vm == 0 || count.lgkm == 0);
}

std::optional<std::string> swapped(const Instruction& inst) {
  static constexpr std::array<std::string_view, 14> order = {
      "v_sub_f32", "v_sub_u32", "v_lshlrev_b32", "v_cndmask_b32", "v_cmp_gt_i32", "v_cmp_lt_i32", "v_cmp_gt_u32",
      "s_sub_u32", "s_sub_i32", "s_lshl_b32",    "s_cmp_lt_i32",  "s_cmp_gt_i32", "v_cmp_gt_f32", "v_cmp_lt_f32"};
  if (std::ranges::find(order, inst.base) == order.end())
    return std::nullopt;
  std::vector<const isa::Operand*> sources;
  for (const auto& operand : inst.operands)
    if (!operand.isDef)
      sources.push_back(&operand);
  if (sources.size() < 2 || operandText(inst, *sources[0]) == operandText(inst, *sources[1]))
    return std::nullopt;
  std::string text = inst.text;
  const std::string a = operandText(inst, *sources[0]), b = operandText(inst, *sources[1]);
  text.replace(sources[1]->textBegin, b.size(), a);
  text.replace(sources[0]->textBegin, a.size(), b);
  return text;
}

std::optional<std::string> shifted(const Instruction& inst) {
  if (!(inst.isVectorMemory() || inst.cls == InstClass::lds) || (!inst.mayLoad && !inst.mayStore))
    return std::nullopt;
  const auto at = inst.text.find(" offset:");
  if (at == std::string::npos)
    return inst.text.find("offset0") == std::string::npos && inst.text.find("offset1") == std::string::npos
               ? std::optional(inst.text + " offset:4")
               : std::nullopt;
  const auto end = inst.text.find(' ', at + 1);
  return inst.text.substr(0, at) + fmt::format(" offset:{}", inst.mods.offset + 4) +
         (end == std::string::npos ? "" : inst.text.substr(end));
}

std::optional<std::string> unmasked(const Instruction& inst) {
  if (inst.base != "s_and_saveexec_b64")
    return std::nullopt;
  return fmt::format("s_mov_b64 {}, exec", operandText(inst, inst.operands.front()));
}

} // namespace

const char* bugName(BugKind kind) {
  switch (kind) {
  case BugKind::droppedWait:
    return "dropped wait";
  case BugKind::swappedOperands:
    return "swapped operands";
  case BugKind::shiftedOffset:
    return "offset off by one element";
  case BugKind::lostMask:
    return "missing tail mask";
  }
  return "";
}

std::vector<PlantedBug> plantBugs(const program::Program& program, isa::Codec& codec,
                                  const std::vector<std::uint64_t>& executed) {
  std::vector<PlantedBug> bugs;
  for (program::BlockId id = 0; id < program.blocks.size(); ++id) {
    const program::Block& block = program.blocks[id];
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      const Instr& instr = block.instrs[i];
      const Instruction& inst = *instr.inst;
      if (block.opaque || instr.pcRef || !std::ranges::binary_search(executed, instr.address))
        continue;
      if (inst.cls == InstClass::waitcnt && isFullWait(inst) && waitIsNeeded(block, i)) {
        PlantedBug bug{BugKind::droppedWait, fmt::format("{:#x}: {}", instr.address, inst.text), instr.address,
                       program};
        auto& instrs = bug.program.blocks[id].instrs;
        instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(i));
        bugs.push_back(std::move(bug));
      }
      const std::array<std::pair<BugKind, std::optional<std::string>>, 3> edits = {{
          {BugKind::swappedOperands, swapped(inst)},
          {BugKind::shiftedOffset, shifted(inst)},
          {BugKind::lostMask, unmasked(inst)},
      }};
      for (const auto& [kind, text] : edits) {
        if (!text)
          continue;
        // Not every operand may stand in every place; what does not assemble is no bug.
        const auto replaced = codec.assemble(*text);
        if (!replaced)
          continue;
        PlantedBug bug{kind, fmt::format("{:#x}: {} -> {}", instr.address, inst.text, *text), instr.address, program};
        bug.program.blocks[id].instrs[i].inst = codec.complete(*replaced);
        bugs.push_back(std::move(bug));
      }
    }
  }
  return bugs;
}

} // namespace asmevo::tests
