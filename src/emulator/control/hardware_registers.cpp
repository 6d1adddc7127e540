#include "emulator/control/hardware_registers.h"

#include "emulator/code_image.h"
#include "emulator/launch.h"
#include "emulator/scheduler.h"

#include <algorithm>

namespace asmevo::emulator {

namespace {

// Where the dispatcher of an MI300X puts workgroup i: XCD i mod 8, then the compute units of that XCD in turn. Which
// one it really is depends on what else runs.
constexpr std::uint64_t xcds = 8, computeUnits = 38, shaderEngines = 4;
constexpr unsigned simds = 4, wavesPerSimd = 8;
constexpr std::uint32_t firstComputeVmid = 8, computeMicroEngine = 1; ///< of the Linux driver

constexpr std::uint32_t indexingBit = 1u << 27, vskipBit = 1u << 28, exceptionBits = 0x1ff000;

std::uint64_t groupIndex(const Wave& wave) {
  return wave.group ? wave.group->index : 0;
}
bool skipping(const Wave& wave) {
  return (wave.stream & ~instrumentedStream) == skipStream;
}

std::uint32_t readMode(const Wave& wave, unsigned) {
  return wave.mode | (wave.gprIdx ? indexingBit : 0) | (skipping(wave) ? vskipBit : 0);
}

std::uint32_t readStatus(const Wave& wave, unsigned) {
  constexpr std::uint32_t trapEnabled = 1u << 6, execz = 1u << 9, vccz = 1u << 10, inGroup = 1u << 11, valid = 1u << 16;
  const bool several = wave.group && wave.group->waves.size() > 1;
  return wave.scc | trapEnabled | (wave.exec() == 0 ? execz : 0) | (wave.vcc() == 0 ? vccz : 0) |
         (several ? inGroup : 0) | valid;
}

std::uint32_t readTrapStatus(const Wave& wave, unsigned) {
  return wave.trapStatus;
}

std::uint32_t readHardwareId(const Wave& wave, unsigned) {
  const std::uint64_t slot = groupIndex(wave) / xcds % computeUnits;
  const auto engine = static_cast<std::uint32_t>(slot % shaderEngines);
  const auto unit = static_cast<std::uint32_t>(slot / shaderEngines);
  const std::uint32_t simd = wave.waveInGroup % simds, place = wave.waveInGroup / simds % wavesPerSimd;
  return place | simd << 4 | unit << 8 | engine << 13 | firstComputeVmid << 20 | computeMicroEngine << 30;
}

std::uint32_t readVectorAllocation(const Wave& wave, unsigned accumOffset) {
  constexpr std::uint32_t scalarBlocks = 112 / 16;
  const std::uint32_t blocks = std::max(wave.vgprCount / 8, 1u) - 1;
  const std::uint32_t accum = std::max(accumOffset / 4, 1u) - 1;
  return (blocks & 63) << 6 | (accum & 63) << 12 | (scalarBlocks - 1) << 24;
}

std::uint32_t readLdsAllocation(const Wave& wave, unsigned) {
  return wave.ldsBytes / 256 << 12;
}

std::uint32_t readApertures(const Wave&, unsigned) {
  return static_cast<std::uint32_t>(sharedBase >> 48 << 16 | privateBase >> 48);
}

std::uint32_t readXcd(const Wave& wave, unsigned) {
  return static_cast<std::uint32_t>(groupIndex(wave) % xcds);
}

std::uint32_t readZero(const Wave&, unsigned) {
  return 0;
}

// Ids: LLVM AMDGPUAsmUtils. Fields: CDNA3 ISA 3.4, 3.5, 3.10, 3.12 and tables 20 to 22; GPR_ALLOC and LDS_ALLOC also by
// the context save handler of the Linux driver (cwsr_trap_handler_gfx9.asm).
constexpr unsigned modeId = 1, trapStatusId = 3;
constexpr HardwareRegister table[] = {
    {modeId, "HW_REG_MODE", readMode, true, "MODE with GPR_IDX_EN, VSKIP and CSP"},
    {2, "HW_REG_STATUS", readStatus, false, "SCC, TRAP_EN, EXECZ, VCCZ, IN_TG, VALID; priorities and halts read 0"},
    {trapStatusId, "HW_REG_TRAPSTS", readTrapStatus, true,
     "what the kernel wrote: arithmetic records no exception flags"},
    {4, "HW_REG_HW_ID", readHardwareId, false, "an idle MI300X: compute units in turn, waves over the SIMDs"},
    {5, "HW_REG_GPR_ALLOC", readVectorAllocation, false, "sizes from the descriptor, bases 0"},
    {6, "HW_REG_LDS_ALLOC", readLdsAllocation, false, "size from the launch, base 0"},
    {7, "HW_REG_IB_STS", readZero, false, "all counters 0: every operation before has completed"},
    {15, "HW_REG_SH_MEM_BASES", readApertures, false, "the apertures of the Linux driver"},
    {20, "HW_REG_XCC_ID", readXcd, false, "workgroup index modulo 8 XCDs"},
};

/// aux: simm16; dst2 is not needed: accum_offset stands in src[1].constant.
void getRegister(Wave& wave, const Op* op) {
  const HardwareField field(op->aux);
  const auto& source = *static_cast<const HardwareRegister*>(op->extra);
  wave.sgpr[op->dst] = source.read(wave, static_cast<unsigned>(op->src[1].constant)) >> field.offset & field.mask;
  ASMEVO_NEXT(wave, op);
}

void setMode(Wave& wave, const Op* op) {
  const HardwareField field(op->aux);
  const std::uint32_t mask = field.mask << field.offset, old = readMode(wave, 0);
  const std::uint32_t value = (old & ~mask) | (wave.scalar32(op->src[0]) << field.offset & mask);
  if ((value ^ old) & (indexingBit | vskipBit))
    return wave.fail(op, ErrorKind::refused, "s_setreg changes GPR_IDX_EN or VSKIP, which is not modelled");
  if (value & ~old & exceptionBits)
    return wave.fail(op, ErrorKind::refused, "s_setreg enables floating-point exceptions, which are not modelled");
  wave.mode = value & ~(indexingBit | vskipBit);
  ASMEVO_NEXT(wave, op);
}

void setTrapStatus(Wave& wave, const Op* op) {
  const HardwareField field(op->aux);
  const std::uint32_t mask = field.mask << field.offset;
  wave.trapStatus = (wave.trapStatus & ~mask) | (wave.scalar32(op->src[0]) << field.offset & mask);
  ASMEVO_NEXT(wave, op);
}

void setNothing(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

} // namespace

const HardwareRegister* findHardwareRegister(unsigned id) {
  const auto* found = std::ranges::find(table, id, &HardwareRegister::id);
  return found == std::end(table) ? nullptr : found;
}

Status bindHardwareRegister(const isa::Instruction& inst, const BindContext& context, Op& op) {
  const HardwareRegister* reg = findHardwareRegister(HardwareField(inst.simm16).id);
  if (!reg)
    return refused("{}: a user-mode kernel on gfx942 cannot use this hardware register", inst.text);
  op.aux = inst.simm16;
  op.extra = reg;
  const auto& operands = inst.operands;
  if (inst.base == "s_getreg_b32") {
    if (operands.empty() || operands[0].kind != isa::OperandKind::sgpr || operands[0].index >= 128)
      return refused("{}: destination is not a scalar register", inst.text);
    op.dst = operands[0].index;
    op.src[1].kind = SrcKind::constant;
    op.src[1].constant = context.accumOffset;
    op.fn = getRegister;
    return {};
  }
  if (operands.size() < 2)
    return refused("{}: expected a source operand", inst.text);
  op.src[0] = bindSource(operands[1], ConstType::b32, context);
  if (op.src[0].kind != SrcKind::sgpr && op.src[0].kind != SrcKind::constant)
    return refused("{}: the source is not modelled", inst.text);
  op.fn = reg->id == modeId ? setMode : reg->id == trapStatusId ? setTrapStatus : setNothing;
  return {};
}

} // namespace asmevo::emulator
