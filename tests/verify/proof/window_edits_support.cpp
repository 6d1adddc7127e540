#include "verify/proof/window_edits.h"

#include "program/analysis/liveness.h"
#include "program/analysis/memory_dependence.h"
#include "verify/proof/window_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace asmevo::tests {

using isa::InstClass;
using isa::Instruction;
using isa::OperandKind;
using isa::RegSet;
using program::BlockId;
using program::Instr;

namespace {

constexpr std::size_t longestWindow = 400, shortestWindow = 3;

bool isVector(const isa::Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

/// Opcodes that take the same operands: one is a wrong spelling of the other.
const std::map<std::string, std::string>& lookalikes() {
  static const std::map<std::string, std::string> table = [] {
    std::map<std::string, std::string> both;
    for (const auto& [a, b] : {std::pair{"v_add_f32", "v_sub_f32"},
                               {"v_mul_f32", "v_max_f32"},
                               {"v_add_u32", "v_sub_u32"},
                               {"v_and_b32", "v_or_b32"},
                               {"v_lshlrev_b32", "v_lshrrev_b32"},
                               {"v_min_u32", "v_min_i32"},
                               {"v_max_i32", "v_max_u32"},
                               {"s_add_u32", "s_sub_u32"},
                               {"s_add_i32", "s_sub_i32"},
                               {"s_and_b64", "s_or_b64"},
                               {"s_lshl_b32", "s_lshr_b32"},
                               {"s_ashr_i32", "s_and_b32"},
                               {"v_fma_f32", "v_mad_u32_u24"},
                               {"v_cmp_gt_i32", "v_cmp_ge_i32"},
                               {"v_cmp_lt_u32", "v_cmp_le_u32"},
                               {"v_cmp_eq_u32", "v_cmp_ne_u32"},
                               {"v_cmp_gt_u32", "v_cmp_ge_u32"},
                               {"v_cmp_lt_i32", "v_cmp_le_i32"},
                               {"s_cmp_lg_u32", "s_cmp_eq_u32"},
                               {"s_cmp_lt_i32", "s_cmp_le_i32"},
                               {"v_mul_lo_u32", "v_mul_hi_u32"},
                               {"v_lshl_add_u32", "v_add_lshl_u32"},
                               {"v_lshl_or_b32", "v_lshl_add_u32"},
                               {"v_add_co_u32", "v_sub_co_u32"},
                               {"v_addc_co_u32", "v_subb_co_u32"},
                               {"v_pk_mul_f32", "v_pk_add_f32"},
                               {"v_max_f32", "v_min_f32"},
                               {"v_xor_b32", "v_or_b32"},
                               {"v_exp_f32", "v_log_f32"},
                               {"ds_read_b32", "ds_read_u16"},
                               {"global_load_ushort", "global_load_sshort"},
                               {"s_andn2_b64", "s_and_b64"},
                               {"v_bfe_u32", "v_bfe_i32"},
                               {"v_or3_b32", "v_add3_u32"},
                               {"v_mad_u32_u24", "v_mad_i32_i24"},
                               {"s_mul_i32", "s_mul_hi_u32"},
                               {"v_ashrrev_i32", "v_lshrrev_b32"},
                               {"s_cselect_b32", "s_and_b32"}}) {
      both.emplace(a, b);
      both.emplace(b, a);
    }
    return both;
  }();
  return table;
}

RegSet touched(const Instruction& inst, unsigned accumOffset) {
  return inst.reads(accumOffset) | inst.writes(accumOffset);
}

} // namespace

std::vector<EditSubject> editSubjects(const std::string& path) {
  std::vector<EditSubject> list;
  auto object = object::CodeObject::load(path);
  if (!object)
    return list;
  for (const auto& kernel : object->kernels()) {
    EditSubject subject;
    subject.name = kernel.name;
    subject.object = std::make_unique<object::CodeObject>(*object);
    auto side = verify::openSide(*subject.object, kernel.name);
    if (!side)
      continue;
    subject.side = *std::move(side);
    const auto& program = *subject.side.program;
    const auto live = program::liveness(program, *subject.side.function, subject.side.accumOffset);
    subject.liveIn = live.liveIn;
    subject.liveOut = live.liveOut;
    for (const BlockId id : subject.side.function->blocks) {
      const auto& block = program.blocks[id];
      if (block.opaque || block.instrs.size() < shortestWindow || block.instrs.size() > longestWindow)
        continue;
      std::vector<isa::InstRef> code;
      for (const Instr& instr : block.instrs)
        code.push_back(instr.inst);
      if (verify::WindowMachine(code, subject.side.accumOffset).unsupported().empty())
        subject.windows.push_back(id);
    }
    if (!subject.windows.empty())
      list.push_back(std::move(subject));
  }
  return list;
}

isa::InstRef WindowEditor::assembled(const std::string& text) const {
  auto inst = subject.side.codec->assemble(text);
  return inst ? subject.side.codec->complete(*inst) : nullptr;
}

const Instruction& WindowEditor::at(BlockId block, std::size_t index) const {
  return *subject.side.program->blocks[block].instrs[index].inst;
}

std::string WindowEditor::withOperand(const Instruction& inst, std::size_t operand, const std::string& text) const {
  const auto& o = inst.operands[operand];
  return inst.text.substr(0, o.textBegin) + text + inst.text.substr(o.textEnd);
}

std::string WindowEditor::withOffset(const Instruction& inst, int change) const {
  const int offset = inst.mods.offset + change;
  const std::size_t found = inst.text.find(" offset:");
  if (found == std::string::npos)
    return inst.text + fmt::format(" offset:{}", offset);
  const std::size_t end = inst.text.find_first_not_of("-0123456789", found + 8);
  return inst.text.substr(0, found + 8) + fmt::format("{}", offset) +
         (end == std::string::npos ? "" : inst.text.substr(end));
}

WindowEdit WindowEditor::editOf(const std::string& kind, BlockId block) const {
  WindowEdit edit;
  edit.kind = kind;
  edit.block = block;
  edit.program = *subject.side.program;
  return edit;
}

bool WindowEditor::replace(WindowEdit& edit, std::size_t index, const std::string& text) const {
  Instr& instr = edit.program.blocks[edit.block].instrs[index];
  const isa::InstRef inst = assembled(text);
  if (!inst || std::ranges::equal(inst->bytes(), instr.inst->bytes()))
    return false;
  edit.what += fmt::format("{} -> {}; ", instr.inst->text, inst->text);
  instr.inst = inst;
  return true;
}

bool WindowEditor::insert(WindowEdit& edit, std::size_t index, const std::string& text) const {
  Instr instr;
  instr.inst = assembled(text);
  if (!instr.inst)
    return false;
  edit.what += fmt::format("+ {}; ", instr.inst->text);
  auto& instrs = edit.program.blocks[edit.block].instrs;
  instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(index), instr);
  return true;
}

