/// The core's data: a wavefront's architectural state and a pre-decoded operation. Private to the emulator.
#pragma once

#include "emulator/guest_memory.h"
#include "emulator/lds_extent.h"
#include "emulator/trace.h"
#include "isa/instruction.h"
#include "isa/registers.h"
#include "support/result.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace asmevo::emulator {

struct Wave;
struct Op;
struct Workgroup;
class CodeImage;
class Watch;

/// Executes `op` and continues with the next one by a guaranteed tail call (ASMEVO_NEXT); returns only to stop or
/// yield.
using Handler = void (*)(Wave&, const Op*);

#define ASMEVO_NEXT(wave, op) [[clang::musttail]] return (op)[1].fn(wave, (op) + 1)
#define ASMEVO_GOTO(wave, target) [[clang::musttail]] return (target)->fn(wave, target)

enum class SrcKind : std::uint8_t { none, vgpr, sgpr, constant };

/// A source, resolved at decode time. AGPRs are vgprs at accum_offset + index.
struct Src {
  SrcKind kind = SrcKind::none;
  std::uint8_t dwords = 1;
  bool neg = false, abs = false, sext = false;
  std::uint16_t reg = 0; ///< vgpr: physical register; sgpr: index into Wave::sgpr (251 vccz, 252 execz and 253 scc are
                         ///< refreshed by the handler through Wave::scalar32)
  std::uint64_t constant = 0; ///< kind constant: the bits in the operand's type, 64-bit types in full
};

/// A pre-decoded instruction. Ops of a code section lie in one array, in address order, so that fall-through is +1.
struct Op {
  Handler fn = nullptr;
  std::uint16_t dst = 0; ///< first destination register (vgpr: physical; sgpr: index)
  std::uint8_t dstDwords = 1;
  bool dstIsVgpr = false;
  std::uint16_t sdst = 0;    ///< second destination: SGPR of a carry-out or compare mask
  std::uint16_t maskSrc = 0; ///< SGPR pair of a carry-in or select mask
  Src src[4];
  std::uint64_t aux = 0;       ///< handler-specific
  const void* extra = nullptr; ///< handler-specific, owned by the program's arena
  const Op* target = nullptr;  ///< branch target
  const isa::Instruction* inst = nullptr;
  std::uint64_t pc = 0;    ///< guest virtual address
  Handler plain = nullptr; ///< instrumented code: the handler proper, called after the instrumentation
};

enum class Stop : std::uint8_t {
  running, ///< not stopped
  budget,  ///< ran out of its time slice: resume at `resume`
  barrier, ///< waits at s_barrier: resume at `resume`
  sleep,   ///< s_sleep or a spin: resume at `resume`, prefer others
  ended,   ///< s_endpgm
  fault,   ///< see faultMessage
};

/// One wavefront (wave64).
struct alignas(64) Wave {
  std::uint32_t sgpr[256]{};     ///< scalar space by hardware encoding; vcc at 106, m0 at 124, exec at 126
  std::uint32_t* vgpr = nullptr; ///< allocated registers x 64 lanes, contiguous, 64-byte aligned
  std::uint32_t vgprCount = 0;
  std::uint32_t scc = 0;
  std::uint32_t mode = 0;       ///< MODE: [1:0] round f32, [3:2] round f16/f64, [5:4] denorm f32, [7:6] denorm f16/f64,
                                ///< 8 dx10_clamp, 9 ieee
  std::uint32_t trapStatus = 0; ///< TRAPSTS as the kernel wrote it
  std::uint64_t instructions = 0; ///< executed, exact at stops
  std::int64_t budget = 0;        ///< instructions left in this slice; checked at taken branches
  const Op* resume = nullptr;
  Stop stop = Stop::running;
  std::uint8_t* lds = nullptr;
  std::uint32_t ldsBytes = 0;                   ///< allocated to the workgroup; accesses beyond read 0 and are dropped
  std::uint32_t ldsReached = 0;                 ///< LdsExtent::reached
  std::uint32_t ldsBeyond = LdsExtent::nowhere; ///< LdsExtent::beyond
  GuestMemory* memory = nullptr;
  Workgroup* group = nullptr;
  WaveTrace* trace = nullptr; ///< null when not traced
  Watch* watch = nullptr;     ///< null when not observed
  bool fastMfma = false;      ///< matrix instructions by mfma_fast_simd.cpp
  bool reports = false;       ///< traced or observed: memory handlers report accesses (memory/trace.cpp)
  std::uint32_t waveInGroup = 0;
  std::uint64_t initialSgprs = 0; ///< bit i: s[i] was given a value before the start
  std::uint32_t gprIdx = 0;       ///< s_set_gpr_idx_on state: 0 off, else 0x10000 | mode bits | index<<8
  std::uint32_t scratchPerLane = 0;
  const Op* codeBegin = nullptr;
  std::uint64_t codeAddress = 0; ///< guest address that trace offsets count from
  std::string faultMessage;
  ErrorKind faultKind = ErrorKind::fault; ///< refused: something not modelled was reached

  const Op* runStart = nullptr;      ///< first op of the straight run under way: `instructions` lacks what ran since
  const CodeImage* code = nullptr;   ///< for jumps by register
  std::uint8_t stream = 0;           ///< op stream of `code` being executed (code_image.h)
  std::uint64_t jumpTarget = 0;      ///< operand of a register-indirect jump under way: guest address
  std::uint64_t* coverage = nullptr; ///< instrumented streams: executions by dword of the code
  std::uint8_t* scratch = nullptr;   ///< host memory of the lanes' private segments: lane * scratchPerLane + offset

  /// Brings `instructions` and `budget` up to date; `last` is the last op executed.
  void account(const Op* last) {
    const std::int64_t executed = last - runStart + 1;
    instructions += static_cast<std::uint64_t>(executed);
    budget -= executed;
  }
  /// Stops before the next instruction: the caller returns right after.
  void stopAfter(const Op* last, Stop reason, const Op* next) {
    account(last);
    stop = reason;
    resume = next;
  }
  /// Stops at `op` for good. `what` follows the instruction's text, address, wave and workgroup in the message.
  void fail(const Op* op, ErrorKind kind, const std::string& what);

  std::uint64_t exec() const { return pair(isa::sreg::execLo); }
  std::uint64_t vcc() const { return pair(isa::sreg::vccLo); }
  std::uint64_t pair(unsigned index) const {
    std::uint64_t v;
    std::memcpy(&v, &sgpr[index], sizeof v);
    return v;
  }
  void setPair(unsigned index, std::uint64_t v) { std::memcpy(&sgpr[index], &v, sizeof v); }
  /// Lanes of a physical VGPR.
  std::uint32_t* lanes(unsigned physical) const { return vgpr + std::size_t{physical} * 64; }
  std::uint32_t scalar32(const Src& s) const {
    if (s.kind == SrcKind::constant)
      return static_cast<std::uint32_t>(s.constant);
    if (s.reg < 250) [[likely]]
      return sgpr[s.reg];
    return s.reg == 253 ? scc : s.reg == 252 ? exec() == 0 : vcc() == 0;
  }
  std::uint64_t scalar64(const Src& s) const {
    if (s.kind == SrcKind::constant)
      return s.constant;
    return s.reg < 250 ? pair(s.reg) : scalar32(s);
  }
};

} // namespace asmevo::emulator
