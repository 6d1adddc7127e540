/// Binders of the memory instruction families. Private to the emulator.
#pragma once

#include "emulator/bind.h"
#include "emulator/memory/handlers.h"

#include <algorithm>
#include <span>

namespace asmevo::emulator {

Status bindScalarMemory(const isa::Instruction& inst, const BindContext& context, Op& op); ///< SMEM
Status bindVectorMemory(const isa::Instruction& inst, const BindContext& context, Op& op); ///< MUBUF, FLAT family
Status bindTypedBuffer(const isa::Instruction& inst, const BindContext& context, Op& op);  ///< MUBUF format, MTBUF
Status bindLds(const isa::Instruction& inst, const BindContext& context, Op& op);          ///< DS

/// Null when there is none of that name.
template <class Form>
const Form* findForm(const FormTable<Form>& table, std::string_view Form::* member, std::string_view name) {
  const std::span<const Form> forms(table.first, table.count);
  const auto found = std::ranges::find(forms, name, member);
  return found == forms.end() ? nullptr : &*found;
}

/// Walks an instruction's operands in printed order with checks.
class OperandReader {
 public:
  OperandReader(const isa::Instruction& inst, const BindContext& context) : inst(inst), context(context) {}

  /// The destination, if the next operand is one.
  bool takeDestination(Op& op);
  /// A VGPR or AGPR range of at least `dwords`; or "off", which gives kind none.
  Status takeVector(Src& out, unsigned dwords);
  /// An SGPR range of at least `dwords`; or "off".
  Status takeScalar(Src& out, unsigned dwords);
  /// An SGPR or an integer constant.
  Status takeScalarValue(Src& out);
  bool done() const { return next >= inst.operands.size(); }
  const isa::Operand* peek() const { return done() ? nullptr : &inst.operands[next]; }

 private:
  Status missing(const char* what) const;
  const isa::Instruction& inst;
  const BindContext& context;
  std::size_t next = 0;
};

/// "vaddr|off, srsrc, soffset" of a buffer instruction.
Status bindBufferOperands(const isa::Instruction& inst, OperandReader& reader, Op& op);

/// True for an off operand or a missing one.
inline bool isNone(const Src& src) {
  return src.kind == SrcKind::none;
}

} // namespace asmevo::emulator