/// A changed spelling of one instruction, or nothing where this draw does not apply.
std::optional<std::string> WindowEditor::mutated(const Instruction& inst, std::string& kind) {
  std::vector<std::size_t> sources, registers, constants;
  for (std::size_t i = 0; i < inst.operands.size(); ++i) {
    const auto& o = inst.operands[i];
    if (!o.isDef)
      sources.push_back(i);
    if (isVector(o) || (o.kind == OperandKind::sgpr && o.index < isa::sreg::flatScratchLo))
      registers.push_back(i);
    if (o.kind == OperandKind::imm && !o.isDef)
      constants.push_back(i);
  }
  const auto textOf = [&](std::size_t i) {
    const auto& o = inst.operands[i];
    return inst.text.substr(o.textBegin, o.textEnd - o.textBegin);
  };
  switch (below(7)) {
  case 0: {
    kind = "operand swap";
    if (sources.size() < 2)
      return std::nullopt;
    const std::size_t a = sources[below(sources.size())], b = sources[below(sources.size())];
    if (a == b || textOf(a) == textOf(b))
      return std::nullopt;
    const auto &first = inst.operands[std::min(a, b)], &second = inst.operands[std::max(a, b)];
    return inst.text.substr(0, first.textBegin) + textOf(std::max(a, b)) +
           inst.text.substr(first.textEnd, std::size_t{second.textBegin} - first.textEnd) + textOf(std::min(a, b)) +
           inst.text.substr(second.textEnd);
  }
  case 1:
  case 2: {
    kind = "register";
    if (registers.empty())
      return std::nullopt;
    const std::size_t i = registers[below(registers.size())];
    const auto& o = inst.operands[i];
    const char file = o.kind == OperandKind::vgpr ? 'v' : o.kind == OperandKind::agpr ? 'a' : 's';
    const int step = o.kind == OperandKind::sgpr && o.dwords > 1 ? 2 : 1;
    const int index = static_cast<int>(o.index) + (below(2) == 0 ? step : -step);
    if (index < 0)
      return std::nullopt;
    return withOperand(inst, i,
                       o.dwords == 1 ? fmt::format("{}{}", file, index)
                                     : fmt::format("{}[{}:{}]", file, index, index + o.dwords - 1));
  }
  case 3: {
    kind = "offset";
    const bool memory =
        inst.isVectorMemory() || (inst.cls == InstClass::lds && inst.base.find("2") == std::string::npos);
    if (!memory)
      return std::nullopt;
    return withOffset(inst, below(2) == 0 ? 4 : -4);
  }
  case 4: {
    kind = "constant";
    if (constants.empty())
      return std::nullopt;
    const std::size_t i = constants[below(constants.size())];
    return withOperand(inst, i, fmt::format("{}", inst.operands[i].imm + (below(2) == 0 ? 1 : -1)));
  }
  case 5: {
    kind = "opcode";
    const auto other = lookalikes().find(inst.base);
    if (other == lookalikes().end())
      return std::nullopt;
    return other->second + inst.text.substr(inst.mnemonic.size());
  }
  default: {
    kind = "sign";
    if (sources.empty() || inst.cls != InstClass::valu)
      return std::nullopt;
    const std::size_t i = sources[below(sources.size())];
    if (!isVector(inst.operands[i]))
      return std::nullopt;
    if (below(2) == 0)
      return inst.base + withOperand(inst, i, "-" + textOf(i)).substr(inst.mnemonic.size());
    return inst.base + withOperand(inst, i, "|" + textOf(i) + "|").substr(inst.mnemonic.size());
  }
  }
}

