#include "verify/proof/window_machine.h"

#include "emulator/launch.h"
#include "emulator/memory/atomics.h"
#include "emulator/memory/lane_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace asmevo::verify {

using emulator::Op;
using emulator::SrcKind;
using emulator::Wave;
using isa::InstClass;

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint32_t chosenDword(std::uint64_t hash, unsigned kind) {
  static constexpr std::uint32_t special[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x7fc00000,
                                              0x7f800001, 0xffc12345, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000,
                                              0x00000003, 0x00800000, 0x7f7fffff, 0x0000ffff, 0xffff0000, 0x7fff8000,
                                              31,         32,         64,         0x00400000, 0x7e007c01, 0x3c00bc00};
  const std::uint64_t h = mixed(hash);
  switch (kind) {
  case 1:
    return special[h % std::size(special)];
  case 2:
    return static_cast<std::uint32_t>(h % 16) * 4;
  case 3:
    return static_cast<std::uint32_t>((h & 0x807fffff) | ((h >> 32) % 24 + 116) << 23);
  default:
    return static_cast<std::uint32_t>(h >> 16);
  }
}

SparseMemory::Line& SparseMemory::line(std::uint64_t address) {
  const auto [it, fresh] = lines.try_emplace(address / 64);
  if (fresh)
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint64_t h = mixed(seed ^ mixed(address / 64 * 16 + i));
      const std::uint32_t value = chosenDword(h, static_cast<unsigned>(h >> 60) & 3);
      std::memcpy(it->second.data() + 4 * i, &value, 4);
    }
  return it->second;
}

std::uint64_t SparseMemory::read(std::uint64_t address, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= std::uint64_t{line(address + i)[(address + i) % 64]} << 8 * i;
  return value;
}

void SparseMemory::write(std::uint64_t address, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    line(address + i)[(address + i) % 64] = static_cast<std::uint8_t>(value >> 8 * i);
}

bool SparseMemory::sameAs(SparseMemory& other) {
  for (auto* side : {this, &other}) {
    auto& opposite = side == this ? other : *this;
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, contents] : side->lines)
      numbers.push_back(number);
    for (const std::uint64_t number : numbers)
      if (side->line(number * 64) != opposite.line(number * 64))
        return false;
  }
  return true;
}

/// Where one lane's access goes.
struct WindowMachine::Target {
  SparseMemory* memory = nullptr; ///< null: nowhere
  std::uint64_t address = 0;
  std::array<bool, 4> valid{true, true, true, true}; ///< by dword
};

WindowMachine::WindowMachine(std::span<const isa::InstRef> code, unsigned accumOffset) {
  context.accumOffset = accumOffset;
  context.arena = &arena;
  for (const isa::InstRef inst : code) {
    if (inst->cls == InstClass::waitcnt || inst->cls == InstClass::nop || inst->cls == InstClass::branch ||
        inst->cls == InstClass::endpgm || inst->cls == InstClass::barrier || inst->base == "s_setprio" ||
        inst->base == "s_sleep")
      continue;
    auto step = std::make_unique<Step>();
    step->inst = inst;
    if (!bindStep(inst, *step)) {
      problem = fmt::format("{}: not run in windows", inst->text);
      return;
    }
    steps.push_back(std::move(step));
  }
}

WindowMachine::~WindowMachine() = default;

