/// What a bound vector instruction is made of, and the cores that do its arithmetic.
#pragma once

#include "emulator/alu/mode_state.h"
#include "emulator/wave.h"
#include "isa/semantics/types.h"

#include <array>
#include <cstdint>
#include <span>

namespace asmevo::emulator {

/// Where a core finds one source: each dword's 64 lanes (`step` 16: dwords from chunk to chunk), or 16 equal lanes
/// (`step` 0). 64-byte aligned.
struct SourceView {
  const std::uint32_t* dword[4] = {};
  std::uint32_t step = 0;
};

struct CoreArgs {
  SourceView src[4];
  std::uint32_t* dst[4] = {};
  std::uint64_t maskIn = 0;
  std::uint64_t maskOut = 0;
};

/// All 64 lanes of one opcode, whatever EXEC is.
using Core = void (*)(CoreArgs&, const ModeState&);

/// Which MODE field rounds the result.
enum class RoundField : std::uint8_t { none, f32, f64 };

/// One opcode in one build of the handlers.
struct CoreEntry {
  const char* name;
  isa::semantics::SignatureInfo signature;
  RoundField round;
  Core core;
  Handler allVgpr;  ///< sources are VGPRs without modifiers; null: only the general handler
  Handler anyKind;  ///< VGPRs, SGPRs and constants without modifiers
  Handler modified; ///< abs, neg, op_sel of pairs, DPP within rows
};

/// How one source is made from registers: in this order DPP, SDWA or op_sel, sext, abs, neg.
struct SourcePlan {
  isa::semantics::OperandType type = isa::semantics::OperandType::none;
  bool prepare = false; ///< anything to do at all
  bool simple = true;   ///< what there is to do, the `modified` handlers can: keep, flip, high, highHi of a pair, DPP
  std::uint32_t keep[2] = {~0u, ~0u}, flip[2] = {0, 0}; ///< abs and neg of each dword
  bool neg = false, abs = false, sext = false;
  bool negHi = false;
  bool high = false;  ///< op_sel: low element from the high half (dword)
  bool highHi = true; ///< op_sel_hi: high element from the high half (dword)
  bool packedSelect = false;
  bool mixHalf = false; ///< mix: the source is a half
  isa::SdwaSel sdwa = isa::SdwaSel::dword;
  bool dpp = false;
  bool old = false; ///< the destination's old value
};

struct AluPlan {
  Core core = nullptr;
  Handler inner = nullptr; ///< with gprIndexing: the handler to go on with
  std::uint8_t sources = 0;
  std::array<SourcePlan, 4> src{};
  isa::semantics::OperandType dst = isa::semantics::OperandType::none;
  bool maskOut = false; ///< writes op.sdst from the core's mask
  bool maskIn = false;
  bool execOut = false; ///< v_cmpx: EXEC too
  isa::semantics::Unwritten unwritten = isa::semantics::Unwritten::zero;
  std::uint8_t resultBits = 32, resultShift = 0; ///< of a result narrower than a dword
  bool insert = false;                           ///< the result goes into a field of the old register
  bool insertSext = false;                       ///< SDWA dst_unused SEXT
  bool insertPad = false;                        ///< SDWA dst_unused PAD
  bool clamp = false;
  std::uint8_t omod = 0;
  RoundField round = RoundField::none;
  bool dpp = false;
  bool dppZero = false;                      ///< bound_ctrl: invalid lanes read 0 instead of not being written
  std::uint64_t dppRows = ~std::uint64_t{0}; ///< lanes that row_mask and bank_mask let through
  std::array<std::uint8_t, 64> dppLane{};    ///< source lane
  bool dppInRow = false;                     ///< every source lane is in the lane's own row of 16
  std::uint64_t dppValid = ~std::uint64_t{0};
  alignas(64) std::uint32_t dppIndex[4][16] = {}; ///< dppLane within the row
  alignas(64) std::uint32_t constants[4][2][16] = {};
};

/// The opcodes of one category in one build.
using CoreTable = std::span<const CoreEntry>;

#define ASMEVO_DECLARE_TABLES                                                                                          \
  CoreTable intCores();                                                                                                \
  CoreTable int16Cores();                                                                                              \
  CoreTable floatCores();                                                                                              \
  CoreTable halfCores();                                                                                               \
  CoreTable doubleCores();                                                                                             \
  CoreTable transcendentalCores();                                                                                     \
  CoreTable compareIntCores();                                                                                         \
  CoreTable compareFloatCores();                                                                                       \
  CoreTable packedCores();                                                                                             \
  CoreTable conversionCores();                                                                                         \
  void generalHandler(Wave&, const Op*);
namespace scalar {
ASMEVO_DECLARE_TABLES
}
namespace avx2 {
ASMEVO_DECLARE_TABLES
}
namespace avx512 {
ASMEVO_DECLARE_TABLES
}
#undef ASMEVO_DECLARE_TABLES

} // namespace asmevo::emulator
