#include "program/pc_reference.h"

#include <cstring>
#include <string_view>

namespace asmevo::program {

namespace {

constexpr unsigned literalEncoding = 255;

std::uint32_t dword(const isa::Instruction& inst, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, inst.encoding.data() + at, sizeof word);
  return word;
}

/// Inline integer constants (CDNA3 ISA, scalar source operands): 128..192 are 0..64, 193..208 are -1..-16.
std::optional<std::uint32_t> inlineInteger(unsigned encoding) {
  if (encoding >= 128 && encoding <= 192)
    return encoding - 128;
  if (encoding >= 193 && encoding <= 208)
    return ~(encoding - 193);
  return std::nullopt;
}

enum class Step { none, low, high };
struct StepKind {
  std::string_view base;
  Step step;
  bool negated;
};
/// Spellings of a 64-bit addition to the program counter, before and since gfx12.
constexpr StepKind stepKinds[] = {
    {"s_add_u32", Step::low, false},   {"s_addc_u32", Step::high, false},     {"s_sub_u32", Step::low, true},
    {"s_subb_u32", Step::high, true},  {"s_add_co_u32", Step::low, false},    {"s_add_co_ci_u32", Step::high, false},
    {"s_sub_co_u32", Step::low, true}, {"s_sub_co_ci_u32", Step::high, true},
};

const StepKind* stepOf(const isa::Instruction& inst) {
  for (const StepKind& kind : stepKinds)
    if (inst.base == kind.base)
      return &kind;
  return nullptr;
}

unsigned destination(const isa::Instruction& sop2) {
  return (dword(sop2, 0) >> 16) & 0x7f;
}

bool touches(const isa::Operand& operand, unsigned reg) {
  return operand.kind == isa::OperandKind::sgpr && operand.index <= reg &&
         reg < operand.index + unsigned{operand.dwords};
}

bool reads(const isa::Instruction& inst, unsigned reg) {
  for (const isa::Operand& operand : inst.operands)
    if (!operand.isDef && touches(operand, reg))
      return true;
  return false;
}

bool writes(const isa::Instruction& inst, unsigned reg) {
  for (const isa::Operand& operand : inst.operands)
    if (operand.isDef && touches(operand, reg))
      return true;
  return false;
}

} // namespace

std::optional<Sop2Constant> sop2Constant(const isa::Instruction& inst) {
  const std::uint32_t word = dword(inst, 0);
  if (word >> 30 != 2 || inst.size > 8)
    return std::nullopt;
  const unsigned sources[2] = {word & 0xff, (word >> 8) & 0xff};
  for (const bool second : {true, false}) {
    const unsigned source = sources[second ? 1 : 0];
    const unsigned other = sources[second ? 0 : 1];
    if (source == literalEncoding && inst.size == 8 && other != literalEncoding)
      return Sop2Constant{dword(inst, 4), true, second, other};
    if (const auto value = inlineInteger(source); value && inst.size == 4)
      return Sop2Constant{*value, false, second, other};
  }
  return std::nullopt;
}

std::vector<std::uint8_t> withSop2Literal(const isa::Instruction& inst, const Sop2Constant& old, std::uint32_t value) {
  const unsigned shift = old.isSource1 ? 8 : 0;
  const std::uint32_t word = (dword(inst, 0) & ~(0xffu << shift)) | (literalEncoding << shift);
  std::vector<std::uint8_t> bytes(8);
  std::memcpy(bytes.data(), &word, sizeof word);
  std::memcpy(bytes.data() + 4, &value, sizeof value);
  return bytes;
}

bool isGetpc(const isa::Instruction& inst) {
  return inst.base == "s_getpc_b64" || inst.base == "s_get_pc_i64";
}

PcTrace followPc(const std::vector<isa::InstRef>& code, std::uint64_t anchor) {
  PcTrace trace;
  const unsigned lo = (dword(*code.front(), 0) >> 16) & 0x7f;
  const unsigned hi = lo + 1;
  bool rawLo = true, rawHi = true;

  struct Half {
    std::size_t at;
    std::uint32_t value;
    unsigned reg;
    bool negated;
  };
  std::optional<Half> low;
  struct Formed {
    std::size_t use;
    unsigned lo;
  };
  std::vector<Formed> formed;

  for (std::size_t i = 1; i < code.size(); ++i) {
    const isa::Instruction& inst = *code[i];
    const StepKind* step = stepOf(inst);
    const auto constant = step ? sop2Constant(inst) : std::nullopt;
    // A subtraction is only pc - constant when the constant is the second source.
    const bool fits = constant && (!step->negated || constant->isSource1);
    if (fits && step->step == Step::low && rawLo && constant->other == lo) {
      if (low)
        trace.escapes = true;
      low = Half{i, constant->value, destination(inst), step->negated};
    } else if (fits && step->step == Step::high && rawHi && constant->other == hi && low &&
               low->negated == step->negated) {
      const std::uint64_t value = low->value | std::uint64_t{constant->value} << 32;
      trace.uses.push_back({low->at, i, step->negated ? anchor - value : anchor + value, step->negated, {}});
      if (destination(inst) == low->reg + 1)
        formed.push_back({trace.uses.size() - 1, low->reg});
      low.reset();
    } else if (inst.base == "s_sext_i32_i16" && rawHi && reads(inst, hi) && writes(inst, hi)) {
      continue; // gfx12: the high half comes without its sign
    } else if ((rawLo && reads(inst, lo)) || (rawHi && reads(inst, hi))) {
      trace.escapes = true;
    }

    if (inst.cls == isa::InstClass::jump)
      for (const Formed& pair : formed)
        if (reads(inst, pair.lo) && reads(inst, pair.lo + 1))
          trace.uses[pair.use].jump = i;
    std::erase_if(formed, [&](const Formed& pair) {
      const bool justFormed = trace.uses[pair.use].high == i;
      return !justFormed && (writes(inst, pair.lo) || writes(inst, pair.lo + 1));
    });
    rawLo = rawLo && !writes(inst, lo);
    rawHi = rawHi && !writes(inst, hi);
    if (!rawLo && !rawHi && !low && formed.empty())
      break;
  }
  if (low)
    trace.escapes = true;
  if (rawLo || rawHi)
    trace.liveAtEnd = lo;
  return trace;
}

} // namespace asmevo::program