std::optional<WindowEdit> WindowEditor::wrong() {
  const BlockId block = subject.windows[below(subject.windows.size())];
  const auto& instrs = subject.side.program->blocks[block].instrs;
  const std::size_t index = below(instrs.size());
  const Instruction& inst = *instrs[index].inst;
  if (inst.isBranch() || inst.cls == InstClass::endpgm || inst.cls == InstClass::waitcnt ||
      inst.cls == InstClass::nop || instrs[index].pcRef)
    return std::nullopt;
  WindowEdit edit = editOf("", block);
  auto& code = edit.program.blocks[block].instrs;
  switch (below(10)) {
  case 0:
    edit.kind = "dropped";
    edit.what = "- " + inst.text;
    code.erase(code.begin() + static_cast<std::ptrdiff_t>(index));
    return edit;
  case 1: {
    edit.kind = "moved";
    const std::size_t to = index + 1 + below(6);
    if (to >= code.size() || code[to].inst->isBranch() || code[to].inst->cls == InstClass::endpgm)
      return std::nullopt;
    edit.what = fmt::format("{} behind {}", inst.text, code[to].inst->text);
    const Instr moved = code[index];
    code.erase(code.begin() + static_cast<std::ptrdiff_t>(index));
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(to), moved);
    return edit;
  }
  case 2: {
    edit.kind = "exec";
    static constexpr std::array texts = {"s_mov_b64 exec, -1", "s_lshr_b64 exec, exec, 1", "s_and_b64 exec, exec, vcc",
                                         "s_mov_b64 exec, 0", "s_not_b64 exec, exec"};
    return insert(edit, index, texts[below(texts.size())]) ? std::optional(std::move(edit)) : std::nullopt;
  }
  case 3: {
    // The memory operations of a block, two of them exchanged.
    edit.kind = "memory order";
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < code.size(); ++i)
      if (code[i].inst->isVectorMemory() || code[i].inst->cls == InstClass::lds || code[i].inst->cls == InstClass::smem)
        places.push_back(i);
    if (places.size() < 2)
      return std::nullopt;
    const std::size_t first = below(places.size() - 1);
    std::swap(code[places[first]], code[places[first + 1]]);
    edit.what = code[places[first + 1]].inst->text + " <-> " + code[places[first]].inst->text;
    return edit;
  }
  case 4: {
    edit.kind = "wide load";
    const std::size_t at = inst.base.find("_dwordx2");
    if (at == std::string::npos || inst.mayStore || inst.operands.empty() || !isVector(inst.operands[0]))
      return std::nullopt;
    const unsigned reg = inst.operands[0].index;
    std::string narrow = withOffset(inst, 0);
    const std::string type = "_dwordx2";
    narrow.replace(narrow.find(type), type.size(), "_dword");
    const auto part = [&](unsigned number, int change) {
      const isa::InstRef one =
          assembled(narrow.substr(0, narrow.find(' ')) + fmt::format(" v{}", number) + narrow.substr(narrow.find(',')));
      return one ? withOffset(*one, change) : std::string();
    };
    // The second half comes from the wrong place, or the halves are the wrong way round.
    const bool swapped = below(2) == 0;
    const std::string low = part(reg, swapped ? 4 : 0), high = part(reg + 1, swapped ? 0 : 8);
    return !low.empty() && !high.empty() && replace(edit, index, low) && insert(edit, index + 1, high)
               ? std::optional(std::move(edit))
               : std::nullopt;
  }
  case 5: {
    edit.kind = "twice";
    edit.what = "+ " + inst.text;
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(index), code[index]);
    return edit;
  }
  default: {
    const auto text = mutated(inst, edit.kind);
    return text && replace(edit, index, *text) ? std::optional(std::move(edit)) : std::nullopt;
  }
  }
}

