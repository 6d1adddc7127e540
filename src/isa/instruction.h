/// One decoded instruction over LLVM's MC layer. Immutable and shared: equal encodings of one target are one object.
#pragma once

#include "isa/registers.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::isa {

/// Which unit executes an instruction and which rules it falls under.
enum class InstClass : std::uint8_t {
  unknown, ///< bytes LLVM cannot decode: opaque, never moved or edited through
  salu,
  smem,
  valu,
  mfma,   ///< MFMA and SMFMAC
  vmem,   ///< MUBUF, MTBUF (with or without `lds`)
  flat,   ///< flat_*: may touch global, LDS or scratch
  global, ///< global_*
  scratch,
  lds,    ///< ds_*
  branch, ///< s_branch, s_cbranch_*
  jump,   ///< s_setpc, s_swappc, s_call, s_rfe: target from registers or a call
  endpgm,
  barrier,
  waitcnt, ///< s_waitcnt*
  nop,     ///< s_nop
  message, ///< s_sendmsg*, s_sleep, s_setprio, s_sethalt, s_trap, s_icache_inv, s_ttracedata, s_dcache_*
};
std::string_view className(InstClass c);

enum class OperandKind : std::uint8_t { sgpr, vgpr, agpr, imm, fpImm, off, hwreg, other };

/// An operand of the printed form, destinations first. Modifiers such as offset: or op_sel: are in Modifiers.
struct Operand {
  OperandKind kind = OperandKind::other;
  std::uint8_t dwords = 1; ///< registers covered
  std::uint16_t index = 0; ///< first register; sgpr: hardware encoding number (vcc = 106, exec = 126, m0 = 124 ...);
                           ///< scc, vccz, execz, shared_base ... as sgpr with their source encodings 253, 251, 252, 235
  bool isDef = false;      ///< written (also when read too: see Instruction::tied)
  std::uint8_t half = 0;   ///< gfx11 true16 operands: 1 the low 16 bits (v5.l), 2 the high ones; 0 all
  bool neg = false, abs = false, sext = false;
  std::int64_t imm = 0; ///< kind imm: the value as printed (inline integer or 32-bit literal, not extended)
  double fp = 0;        ///< kind fpImm: an inline float constant (0.5, 1.0, 2.0, 4.0, negated, 0.15915494); the
                        ///< operand's type in the semantics table decides its bits
  std::uint16_t textBegin = 0, textEnd = 0; ///< where the register or constant itself stands in Instruction::text,
                                            ///< without -, |..|, neg(), abs(), sext(), .l, .h
};

/// Data-parallel primitives control of a _dpp form (CDNA3 ISA "DPP").
enum class DppCtrl : std::uint8_t {
  none,
  quadPerm,
  rowShl,
  rowShr,
  rowRor,
  waveShl,
  waveRol,
  waveShr,
  waveRor,
  rowMirror,
  rowHalfMirror,
  rowBcast15,
  rowBcast31,
  rowNewBcast
};
/// Sub-dword selects of an _sdwa form.
enum class SdwaSel : std::uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };
enum class SdwaUnused : std::uint8_t { pad, sext, preserve };

/// Everything of the printed form that is not an operand, with hardware defaults where it is not printed.
struct Modifiers {
  std::int32_t offset = 0;                   ///< offset: of memory instructions (signed for flat/global/scratch)
  std::uint8_t offset0 = 0, offset1 = 0;     ///< ds_read2/write2
  bool sc0 = false, sc1 = false, nt = false; ///< gfx940 cache policy (glc/slc elsewhere map to sc0/nt)
  bool lds = false, offen = false, idxen = false, gds = false, tfe = false;
  bool clamp = false;
  std::uint8_t omod = 0;      ///< 0 none, 1 mul:2, 2 mul:4, 3 div:2
  std::uint8_t opSel = 0;     ///< op_sel bits as printed, bit i = element i
  std::uint8_t opSelHi = 0xf; ///< op_sel_hi bits; default all ones for packed math (VOP3P), see printed form
  bool opSelPrinted = false, opSelHiPrinted = false;
  std::uint8_t negLo = 0, negHi = 0;
  DppCtrl dpp = DppCtrl::none;
  std::array<std::uint8_t, 4> quadPerm{0, 1, 2, 3};
  std::uint8_t dppAmount = 0; ///< row_shl:N, row_newbcast:N
  std::uint8_t rowMask = 0xf, bankMask = 0xf;
  bool boundCtrl = false; ///< bound_ctrl:0 printed (hardware bit 1): invalid lanes read 0
  bool isSdwa = false;
  SdwaSel dstSel = SdwaSel::dword;
  SdwaUnused dstUnused = SdwaUnused::pad;
  std::array<SdwaSel, 2> srcSel{SdwaSel::dword, SdwaSel::dword};
  std::uint8_t cbsz = 0, abid = 0, blgp = 0; ///< MFMA
  std::uint8_t format = 0;                   ///< MTBUF
};

