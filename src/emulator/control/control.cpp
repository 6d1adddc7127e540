#include "emulator/bind.h"
#include "emulator/code_image.h"

#include <bit>
#include <string_view>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

/// Register-indirect jump to wave.jumpTarget: counts, checks the slice and continues there.
void jump(Wave& wave, const Op* op) {
  const Op* target = wave.code->opAt(wave.jumpTarget, wave.stream);
  if (!target)
    return wave.fail(
        op, ErrorKind::fault,
        fmt::format("jumps to {:#x}, which is outside the code", wave.code->objectAddress(wave.jumpTarget)));
  wave.account(op);
  if (wave.budget <= 0) [[unlikely]] {
    wave.stop = Stop::budget;
    wave.resume = target;
    return;
  }
  wave.runStart = target;
  ASMEVO_GOTO(wave, target);
}

enum class Condition { always, never, scc0, scc1, vccz, vccnz, execz, execnz };

template <Condition C> bool holds(const Wave& wave) {
  switch (C) {
  case Condition::always:
    return true;
  case Condition::never:
    return false;
  case Condition::scc0:
    return wave.scc == 0;
  case Condition::scc1:
    return wave.scc != 0;
  case Condition::vccz:
    return wave.vcc() == 0;
  case Condition::vccnz:
    return wave.vcc() != 0;
  case Condition::execz:
    return wave.exec() == 0;
  case Condition::execnz:
    return wave.exec() != 0;
  }
}

template <Condition C> void branch(Wave& wave, const Op* op) {
  if (!holds<C>(wave))
    ASMEVO_NEXT(wave, op);
  wave.account(op);
  if (wave.budget <= 0) [[unlikely]] {
    wave.stop = Stop::budget;
    wave.resume = op->target;
    return;
  }
  wave.runStart = op->target;
  ASMEVO_GOTO(wave, op->target);
}

void getPc(Wave& wave, const Op* op) {
  wave.setPair(op->dst, op->pc + 4);
  ASMEVO_NEXT(wave, op);
}

void setPc(Wave& wave, const Op* op) {
  wave.jumpTarget = wave.scalar64(op->src[0]);
  [[clang::musttail]] return jump(wave, op);
}

void swapPc(Wave& wave, const Op* op) {
  wave.jumpTarget = wave.scalar64(op->src[0]);
  wave.setPair(op->dst, op->pc + 4);
  [[clang::musttail]] return jump(wave, op);
}

void call(Wave& wave, const Op* op) {
  wave.setPair(op->dst, op->pc + 4);
  [[clang::musttail]] return branch<Condition::always>(wave, op);
}

