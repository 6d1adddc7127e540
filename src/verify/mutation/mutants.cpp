#include "verify/mutation/mutant.h"

#include "dispatch/random.h"
#include "isa/waitcnt.h"
#include "program/analysis/call_closure.h"
#include "program/analysis/loops.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

namespace asmevo::verify {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using program::BlockId;
using program::Instr;

/// Operations that another takes the place of.
struct Exchange {
  std::string_view from, to;
};
constexpr Exchange exchanges[] = {
    {"v_max_", "v_min_"},
    {"v_min_", "v_max_"},
    {"v_add_f", "v_sub_f"},
    {"v_sub_f", "v_add_f"},
    {"v_add_u", "v_sub_u"},
    {"v_sub_u", "v_add_u"},
    {"v_and_b32", "v_or_b32"},
    {"v_or_b32", "v_and_b32"},
    {"v_lshlrev_", "v_lshrrev_"},
    {"v_lshrrev_", "v_lshlrev_"},
    {"v_pk_add_", "v_pk_mul_"},
    {"v_pk_mul_", "v_pk_add_"},
    {"v_mul_f", "v_add_f"},
    {"v_ashrrev_", "v_lshrrev_"},
    {"s_add_u32", "s_sub_u32"},
    {"s_add_i32", "s_sub_i32"},
    {"s_sub_i32", "s_add_i32"},
    {"s_sub_u32", "s_add_u32"},
    {"s_lshl_", "s_lshr_"},
    {"s_lshr_", "s_lshl_"},
    {"s_ashr_", "s_lshr_"},
    {"s_and_b32", "s_or_b32"},
    {"s_or_b32", "s_and_b32"},
    {"s_min_", "s_max_"},
    {"s_max_", "s_min_"},
    {"v_mul_hi_", "v_mul_lo_"},
    {"v_exp_", "v_log_"},
    {"v_log_", "v_exp_"},
    {"v_rcp_f", "v_rsq_f"},
    {"v_rsq_f", "v_rcp_f"},
    {"ds_max_", "ds_min_"},
    {"ds_min_", "ds_max_"},
    {"global_atomic_add", "global_atomic_sub"},
    {"ds_add_", "ds_sub_"},
    {"v_cmp_eq_", "v_cmp_ne_"},
    {"v_cmp_ne_", "v_cmp_eq_"},
    {"v_cmp_lt_", "v_cmp_gt_"},
    {"v_cmp_le_", "v_cmp_ge_"},
    {"v_cmp_gt_", "v_cmp_lt_"},
    {"v_cmp_ge_", "v_cmp_le_"},
    {"v_cmp_neq_", "v_cmp_eq_"},
    {"v_cmp_lg_", "v_cmp_eq_"},
    {"s_cmp_eq_", "s_cmp_lg_"},
    {"s_cmp_lg_", "s_cmp_eq_"},
    {"s_cmp_lt_", "s_cmp_gt_"},
    {"s_cmp_le_", "s_cmp_ge_"},
    {"s_cmp_gt_", "s_cmp_lt_"},
    {"s_cmp_ge_", "s_cmp_le_"},
    {"s_cbranch_scc0", "s_cbranch_scc1"},
    {"s_cbranch_scc1", "s_cbranch_scc0"},
    {"s_cbranch_vccz", "s_cbranch_vccnz"},
    {"s_cbranch_vccnz", "s_cbranch_vccz"},
};

/// Bounds that include their end, or do not.
constexpr Exchange bounds[] = {
    {"s_cmp_lt_", "s_cmp_le_"},   {"s_cmp_le_", "s_cmp_lt_"},   {"s_cmp_gt_", "s_cmp_ge_"},
    {"s_cmp_ge_", "s_cmp_gt_"},   {"v_cmp_lt_i", "v_cmp_le_i"}, {"v_cmp_le_i", "v_cmp_lt_i"},
    {"v_cmp_gt_i", "v_cmp_ge_i"}, {"v_cmp_ge_i", "v_cmp_gt_i"}, {"v_cmp_lt_u", "v_cmp_le_u"},
    {"v_cmp_le_u", "v_cmp_lt_u"}, {"v_cmp_gt_u", "v_cmp_ge_u"}, {"v_cmp_ge_u", "v_cmp_gt_u"},
};

/// What a change of EXEC becomes. %d: its destination as printed, %s: its last source.
struct MaskRow {
  std::string_view base, becomes;
};
constexpr MaskRow masks[] = {
    {"s_and_saveexec_b64", "s_mov_b64 %d, exec"}, {"s_and_saveexec_b64", "s_andn2_saveexec_b64 %d, %s"},
    {"s_or_saveexec_b64", "s_mov_b64 %d, exec"},  {"s_andn2_saveexec_b64", "s_and_saveexec_b64 %d, %s"},
    {"s_xor_b64", "s_or_b64 exec, exec, %s"},     {"s_or_b64", "s_and_b64 exec, exec, %s"},
    {"s_and_b64", "s_or_b64 exec, exec, %s"},     {"s_andn2_b64", "s_and_b64 exec, exec, %s"},
    {"s_mov_b64", "s_mov_b64 exec, -1"},
};

/// Operations whose first two sources may change places; fused ones take their product's factors first.
constexpr std::array<std::string_view, 21> commutative = {
    "v_add_",   "v_mul_",  "v_and_b", "v_or_b",    "v_xor_b",  "v_max_",   "v_min_",
    "v_fma",    "v_mac",   "v_mad_",  "v_pk_add_", "v_pk_mul", "v_pk_fma", "v_pk_max_",
    "v_pk_min", "v_addc_", "s_add",   "s_mul_",    "s_and_b",  "s_or_b",   "s_xor_b"};
constexpr std::array<std::string_view, 14> commutative3 = {"v_add3", "v_or3",    "v_max3",   "v_min3", "v_med3",
                                                           "s_max_", "s_min_",   "v_xnor",   "s_xnor", "s_nand",
                                                           "s_nor",  "s_cmp_eq", "s_cmp_lg", "v_fmac"};

template <class List> bool startsWithAny(std::string_view text, const List& list) {
  return std::ranges::any_of(list, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::string_view textOf(const Instruction& inst, const Operand& operand) {
  return std::string_view(inst.text).substr(operand.textBegin, operand.textEnd - operand.textBegin);
}

std::string replaced(const Instruction& inst, const Operand& operand, std::string_view by) {
  return inst.text.substr(0, operand.textBegin) + std::string(by) + inst.text.substr(operand.textEnd);
}

/// "v7", "s[4:5]"; empty for registers with names of their own.
std::string registerText(char file, unsigned index, unsigned dwords) {
  return dwords == 1 ? fmt::format("{}{}", file, index) : fmt::format("{}[{}:{}]", file, index, index + dwords - 1);
}

bool writesExec(const Instruction& inst) {
  return !inst.operands.empty() && inst.operands.front().isDef && inst.operands.front().kind == OperandKind::sgpr &&
         inst.operands.front().index == isa::sreg::execLo;
}

class Planter {
 public:
  Planter(const program::Program& program, isa::Codec& codec) : program(program), codec(codec) {}

  void function(const program::Function& function, unsigned vgprs, unsigned agprs, unsigned sgprs) {
    limits = {vgprs, agprs, sgprs};
    std::set<BlockId> looped;
    for (const program::LoopRegion& loop : program::loopForest(program, function))
      looped.insert(loop.blocks.begin(), loop.blocks.end());
    for (const BlockId id : function.blocks) {
      const program::Block& code = program.blocks[id];
      if (!code.reachable || code.opaque || !done.insert(id).second)
        continue;
      inLoop = looped.contains(id);
      block = id;
      for (index = 0; index < code.instrs.size(); ++index)
        instruction(code.instrs[index]);
    }
  }

  std::vector<Mutant> take() {
    std::ranges::sort(mutants, {}, [](const Mutant& m) { return std::tie(m.address, m.kind, m.replacement); });
    return std::move(mutants);
  }

 private:
  void add(MutantKind kind, const Instr& instr, std::string text) {
    if (!text.empty()) {
      if (text == instr.inst->text)
        return;
      // Not every operand may stand in every place; what does not assemble is no mutant. Neither is the same encoding.
      const auto assembled = codec.assemble(text);
      if (!assembled || *assembled == instr.inst)
        return;
    }
    mutants.push_back(
        {kind, instr.address, block, index, text,
         fmt::format("{:#x}: {} -> {}", instr.address, instr.inst->text, text.empty() ? "nothing" : text)});
  }
  void drop(MutantKind kind, const Instr& instr) { add(kind, instr, ""); }

  void instruction(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    if (instr.pcRef || instr.getpcId != 0 || instr.codeTable != 0)
      return;
    switch (inst.cls) {
    case InstClass::waitcnt:
      wait(instr);
      return;
    case InstClass::nop:
      for (const unsigned less : {1u, 2u, 16u})
        if (inst.simm16 >= less)
          add(MutantKind::shorterHazard, instr, fmt::format("s_nop {}", inst.simm16 - less));
      drop(MutantKind::shorterHazard, instr);
      return;
    case InstClass::barrier:
      drop(MutantKind::droppedBarrier, instr);
      return;
    case InstClass::branch:
      if (instr.target)
        exchange(instr);
      return;
    case InstClass::salu:
    case InstClass::valu:
    case InstClass::mfma:
      operation(instr);
      return;
    case InstClass::smem:
    case InstClass::vmem:
    case InstClass::flat:
    case InstClass::global:
    case InstClass::scratch:
    case InstClass::lds:
      memory(instr);
      return;
    default:
      return;
    }
  }

  void wait(const Instr& instr) {
    if (instr.inst->base != "s_waitcnt")
      return;
    drop(MutantKind::droppedWait, instr);
    const isa::WaitCount wait = instr.inst->waitCount();
    const auto weaken = [&](std::uint8_t isa::WaitCount::* counter) {
      const unsigned now = wait.*counter, none = isa::noWait.*counter;
      for (const unsigned by : {1u, 2u, 8u, none}) {
        isa::WaitCount changed = wait;
        changed.*counter = static_cast<std::uint8_t>(std::min(now + by, none));
        if (now < none && (now + by < none || by == none) && changed != isa::noWait)
          add(MutantKind::shortenedWait, instr, isa::waitcntText(changed));
      }
    };
    weaken(&isa::WaitCount::vm);
    weaken(&isa::WaitCount::lgkm);
  }

  void operation(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    if (inst.base.starts_with("s_set") || inst.base.starts_with("s_get") || inst.base.starts_with("s_barrier"))
      return;
    if (writesExec(inst) || inst.base.ends_with("saveexec_b64") || inst.base.starts_with("v_cmpx"))
      mask(instr);
    else
      drop(MutantKind::droppedInstruction, instr);
    exchange(instr);
    registers(instr);
    swaps(instr);
    constants(instr);
  }

  void mask(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    drop(MutantKind::wrongMask, instr);
    if (inst.operands.size() < 2)
      return;
    for (const MaskRow& row : masks) {
      if (inst.base != row.base)
        continue;
      std::string text(row.becomes);
      if (const auto at = text.find("%d"); at != std::string::npos)
        text.replace(at, 2, textOf(inst, inst.operands.front()));
      if (const auto at = text.find("%s"); at != std::string::npos)
        text.replace(at, 2, textOf(inst, inst.operands.back()));
      add(MutantKind::wrongMask, instr, text);
    }
  }

  void exchange(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    const auto tryAll = [&](const auto& rows, MutantKind kind) {
      for (const Exchange& row : rows)
        if (inst.mnemonic.starts_with(row.from))
          add(kind, instr, std::string(row.to) + inst.text.substr(row.from.size()));
    };
    tryAll(exchanges, MutantKind::wrongOperation);
    if (inLoop)
      tryAll(bounds, MutantKind::loopTrip);
  }

  void registers(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    for (const Operand& operand : inst.operands) {
      const auto [file, limit] = fileOf(operand);
      if (file == 0)
        continue;
      const unsigned step = operand.dwords == 1 ? 1 : operand.dwords == 3 ? 4 : std::min<unsigned>(operand.dwords, 4);
      for (const int by : {static_cast<int>(step), -static_cast<int>(step)}) {
        const int moved = static_cast<int>(operand.index) + by;
        if (moved < 0 || static_cast<unsigned>(moved) + operand.dwords > limit)
          continue;
        add(MutantKind::wrongRegister, instr,
            replaced(inst, operand, registerText(file, static_cast<unsigned>(moved), operand.dwords)));
        break;
      }
    }
  }

  /// Its letter and how many there are; 0 for everything else.
  std::pair<char, unsigned> fileOf(const Operand& operand) const {
    constexpr unsigned namedFrom = 102;
    switch (operand.kind) {
    case OperandKind::vgpr:
      return {'v', limits[0]};
    case OperandKind::agpr:
      return {'a', limits[1]};
    case OperandKind::sgpr:
      return operand.index < namedFrom ? std::pair{'s', std::min(limits[2], namedFrom)} : std::pair{'\0', 0u};
    default:
      return {'\0', 0};
    }
  }

  void swaps(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    std::vector<const Operand*> sources;
    for (const Operand& operand : inst.operands)
      if (!operand.isDef)
        sources.push_back(&operand);
    const bool firstTwo = startsWithAny(inst.base, commutative) || startsWithAny(inst.base, commutative3);
    for (std::size_t i = 0; i + 1 < sources.size() && i < 2; ++i) {
      const Operand &a = *sources[i], &b = *sources[i + 1];
      if ((i == 0 && firstTwo) || a.dwords != b.dwords || textOf(inst, a) == textOf(inst, b) || a.textEnd > b.textBegin)
        continue;
      if (i == 1 && startsWithAny(inst.base, commutative3))
        continue;
      std::string text = inst.text;
      const std::string first(textOf(inst, a)), second(textOf(inst, b));
      text.replace(b.textBegin, second.size(), first);
      text.replace(a.textBegin, first.size(), second);
      add(MutantKind::swappedOperands, instr, std::move(text));
    }
  }

  void constants(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    for (const Operand& operand : inst.operands) {
      if (operand.kind == OperandKind::fpImm)
        add(MutantKind::wrongConstant, instr, replaced(inst, operand, operand.fp == 1.0 ? "2.0" : "1.0"));
      if (operand.kind != OperandKind::imm)
        continue;
      const bool bound = inLoop && inst.cls == InstClass::salu &&
                         (inst.base.starts_with("s_cmp") || inst.base.starts_with("s_add") ||
                          inst.base.starts_with("s_sub") || inst.base.starts_with("s_cmpk"));
      for (const int by : {1, -1})
        if (by == 1 || bound)
          add(bound ? MutantKind::loopTrip : MutantKind::wrongConstant, instr,
              replaced(inst, operand, fmt::format("{:#x}", static_cast<std::uint32_t>(operand.imm + by))));
    }
  }

  void memory(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    if (!inst.mayLoad && !inst.mayStore) {
      if (inst.base.starts_with("buffer_wbl2") || inst.base.starts_with("buffer_inv") ||
          inst.base.starts_with("buffer_gl") || inst.base.starts_with("s_dcache"))
        drop(MutantKind::droppedScope, instr);
      return;
    }
    const bool plainStore = inst.mayStore && !inst.mayLoad;
    drop(plainStore || inst.isAtomic() ? MutantKind::droppedStore : MutantKind::droppedInstruction, instr);
    if (!inst.isAtomic())
      for (const std::string_view bit : {" sc0", " sc1"})
        if (const auto at = inst.text.find(bit); at != std::string::npos)
          add(MutantKind::droppedScope, instr, std::string(inst.text).erase(at, bit.size()));
    exchange(instr);
    registers(instr);
    offsets(instr);
  }

  void offsets(const Instr& instr) {
    const Instruction& inst = *instr.inst;
    if (inst.cls == InstClass::smem) {
      for (const Operand& operand : inst.operands)
        if (operand.kind == OperandKind::imm)
          for (const int by : {4, -4})
            if (operand.imm + by >= 0)
              add(MutantKind::shiftedOffset, instr, replaced(inst, operand, fmt::format("{:#x}", operand.imm + by)));
      return;
    }
    const auto change = [&](std::string_view key, int now, int by) {
      std::string text = inst.text;
      const std::string field = fmt::format("{}{}", key, now);
      const auto at = text.find(field);
      if (at != std::string::npos)
        text.replace(at, field.size(), fmt::format("{}{}", key, now + by));
      else if (now == 0)
        text += fmt::format("{}{}", key, by);
      add(MutantKind::shiftedOffset, instr, std::move(text));
    };
    if (inst.base.find("read2") != std::string::npos || inst.base.find("write2") != std::string::npos) {
      change(" offset0:", inst.mods.offset0, inst.mods.offset0 == 255 ? -1 : 1);
      change(" offset1:", inst.mods.offset1, inst.mods.offset1 == 255 ? -1 : 1);
      return;
    }
    for (const int by : {4, -4})
      if (by > 0 || inst.mods.offset >= 4)
        change(" offset:", inst.mods.offset, by);
  }

  const program::Program& program;
  isa::Codec& codec;
  std::array<unsigned, 3> limits{}; ///< VGPRs, AGPRs, SGPRs
  std::set<BlockId> done;
  std::vector<Mutant> mutants;
  BlockId block = 0;
  std::size_t index = 0;
  bool inLoop = false;
};

} // namespace

std::string_view mutantKindName(MutantKind kind) {
  static constexpr std::array<std::string_view, mutantKinds> names = {
      "dropped wait",   "shortened wait",      "hazard distance", "dropped barrier",  "dropped scope",
      "dropped store",  "dropped instruction", "wrong register",  "swapped operands", "wrong operation",
      "wrong constant", "shifted offset",      "wrong mask",      "loop trip"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<Mutant> allMutants(const object::CodeObject& object, const program::Program& program, isa::Codec& codec,
                               const std::vector<std::size_t>& kernels) {
  Planter planter(program, codec);
  for (const std::size_t k : kernels) {
    const program::Function* entry = program.functionOf(k);
    if (!entry)
      continue;
    const object::KernelDescriptor& descriptor = object.kernels()[k].descriptor;
    const unsigned all = descriptor.allocatedVgprs(object.target());
    const unsigned accum = std::min(descriptor.accumOffset(object.target()), 256u);
    const unsigned vgprs = std::min(all, accum), agprs = all > accum ? all - accum : 0;
    const unsigned sgprs = descriptor.allocatedSgprs(object.target());
    for (const program::Function* function :
         program::callClosure(program, *entry, program::UnknownCallees::anyDeviceFunction).functions)
      planter.function(*function, vgprs, agprs, sgprs);
  }
  return planter.take();
}

std::vector<Mutant> sampleMutants(std::vector<Mutant> all, std::size_t count, std::uint64_t seed) {
  if (count == 0 || count >= all.size())
    return all;
  std::array<std::vector<std::size_t>, mutantKinds> byKind;
  for (std::size_t i = 0; i < all.size(); ++i)
    byKind[static_cast<std::size_t>(all[i].kind)].push_back(i);
  dispatch::SplitMix64 random(seed);
  for (auto& list : byKind)
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[random.next() % i]);
  std::vector<std::size_t> chosen;
  for (std::size_t round = 0; chosen.size() < count; ++round)
    for (const auto& list : byKind)
      if (round < list.size() && chosen.size() < count)
        chosen.push_back(list[round]);
  std::ranges::sort(chosen);
  std::vector<Mutant> sample;
  for (const std::size_t i : chosen)
    sample.push_back(std::move(all[i]));
  return sample;
}

Result<object::CodeObject> plant(const object::CodeObject& object, const program::Program& program, isa::Codec& codec,
                                 const Mutant& mutant) {
  program::Program edited = program;
  auto& instrs = edited.blocks.at(mutant.block).instrs;
  if (mutant.replacement.empty()) {
    instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(mutant.index));
  } else {
    ASMEVO_TRY(const isa::InstRef inst, codec.assemble(mutant.replacement));
    instrs[mutant.index].inst = codec.complete(inst);
  }
  ASMEVO_TRY(Bytes bytes, program::rebuild(object, edited, codec));
  return object::CodeObject::parse(std::move(bytes), object.name() + " (mutant)");
}

} // namespace asmevo::verify
