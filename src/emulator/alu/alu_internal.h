/// Pieces of the ALU binder, one per file. Private to emulator/alu.
#pragma once

#include "emulator/alu/plan.h"
#include "emulator/bind.h"

#include <string_view>

namespace asmevo::emulator {

/// The scalar opcodes of isa/semantics/sop.def. False: not one of them.
bool findScalarHandler(std::string_view base, Handler& handler, isa::semantics::SignatureInfo& signature);
Status bindScalar(const isa::Instruction& inst, const BindContext& context, Handler handler,
                  const isa::semantics::SignatureInfo& signature, Op& op);

/// Lane access, register indexing, mode registers and other opcodes without a lane-wise body.
bool isSpecial(std::string_view base);
Status bindSpecial(const isa::Instruction& inst, const BindContext& context, Op& op);

/// The lane-wise opcodes: one row of a CoreTable.
const CoreEntry* findCore(std::string_view name, SimdLevel level);
Status bindVector(const isa::Instruction& inst, const BindContext& context, const CoreEntry& entry, Op& op);

/// Wraps a bound vector op so that s_set_gpr_idx_* applies to it. The op must have a plan.
void makeIndexed(Op& op, AluPlan& plan);

} // namespace asmevo::emulator