// Legal edits.

const std::vector<std::string>& WindowEditor::legalKinds() {
  static const std::vector<std::string> kinds = {"rename", "reorder", "copy",      "dead code", "constant",
                                                 "waits",  "offset",  "wide load", "shift add", "multiply",
                                                 "read2",  "packed",  "commute",   "recompute", "exec select"};
  return kinds;
}

std::optional<unsigned> WindowEditor::freeVgpr(BlockId block) const {
  RegSet used = subject.liveIn[block] | subject.liveOut[block];
  for (const Instr& instr : subject.side.program->blocks[block].instrs)
    used |= touched(*instr.inst, subject.side.accumOffset);
  const unsigned end = std::min(subject.side.accumOffset == 0 ? 256u : subject.side.accumOffset, 256u);
  for (unsigned v = end; v-- > 0;)
    if (!used.test(isa::vgprUnit(v)))
      return v;
  return std::nullopt;
}

std::optional<unsigned> WindowEditor::freeSgpr(BlockId block) const {
  RegSet used = subject.liveIn[block] | subject.liveOut[block];
  for (const Instr& instr : subject.side.program->blocks[block].instrs)
    used |= touched(*instr.inst, subject.side.accumOffset);
  for (unsigned s = 100; s-- > 0;)
    if (!used.test(s))
      return s;
  return std::nullopt;
}