bool WindowMachine::bindData(std::string_view type, Step& step) const {
  struct Row {
    std::string_view name;
    unsigned bytes, dwords;
    bool isSigned;
    int half;
  };
  static constexpr Row table[] = {
      {"dword", 4, 1, false, 0},       {"dwordx2", 4, 2, false, 0},
      {"dwordx3", 4, 3, false, 0},     {"dwordx4", 4, 4, false, 0},
      {"b32", 4, 1, false, 0},         {"b64", 4, 2, false, 0},
      {"b96", 4, 3, false, 0},         {"b128", 4, 4, false, 0},
      {"ubyte", 1, 1, false, 0},       {"sbyte", 1, 1, true, 0},
      {"ushort", 2, 1, false, 0},      {"sshort", 2, 1, true, 0},
      {"u8", 1, 1, false, 0},          {"i8", 1, 1, true, 0},
      {"u16", 2, 1, false, 0},         {"i16", 2, 1, true, 0},
      {"ubyte_d16", 1, 1, false, 1},   {"sbyte_d16", 1, 1, true, 1},
      {"short_d16", 2, 1, false, 1},   {"ubyte_d16_hi", 1, 1, false, 2},
      {"sbyte_d16_hi", 1, 1, true, 2}, {"short_d16_hi", 2, 1, false, 2},
      {"u8_d16", 1, 1, false, 1},      {"i8_d16", 1, 1, true, 1},
      {"u16_d16", 2, 1, false, 1},     {"u8_d16_hi", 1, 1, false, 2},
      {"i8_d16_hi", 1, 1, true, 2},    {"u16_d16_hi", 2, 1, false, 2},
      {"byte", 1, 1, false, 0},        {"short", 2, 1, false, 0},
      {"byte_d16_hi", 1, 1, false, 2}, {"b8", 1, 1, false, 0},
      {"b16", 2, 1, false, 0},         {"b8_d16_hi", 1, 1, false, 2},
      {"b16_d16_hi", 2, 1, false, 2},
  };
  for (const Row& row : table)
    if (row.name == type) {
      step.bytes = row.bytes;
      step.dwords = row.dwords;
      step.isSigned = row.isSigned;
      step.half = row.half;
      return true;
    }
  return false;
}

bool WindowMachine::bindStep(isa::InstRef inst, Step& step) {
  const std::string_view base = inst->base;
  if (base.starts_with("s_getreg") || base.starts_with("s_setreg") || base.starts_with("s_mem") ||
      base.starts_with("s_movrel") || base.starts_with("s_set_gpr_idx") || base.starts_with("s_setvskip") ||
      base.starts_with("s_getpc") || inst->cls == InstClass::jump || inst->cls == InstClass::unknown ||
      inst->cls == InstClass::message)
    return false;
  if (!emulator::bindInstruction(*inst, context, step.op[0]))
    return false;
  step.op[0].inst = inst;
  step.op[1].fn = [](Wave&, const Op*) {};
  const std::string_view name = base.substr(base.find('_') + 1);
  if (name == "wbl2" || name == "inv" || name.starts_with("wbinvl1"))
    return true; // handlers that do nothing
  switch (inst->cls) {
  case InstClass::smem:
    step.kind = Kind::scalarLoad;
    return name.starts_with("load_dword") || name.starts_with("buffer_load_dword");
  case InstClass::vmem:
  case InstClass::flat:
  case InstClass::global:
  case InstClass::scratch:
    if (name.find("format_") != std::string_view::npos)
      return false;
    if (name.starts_with("atomic_")) {
      step.kind = Kind::atomic;
      step.returns = !inst->operands.empty() && inst->operands[0].isDef;
      return true;
    }
    if (name.starts_with("load_lds_") || inst->mods.lds) {
      step.kind = Kind::ldsDma;
      return bindData(name.substr(name.starts_with("load_lds_") ? 9 : 5), step);
    }
    step.kind = name.starts_with("store_") ? Kind::store : Kind::load;
    return (step.kind == Kind::store || name.starts_with("load_")) &&
           bindData(name.substr(step.kind == Kind::store ? 6 : 5), step);
  case InstClass::lds: {
    if (base.starts_with("ds_swizzle") || base.starts_with("ds_permute") || base.starts_with("ds_bpermute") ||
        base == "ds_nop")
      return true;
    const bool reads = base.starts_with("ds_read"), writes = base.starts_with("ds_write");
    if (!reads && !writes) {
      step.kind = Kind::ldsAtomic;
      step.returns = base.find("_rtn") != std::string_view::npos;
      return step.op[0].extra != nullptr;
    }
    std::string_view type = base.substr(reads ? 7 : 8);
    if (type.find("addtid") != std::string_view::npos)
      return false;
    const std::uint64_t aux = step.op[0].aux;
    step.offset = {static_cast<std::uint32_t>(aux), static_cast<std::uint32_t>(aux >> 32)};
    if (type.starts_with("2")) {
      step.elements = 2;
      type = type.substr(type.rfind('_'));
    }
    step.kind = reads ? Kind::ldsLoad : Kind::ldsStore;
    return bindData(type.substr(1), step);
  }
  default:
    return true;
  }
}

