#include "optimize/lds_bounds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace asmevo::optimize {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using isa::RegUnit;

namespace {

constexpr std::uint64_t top = 0xffffffff;

/// Unsigned upper bound of each register (every lane of a VGPR). Lower bounds are not needed: addresses only have to
/// stay below the allocation.
struct Bounds {
  std::array<std::uint32_t, isa::regUnitCount> max{};
  bool execNarrowed = false; ///< EXEC may lack lanes that were or will be active: a VGPR write keeps old values there
  bool operator==(const Bounds&) const = default;
};

std::uint32_t clampTop(std::uint64_t v) {
  return static_cast<std::uint32_t>(std::min(v, top));
}

/// A sum that may wrap around says nothing.
std::uint32_t sum(std::uint64_t a, std::uint64_t b) {
  return a + b > top ? static_cast<std::uint32_t>(top) : clampTop(a + b);
}

std::uint32_t product(std::uint64_t a, std::uint64_t b) {
  return clampTop(a * b);
}

/// All ones up to the highest bit that may be set.
std::uint32_t bitCover(std::uint32_t v) {
  return v ? static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(v)) - 1) : 0;
}

class LdsBounds {
 public:
  LdsBounds(const program::Program& p, const program::Function& f, const MoveContext& c)
      : program(p), function(f), context(c), entry(p.blocks.size()), visits(p.blocks.size(), 0) {}

  std::optional<std::uint32_t> run() {
    Bounds start;
    // Scalars hold arguments; a VGPR nobody has written has no value that a program could use as an address.
    std::fill_n(start.max.begin(), isa::vgprBase, static_cast<std::uint32_t>(top));
    // Work-item ids: packed x | y<<10 | z<<20 on gfx90a and later; one dimension leaves the plain id.
    const unsigned mode = context.kernel.descriptor.workitemIdMode();
    const unsigned size = largestWorkgroup();
    start.max[isa::vgprBase] = mode == 0 ? size - 1 : 0x3fffffff;
    entry[function.entryBlock] = start;
    std::vector<program::BlockId> work{function.entryBlock};
    while (!work.empty()) {
      const program::BlockId id = work.back();
      work.pop_back();
      if (program.blocks[id].opaque || program.blocks[id].entersByRegister)
        if (id != function.entryBlock)
          return std::nullopt;
      Bounds bounds = *entry[id];
      if (!walk(program.blocks[id], bounds, nullptr))
        return std::nullopt;
      for (const program::BlockId next : program.blocks[id].successors)
        if (join(next, bounds))
          work.push_back(next);
    }
    std::uint64_t reach = 0;
    for (const program::BlockId id : function.blocks)
      if (entry[id]) {
        Bounds bounds = *entry[id];
        if (!walk(program.blocks[id], bounds, &reach))
          return std::nullopt;
      }
    if (reach > 65536)
      return std::nullopt;
    return static_cast<std::uint32_t>((reach + 511) / 512 * 512);
  }

 private:
  /// Work-items of the largest workgroup that may be launched, not of the one at hand: K1 serves every launch that K0
  /// does.
  unsigned largestWorkgroup() const {
    const auto& metadata = context.kernel.metadata;
    if (metadata && metadata->requiredWorkgroupSize) {
      const auto& size = *metadata->requiredWorkgroupSize;
      const std::uint64_t product = std::uint64_t{size[0]} * size[1] * size[2];
      return product > 0 && product <= 1024 ? static_cast<unsigned>(product) : 1024;
    }
    const unsigned flat = metadata ? metadata->maxFlatWorkgroupSize : 0;
    return flat > 0 && flat <= 1024 ? flat : 1024;
  }

  /// Widens to "anything" a register that still grows after a few visits.
  bool join(program::BlockId id, const Bounds& bounds) {
    if (!entry[id]) {
      entry[id] = bounds;
      return true;
    }
    Bounds& at = *entry[id];
    bool grew = bounds.execNarrowed && !at.execNarrowed;
    at.execNarrowed |= bounds.execNarrowed;
    for (std::size_t u = 0; u < at.max.size(); ++u)
      if (bounds.max[u] > at.max[u]) {
        at.max[u] = visits[id] > 4 ? static_cast<std::uint32_t>(top) : bounds.max[u];
        grew = true;
      }
    visits[id] += grew;
    return grew;
  }

