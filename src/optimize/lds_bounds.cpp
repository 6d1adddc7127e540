#include "optimize/lds_bounds.h"

#include "optimize/integer_bounds.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"

#include <algorithm>
#include <string_view>

namespace asmevo::optimize {

using isa::InstClass;
using isa::Instruction;
using isa::OperandKind;

namespace {

class LdsBounds {
 public:
  LdsBounds(const program::Program& p, const program::Function& f, const MoveContext& c)
      : program(p), function(f), context(c), execMask(p, f, true) {}

  std::optional<std::uint32_t> run() {
    for (const program::BlockId id : program::reversePostOrder(program, function))
      if (!isUnderstood(id))
        return std::nullopt;
    Problem problem{*this};
    program::Solver<Problem> solver(program, program::reversePostOrder(program, function), problem);
    solver.run();
    std::uint64_t reach = 0;
    for (const program::BlockId id : solver.blocks())
      if (solver.at(id)) {
        RegisterBounds bounds = *solver.at(id);
        if (!walk(id, bounds, &reach))
          return std::nullopt;
      }
    if (reach > 65536)
      return std::nullopt;
    return static_cast<std::uint32_t>((reach + 511) / 512 * 512);
  }

 private:
  struct Problem {
    static constexpr program::Direction direction = program::Direction::forward;
    using State = std::optional<RegisterBounds>; ///< nothing: not reached
    const LdsBounds& owner;

    State initial(program::BlockId id) const {
      const program::Function& f = owner.function;
      return id == f.entryBlock || f.preloadEntry == id ? State(owner.start()) : std::nullopt;
    }
    bool join(State& into, const State& from) const {
      if (!from)
        return false;
      if (into)
        return into->join(*from);
      into = from;
      return true;
    }
    void transfer(program::BlockId id, State& state, program::Solver<Problem>&) const {
      if (state)
        owner.walk(id, *state, nullptr);
    }
  };

  /// Work-item ids: packed x | y<<10 | z<<20 on gfx90a and later; one dimension leaves the plain id.
  RegisterBounds start() const {
    RegisterBounds bounds;
    const unsigned mode = context.kernel.descriptor.workitemIdMode();
    Bounds id = Bounds::upTo(largestSize(0) - 1);
    for (unsigned d = 1; d <= 2; ++d) {
      const Bounds axis = Bounds::upTo(mode == 0 ? 0 : largestSize(d) - 1);
      id.max += axis.max << (10 * d);
      id.bits |= axis.bits << (10 * d);
    }
    bounds.set(isa::vgprBase, id);
    return bounds;
  }

  /// Work-items in a dimension of the largest workgroup that may be launched, not of the one at hand: K1 serves every
  /// launch that K0 does.
  unsigned largestSize(unsigned dimension) const {
    const auto& metadata = context.kernel.metadata;
    if (metadata && metadata->requiredWorkgroupSize) {
      const unsigned size = (*metadata->requiredWorkgroupSize)[dimension];
      return size > 0 && size <= 1024 ? size : 1024;
    }
    const unsigned flat = metadata ? metadata->maxFlatWorkgroupSize : 0;
    return flat > 0 && flat <= 1024 ? flat : 1024;
  }

  /// No way in or out that the analysis does not see, and no instruction that it would get wrong.
  bool isUnderstood(program::BlockId id) const {
    const program::Block& block = program.blocks[id];
    if ((block.opaque || block.entersByRegister) && id != function.entryBlock)
      return false;
    return std::ranges::none_of(block.instrs, [](const program::Instr& instr) {
      const std::string_view base = instr.inst->base;
      return instr.inst->cls == InstClass::jump || instr.inst->cls == InstClass::unknown ||
             instr.inst->cls == InstClass::flat || base.starts_with("s_set_gpr") || base.starts_with("v_movrel") ||
             base.starts_with("s_movrel");
    });
  }

  /// Runs over a block; with `reach`, records how far LDS accesses go. False: an unbounded one.
  bool walk(program::BlockId id, RegisterBounds& bounds, std::uint64_t* reach) const {
    const std::vector<bool> full = execMask.fullBefore(id);
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = 0; i < instrs.size(); ++i) {
      const Instruction& inst = *instrs[i].inst;
      if (reach && inst.cls == InstClass::lds && !recordLds(inst, bounds, *reach))
        return false;
      if (reach && inst.isLdsDma() && !recordDma(inst, bounds, *reach))
        return false;
      bounds.step(inst, context.accumOffset, full[i]);
    }
    return true;
  }

  bool recordLds(const Instruction& inst, const RegisterBounds& bounds, std::uint64_t& reach) const {
    const std::string_view base = inst.base;
    if (base.substr(0, 10) == "ds_permute" || base.substr(0, 11) == "ds_bpermute" ||
        base.substr(0, 10) == "ds_swizzle" || base == "ds_nop")
      return true;
    if (base.substr(0, 6) == "ds_gws" || base.find("addtid") != std::string_view::npos || base == "ds_append" ||
        base == "ds_consume" || base.substr(0, 10) == "ds_ordered")
      return false;
    const isa::Operand* address = nullptr;
    for (const auto& operand : inst.operands)
      if (!operand.isDef && operand.kind == OperandKind::vgpr) {
        address = &operand;
        break;
      }
    if (!address)
      return false;
    const Bounds& base0 = bounds[isa::vgprUnit(address->index)];
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
    if (!base0.isBounded())
      return false;
    reach = std::max(reach, base0.max + offset + width);
    return true;
  }

  bool recordDma(const Instruction& inst, const RegisterBounds& bounds, std::uint64_t& reach) const {
    const Bounds& m0 = bounds[isa::sreg::m0];
    if (!m0.isBounded())
      return false;
    // LDS address = M0[15:0] + instruction offset + 4 * lane (facts: aiter_dispatch section 1); gfx950 has lanes of 12
    // and 16 bytes.
    const std::string_view base = inst.base;
    const std::uint64_t width = base.find("dwordx4") != std::string_view::npos   ? 16
                                : base.find("dwordx3") != std::string_view::npos ? 12
                                                                                 : 4;
    reach = std::max(reach, std::min<std::uint64_t>(m0.max, 0xffff) + static_cast<std::uint64_t>(inst.mods.offset) +
                                64 * width);
    return true;
  }

  const program::Program& program;
  const program::Function& function;
  const MoveContext& context;
  program::ExecMask execMask;
};

} // namespace

std::optional<std::uint32_t> ldsReach(const program::Program& program, const program::Function& function,
                                      const MoveContext& context) {
  return LdsBounds(program, function, context).run();
}

} // namespace asmevo::optimize