bool WindowMachine::resolve(const Step& step, Wave& wave, MachineState& state, unsigned lane, Target& target,
                            std::string& reason) const {
  const Op& op = step.op[0];
  const auto vgpr = [&](unsigned reg) { return state.lanes(reg)[lane]; };
  target.memory = &state.global;
  target.valid.fill(true);
  switch (step.inst->cls) {
  case InstClass::global: {
    std::uint64_t address = vgpr(op.src[0].reg);
    if (op.src[2].kind == SrcKind::none)
      address |= std::uint64_t{vgpr(op.src[0].reg + 1u)} << 32;
    else
      address += wave.pair(op.src[2].reg);
    target.address = address + op.aux;
    return true;
  }
  case InstClass::flat: {
    const std::uint32_t low = vgpr(op.src[0].reg), high = vgpr(op.src[0].reg + 1u);
    const std::uint32_t offset = low + static_cast<std::uint32_t>(op.aux);
    if (high == emulator::sharedBase >> 32) {
      target.memory = &state.lds;
      target.address = offset;
    } else if (high == emulator::privateBase >> 32) {
      target.memory = &state.scratch;
      target.address = std::uint64_t{lane} << 32 | offset;
    } else {
      target.address = (low | std::uint64_t{high} << 32) + op.aux;
    }
    return true;
  }
  case InstClass::scratch: {
    std::uint32_t offset = static_cast<std::uint32_t>(op.aux);
    if (op.src[0].kind != SrcKind::none)
      offset += vgpr(op.src[0].reg);
    if (op.src[2].kind != SrcKind::none)
      offset += wave.scalar32(op.src[2]);
    target.memory = &state.scratch;
    target.address = std::uint64_t{lane} << 32 | offset;
    return true;
  }
  default:
    break;
  }
  // A buffer: the descriptor's words (CDNA3 ISA 9.1.8).
  const std::uint32_t* word = &wave.sgpr[op.src[2].reg];
  const bool swizzled = word[1] >> 31 != 0, addsThread = (word[3] >> 23 & 1) != 0;
  if (word[3] >> 30 != 0 || swizzled || addsThread) {
    reason = "a descriptor that is not linear";
    return false;
  }
  const bool unbound = (word[3] >> 15 & 15) == 0;
  const std::uint64_t stride = word[1] >> 16 & 0x3fff;
  const std::uint64_t start = word[0] | std::uint64_t{word[1] & 0xffff} << 32;
  const std::uint32_t soffset = wave.scalar32(op.src[3]);
  const bool offen = op.src[3].dwords & emulator::bufferOffen, idxen = op.src[3].dwords & emulator::bufferIdxen;
  const std::uint64_t index = idxen ? vgpr(op.src[0].reg) : 0;
  const std::uint64_t relative = op.aux + (offen ? vgpr(op.src[0].reg + (idxen ? 1u : 0u)) : 0u) + index * stride;
  const std::uint64_t room = word[2] > soffset ? word[2] - soffset : 0;
  target.address = start + soffset + relative;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint64_t end = relative + (step.kind == Kind::atomic ? step.bytes * step.dwords : 4 * k + step.bytes);
    target.valid[k] = !unbound && (idxen && stride != 0 ? index < word[2] : end <= room);
  }
  return true;
}

