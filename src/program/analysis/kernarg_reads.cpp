#include "program/analysis/kernarg_reads.h"

#include "program/analysis/value_numbers.h"

#include <optional>

namespace asmevo::program {

std::vector<KernargRead> kernargReads(const object::CodeObject& object, const Program& program, std::size_t kernel) {
  const object::KernelDescriptor& descriptor = object.kernels()[kernel].descriptor;
  const Function* function = program.functionOf(kernel);
  const std::optional<unsigned> pointer = descriptor.kernargSgpr();
  std::vector<KernargRead> reads;
  if (function == nullptr || !pointer)
    return reads;
  std::optional<LinearForm> base;
  const auto visit = [&](Place place, const isa::Instruction& inst, const ValueNumbers& values) {
    if (!base)
      base = values.scalar(*pointer);
    if (inst.cls != isa::InstClass::smem || !inst.base.starts_with("s_load_dword") || inst.operands.size() != 3)
      return;
    const auto from = values.operand(inst.operands[1]);
    const auto offset = values.operand(inst.operands[2]);
    if (!from || !offset)
      return;
    const LinearForm distance = sum(sum(*from, *base, ~std::uint32_t{0}), *offset);
    if (!distance.isConstant())
      return;
    reads.push_back({program.blocks[place.block].instrs[place.index].address,
                     distance.constant + static_cast<std::uint32_t>(inst.mods.offset), 4U * inst.operands[0].dwords});
  };
  const ValueNumbers walk(program, *function, descriptor.accumOffset(object.target()), false, visit);
  return reads;
}

} // namespace asmevo::program
