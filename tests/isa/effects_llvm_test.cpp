// Register effects on every target against LLVM's operand descriptions, by the hardware encodings of LLVM's registers.
#include "isa_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace asmevo::isa::test {
namespace {

constexpr unsigned accum = 256;

/// LLVM's own view of a target.
class Llvm {
 public:
  explicit Llvm(const std::string& processor) : isGfx8(processor.starts_with("gfx8")) {
    std::string error;
    const llvm::Triple triple("amdgcn-amd-amdhsa");
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    registers.reset(target->createMCRegInfo(triple));
    asmInfo.reset(target->createMCAsmInfo(*registers, triple, options));
    instrs.reset(target->createMCInstrInfo());
    subtarget.reset(target->createMCSubtargetInfo(triple, processor, ""));
    context = std::make_unique<llvm::MCContext>(triple, asmInfo.get(), registers.get(), subtarget.get());
    disassembler.reset(target->createMCDisassembler(*subtarget, *context));
    // VGPRs and AGPRs by a flag in their encodings, which is found from a register of each kind.
    for (unsigned reg = 1; reg < registers->getNumRegs(); ++reg) {
      const std::string_view name = registers->getName(llvm::MCRegister(reg));
      if (name == "VGPR0")
        vgprFlags = registers->getEncodingValue(llvm::MCRegister(reg));
      if (name == "AGPR0")
        agprFlags = registers->getEncodingValue(llvm::MCRegister(reg));
    }
  }