void ignored(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

/// Waves in lock step change places at waits, so that none runs far ahead in branch-free code.
void waitCount(Wave& wave, const Op* op) {
  if (op - wave.runStart + 1 >= wave.budget) [[unlikely]]
    return wave.stopAfter(op, Stop::budget, op + 1);
  ASMEVO_NEXT(wave, op);
}

void sleepOp(Wave& wave, const Op* op) {
  wave.stopAfter(op, Stop::sleep, op + 1);
}
void barrier(Wave& wave, const Op* op) {
  wave.stopAfter(op, Stop::barrier, op + 1);
}
void endProgram(Wave& wave, const Op* op) {
  wave.stopAfter(op, Stop::ended, op);
}

/// VSKIP = S0[S1[4:0]] (CDNA3 ISA, S_SETVSKIP): from the next instruction on, vector instructions are not issued.
void setVskip(Wave& wave, const Op* op) {
  const std::uint32_t value = wave.scalar32(op->src[0]), bit = wave.scalar32(op->src[1]) & 31;
  wave.stream = withSkip(wave.stream, (value >> bit) & 1);
  wave.jumpTarget = op->pc + op->inst->size;
  [[clang::musttail]] return jump(wave, op);
}

// Fork and join (CDNA3 ISA 4.6): the smaller side of a divergent branch runs first, the other one's EXEC and PC wait on
// a stack in the SGPRs that MODE.CSP counts.
constexpr unsigned cspShift = 29;

std::uint32_t stackDepth(const Wave& wave) {
  return wave.mode >> cspShift;
}
void setStackDepth(Wave& wave, std::uint32_t depth) {
  wave.mode = (wave.mode & ~(7u << cspShift)) | depth << cspShift;
}

/// src[0]: lanes that take the branch. The target is wave.jumpTarget.
void fork(Wave& wave, const Op* op) {
  const std::uint64_t exec = wave.exec(), pass = wave.scalar64(op->src[0]) & exec, fail = exec & ~pass;
  const std::uint64_t next = op->pc + 4, target = wave.jumpTarget;
  const bool failFirst = std::popcount(fail) < std::popcount(pass);
  if (pass != exec && fail != exec) {
    const std::uint32_t depth = stackDepth(wave);
    wave.setPair(isa::sreg::execLo, failFirst ? fail : pass);
    wave.setPair(4 * depth, failFirst ? pass : fail);
    wave.setPair(4 * depth + 2, failFirst ? target : next);
    setStackDepth(wave, (depth + 1) & 7);
    wave.jumpTarget = failFirst ? next : target;
  } else {
    wave.jumpTarget = pass == exec ? target : next;
  }
  [[clang::musttail]] return jump(wave, op);
}
void forkImmediate(Wave& wave, const Op* op) {
  wave.jumpTarget = op->pc + 4 + op->aux;
  [[clang::musttail]] return fork(wave, op);
}
void forkRegister(Wave& wave, const Op* op) {
  wave.jumpTarget = wave.scalar64(op->src[1]);
  [[clang::musttail]] return fork(wave, op);
}

/// src[0]: the depth of the stack at the fork. Deeper: the other side is still to run.
void join(Wave& wave, const Op* op) {
  wave.jumpTarget = op->pc + 4;
  const std::uint32_t depth = stackDepth(wave);
  if (depth != wave.scalar32(op->src[0])) {
    const std::uint32_t top = (depth - 1) & 7;
    setStackDepth(wave, top);
    wave.setPair(isa::sreg::execLo, wave.pair(4 * top));
    wave.jumpTarget = wave.pair(4 * top + 2);
  }
  [[clang::musttail]] return jump(wave, op);
}

/// Trap numbers of the HSA trap handler (LLVM AMDGPUUsage, "Trap Handler ABI"). Without a debugger 3 returns at once;
/// every other one ends in the queue's error state, which aborts the process.
constexpr std::uint32_t trapLlvmTrap = 2, trapLlvmDebugTrap = 3;

void trap(Wave& wave, const Op* op) {
  const std::uint32_t number = op->inst->simm16 & 0xff;
  if (number == trapLlvmDebugTrap)
    ASMEVO_NEXT(wave, op);
  wave.fail(op, ErrorKind::fault,
            number == trapLlvmTrap ? "the kernel aborts (llvm.trap, abort or a failed assertion)"
                                   : fmt::format("trap {}: the trap handler aborts the queue", number));
}

/// Only notifies the host; a dispatch has nobody to notify.
constexpr std::uint32_t messageInterrupt = 1;

/// Opcodes that a user-mode compute kernel cannot use in a way that has a defined result.
struct Refusal {
  std::string_view name, reason;
};
constexpr Refusal refusals[] = {
    {"s_rfe_b64", "returns from the trap handler, which runs in privileged mode"},
    {"s_rfe_restore_b64", "returns from the trap handler, which runs in privileged mode"},
    {"s_sethalt", "halts the wave until the host resumes it"},
    {"s_sendmsghalt", "halts the wave until the host resumes it"},
    {"s_setkill", "is the host's kill command"},
    {"s_endpgm_ordered_ps_done", "belongs to pixel shaders"},
};

struct ControlForm {
  Handler fn;
  bool hasDst = false; ///< operand 0 is a destination pair
  unsigned sources = 0;
  bool wide = false; ///< the sources are pairs
};

const std::unordered_map<std::string_view, ControlForm>& controlTable() {
  using enum Condition;
  static const std::unordered_map<std::string_view, ControlForm> table = {
      {"s_branch", {branch<always>}},
      {"s_cbranch_scc0", {branch<scc0>}},
      {"s_cbranch_scc1", {branch<scc1>}},
      {"s_cbranch_vccz", {branch<vccz>}},
      {"s_cbranch_vccnz", {branch<vccnz>}},
      {"s_cbranch_execz", {branch<execz>}},
      {"s_cbranch_execnz", {branch<execnz>}},
      // No debugger is attached: the conditional-debug flags are 0.
      {"s_cbranch_cdbgsys", {branch<never>}},
      {"s_cbranch_cdbguser", {branch<never>}},
      {"s_cbranch_cdbgsys_or_user", {branch<never>}},
      {"s_cbranch_cdbgsys_and_user", {branch<never>}},
      {"s_getpc_b64", {getPc, true}},
      {"s_setpc_b64", {setPc, false, 1, true}},
      {"s_swappc_b64", {swapPc, true, 1, true}},
      {"s_call_b64", {call, true}},
      {"s_setvskip", {setVskip, false, 2}},
      {"s_cbranch_i_fork", {forkImmediate, false, 1, true}},
      {"s_cbranch_g_fork", {forkRegister, false, 2, true}},
      {"s_cbranch_join", {join, false, 1}},
      {"s_trap", {trap}},
      {"s_barrier", {barrier}},
      {"s_endpgm", {endProgram}},
      {"s_endpgm_saved", {endProgram}},
      {"s_waitcnt", {waitCount}},
      {"s_waitcnt_vmcnt", {waitCount}},
      {"s_waitcnt_expcnt", {waitCount}},
      {"s_waitcnt_lgkmcnt", {waitCount}},
      {"s_waitcnt_vscnt", {waitCount}},
      {"s_sleep", {sleepOp}},
      {"s_nop", {ignored}},
      {"s_setprio", {ignored}},
      {"s_wakeup", {ignored}},
      {"s_icache_inv", {ignored}},
      {"s_ttracedata", {ignored}},
      {"s_incperflevel", {ignored}},
      {"s_decperflevel", {ignored}},
      {"s_dcache_inv", {ignored}},
      {"s_dcache_inv_vol", {ignored}},
      {"s_dcache_wb", {ignored}},
      {"s_dcache_wb_vol", {ignored}},
      {"s_dcache_discard", {ignored}},
      {"s_dcache_discard_x2", {ignored}},
  };
  return table;
}

} // namespace