/// A value that is made and used up inside the block, in another register.
std::optional<WindowEdit> WindowEditor::renamed(BlockId block) {
  const auto& instrs = subject.side.program->blocks[block].instrs;
  const auto fresh = freeVgpr(block);
  if (!fresh)
    return std::nullopt;
  const unsigned accum = subject.side.accumOffset;
  const std::size_t start = below(instrs.size());
  const Instruction& maker = *instrs[start].inst;
  if (maker.operands.empty() || maker.operands[0].kind != OperandKind::vgpr || maker.operands[0].dwords != 1 ||
      !maker.operands[0].isDef || maker.tiedDest || maker.isVectorMemory() || maker.mods.isSdwa ||
      maker.mods.dpp != isa::DppCtrl::none)
    return std::nullopt;
  const unsigned old = maker.operands[0].index;
  const isa::RegUnit unit = isa::vgprUnit(old);
  // Up to the next whole definition; every use in between must name it as one dword.
  WindowEdit edit = editOf("rename", block);
  if (maker.reads(accum).test(unit) || !replace(edit, start, withOperand(maker, 0, fmt::format("v{}", *fresh))))
    return std::nullopt;
  bool ended = false;
  const RegSet execUnits = [] {
    RegSet set;
    set.set(isa::sreg::execLo);
    set.set(isa::sreg::execHi);
    return set;
  }();
  for (std::size_t i = start + 1; i < instrs.size() && !ended; ++i) {
    const Instruction& inst = *instrs[i].inst;
    if (inst.writes(accum).intersects(execUnits))
      return std::nullopt;
    std::string text = inst.text;
    for (std::size_t o = inst.operands.size(); o-- > 0;) {
      const auto& operand = inst.operands[o];
      if (operand.kind != OperandKind::vgpr || old < operand.index || old >= operand.index + unsigned{operand.dwords})
        continue;
      if (operand.isDef) {
        if (inst.tiedDest || operand.dwords != 1 || inst.mods.isSdwa)
          return std::nullopt;
        ended = true;
        continue;
      }
      if (operand.dwords != 1)
        return std::nullopt;
      text = text.substr(0, operand.textBegin) + fmt::format("v{}", *fresh) + text.substr(operand.textEnd);
    }
    if (!ended && inst.reads(accum).test(unit) && text == inst.text)
      return std::nullopt;
    if (text != inst.text && !replace(edit, i, text))
      return std::nullopt;
  }
  if (!ended && subject.liveOut[block].test(unit))
    return std::nullopt;
  // Lanes that EXEC lacks must not be read of the old register later on either.
  return edit;
}

std::optional<WindowEdit> WindowEditor::reordered(BlockId block) {
  WindowEdit edit = editOf("reorder", block);
  auto& code = edit.program.blocks[block].instrs;
  const unsigned accum = subject.side.accumOffset;
  const program::MemoryDependence memory(*subject.side.program, *subject.side.function, accum);
  std::size_t moves = 0;
  for (unsigned tries = 0; tries < 60 && moves < 12; ++tries) {
    const std::size_t i = below(code.size());
    if (i + 1 >= code.size())
      continue;
    const Instruction &p = *code[i].inst, &q = *code[i + 1].inst;
    const auto pinned = [](const Instruction& inst) {
      return inst.isBranch() || inst.cls == InstClass::endpgm || inst.cls == InstClass::barrier ||
             inst.cls == InstClass::message || inst.cls == InstClass::jump;
    };
    if (pinned(p) || pinned(q) || code[i].pcRef || code[i + 1].pcRef)
      continue;
    const RegSet reads0 = p.reads(accum), writes0 = p.writes(accum), reads1 = q.reads(accum), writes1 = q.writes(accum);
    if (reads0.intersects(writes1) || writes0.intersects(reads1) || writes0.intersects(writes1))
      continue;
    if (program::mayDepend(p, q, false))
      continue;
    std::swap(code[i], code[i + 1]);
    edit.what += fmt::format("{} <-> {}; ", p.text, q.text);
    ++moves;
  }
  return moves == 0 ? std::nullopt : std::optional(std::move(edit));
}