bool WindowMachine::memoryStep(const Step& step, Wave& wave, MachineState& state, std::string& reason) const {
  const Op& op = step.op[0];
  const std::uint64_t exec = wave.exec();
  const auto forActive = [&](auto&& f) {
    for (std::uint64_t mask = exec; mask != 0; mask &= mask - 1)
      if (!f(static_cast<unsigned>(std::countr_zero(mask))))
        return false;
    return true;
  };
  const auto shaped = [&](std::uint64_t raw) {
    auto value = static_cast<std::uint32_t>(raw);
    const unsigned unused = 32 - 8 * step.bytes;
    if (step.isSigned && unused)
      value = static_cast<std::uint32_t>(static_cast<std::int32_t>(value << unused) >> unused);
    return step.half == 1 ? value & 0xffff : step.half == 2 ? value << 16 : value;
  };
  const auto toStore = [&](unsigned reg, unsigned lane) {
    const std::uint32_t value = state.lanes(reg)[lane];
    return step.half == 2 ? value >> 16 : value;
  };
  switch (step.kind) {
  case Kind::scalarLoad: {
    const std::uint64_t offset = op.aux + (op.src[1].kind == SrcKind::none ? 0u : wave.scalar32(op.src[1]));
    std::uint32_t loaded[16]{};
    if (step.inst->base.starts_with("s_buffer")) {
      const std::uint32_t* word = &wave.sgpr[op.src[0].reg];
      const std::uint64_t stride = std::max<std::uint64_t>(word[1] >> 16 & 0x3fff, 1), at = offset & ~std::uint64_t{3};
      const std::uint64_t start = (word[0] | std::uint64_t{word[1] & 0xffff} << 32) & ~std::uint64_t{3};
      for (unsigned k = 0; k < op.dstDwords; ++k)
        if (at + 4 * k + 4 <= word[2] * stride)
          loaded[k] = static_cast<std::uint32_t>(state.global.read(start + at + 4 * k, 4));
    } else {
      const std::uint64_t address = (wave.pair(op.src[0].reg) + offset) & ~std::uint64_t{3};
      for (unsigned k = 0; k < op.dstDwords; ++k)
        loaded[k] = static_cast<std::uint32_t>(state.global.read(address + 4 * k, 4));
    }
    std::memcpy(&wave.sgpr[op.dst], loaded, std::size_t{4} * op.dstDwords);
    return true;
  }
  case Kind::load: {
    std::array<std::array<std::uint32_t, 64>, 4> loaded{};
    const bool fine = forActive([&](unsigned lane) {
      Target target;
      if (!resolve(step, wave, state, lane, target, reason))
        return false;
      for (unsigned k = 0; k < step.dwords; ++k)
        loaded[k][lane] = target.valid[k] ? shaped(target.memory->read(target.address + 4 * k, step.bytes)) : 0;
      return true;
    });
    for (unsigned k = 0; k < step.dwords && fine; ++k)
      forActive([&](unsigned lane) {
        state.lanes(op.dst + k)[lane] = loaded[k][lane];
        return true;
      });
    return fine;
  }
  case Kind::store:
    return forActive([&](unsigned lane) {
      Target target;
      if (!resolve(step, wave, state, lane, target, reason))
        return false;
      for (unsigned k = 0; k < step.dwords; ++k)
        if (target.valid[k])
          target.memory->write(target.address + 4 * k, toStore(op.src[1].reg + k, lane), step.bytes);
      return true;
    });
  case Kind::atomic:
  case Kind::ldsAtomic: {
    const auto& form = *static_cast<const emulator::AtomicForm*>(op.extra);
    const unsigned dwords = form.bytes / 4;
    const bool lds = step.kind == Kind::ldsAtomic;
    const auto operand = [&](unsigned reg, unsigned lane) {
      std::uint64_t value = state.lanes(reg)[lane];
      return dwords == 2 ? value | std::uint64_t{state.lanes(reg + 1)[lane]} << 32 : value;
    };
    return forActive([&](unsigned lane) {
      Target target;
      std::uint64_t data = 0, compare = 0;
      if (lds) {
        target.memory = &state.lds;
        target.address = state.lanes(op.src[0].reg)[lane] + static_cast<std::uint32_t>(op.aux);
        data = operand(op.src[1].reg, lane);
        compare = op.src[2].kind == SrcKind::none ? data : operand(op.src[2].reg, lane);
        if (op.src[3].constant != 0) // compare-and-swap names the compare value first
          std::swap(data, compare);
      } else {
        if (!resolve(step, wave, state, lane, target, reason))
          return false;
        data = operand(op.src[1].reg, lane);
        compare = form.dataOperands == 2 ? operand(op.src[1].reg + dwords, lane) : 0;
      }
      std::uint64_t old = 0;
      if (target.valid[0]) {
        alignas(8) std::uint8_t cell[8]{};
        old = target.memory->read(target.address, form.bytes);
        std::memcpy(cell, &old, 8);
        old = emulator::applyAtomic(form, cell, data, compare, wave.mode, false);
        std::uint64_t fresh = 0;
        std::memcpy(&fresh, cell, form.bytes);
        target.memory->write(target.address, fresh, form.bytes);
      }
      if (step.returns)
        for (unsigned k = 0; k < dwords; ++k)
          state.lanes(op.dst + k)[lane] = static_cast<std::uint32_t>(old >> 32 * k);
      return true;
    });
  }
  case Kind::ldsDma: {
    const std::uint32_t base = (wave.sgpr[isa::sreg::m0] & 0xffff) + static_cast<std::uint32_t>(op.aux);
    return forActive([&](unsigned lane) {
      Target target;
      if (!resolve(step, wave, state, lane, target, reason))
        return false;
      const std::uint32_t value = target.valid[0] ? shaped(target.memory->read(target.address, step.bytes)) : 0;
      state.lds.write(std::uint64_t{base} + 4 * lane, value, 4);
      return true;
    });
  }
  case Kind::ldsLoad: {
    std::array<std::array<std::uint32_t, 64>, 8> loaded{};
    forActive([&](unsigned lane) {
      for (unsigned e = 0; e < step.elements; ++e)
        for (unsigned k = 0; k < step.dwords; ++k)
          loaded[e * step.dwords + k][lane] = shaped(
              state.lds.read(std::uint64_t{state.lanes(op.src[0].reg)[lane] + step.offset[e]} + 4 * k, step.bytes));
      return true;
    });
    return forActive([&](unsigned lane) {
      for (unsigned k = 0; k < step.elements * step.dwords; ++k)
        state.lanes(op.dst + k)[lane] = loaded[k][lane];
      return true;
    });
  }
  case Kind::ldsStore:
    for (unsigned e = 0; e < step.elements; ++e) {
      if (e == 1 && step.offset[0] == step.offset[1])
        break;
      forActive([&](unsigned lane) {
        const std::uint64_t address = state.lanes(op.src[0].reg)[lane] + step.offset[e];
        for (unsigned k = 0; k < step.dwords; ++k)
          state.lds.write(address + 4 * k, toStore(op.src[1 + e].reg + k, lane), step.bytes);
        return true;
      });
    }
    return true;
  case Kind::alu:
    break;
  }
  return false;
}

bool WindowMachine::run(MachineState& state, const Deadline& end, std::string& reason) const {
  if (!problem.empty()) {
    reason = problem;
    return false;
  }
  Wave wave;
  std::copy_n(state.scalars.begin(), 128, wave.sgpr);
  wave.scc = state.scalars[isa::sreg::scc] & 1;
  wave.mode = state.scalars[isa::sreg::mode];
  wave.vgpr = state.vgprs[0].lane;
  wave.vgprCount = 512;
  for (const auto& step : steps) {
    if (step->kind != Kind::alu) {
      if (end.passed()) {
        reason = "the limit of time is reached";
        return false;
      }
      if (!memoryStep(*step, wave, state, reason))
        return false;
      continue;
    }
    wave.runStart = step->op;
    step->op[0].fn(wave, step->op);
    if (wave.stop == emulator::Stop::fault) {
      reason = wave.faultMessage;
      return false;
    }
  }
  std::copy_n(wave.sgpr, 128, state.scalars.begin());
  state.scalars[isa::sreg::scc] = wave.scc;
  return true;
}

} // namespace asmevo::verify