Status bindControl(const isa::Instruction& inst, const BindContext& context, Op& op) {
  if (inst.base == "s_sethalt" && (inst.simm16 & 1) == 0) {
    op.fn = ignored;
    return {};
  }
  if (inst.base == "s_sendmsg") {
    const std::uint32_t message = inst.simm16 & 15;
    if (message != messageInterrupt)
      return refused("s_sendmsg: message {} has no meaning in a compute kernel", message);
    op.fn = ignored;
    return {};
  }
  for (const Refusal& refusal : refusals)
    if (refusal.name == inst.base)
      return refused("{} {}", inst.base, refusal.reason);
  const auto entry = controlTable().find(inst.base);
  if (entry == controlTable().end())
    return refused("{} is not modelled", inst.base);
  std::size_t next = 0;
  if (entry->second.hasDst) {
    if (inst.operands.empty() || inst.operands[0].kind != isa::OperandKind::sgpr)
      return refused("{} without a scalar destination", inst.base);
    op.dst = inst.operands[0].index;
    op.dstDwords = 2;
    next = 1;
  }
  const ControlForm& form = entry->second;
  if (inst.operands.size() < next + form.sources)
    return refused("{} lacks an operand", inst.base);
  for (std::size_t i = 0; i < form.sources; ++i)
    op.src[i] = bindSource(inst.operands[next + i], form.wide ? ConstType::b64 : ConstType::b32, context);
  if (inst.base == "s_cbranch_i_fork")
    op.aux = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(inst.simm16)} * 4);
  op.fn = entry->second.fn;
  return {};
}

} // namespace asmevo::emulator