/// A use reads a copy made just before.
std::optional<WindowEdit> WindowEditor::copied(BlockId block) {
  const auto& instrs = subject.side.program->blocks[block].instrs;
  const auto fresh = freeVgpr(block);
  const std::size_t index = below(instrs.size());
  const Instruction& inst = *instrs[index].inst;
  if (!fresh || inst.cls != InstClass::valu || inst.mods.dpp != isa::DppCtrl::none || inst.base.starts_with("v_read") ||
      inst.base.starts_with("v_swap") || inst.base.starts_with("v_write"))
    return std::nullopt;
  for (std::size_t o = 0; o < inst.operands.size(); ++o)
    if (inst.operands[o].kind == OperandKind::vgpr && !inst.operands[o].isDef && inst.operands[o].dwords == 1) {
      WindowEdit edit = editOf("copy", block);
      return replace(edit, index, withOperand(inst, o, fmt::format("v{}", *fresh))) &&
                     insert(edit, index, fmt::format("v_mov_b32_e32 v{}, v{}", *fresh, inst.operands[o].index))
                 ? std::optional(std::move(edit))
                 : std::nullopt;
    }
  return std::nullopt;
}

std::optional<WindowEdit> WindowEditor::deadCode(BlockId block) {
  const auto fresh = freeVgpr(block);
  if (!fresh)
    return std::nullopt;
  const auto& instrs = subject.side.program->blocks[block].instrs;
  WindowEdit edit = editOf("dead code", block);
  const std::size_t index = below(instrs.size());
  const std::array texts = {fmt::format("v_add_f32_e32 v{0}, v0, v1", *fresh),
                            fmt::format("v_mov_b32_e32 v{}, 7", *fresh),
                            fmt::format("v_lshlrev_b32_e32 v{}, 3, v0", *fresh)};
  return insert(edit, index, texts[below(texts.size())]) ? std::optional(std::move(edit)) : std::nullopt;
}

/// A constant operand from a scalar register that is loaded with it.
std::optional<WindowEdit> WindowEditor::materialised(BlockId block) {
  const auto& instrs = subject.side.program->blocks[block].instrs;
  const auto fresh = freeSgpr(block);
  const std::size_t index = below(instrs.size());
  const Instruction& inst = *instrs[index].inst;
  if (!fresh || inst.cls != InstClass::valu || inst.mods.isSdwa || inst.mods.dpp != isa::DppCtrl::none)
    return std::nullopt;
  for (const auto& operand : inst.operands)
    if (operand.kind == OperandKind::sgpr)
      return std::nullopt;
  for (std::size_t o = 0; o < inst.operands.size(); ++o)
    if (inst.operands[o].kind == OperandKind::imm && !inst.operands[o].isDef &&
        inst.base.find("64") == std::string::npos && inst.base.find("16") == std::string::npos &&
        inst.base.find("pk") == std::string::npos) {
      WindowEdit edit = editOf("constant", block);
      std::string text = withOperand(inst, o, fmt::format("s{}", *fresh));
      return replace(edit, index, text) && insert(edit, index,
                                                  fmt::format("s_mov_b32 s{}, {:#x}", *fresh,
                                                              static_cast<std::uint32_t>(inst.operands[o].imm)))
                 ? std::optional(std::move(edit))
                 : std::nullopt;
    }
  return std::nullopt;
}