/// Counters of an s_waitcnt on gfx9/gfx940: all ones (63, 7, 15) means "do not wait".
struct WaitCount {
  std::uint8_t vm = 63, exp = 7, lgkm = 15;
  bool operator==(const WaitCount&) const = default;
};

/// Consecutive registers an instruction touches. AGPRs are numbered on their own here; see vgprBase in registers.h.
struct RegRange {
  enum class File : std::uint8_t { scalar, vgpr, agpr };
  File file = File::scalar;
  bool kills = false;      ///< of a write: the old value is gone whatever EXEC is
  std::uint16_t first = 0; ///< scalar: unit
  std::uint16_t count = 1;
};

/// An interned decoded instruction.
class Instruction {
 public:
  std::span<const std::uint8_t> bytes() const { return {encoding.data(), size}; }

  std::array<std::uint8_t, 20> encoding{};
  std::uint8_t size = 4; ///< bytes
  InstClass cls = InstClass::unknown;
  unsigned opcode = 0;           ///< LLVM opcode (valid within one build of LLVM only)
  std::string mnemonic;          ///< as printed: "v_add_f32_e32"
  std::string base;              ///< without _e32/_e64/_sdwa/_dpp: "v_add_f32"; the key of the semantics table
  std::string text;              ///< printed form, one space after the mnemonic; branch targets as the raw immediate
  std::vector<Operand> operands; ///< defs first; of a VOPD pair, each half in turn
  Modifiers mods;
  bool mayLoad = false, mayStore = false, isTerminator = false, isConditional = false;
  bool isVop3 = false;                      ///< 64-bit VALU encoding
  std::optional<std::int32_t> branchOffset; ///< class branch and s_call: simm16, in dwords from the next instruction
  std::uint32_t simm16 = 0;                 ///< SOPP/SOPK immediate; index modes of s_set_gpr_idx_on

  /// Registers of a fixed accum_offset, from LLVM's operand and implicit lists and what those leave out (classify.h):
  /// every unit whose value may matter is in `reads`, every unit that may change in `writes`. A write of part of a unit
  /// (16-bit halves, SDWA with UNUSED_PRESERVE, D16 loads, one lane) is a read too. A VGPR write under EXEC does not
  /// erase the old value in inactive lanes: such registers are in `writes` only, not in `kills`.
  /// `accumOffset` is the physical number of a0: the kernel's accum_offset on unified targets, 256 where AGPRs are a
  /// file of their own (gfx908) and, without harm, where there are none.
  RegSet reads(unsigned accumOffset) const;
  RegSet writes(unsigned accumOffset) const;
  /// Part of `writes` whose old value is gone whatever EXEC is (scalar registers, v_readfirstlane's SGPR, MFMA).
  RegSet kills(unsigned accumOffset) const;
  bool readsExec() const;
  WaitCount waitCount() const; ///< class waitcnt, gfx9 encoding
  bool isBranch() const { return cls == InstClass::branch; }
  /// True for anything whose position against other memory or control operations matters.
  bool isVectorMemory() const {
    return cls == InstClass::vmem || cls == InstClass::flat || cls == InstClass::global || cls == InstClass::scratch;
  }
  bool isAtomic() const;
  /// MUBUF or global load that writes LDS at M0 (an LDS-DMA): counted by vmcnt, no VGPR destination.
  bool isLdsDma() const;
  /// s_set_gpr_idx_on/mode: until s_set_gpr_idx_off every VALU instruction may use VGPRs at M0-relative numbers that
  /// its operands do not name (CDNA3 ISA "VGPR Indexing"). Likewise what chooses a bank of VGPRs on gfx1250.
  /// reads()/writes() of VGPRs say nothing about the real registers there.
  bool entersGprIdxMode() const;
  /// s_setpc, s_swappc, s_call, s_rfe, fork/join and s_trap: control continues where this analysis does not see.
  bool leavesFunction() const;

  std::vector<RegRange> readRanges, writeRanges; ///< what reads(), writes() and kills() are made of
  bool isComplete = false; ///< false while only size, class and branch offset are filled in (Codec::decodeShallow)

  /// Register operands LLVM lists implicitly (EXEC, VCC, SCC, M0, MODE, FLAT_SCRATCH), as units.
  std::vector<RegUnit> implicitReads, implicitWrites;
  bool choosesVgprBank = false; ///< gfx1250: s_set_vgpr_msb, s_setreg of MODE's bank bits
  bool tiedDest = false; ///< the destination's old value is an input in LLVM's operand list (fmac, d16_hi, DPP old...)
};

/// Scalar and vector ALU work that does nothing but write its results: deleted where nobody reads them, nothing
/// changes.
bool isPureAlu(const Instruction& inst);

using InstRef = const Instruction*;

} // namespace asmevo::isa
