/// From instructions to operations: each binder fills an Op for its classes or refuses the instruction by name.
#pragma once

#include "emulator/simd_level.h"
#include "emulator/wave.h"
#include "support/result.h"

#include <deque>
#include <memory>
#include <vector>

namespace asmevo::emulator {

/// Type of a source operand, which decides the bits of an inline constant or literal (CDNA3 ISA, "Constants").
enum class ConstType : std::uint8_t { b32, f32, f16, bf16, b16, b64, f64, u64, pk16, pkF32 };

/// One of three things by level: scalar, avx2, avx512.
template <class T> T atLevel(SimdLevel level, T scalar, T avx2, T avx512) {
  return level == SimdLevel::avx512 ? avx512 : level == SimdLevel::avx2 ? avx2 : scalar;
}

/// Owns handler-specific data of a program's ops.
class Arena {
 public:
  template <class T> const T* make(T value) {
    auto owner = std::make_shared<T>(std::move(value));
    owners.push_back(owner);
    return owner.get();
  }

 private:
  std::vector<std::shared_ptr<const void>> owners;
};

struct BindContext {
  unsigned accumOffset = 0;
  SimdLevel simd = bestSimdLevel();
  Arena* arena = nullptr;
  bool gprIndexing = false; ///< the code contains s_set_gpr_idx_on: vector ops check for it
};

/// Resolves one operand. Registers by the unified file; constants to the bits of `type`.
Src bindSource(const isa::Operand& operand, ConstType type, const BindContext& context);

/// VALU and SALU instructions without control flow (VOP1/2/3/C, VOP3P, SDWA, DPP, SOP1/2/C/K, readlane family,
/// s_set_gpr_idx, s_getreg/s_setreg). Lives in emulator/alu/.
Status bindAlu(const isa::Instruction& inst, const BindContext& context, Op& op);
/// MFMA. Lives in emulator/mfma/.
Status bindMfma(const isa::Instruction& inst, const BindContext& context, Op& op);
/// SMEM, buffer, flat, global, scratch, LDS and their atomics. Lives in emulator/memory/.
Status bindMemory(const isa::Instruction& inst, const BindContext& context, Op& op);
/// Branches, calls, barrier, waits, nops, messages, s_endpgm. Lives in emulator/control/.
Status bindControl(const isa::Instruction& inst, const BindContext& context, Op& op);

/// The binder of the instruction's class.
Status bindInstruction(const isa::Instruction& inst, const BindContext& context, Op& op);

} // namespace asmevo::emulator