/// Rewrites of one instruction into others that compute the same.
std::optional<WindowEdit> WindowEditor::rewritten(BlockId block, const std::string& kind) {
  const auto& instrs = subject.side.program->blocks[block].instrs;
  const std::size_t start = below(instrs.size());
  for (std::size_t step = 0; step < instrs.size(); ++step) {
    const std::size_t index = (start + step) % instrs.size();
    const Instruction& inst = *instrs[index].inst;
    const auto& o = inst.operands;
    const auto text = [&](std::size_t i) { return inst.text.substr(o[i].textBegin, o[i].textEnd - o[i].textBegin); };
    const auto plain = [&] {
      return !inst.mods.isSdwa && inst.mods.dpp == isa::DppCtrl::none && !inst.mods.clamp && inst.mods.omod == 0 &&
             std::ranges::none_of(o, [](const auto& operand) { return operand.neg || operand.abs || operand.sext; });
    };
    WindowEdit edit = editOf(kind, block);
    const auto fresh = freeVgpr(block);
    if (kind == "waits") {
      if (insert(edit, index, "s_nop 1") && insert(edit, index, "s_waitcnt vmcnt(0) lgkmcnt(0)"))
        return edit;
    } else if (kind == "offset") {
      // The constant moves from the immediate into the LDS address.
      if (inst.cls != InstClass::lds || inst.base.find("2") != std::string::npos || inst.mods.offset == 0 || !fresh ||
          !inst.base.starts_with("ds_"))
        continue;
      for (std::size_t i = 0; i < o.size(); ++i)
        if (!o[i].isDef && o[i].kind == OperandKind::vgpr) {
          const isa::InstRef moved = assembled(withOperand(inst, i, fmt::format("v{}", *fresh)));
          if (moved && replace(edit, index, withOffset(*moved, -inst.mods.offset)) &&
              insert(edit, index, fmt::format("v_add_u32_e32 v{}, {:#x}, {}", *fresh, inst.mods.offset, text(i))))
            return edit;
          break;
        }
    } else if (kind == "wide load") {
      const std::size_t at = inst.text.find("_dwordx2 v[");
      if (at == std::string::npos || inst.mayStore || o.empty())
        continue;
      const unsigned reg = o[0].index;
      bool overlaps = false;
      for (std::size_t i = 1; i < o.size(); ++i)
        overlaps |= isVector(o[i]) && o[i].index <= reg && reg < o[i].index + unsigned{o[i].dwords};
      if (overlaps)
        continue;
      const std::string tail = inst.text.substr(inst.text.find(','));
      const isa::InstRef low = assembled(inst.base.substr(0, inst.base.size() - 2) + fmt::format(" v{}", reg) + tail);
      const isa::InstRef high =
          assembled(inst.base.substr(0, inst.base.size() - 2) + fmt::format(" v{}", reg + 1) + tail);
      if (low && high && replace(edit, index, low->text) && insert(edit, index + 1, withOffset(*high, 4)))
        return edit;
    } else if (kind == "shift add") {
      // lshl_add apart.
      if (inst.base != "v_lshl_add_u32" || !fresh || !plain() || !isVector(o[1]))
        continue;
      if (replace(edit, index, fmt::format("v_add_u32_e64 {}, v{}, {}", text(0), *fresh, text(3))) &&
          insert(edit, index, fmt::format("v_lshlrev_b32_e64 v{}, {}, {}", *fresh, text(2), text(1))))
        return edit;
    } else if (kind == "multiply") {
      // A shift by a constant as a multiplication.
      if (inst.base != "v_lshlrev_b32" || !plain() || o[1].kind != OperandKind::imm || !fresh || o[1].imm > 5)
        continue;
      if (replace(
              edit, index,
              fmt::format("v_mul_lo_u32 {}, {}, {}", text(0), text(2), 1u << (static_cast<unsigned>(o[1].imm) & 31))))
        return edit;
    } else if (kind == "read2") {
      // Two reads for one of two elements.
      if (inst.base != "ds_read2_b32")
        continue;
      const unsigned reg = o[0].index;
      if (o[1].index == reg)
        continue;
      if (replace(edit, index, fmt::format("ds_read_b32 v{}, {} offset:{}", reg, text(1), 4 * inst.mods.offset0)) &&
          insert(edit, index + 1,
                 fmt::format("ds_read_b32 v{}, {} offset:{}", reg + 1, text(1), 4 * inst.mods.offset1)))
        return edit;
    } else if (kind == "packed") {
      // A packed operation as its two halves.
      const bool add = inst.base == "v_pk_add_f32";
      if ((!add && inst.base != "v_pk_mul_f32") || inst.mods.opSelPrinted || inst.mods.opSelHiPrinted ||
          inst.mods.negLo || inst.mods.negHi || !isVector(o[1]) || !isVector(o[2]) || (o[0].index == o[1].index + 1u) ||
          (o[0].index == o[2].index + 1u))
        continue;
      const char* op = add ? "v_add_f32_e32" : "v_mul_f32_e32";
      if (o[0].kind != OperandKind::vgpr || o[1].kind != OperandKind::vgpr || o[2].kind != OperandKind::vgpr)
        continue;
      if (replace(edit, index, fmt::format("{} v{}, v{}, v{}", op, o[0].index, o[1].index, o[2].index)) &&
          insert(edit, index + 1, fmt::format("{} v{}, v{}, v{}", op, o[0].index + 1, o[1].index + 1, o[2].index + 1)))
        return edit;
    } else if (kind == "commute") {
      static constexpr std::array names = {"v_add_f32", "v_mul_f32", "v_add_u32", "v_and_b32", "v_or_b32", "v_xor_b32"};
      if (std::ranges::find(names, inst.base) == names.end() || !plain() || o.size() != 3 || text(1) == text(2))
        continue;
      if (replace(edit, index, fmt::format("{}_e64 {}, {}, {}", inst.base, text(0), text(2), text(1))))
        return edit;
    } else if (kind == "recompute") {
      // The same again into the same register, where nothing it reads is changed by it.
      const unsigned accum = subject.side.accumOffset;
      if ((inst.cls != InstClass::valu && inst.cls != InstClass::salu) || inst.tiedDest ||
          inst.reads(accum).intersects(inst.writes(accum)) || instrs[index].pcRef || inst.base == "s_getpc_b64" ||
          inst.base.starts_with("s_getreg") || inst.base.starts_with("s_setreg"))
        continue;
      if (insert(edit, index, inst.text))
        return edit;
    } else if (kind == "exec select") {
      // A move as the two halves of a selection between equal values.
      if (inst.base != "v_mov_b32" || !plain() || !isVector(o[1]) || o[0].kind != OperandKind::vgpr)
        continue;
      if (replace(edit, index, fmt::format("v_cndmask_b32_e64 {}, {}, {}, vcc", text(0), text(1), text(1))))
        return edit;
    }
  }
  return std::nullopt;
}