  std::optional<std::uint32_t> sourceMax(const Operand& operand, const Bounds& bounds) const {
    if (operand.neg || operand.abs || operand.sext || operand.dwords != 1)
      return std::nullopt;
    switch (operand.kind) {
    case OperandKind::imm:
      return operand.imm < 0 ? static_cast<std::uint32_t>(top) : clampTop(static_cast<std::uint64_t>(operand.imm));
    case OperandKind::vgpr:
      return bounds.max[isa::vgprUnit(operand.index)];
    case OperandKind::sgpr:
      return operand.index < isa::sreg::count ? std::optional(bounds.max[operand.index]) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  /// The bound of a one-dword integer result, or nothing when the instruction is not understood.
  std::optional<std::uint32_t> resultMax(const Instruction& inst, const Bounds& bounds) const {
    if (inst.mods.isSdwa || inst.mods.dpp != isa::DppCtrl::none || inst.mods.clamp || inst.mods.opSel)
      return std::nullopt;
    std::vector<std::uint32_t> s;
    for (const auto& operand : inst.operands)
      if (!operand.isDef) {
        const auto m = sourceMax(operand, bounds);
        s.push_back(m.value_or(static_cast<std::uint32_t>(top)));
      }
    const std::string_view base = inst.base;
    const auto shiftable = [](std::uint32_t amount) { return amount < 32; };
    if (s.size() == 1) {
      if (base == "v_mov_b32" || base == "s_mov_b32" || base == "v_readfirstlane_b32")
        return s[0];
      if (base == "s_movk_i32") // sign-extended
        return s[0] > 0x7fff ? static_cast<std::uint32_t>(top) : s[0];
      if (base == "v_mbcnt_lo_u32_b32")
        return std::nullopt;
    }
    if (s.size() >= 2) {
      const bool constant0 = isConstant(inst, 0), constant1 = isConstant(inst, 1);
      if (base == "v_and_b32" || base == "s_and_b32")
        return std::min(s[0], s[1]);
      if (base == "v_or_b32" || base == "s_or_b32" || base == "v_xor_b32" || base == "s_xor_b32")
        return bitCover(std::max(s[0], s[1]));
      if (base == "v_add_u32" || base == "s_add_u32" || base == "s_add_i32")
        return sum(s[0], s[1]);
      if (base == "v_lshlrev_b32" && constant0 && shiftable(s[0]))
        return product(s[1], std::uint64_t{1} << s[0]);
      if (base == "s_lshl_b32" && constant1 && shiftable(s[1]))
        return product(s[0], std::uint64_t{1} << s[1]);
      if (base == "v_lshrrev_b32" && constant0 && shiftable(s[0]))
        return s[1] >> s[0];
      if (base == "s_lshr_b32" && constant1 && shiftable(s[1]))
        return s[0] >> s[1];
      if (base == "v_lshrrev_b32")
        return s[1];
      if (base == "s_lshr_b32")
        return s[0];
      if (base == "v_mul_u32_u24" && s[0] < (1u << 24) && s[1] < (1u << 24))
        return product(s[0], s[1]);
      if (base == "v_mul_i32_i24" && s[0] < (1u << 23) && s[1] < (1u << 23))
        return product(s[0], s[1]);
      if (base == "v_mul_lo_u32" || base == "s_mul_i32")
        return static_cast<std::uint64_t>(s[0]) * s[1] > top ? static_cast<std::uint32_t>(top) : product(s[0], s[1]);
      if (base == "v_mbcnt_lo_u32_b32" || base == "v_mbcnt_hi_u32_b32")
        return sum(s[1], 32);
      if (base == "v_min_u32" || base == "s_min_u32")
        return std::min(s[0], s[1]);
      if (base == "v_max_u32" || base == "s_max_u32" || base == "v_cndmask_b32" || base == "s_cselect_b32")
        return std::max(s[0], s[1]);
      if (base == "v_readlane_b32")
        return s[0];
    }
    if (s.size() >= 3) {
      const bool constant1 = isConstant(inst, 1), constant2 = isConstant(inst, 2);
      if (base == "v_and_or_b32")
        return bitCover(std::max(std::min(s[0], s[1]), s[2]));
      if (base == "v_lshl_add_u32" && constant1 && shiftable(s[1]))
        return sum(product(s[0], std::uint64_t{1} << s[1]), s[2]);
      if (base == "v_add_lshl_u32" && constant2 && shiftable(s[2]))
        return product(sum(s[0], s[1]), std::uint64_t{1} << s[2]);
      if (base == "v_lshl_or_b32" && constant1 && shiftable(s[1]))
        return bitCover(std::max(product(s[0], std::uint64_t{1} << s[1]), s[2]));
      if (base == "v_or3_b32")
        return bitCover(std::max({s[0], s[1], s[2]}));
      if (base == "v_add3_u32")
        return sum(sum(s[0], s[1]), s[2]);
      if (base == "v_bfe_u32" && constant2 && s[2] < 32)
        return std::min<std::uint32_t>(s[0], (1u << s[2]) - 1);
      if (base == "v_mad_u32_u24" && s[0] < (1u << 24) && s[1] < (1u << 24))
        return sum(product(s[0], s[1]), s[2]);
    }
    return std::nullopt;
  }

  static bool isConstant(const Instruction& inst, std::size_t source) {
    for (const auto& operand : inst.operands)
      if (!operand.isDef && source-- == 0)
        return operand.kind == OperandKind::imm && operand.imm >= 0;
    return false;
  }

  /// Runs over a block; with `reach`, records how far LDS accesses go. False: something unbounded or not understood
  /// touches LDS.
  bool walk(const program::Block& block, Bounds& bounds, std::uint64_t* reach) {
    for (const auto& instr : block.instrs) {
      const Instruction& inst = *instr.inst;
      const std::string_view base = inst.base;
      if (inst.cls == InstClass::jump || inst.cls == InstClass::unknown || inst.cls == InstClass::flat ||
          base.substr(0, 9) == "s_set_gpr" || base.substr(0, 8) == "v_movrel" || base.substr(0, 8) == "s_movrel")
        return false;
      if (reach && inst.cls == InstClass::lds && !recordLds(inst, bounds, *reach))
        return false;
      if (reach && inst.isLdsDma() && !recordDma(inst, bounds, *reach))
        return false;
      step(inst, bounds);
    }
    return true;
  }

  bool recordLds(const Instruction& inst, const Bounds& bounds, std::uint64_t& reach) const {
    const std::string_view base = inst.base;
    if (base.substr(0, 10) == "ds_permute" || base.substr(0, 11) == "ds_bpermute" ||
        base.substr(0, 10) == "ds_swizzle" || base == "ds_nop")
      return true;
    if (base.substr(0, 6) == "ds_gws" || base.find("addtid") != std::string_view::npos || base == "ds_append" ||
        base == "ds_consume" || base.substr(0, 10) == "ds_ordered")
      return false;
    const Operand* address = nullptr;
    for (const auto& operand : inst.operands)
      if (!operand.isDef && operand.kind == OperandKind::vgpr) {
        address = &operand;
        break;
      }
    if (!address)
      return false;
    const std::uint64_t base0 = bounds.max[isa::vgprUnit(address->index)];
    const bool two = base.find("read2") != std::string_view::npos || base.find("write2") != std::string_view::npos ||
                     base.find("wrxchg2") != std::string_view::npos;
    const std::uint64_t width = base.find("b128") != std::string_view::npos  ? 16
                                : base.find("b96") != std::string_view::npos ? 12
                                : base.find("64") != std::string_view::npos  ? 8
                                                                             : 4;
    std::uint64_t offset = static_cast<std::uint64_t>(inst.mods.offset);
    if (two) {
      const std::uint64_t element = base.ends_with("b64") ? 8 : 4;
      const std::uint64_t unit = base.find("st64") != std::string_view::npos ? 64 * element : element;
      offset = std::max(inst.mods.offset0, inst.mods.offset1) * unit;
    }
    if (base0 >= top)
      return false;
    reach = std::max(reach, base0 + offset + width);
    return true;
  }

  bool recordDma(const Instruction& inst, const Bounds& bounds, std::uint64_t& reach) const {
    const std::uint64_t m0 = bounds.max[isa::sreg::m0];
    if (m0 >= top)
      return false;
    // LDS address = M0[15:0] + instruction offset + 4 * lane (facts: aiter_dispatch section 1).
    reach =
        std::max(reach, std::min<std::uint64_t>(m0, 0xffff) + static_cast<std::uint64_t>(inst.mods.offset) + 64 * 4);
    return true;
  }

  void step(const Instruction& inst, Bounds& bounds) const {
    const auto writes = inst.writes(context.accumOffset);
    std::optional<std::uint32_t> result;
    const Operand* dest = nullptr;
    for (const auto& operand : inst.operands)
      if (operand.isDef) {
        dest = &operand;
        break;
      }
    const bool alu = inst.cls == InstClass::salu || inst.cls == InstClass::valu;
    if (alu && dest && dest->dwords == 1)
      result = resultMax(inst, bounds);
    const std::uint32_t old = dest && dest->kind == OperandKind::vgpr ? bounds.max[isa::vgprUnit(dest->index)] : 0;
    if (writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi))
      bounds.execNarrowed = !(inst.base == "s_mov_b64" && inst.operands.size() == 2 &&
                              inst.operands[1].kind == OperandKind::imm && inst.operands[1].imm == -1);
    writes.forEach([&](RegUnit u) { bounds.max[u] = static_cast<std::uint32_t>(top); });
    if (!result)
      return;
    if (dest->kind == OperandKind::vgpr)
      bounds.max[isa::vgprUnit(dest->index)] = bounds.execNarrowed ? std::max(old, *result) : *result;
    else if (dest->kind == OperandKind::sgpr && dest->index < isa::sreg::count)
      bounds.max[dest->index] = *result;
  }

  const program::Program& program;
  const program::Function& function;
  const MoveContext& context;
  std::vector<std::optional<Bounds>> entry;
  std::vector<unsigned> visits;
};

} // namespace

std::optional<std::uint32_t> ldsReach(const program::Program& program, const program::Function& function,
                                      const MoveContext& context) {
  return LdsBounds(program, function, context).run();
}

} // namespace asmevo::optimize
