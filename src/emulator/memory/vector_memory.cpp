#include "emulator/memory/atomics.h"
#include "emulator/memory/bind_memory.h"
#include "emulator/memory/handlers.h"

#include <string_view>

namespace asmevo::emulator {

namespace {

void nothing(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

std::string_view afterPrefix(std::string_view name) {
  const std::size_t at = name.find('_');
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

/// Address operands that follow the data: FLAT family "vaddr[, data][, saddr|off]".
Status bindFlatOperands(const isa::Instruction& inst, OperandReader& reader, unsigned dataDwords, AddressMode& mode,
                        Op& op) {
  const isa::Operand* address = reader.peek();
  const unsigned given = address ? address->dwords : 0;
  ASMEVO_CHECK(reader.takeVector(op.src[0], 1));
  if (dataDwords != 0)
    ASMEVO_CHECK(reader.takeVector(op.src[1], dataDwords));
  if (inst.cls != isa::InstClass::flat && !reader.done())
    ASMEVO_CHECK(reader.takeScalar(op.src[2], inst.cls == isa::InstClass::scratch ? 1 : 2));
  op.aux = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  switch (inst.cls) {
  case isa::InstClass::flat:
    mode = flatMode;
    break;
  case isa::InstClass::scratch:
    mode = scratchMode;
    return {};
  default:
    mode = isNone(op.src[2]) ? globalMode : globalScalarMode;
  }
  if (isNone(op.src[0]) || given < (mode == globalScalarMode ? 1u : 2u))
    return refused("{}: no address register", inst.base);
  return {};
}

} // namespace

Status bindBufferOperands(const isa::Instruction& inst, OperandReader& reader, Op& op) {
  const unsigned addresses = unsigned{inst.mods.offen} + unsigned{inst.mods.idxen};
  ASMEVO_CHECK(reader.takeVector(op.src[0], addresses));
  if (addresses != 0 && isNone(op.src[0]))
    return refused("{}: no address register", inst.base);
  ASMEVO_CHECK(reader.takeScalar(op.src[2], 4));
  if (isNone(op.src[2]))
    return refused("{}: no resource descriptor", inst.base);
  ASMEVO_CHECK(reader.takeScalarValue(op.src[3]));
  op.src[3].dwords =
      static_cast<std::uint8_t>((inst.mods.offen ? bufferOffen : 0) | (inst.mods.idxen ? bufferIdxen : 0));
  op.aux = static_cast<std::uint64_t>(inst.mods.offset);
  return {};
}

Status bindVectorMemory(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const std::string_view name = afterPrefix(inst.base);
  const bool buffer = inst.cls == isa::InstClass::vmem;
  if (buffer && (name == "wbl2" || name == "inv" || name == "wbinvl1" || name == "wbinvl1_vol")) {
    op.fn = nothing;
    return {};
  }
  if (buffer && name.find("format_") != std::string_view::npos)
    return bindTypedBuffer(inst, context, op);
  if (inst.mods.tfe)
    return refused("{}: tfe is not modelled", inst.base);

  OperandReader reader(inst, context);
  AddressMode mode = bufferMode;
  const VectorHandlers& handlers =
      *atLevel(context.simd, &scalar::vectorHandlers, &avx2::vectorHandlers, &avx512::vectorHandlers);

  // Loads to LDS have no data register: "buffer_load_dword ... lds" and "global_load_lds_dword".
  const bool named = name.starts_with("load_lds_");
  if (named || (buffer && inst.mods.lds)) {
    const std::string_view type = name.substr(named ? 9 : name.starts_with("load_") ? 5 : 0);
    const LdsLoadForm* form = findForm(handlers.toLds, &LdsLoadForm::type, type);
    if (!form)
      return refused("{} to LDS is not modelled", inst.base);
    ASMEVO_CHECK(buffer ? bindBufferOperands(inst, reader, op) : bindFlatOperands(inst, reader, 0, mode, op));
    op.fn = form->handlers[mode];
    return {};
  }

  if (name.starts_with("atomic_")) {
    const AtomicForm* form = findMemoryAtomic(name.substr(7));
    if (!form)
      return refused("{} is not modelled", inst.base);
    const unsigned dwords = form->bytes / 4 * form->dataOperands;
    const bool returns = reader.takeDestination(op);
    if (buffer) {
      // The one data range is also the destination.
      if (returns) {
        op.src[1].kind = SrcKind::vgpr;
        op.src[1].reg = op.dst;
        if (op.dstDwords < dwords)
          return refused("{}: data register range is too small", inst.base);
      } else {
        ASMEVO_CHECK(reader.takeVector(op.src[1], dwords));
      }
      ASMEVO_CHECK(bindBufferOperands(inst, reader, op));
    } else {
      ASMEVO_CHECK(bindFlatOperands(inst, reader, dwords, mode, op));
    }
    if (isNone(op.src[1]))
      return refused("{}: no data register", inst.base);
    op.extra = form;
    op.fn = (returns ? handlers.atomicReturning : handlers.atomic)[mode];
    return {};
  }

  const VectorForm* found = findForm(handlers.forms, &VectorForm::name, name);
  if (!found)
    return refused("{} is not modelled", inst.base);
  const VectorForm& form = *found;
  const bool hasDestination = reader.takeDestination(op);
  if (hasDestination == form.store)
    return refused("{}: unexpected operands", inst.base);
  if (buffer) {
    if (form.store)
      ASMEVO_CHECK(reader.takeVector(op.src[1], form.dataDwords));
    ASMEVO_CHECK(bindBufferOperands(inst, reader, op));
  } else {
    ASMEVO_CHECK(bindFlatOperands(inst, reader, form.dataDwords, mode, op));
  }
  if (form.store && isNone(op.src[1]))
    return refused("{}: no data register", inst.base);
  op.fn = form.handlers[mode];
  return {};
}

} // namespace asmevo::emulator