std::optional<WindowEdit> WindowEditor::legal(const std::string& kind) {
  const BlockId block = subject.windows[below(subject.windows.size())];
  if (kind == "rename")
    return renamed(block);
  if (kind == "reorder")
    return reordered(block);
  if (kind == "copy")
    return copied(block);
  if (kind == "dead code")
    return deadCode(block);
  if (kind == "constant")
    return materialised(block);
  return rewritten(block, kind);
}

std::optional<verify::Counterexample> concreteDifference(const EditSubject& subject, verify::Side& edited,
                                                         BlockId block, std::uint64_t seed, unsigned trials,
                                                         unsigned& conclusive) {
  verify::Window window;
  window.entry = verify::Relation::identity();
  // The states are K0's whatever the engine assumes of the entry; the search only changes what it writes.
  window.side = {const_cast<verify::Side*>(&subject.side), &edited};
  window.liveIn = subject.liveIn[block];
  const auto live = program::liveness(*edited.program, *edited.function, edited.accumOffset);
  window.liveOut = {subject.liveOut[block], live.liveOut[block]};
  for (const std::size_t s : verify::bothSides) {
    const auto& instrs = window.side[s]->program->blocks[block].instrs;
    window.path[s].blocks = {block};
    for (std::uint32_t i = 0; i < instrs.size(); ++i)
      if (!instrs[i].inst->isBranch() && instrs[i].inst->cls != InstClass::endpgm)
        window.path[s].code.push_back({&instrs[i], program::Place{block, i}});
    window.path[s].branch = verify::exitOf(*window.side[s]->program, block).branch;
  }
  verify::SearchInput input;
  input.window = &window;
  input.trials = trials;
  input.seed = seed;
  window.liveOut[0].forEach([&](isa::RegUnit u) {
    if (window.liveOut[1].test(u))
      input.outputs.emplace_back(u, u);
  });
  std::string obstacle;
  return verify::findCounterexample(input, obstacle, conclusive);
}

} // namespace asmevo::tests