  /// Units of a register by its encoding: VGPRs and AGPRs and the numbered scalars, dword by dword.
  std::set<unsigned> units(unsigned reg) const {
    std::set<unsigned> result;
    const auto add = [&](unsigned leaf) {
      const std::string_view name = registers->getName(llvm::MCRegister(leaf));
      const unsigned encoding = registers->getEncodingValue(llvm::MCRegister(leaf));
      const unsigned number = encoding & 0x3ff;
      if ((encoding & vgprFlags) == vgprFlags && (encoding & agprFlags) != agprFlags)
        result.insert(vgprBase + number);
      else if ((encoding & agprFlags) == agprFlags)
        result.insert(vgprBase + accum + number);
      else if (name.starts_with("TTMP")) // their encodings begin at 112 on gfx8
        result.insert(number - (isGfx8 ? 112 : 108) + sreg::ttmp0);
      else if (name.starts_with("SGPR") && name.find("NULL") == std::string_view::npos)
        result.insert(number);
    };
    // Leaves are the registers that have no dword inside.
    bool hasParts = false;
    for (const auto sub : registers->subregs(llvm::MCRegister(reg))) {
      const std::string_view name = registers->getName(llvm::MCRegister(sub));
      if (name.ends_with("_LO16") || name.ends_with("_HI16"))
        continue;
      hasParts = true;
      if (std::ranges::all_of(registers->subregs(llvm::MCRegister(sub)), [&](unsigned s) {
            const std::string_view part = registers->getName(llvm::MCRegister(s));
            return part.ends_with("_LO16") || part.ends_with("_HI16");
          }))
        add(sub);
    }
    if (!hasParts)
      add(reg);
    return result;
  }

  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instrs;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  unsigned vgprFlags = 0, agprFlags = 0;
  bool isGfx8;
};

/// One instruction of every opcode that a walk over the encodings meets.
std::map<unsigned, InstRef> oneOfEachOpcode(Codec& codec) {
  std::map<unsigned, InstRef> found;
  std::mt19937 random(7);
  for (unsigned top = 0; top < 0x10000; ++top)
    for (unsigned variant = 0; variant < 3; ++variant) {
      std::array<std::uint32_t, 4> words{};
      for (auto& word : words)
        word = static_cast<std::uint32_t>(random());
      words[0] = top << 16 | (words[0] & 0xffff);
      if (variant % 3 == 1) // a VGPR source
        words[0] |= 0x100;
      if (variant % 3 == 2) { // 64-bit forms with few modifiers
        words[0] &= 0xffff00fe;
        words[1] = (words[1] & 0x3f03fcfe) | 0x00020100;
      }
      std::array<std::uint8_t, 16> bytes{};
      std::memcpy(bytes.data(), words.data(), bytes.size());
      const InstRef shallow = codec.decodeShallow(bytes);
      if (shallow->cls == InstClass::unknown || found.contains(shallow->opcode))
        continue;
      found.emplace(shallow->opcode, codec.complete(shallow));
    }
  return found;
}

std::string missing(const std::set<unsigned>& wanted, const RegSet& have) {
  for (const unsigned unit : wanted)
    if (unit < regUnitCount && !have.test(unit))
      return regUnitName(static_cast<RegUnit>(unit));
  return {};
}

/// Operands that are written are in `writes`, all others and those that are both in `reads`; no vector register and no
/// numbered scalar that LLVM does not name is in either, but where an operand is indirect.
void expectOperandsAreCovered(const std::string& processor, unsigned leastOpcodes) {
  const auto codec = codecFor(processor);
  const Llvm llvm(processor);
  unsigned checked = 0;
  for (const auto& [opcode, inst] : oneOfEachOpcode(*codec)) {
    llvm::MCInst mc;
    std::uint64_t size = 0;
    std::array<std::uint8_t, 20> window{};
    std::ranges::copy(inst->bytes(), window.begin());
    ASSERT_EQ(llvm.disassembler->getInstruction(mc, size, window, 0, llvm::nulls()), llvm::MCDisassembler::Success);
    const llvm::MCInstrDesc& desc = llvm.instrs->get(opcode);
    std::set<unsigned> reads, writes;
    for (unsigned i = 0; i < mc.getNumOperands(); ++i) {
      if (!mc.getOperand(i).isReg())
        continue;
      const auto units = llvm.units(mc.getOperand(i).getReg().id());
      (i < desc.getNumDefs() ? writes : reads).insert(units.begin(), units.end());
      const std::string_view name = llvm.registers->getName(mc.getOperand(i).getReg());
      if (i < desc.getNumDefs() && (name.ends_with("_LO16") || name.ends_with("_HI16")))
        reads.insert(units.begin(), units.end()); // the other half stays
    }
    for (unsigned i = desc.getNumDefs(); i < desc.getNumOperands(); ++i)
      if (const int tied = desc.getOperandConstraint(i, llvm::MCOI::TIED_TO);
          tied >= 0 && mc.getOperand(static_cast<unsigned>(tied)).isReg()) {
        const auto units = llvm.units(mc.getOperand(static_cast<unsigned>(tied)).getReg().id());
        reads.insert(units.begin(), units.end());
      }
    const std::string what = fmt::format("{} {}", processor, inst->text);
    const RegSet haveReads = inst->reads(accum), haveWrites = inst->writes(accum);
    EXPECT_EQ(missing(reads, haveReads), "") << what;
    EXPECT_EQ(missing(writes, haveWrites), "") << what;
    ++checked;
    if (inst->base.find("movrel") != std::string::npos || inst->base.find("swaprel") != std::string::npos ||
        inst->base.starts_with("s_subvector_loop_"))
      continue;
    const auto onlyNamed = [&](const RegSet& have, const std::set<unsigned>& named, const char* kind) {
      have.forEach([&](RegUnit unit) {
        if (unit < sreg::flatScratchLo || unit >= vgprBase)
          EXPECT_TRUE(named.contains(unit)) << what << ": " << kind << " " << regUnitName(unit);
      });
    };
    onlyNamed(haveWrites, writes, "writes");
    reads.insert(writes.begin(), writes.end()); // partial writes, which LLVM does not always tie
    onlyNamed(haveReads, reads, "reads");
    // Nothing that LLVM says is touched implicitly is lost, except what classify.h takes back.
    const auto implicit = [&](llvm::ArrayRef<llvm::MCPhysReg> list, const RegSet& have, const char* kind) {
      for (const auto reg : list) {
        const std::string_view name = llvm.registers->getName(reg);
        const bool ldsM0 = name == "M0" && inst->cls == InstClass::lds;
        const bool integerMatrix = name == "MODE" && inst->cls == InstClass::mfma;
        const bool noScc = name == "SCC" && (inst->base == "s_setvskip" || inst->base == "s_set_gpr_idx_on");
        const bool hwreg = name == "MODE" && inst->base.find("etreg") != std::string::npos;
        if (ldsM0 || integerMatrix || noScc || hwreg)
          continue;
        const unsigned unit = name == "EXEC"   ? sreg::execLo
                              : name == "VCC"  ? sreg::vccLo
                              : name == "M0"   ? sreg::m0
                              : name == "SCC"  ? sreg::scc
                              : name == "MODE" ? sreg::mode
                                               : sreg::count;
        if (unit < sreg::count)
          EXPECT_TRUE(have.test(unit)) << what << ": " << kind << " " << name;
      }
    };
    implicit(desc.implicit_uses(), haveReads, "reads");
    implicit(desc.implicit_defs(), haveWrites, "writes");
  }
  EXPECT_GE(checked, leastOpcodes) << processor;
}

TEST(EffectsOnAllTargets, OperandsAndImplicitRegisters) {
  codecFor("gfx942"); // initializes LLVM's target
  struct Case {
    const char* processor;
    unsigned opcodes;
  };
  for (const Case& c : {Case{"gfx803", 1000}, Case{"gfx900", 1400}, Case{"gfx906", 1400}, Case{"gfx908", 1400},
                        Case{"gfx90a", 1300}, Case{"gfx942", 1300}, Case{"gfx950", 1300}, Case{"gfx1030", 1200},
                        Case{"gfx1100", 1400}, Case{"gfx1201", 1200}, Case{"gfx1250", 1000}})
    expectOperandsAreCovered(c.processor, c.opcodes);
}

std::string effects(Codec& codec, const std::string& text) {
  const InstRef inst = instruction(codec, text);
  return fmt::format("R {} W {} K {}", units(inst->reads(accum)), units(inst->writes(accum)),
                     units(inst->kills(accum)));
}

TEST(EffectsOnAllTargets, WaveSizeDecidesMasks) {
  object::Target target;
  target.processor = "gfx1030";
  const auto wave32 = *Codec::create(target, 32), wave64 = *Codec::create(target, 64);
  EXPECT_EQ(wave32->waveSize(), 32u);
  EXPECT_EQ(wave64->waveSize(), 64u);
  EXPECT_EQ(effects(*wave32, "v_cmp_eq_u32_e32 vcc_lo, v1, v2"), "R exec_lo v[1:2] W vcc_lo K vcc_lo");
  EXPECT_EQ(effects(*wave64, "v_cmp_eq_u32_e32 vcc, v1, v2"),
            "R exec_lo exec_hi v[1:2] W vcc_lo vcc_hi K vcc_lo vcc_hi");
  EXPECT_EQ(effects(*wave64, "v_cmp_eq_u32_e64 s[0:1], v1, v2"), "R exec_lo exec_hi v[1:2] W s[0:1] K s[0:1]");
  EXPECT_EQ(effects(*wave32, "s_and_saveexec_b32 s0, s1"), "R s1 exec_lo W s0 exec_lo scc K s0 exec_lo scc");
  EXPECT_EQ(effects(*wave32, "s_cbranch_vccz 1"), "R vcc_lo W  K ");
  EXPECT_EQ(effects(*wave32, "s_add_u32 null, s1, s2"), "R s[1:2] W scc K scc");
}

TEST(EffectsOnAllTargets, HalvesAndPairs) {
  const auto gfx11 = codecFor("gfx1100");
  EXPECT_EQ(effects(*gfx11, "v_add_f16_e32 v1.l, v2.h, v3.l"), "R exec_lo mode v[1:3] W v1 K ");
  EXPECT_EQ(effects(*gfx11, "v_cvt_f32_f16_e32 v1, v2.h"), "R exec_lo mode v2 W v1 K ");
  const InstRef half = instruction(*gfx11, "v_add_f16_e32 v1.l, v2.h, v3.l");
  EXPECT_EQ(operands(*half), "=v1 v2 v3");
  EXPECT_EQ(half->operands[0].half, 1);
  EXPECT_EQ(half->operands[1].half, 2);
  EXPECT_EQ(half->text.substr(half->operands[1].textBegin, half->operands[1].textEnd - half->operands[1].textBegin),
            "v2");
  const InstRef pair = instruction(*gfx11, "v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5");
  EXPECT_EQ(operands(*pair), "=v1 v2 v3 =v4 v5");
  EXPECT_EQ(units(pair->reads(accum)), "exec_lo mode v[1:3] v5");
  EXPECT_EQ(units(pair->writes(accum)), "v1 v4");
}

TEST(EffectsOnAllTargets, ScalarOddities) {
  const auto gfx12 = codecFor("gfx1201");
  EXPECT_EQ(effects(*gfx12, "s_barrier_signal_isfirst -1"), "R scc W scc K scc");
  EXPECT_EQ(effects(*gfx12, "s_getreg_b32 s0, hwreg(HW_REG_WAVE_MODE)"), "R mode W s0 K s0");
  EXPECT_EQ(className(instruction(*gfx12, "s_barrier_wait 0xffff")->cls), "barrier");
  const auto gfx10 = codecFor("gfx1030");
  // FLAT_SCRATCH is no SGPR pair there.
  EXPECT_FALSE(instruction(*gfx10, "scratch_load_dword v1, off, s2")->reads(accum).test(sreg::flatScratchLo));
  EXPECT_TRUE(instruction(*gfx10, "v_mov_b32_e32 v1, s102")->reads(accum).test(102));
  EXPECT_TRUE(instruction(*gfx10, "v_movreld_b32_e32 v1, v2")->writes(accum).test(vgprUnit(200)));
  const auto gfx1250 = codecFor("gfx1250");
  EXPECT_TRUE(instruction(*gfx1250, "s_set_vgpr_msb 5")->entersGprIdxMode());
  EXPECT_TRUE(instruction(*gfx1250, "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 12, 8), s0")->entersGprIdxMode());
  EXPECT_FALSE(instruction(*gfx1250, "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), s0")->entersGprIdxMode());
  EXPECT_TRUE(instruction(*gfx1250, "v_mov_b32_e32 v1, v2")->reads(accum).test(sreg::mode));
}

} // namespace
} // namespace asmevo::isa::test
