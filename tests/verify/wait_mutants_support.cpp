#include "verify/wait_mutation.h"

#include "isa/waitcnt.h"

#include <algorithm>
#include <stdexcept>

namespace asmevo::tests {

using isa::InstClass;
using isa::InstRef;
using isa::Instruction;
using isa::WaitCount;
using program::Instr;

namespace {

constexpr std::size_t farthestMove = 8;
constexpr std::size_t farthestMatrixMove = program::maxWaitStates;

template <class T> T value(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

InstRef assembled(isa::Codec& codec, const std::string& text) {
  return codec.complete(value(codec.assemble(text)));
}

WaitMutant replaced(MutationKind kind, const Instr& instr, InstRef by) {
  return {kind,
          fmt::format("{:#x}: {} -> {}", instr.address, instr.inst->text, by->text),
          {instr.address},
          {{by, instr.address}}};
}

void addWaits(const Instr& instr, isa::Codec& codec, std::vector<WaitMutant>& out) {
  if (instr.inst->base != "s_waitcnt")
    return;
  out.push_back(replaced(MutationKind::droppedWait, instr, assembled(codec, "s_nop 0")));
  const WaitCount wait = instr.inst->waitCount();
  const auto weaken = [&](std::uint8_t WaitCount::* counter) {
    const unsigned now = wait.*counter, none = isa::noWait.*counter;
    const auto plant = [&](unsigned weaker) {
      WaitCount changed = wait;
      changed.*counter = static_cast<std::uint8_t>(weaker);
      // Where nothing is left the edit is that of a dropped wait.
      if (changed.vm != isa::noWait.vm || changed.lgkm != isa::noWait.lgkm)
        out.push_back(replaced(MutationKind::weakenedWait, instr, assembled(codec, isa::waitcntText(changed))));
    };
    for (unsigned by = 1; now + by < none; by *= 2)
      plant(now + by);
    if (now < none)
      plant(none);
  };
  weaken(&WaitCount::vm);
  weaken(&WaitCount::lgkm);
}

void addNops(const Instr& instr, isa::Codec& codec, std::vector<WaitMutant>& out) {
  if (instr.inst->cls == InstClass::nop)
    for (unsigned n = 0; n < (instr.inst->simm16 & 15); ++n)
      out.push_back(replaced(MutationKind::shrunkNop, instr, assembled(codec, fmt::format("s_nop {}", n))));
}

/// Straight computation whose place matters to nothing but registers.
bool mayBePassed(const Instr& instr) {
  const Instruction& inst = *instr.inst;
  if (instr.pcRef || instr.getpcId != 0 || instr.codeTable != 0)
    return false;
  if (inst.cls == InstClass::nop)
    return true;
  if (inst.cls != InstClass::valu && inst.cls != InstClass::mfma && inst.cls != InstClass::salu)
    return false;
  return !inst.base.starts_with("s_set") && !inst.base.starts_with("s_get") && !inst.base.starts_with("s_movrel") &&
         !inst.base.starts_with("v_movrel") && !inst.base.starts_with("s_cbranch") && inst.base != "s_rfe_b64";
}

bool mayMove(const Instr& instr) {
  return (mayBePassed(instr) && instr.inst->cls != InstClass::nop) || instr.inst->isVectorMemory() ||
         instr.inst->cls == InstClass::lds;
}

bool independent(const Instruction& a, const Instruction& b, unsigned accumOffset) {
  const isa::RegSet aw = a.writes(accumOffset), bw = b.writes(accumOffset);
  const auto execMatters = [](const Instruction& i) { return i.readsExec(); };
  const auto writesExec = [](const isa::RegSet& w) { return w.test(isa::sreg::execLo) || w.test(isa::sreg::execHi); };
  return !aw.intersects(b.reads(accumOffset)) && !bw.intersects(a.reads(accumOffset)) && !aw.intersects(bw) &&
         !(writesExec(aw) && execMatters(b)) && !(writesExec(bw) && execMatters(a));
}

void addMoves(const program::Block& block, std::size_t at, unsigned accumOffset, std::vector<WaitMutant>& out) {
  const Instr& mover = block.instrs[at];
  if (!mayMove(mover))
    return;
  for (std::size_t to = at; to-- > 0 && at - to <= farthestMove;) {
    const Instr& passed = block.instrs[to];
    if (!mayBePassed(passed) || !independent(*passed.inst, *mover.inst, accumOffset))
      return;
    WaitMutant mutant{MutationKind::movedNearer,
                      fmt::format("{:#x}: {} moved up to {:#x}", mover.address, mover.inst->text, passed.address),
                      {},
                      {{mover.inst, mover.address}}};
    for (std::size_t i = to; i < at; ++i) {
      mutant.window.push_back(block.instrs[i].address);
      mutant.code.emplace_back(block.instrs[i].inst, block.instrs[i].address);
    }
    mutant.window.push_back(mover.address);
    out.push_back(std::move(mutant));
  }
}

/// Matrix operations moved down, towards what needs their result.
void addMatrixMoves(const program::Block& block, std::size_t at, unsigned accumOffset, std::vector<WaitMutant>& out) {
  const Instr& mover = block.instrs[at];
  if (mover.inst->cls != InstClass::mfma)
    return;
  WaitMutant mutant{MutationKind::movedNearer, {}, {mover.address}, {}};
  for (std::size_t to = at + 1; to < block.instrs.size() && to - at <= farthestMatrixMove; ++to) {
    const Instr& passed = block.instrs[to];
    if (!mayBePassed(passed) || !independent(*passed.inst, *mover.inst, accumOffset))
      return;
    mutant.description = fmt::format("{:#x}: {} moved down to {:#x}", mover.address, mover.inst->text, passed.address);
    mutant.window.push_back(passed.address);
    mutant.code.emplace_back(passed.inst, passed.address);
    out.push_back(mutant);
    out.back().code.emplace_back(mover.inst, mover.address);
  }
}

std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The object with the mutant's bytes.
object::CodeObject planted(const object::CodeObject& object, const WaitMutant& mutant) {
  Bytes file(object.bytes().begin(), object.bytes().end());
  const Bytes code = mutant.bytes();
  const std::uint64_t address = mutant.window.front();
  for (const object::Segment& segment : object.segments())
    if (address >= segment.address && address + code.size() <= segment.address + segment.fileSize) {
      std::ranges::copy(code, file.begin() + static_cast<std::ptrdiff_t>(segment.offset + address - segment.address));
      return value(object::CodeObject::parse(std::move(file), "mutant"));
    }
  throw std::runtime_error(fmt::format("{:#x} is in no segment", address));
}

constexpr emulator::Delivery everyDelivery[] = {emulator::Delivery::late, emulator::Delivery::ldsEarly,
                                                emulator::Delivery::waveToBarrier};

} // namespace

const char* mutationName(MutationKind kind) {
  switch (kind) {
  case MutationKind::droppedWait:
    return "dropped wait";
  case MutationKind::weakenedWait:
    return "weakened wait";
  case MutationKind::shrunkNop:
    return "shorter s_nop";
  case MutationKind::movedNearer:
    return "moved nearer";
  }
  return "";
}

Bytes WaitMutant::bytes() const {
  Bytes all;
  for (const auto& [inst, address] : code)
    all.insert(all.end(), inst->bytes().begin(), inst->bytes().end());
  return all;
}

std::uint64_t WaitMutant::originalAddress(std::uint64_t address) const {
  std::uint64_t at = window.front();
  for (const auto& [inst, original] : code) {
    if (at == address)
      return original;
    at += inst->size;
  }
  return address;
}

std::vector<WaitMutant> waitMutants(const program::Program& program, isa::Codec& codec,
                                    const std::vector<std::uint64_t>& executed, unsigned accumOffset) {
  std::vector<WaitMutant> mutants;
  for (const program::Block& block : program.blocks)
    for (std::size_t i = 0; !block.opaque && i < block.instrs.size(); ++i) {
      const Instr& instr = block.instrs[i];
      if (!std::ranges::binary_search(executed, instr.address))
        continue;
      addWaits(instr, codec, mutants);
      addNops(instr, codec, mutants);
      addMoves(block, i, accumOffset, mutants);
      addMatrixMoves(block, i, accumOffset, mutants);
    }
  return mutants;
}

MutationTarget::MutationTarget(object::CodeObject k0, const dispatch::Case& c, std::vector<std::uint64_t> only)
    : object(std::move(k0)), launch(c), workgroups(std::move(only)), codec(value(isa::Codec::create(object.target()))),
      program(value(program::Program::recover(object, *codec))),
      kernel(value(emulator::Kernel::prepare(object, launch.kernel))) {
  emulator::RunOptions plain;
  plain.coverage = true;
  plain.onlyWorkgroups = workgroups;
  auto base = value(kernel->run(launch, plain));
  expected = std::move(base.buffers);
  instructionLimit = base.waveInstructions * 4 + 100'000;
  std::vector<std::uint64_t> executed;
  for (const auto& [address, times] : base.coverage)
    executed.push_back(address);

  emulator::RunOptions recorded;
  recorded.onlyWorkgroups = workgroups;
  recorded.observers = {&recorder};
  value(kernel->run(launch, recorded));

  for (const emulator::Delivery delivery : everyDelivery) {
    emulator::RunOptions strict;
    strict.onlyWorkgroups = workgroups;
    strict.strict = emulator::StrictOptions{.delivery = delivery, .llvmDistances = true};
    const auto result = value(kernel->run(launch, strict));
    for (const auto& finding : result.findings) {
      unsigned& worst = known[{finding.rule, finding.producer, finding.consumer}];
      worst = std::max(worst, finding.shortfall);
    }
    buffersDiffer |= result.buffers != expected;
  }

  const object::Kernel& described = launch.kernel.empty()
                                        ? object.kernels().front()
                                        : *std::ranges::find(object.kernels(), launch.kernel, &object::Kernel::name);
  const unsigned accumOffset = described.descriptor.accumOffset(object.target());
  oracle = std::make_unique<WaitOracle>(recorder, accumOffset, *program::hazardTargetOf(object.target()));
  all = waitMutants(program, *codec, executed, accumOffset);
}

MutationTarget::~MutationTarget() = default;

MutationTarget::Trial MutationTarget::run(const WaitMutant& mutant) const {
  Trial trial{&mutant, {}, false, {}};
  const auto caught = [&](std::string by) {
    trial.caught = true;
    trial.by = std::move(by);
    return trial;
  };
  const auto mutated = value(emulator::Kernel::prepare(planted(object, mutant), launch.kernel));
  for (const emulator::Delivery delivery : everyDelivery) {
    emulator::RunOptions options;
    options.onlyWorkgroups = workgroups;
    options.maxInstructions = instructionLimit;
    options.strict = emulator::StrictOptions{.delivery = delivery, .llvmDistances = true};
    const auto result = mutated->run(launch, options);
    if (!result)
      return caught("run fails");
    for (const auto& finding : result->findings) {
      const auto same = known.find(
          {finding.rule, mutant.originalAddress(finding.producer), mutant.originalAddress(finding.consumer)});
      if (same == known.end() || finding.shortfall > same->second)
        return caught(finding.rule);
    }
    if (!buffersDiffer && result->buffers != expected)
      return caught("buffers");
  }
  return trial;
}

std::vector<std::size_t> mixedOrder(const std::vector<WaitMutant>& mutants, std::uint64_t seed) {
  std::vector<std::size_t> moves, others;
  for (std::size_t i = 0; i < mutants.size(); ++i)
    (mutants[i].kind == MutationKind::movedNearer ? moves : others).push_back(i);
  for (auto* list : {&moves, &others})
    for (std::size_t i = list->size(); i > 1; --i)
      std::swap((*list)[i - 1], (*list)[mix(seed) % i]);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < std::max(moves.size(), others.size()); ++i) {
    if (i < others.size())
      order.push_back(others[i]);
    if (i < moves.size())
      order.push_back(moves[i]);
  }
  return order;
}

} // namespace asmevo::tests
