#include "program/address_flow.h"

#include "program/address_region.h"
#include "program/address_state.h"
#include "program/pc_reference.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace asmevo::program {

namespace {

constexpr unsigned trackedRegisters = 128; ///< scalar operand space that is registers
constexpr unsigned firstCalleeSaved = 30;  ///< LLVM AMDGPUUsage, "Non-Kernel Functions"
constexpr unsigned lastCalleeSaved = 105;
/// Visits per block after which the code is no longer worth following.
constexpr std::size_t maxVisits = 256;

using Value = AddressValue;
using State = AddressState;
using Serial = InstrSerial;
using Kind = Value::Kind;

enum class Step { none, low, high, wide };
struct StepKind {
  std::string_view base;
  Step step;
  bool negated;
};
/// Spellings of a 64-bit addition, before and since gfx12, and gfx1250's.
constexpr StepKind stepKinds[] = {
    {"s_add_u32", Step::low, false},    {"s_addc_u32", Step::high, false},     {"s_sub_u32", Step::low, true},
    {"s_subb_u32", Step::high, true},   {"s_add_co_u32", Step::low, false},    {"s_add_co_ci_u32", Step::high, false},
    {"s_sub_co_u32", Step::low, true},  {"s_sub_co_ci_u32", Step::high, true}, {"s_add_nc_u64", Step::wide, false},
    {"s_sub_nc_u64", Step::wide, true}, {"s_add_u64", Step::wide, false},      {"s_sub_u64", Step::wide, true},
};
const StepKind* stepOf(std::string_view base) {
  for (const StepKind& kind : stepKinds)
    if (base == kind.base)
      return &kind;
  return nullptr;
}
bool isOneOf(std::string_view base, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, base) != names.end();
}

class Flow64 {
 public:
  Flow64(const Program& program, isa::Codec& codec)
      : program(program), codec(codec), region(findCounterRegion(program, codec)) {}

  AddressFlow run() {
    if (region.sources.empty())
      return {};
    if (!settle()) {
      result.pin = "program counters stay in registers over more code than is worth following";
      return std::move(result);
    }
    recording = true;
    for (BlockId id = 0; id < program.blocks.size(); ++id)
      if (region.contains[id] && before[id])
        visit(id);
    finish();
    return std::move(result);
  }

 private:
  const Program& program;
  isa::Codec& codec;
  AddressFlow result;
  bool recording = false;
  BlockId here = 0; ///< block that is visited

  const CounterRegion region;
  std::vector<std::optional<State>> before;

  /// Low half of program counter plus constant.
  struct Sum {
    InstrPlace counter, literal; ///< the s_getpc_b64; whose constant it is
    std::uint64_t anchor = 0;
    std::uint64_t value = 0;
    bool negated = false, adjustable = true, fromRegister = false;
    std::int64_t bias = 0;
  };
  /// A whole address.
  struct Formed {
    Serial low = 0;
    std::uint64_t target = 0;
  };
  struct Load {
    Serial base = 0; ///< the Formed
    std::int64_t displacement = 0;
    bool indexed = false;
    unsigned dwords = 0;
  };
  /// Address plus loaded entry.
  struct Entry {
    Serial load = 0;
    Serial base = 0; ///< the Sum, or the s_getpc_b64 itself
    bool rawBase = false, isSigned = true;
    unsigned dword = 0;
  };
  struct Literal {
    InstrPlace at;
    std::int64_t bias = 0;
    bool isAbsolute = false;
    bool usedElsewhere = false;
  };
  std::unordered_map<Serial, Sum> sums;
  std::unordered_map<Serial, Formed> formed;
  std::unordered_map<Serial, std::uint64_t> targetOfLow; ///< address by its low half
  std::unordered_map<Serial, Load> loads;
  std::unordered_map<Serial, Entry> entries;
  std::unordered_map<Serial, Literal> literals;
  std::unordered_map<Serial, InstrPlace> counters;
  std::map<std::pair<BlockId, std::uint32_t>, AddressFlow::Reference> references;
  std::map<std::uint64_t, AddressFlow::Address> addresses;
  std::map<std::uint64_t, bool> usedOtherwise; ///< by target: anything but prefetched

  /// What nothing reaches may do as it likes.
  void pin(std::string reason) {
    if (result.pin.empty() && program.blocks[here].reachable)
      result.pin = std::move(reason);
  }
  void escape(std::uint64_t address) {
    if (!recording)
      return;
    if (address == 0)
      pin("a program counter that is read on some paths only is used");
    else
      pin(fmt::format("the program counter read at 0x{:x} is used in a way that is not followed", address));
  }
  const Instr& at(InstrPlace place) const { return program.blocks[place.block].instrs[place.index]; }
  std::uint64_t counterAddress(Serial id) const {
    const auto found = counters.find(id);
    return found == counters.end() ? 0 : at(found->second).address;
  }

  bool settle() {
    before.assign(program.blocks.size(), std::nullopt);
    std::vector<std::size_t> visits(program.blocks.size());
    std::deque<BlockId> todo(region.starts.begin(), region.starts.end());
    std::vector<bool> queued(program.blocks.size());
    for (const BlockId id : region.starts) {
      before[id] = State{};
      queued[id] = true;
    }
    while (!todo.empty()) {
      const BlockId id = todo.front();
      todo.pop_front();
      queued[id] = false;
      if (++visits[id] > maxVisits)
        return false;
      const State after = visit(id);
      for (const BlockId next : program.blocks[id].successors) {
        State merged = before[next] ? joined(*before[next], after) : after;
        if (before[next] && merged == *before[next])
          continue;
        before[next] = std::move(merged);
        if (!queued[next])
          todo.push_back(next);
        queued[next] = true;
      }
    }
    return true;
  }

  State visit(BlockId id) {
    here = id;
    State state = *before[id];
    const Block& block = program.blocks[id];
    if (block.opaque) {
      // Nobody knows which registers an undecodable instruction reads and writes.
      for (const auto& [reg, value] : state.known)
        if (isCounter(value.kind) || value.kind == Kind::maybeCounter)
          escape(isCounter(value.kind) ? counterAddress(value.id) : block.address);
      return {};
    }
    for (std::uint32_t i = 0; i < block.instrs.size(); ++i) {
      step(state, {id, i}, *codec.complete(block.instrs[i].inst), region.firstSerial[id] + i);
      if (neverFallsThrough(flowOf(block.instrs[i].inst)))
        break;
    }
    return state;
  }

  using Outputs = std::vector<std::pair<unsigned, Value>>;

  void step(State& state, InstrPlace place, const isa::Instruction& inst, Serial serial) {
    Outputs outputs;
    Serial carry = 0;
    bool followed = false;
    const Flow flow = flowOf(&inst);
    if (inst.cls == isa::InstClass::jump)
      followed = jump(state, place, inst, serial);
    else if (state.known.empty() && inst.cls != isa::InstClass::salu)
      return clobber(state, inst, outputs, carry);
    else if (inst.cls == isa::InstClass::salu)
      followed = scalar(state, place, inst, serial, outputs, carry);
    else if (inst.cls == isa::InstClass::smem)
      followed = scalarLoad(state, inst, serial, outputs);
    if (!followed)
      readOtherwise(state, inst, outputs);
    clobber(state, inst, outputs, carry);
    if (flow == Flow::call)
      afterCall(state);
  }

  static void clobber(State& state, const isa::Instruction& inst, const Outputs& outputs, Serial carry) {
    for (const isa::RegRange& range : inst.writeRanges) {
      if (range.file != isa::RegRange::File::scalar)
        continue;
      if (coversScalar(range, isa::sreg::scc))
        state.carry = 0;
      if (!state.known.empty())
        for (unsigned reg = range.first; reg < unsigned{range.first} + range.count && reg < trackedRegisters; ++reg)
          state.set(reg, {});
    }
    for (const auto& [reg, value] : outputs)
      if (reg < trackedRegisters)
        state.set(reg, value);
    if (carry != 0)
      state.carry = carry;
  }

  void readOtherwise(State& state, const isa::Instruction& inst, Outputs& outputs) {
    if (state.known.empty())
      return;
    bool taints = false;
    for (const auto& [reg, value] : state.known) {
      const bool reads =
          std::ranges::any_of(inst.readRanges, [&](const auto& range) { return coversScalar(range, reg); });
      if (reads)
        taints |= readOne(value, inst);
    }
    if (taints && inst.cls == isa::InstClass::salu)
      for (const isa::RegRange& range : inst.writeRanges)
        if (range.file == isa::RegRange::File::scalar)
          for (unsigned i = 0; i < range.count; ++i)
            outputs.emplace_back(range.first + i, Value{Kind::tainted, false, 0, 0});
  }

  /// One register read by an instruction that makes nothing of it that is followed. True if its result depends on it
  /// in a way that matters to a jump.
  bool readOne(const Value& value, const isa::Instruction& inst) {
    const bool isMove = isOneOf(inst.base, {"v_mov_b32", "v_mov_b64", "v_writelane_b32", "v_accvgpr_write_b32"});
    switch (value.kind) {
    case Kind::counterLow:
    case Kind::counterHigh:
      escape(counterAddress(value.id));
      return true;
    case Kind::maybeCounter:
      escape(0);
      return true;
    case Kind::constant:
      if (const auto literal = literals.find(value.id); recording && literal != literals.end())
        literal->second.usedElsewhere = true;
      return false;
    case Kind::addressLow:
    case Kind::addressHigh:
    case Kind::derivedLow:
    case Kind::derivedHigh:
      noteUse(value, inst.isVectorMemory() || inst.cls == isa::InstClass::smem,
              inst.cls == isa::InstClass::valu && !isMove);
      return value.kind == Kind::derivedLow || value.kind == Kind::derivedHigh;
    default:
      return true;
    }
  }

  const Formed* formedOf(const Value& value) const {
    if (value.kind == Kind::addressHigh || value.kind == Kind::derivedHigh) {
      const auto found = formed.find(value.id);
      return found == formed.end() ? nullptr : &found->second;
    }
    return nullptr;
  }

  void noteUse(const Value& value, bool isLoad, bool isArithmetic, bool isPrefetch = false) {
    const Formed* address = formedOf(value);
    if (!recording || !address)
      return;
    AddressFlow::Address& entry = addresses[address->target];
    entry.isLoaded |= isLoad;
    entry.isArithmetic |= isArithmetic;
    usedOtherwise[address->target] |= !isPrefetch;
  }

  bool scalar(State& state, InstrPlace place, const isa::Instruction& inst, Serial serial, Outputs& outputs,
              Serial& carry) {
    if (isSop1(inst))
      return oneSource(state, place, inst, serial, outputs);
    if (!isSop2(inst))
      return false;
    const StepKind* kind = stepOf(inst.base);
    if (!kind) {
      const ScalarSource amount = scalarSource(inst, 1);
      const Value value = state.get(scalarSource(inst, 0).encoding);
      if (inst.base == "s_ashr_i32" && amount.constant == 31 && value.kind == Kind::loaded) {
        outputs.emplace_back(scalarDestination(inst), Value{Kind::loadedSign, false, value.id, value.extra});
        return true;
      }
      return foldConstants(state, place, inst, serial, outputs) || addToLow(state, inst, outputs);
    }
    if (kind->step == Step::wide)
      return addWide(state, place, inst, serial, kind->negated, outputs);
    if (kind->step == Step::low)
      return addLow(state, place, inst, serial, kind->negated, outputs, carry) ||
             foldConstants(state, place, inst, serial, outputs) || addToLow(state, inst, outputs);
    return addHigh(state, place, inst, serial, kind->negated, outputs);
  }

  bool oneSource(State& state, InstrPlace place, const isa::Instruction& inst, Serial serial, Outputs& outputs) {
    const unsigned to = scalarDestination(inst);
    if (isGetpc(inst)) {
      counters[serial] = place;
      outputs = {{to, {Kind::counterLow, false, serial, 0}}, {to + 1, {Kind::counterHigh, false, serial, 0}}};
      return true;
    }
    const ScalarSource source = scalarSource(inst, 0);
    if (inst.base == "s_mov_b32" && source.constant) {
      const bool adjustable = inst.size == 8;
      if (adjustable)
        literals.try_emplace(serial, Literal{place, 0, false, false});
      outputs = {{to, {Kind::constant, false, adjustable ? serial : 0, std::int64_t(*source.constant)}}};
      return true;
    }
    const Value value = source.constant ? Value{} : state.get(source.encoding);
    if (inst.base == "s_mov_b32") {
      outputs = {{to, value}};
      return true;
    }
    if (inst.base == "s_mov_b64" && !source.constant) {
      outputs = {{to, value}, {to + 1, state.get(source.encoding + 1)}};
      return true;
    }
    if (inst.base == "s_sext_i32_i16" && value.kind == Kind::counterHigh) { // gfx12: it comes without its sign
      outputs = {{to, value}};
      return true;
    }
    if (inst.base == "s_abs_i32" && value.kind == Kind::constant && value.id != 0) {
      const auto literal = literals.find(value.id);
      if (literal == literals.end())
        return false;
      const Literal old = literal->second;
      literals.insert_or_assign(serial,
                                Literal{old.at, old.bias, old.isAbsolute || value.extra < 0, old.usedElsewhere});
      outputs = {{to, {Kind::constant, false, serial, std::abs(value.extra)}}};
      return true;
    }
    return false;
  }

  /// A constant operand, in the instruction itself or in a register.
  struct Constant {
    std::int64_t value = 0;
    Serial literal = 0;    ///< of the register
    bool isDirect = false; ///< in the instruction itself
  };
  std::optional<Constant> constantOf(const State& state, const isa::Instruction& inst, unsigned which) const {
    const ScalarSource source = scalarSource(inst, which);
    if (source.constant)
      return Constant{static_cast<std::int64_t>(*source.constant), 0, true};
    const Value value = state.get(source.encoding);
    if (value.kind == Kind::constant)
      return Constant{value.extra, value.id, false};
    return std::nullopt;
  }
  Value valueOf(const State& state, const isa::Instruction& inst, unsigned which) const {
    const ScalarSource source = scalarSource(inst, which);
    return source.constant ? Value{} : state.get(source.encoding);
  }

  /// label + 4, in a register.
  bool foldConstants(const State& state, InstrPlace place, const isa::Instruction& inst, Serial serial,
                     Outputs& outputs) {
    if (!isOneOf(inst.base, {"s_add_i32", "s_add_u32", "s_add_co_i32", "s_add_co_u32"}))
      return false;
    const auto a = constantOf(state, inst, 0), b = constantOf(state, inst, 1);
    if (!a || !b)
      return false;
    const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(a->value + b->value));
    const bool bothDirect = a->isDirect && b->isDirect;
    if (bothDirect && inst.size == 8) {
      const bool literalFirst = scalarSource(inst, 0).encoding > 250;
      literals.insert_or_assign(serial, Literal{place, literalFirst ? b->value : a->value, false, false});
      outputs = {{scalarDestination(inst), {Kind::constant, false, serial, sum}}};
      return true;
    }
    const Constant& inRegister = a->isDirect ? *b : *a;
    const Constant& direct = a->isDirect ? *a : *b;
    const auto literal = literals.find(inRegister.literal);
    if (bothDirect || inRegister.isDirect || !direct.isDirect || literal == literals.end() ||
        literal->second.isAbsolute) {
      for (const Constant& each : {*a, *b})
        if (const auto found = literals.find(each.literal); recording && found != literals.end())
          found->second.usedElsewhere = true;
      outputs = {{scalarDestination(inst), {Kind::constant, false, 0, sum}}};
      return true;
    }
    Literal moved = literal->second;
    moved.bias += direct.value;
    literals.insert_or_assign(serial, moved);
    outputs = {{scalarDestination(inst), {Kind::constant, false, serial, sum}}};
    return true;
  }

  std::uint64_t anchorOf(InstrPlace counter) const { return at(counter).address + at(counter).inst->size; }

  bool addLow(const State& state, InstrPlace place, const isa::Instruction& inst, Serial serial, bool negated,
              Outputs& outputs, Serial& carry) {
    const unsigned to = scalarDestination(inst);
    for (const unsigned which : {0u, 1u}) {
      if (negated && which == 1)
        break;
      const Value base = valueOf(state, inst, which);
      const Value other = valueOf(state, inst, 1 - which);
      if (other.kind == Kind::loaded && !negated && (base.kind == Kind::counterLow || base.kind == Kind::addressLow)) {
        entries[serial] = {other.id, base.id, base.kind == Kind::counterLow, true, unsigned(other.extra)};
        outputs = {{to, {Kind::entryLow, false, serial, 0}}};
        carry = serial;
        return true;
      }
      if (base.kind != Kind::counterLow)
        continue;
      const auto constant = constantOf(state, inst, 1 - which);
      if (!constant)
        continue;
      Sum sum{counters[base.id], place, 0, static_cast<std::uint32_t>(constant->value), negated, true, false, 0};
      sum.anchor = anchorOf(sum.counter);
      if (!constant->isDirect) {
        const auto literal = literals.find(constant->literal);
        sum.adjustable = literal != literals.end() && (!literal->second.isAbsolute || negated);
        sum.fromRegister = true;
        if (literal != literals.end()) {
          sum.literal = literal->second.at;
          sum.bias = literal->second.bias;
        }
      }
      sums[serial] = sum;
      outputs = {{to, {Kind::addressLow, false, serial, 0}}};
      carry = serial;
      return true;
    }
    return false;
  }

  /// More is added to the low half of an address.
  bool addToLow(const State& state, const isa::Instruction& inst, Outputs& outputs) {
    const bool isSum = inst.base.starts_with("s_add_") || inst.base.starts_with("s_sub_");
    const bool isScaled = inst.base.starts_with("s_lshl") && inst.base.find("_add_u32") != std::string::npos;
    if (!isSum && !isScaled)
      return false;
    for (const unsigned which : {0u, 1u}) {
      const Value base = valueOf(state, inst, which);
      if (base.kind != Kind::addressLow && base.kind != Kind::derivedLow)
        continue;
      if (which == 1 && inst.base.starts_with("s_sub_"))
        return false;
      if (which == 0 && isScaled)
        return false;
      const auto constant = constantOf(state, inst, 1 - which);
      const Value other = valueOf(state, inst, 1 - which);
      if (isCounter(other.kind) || other.kind >= Kind::loaded)
        return false;
      const bool known = constant && constant->isDirect && isSum;
      const std::int64_t by = !known ? 0 : inst.base.starts_with("s_sub_") ? -constant->value : constant->value;
      outputs = {{scalarDestination(inst),
                  {Kind::derivedLow, base.indexed || !known, base.id, (known ? by : 0) + base.extra}}};
      return true;
    }
    return false;
  }

  bool addHigh(const State& state, InstrPlace place, const isa::Instruction& inst, Serial serial, bool negated,
               Outputs& outputs) {
    const unsigned to = scalarDestination(inst);
    for (const unsigned which : {0u, 1u}) {
      const Value base = valueOf(state, inst, which);
      const Value other = valueOf(state, inst, 1 - which);
      const auto constant = constantOf(state, inst, 1 - which);
      if (const auto entry = entries.find(state.carry); entry != entries.end() && matchesEntry(base, entry->second)) {
        const bool sameLoad = other.id == entry->second.load;
        const bool signedHigh = other.kind == Kind::loadedSign && sameLoad;
        const bool wideHigh = other.kind == Kind::loaded && sameLoad && other.extra == entry->second.dword + 1;
        if (signedHigh || wideHigh || (constant && constant->value == 0)) {
          entry->second.isSigned = signedHigh || wideHigh;
          outputs = {{to, {Kind::entryHigh, wideHigh, entry->first, 0}}};
          return true;
        }
      }
      if (base.kind == Kind::counterHigh && constant && !(negated && which == 1))
        if (const auto sum = sums.find(state.carry);
            sum != sums.end() && sum->second.negated == negated && sum->second.counter == counters[base.id]) {
          form(place, serial, sum->first, sum->second, *constant, negated);
          outputs = {{to, {Kind::addressHigh, false, serial, 0}}};
          return true;
        }
      if (base.kind == Kind::addressHigh || base.kind == Kind::derivedHigh) {
        if (isCounter(other.kind) || other.kind >= Kind::loaded)
          continue;
        noteUse(base, false, true);
        outputs = {{to, {Kind::derivedHigh, false, base.id, 0}}};
        return true;
      }
    }
    return false;
  }

  bool matchesEntry(const Value& high, const Entry& entry) const {
    if (entry.rawBase)
      return high.kind == Kind::counterHigh && high.id == entry.base;
    const Formed* address = formedOf(high);
    return high.kind == Kind::addressHigh && address && address->low == entry.base;
  }

  /// Both halves are there: the address is known.
  void form(InstrPlace place, Serial serial, Serial low, const Sum& sum, const Constant& high, bool negated) {
    const auto literal = literals.find(high.literal);
    const std::uint64_t distance = sum.value | static_cast<std::uint64_t>(high.value) << 32;
    const std::uint64_t target = negated ? sum.anchor - distance : sum.anchor + distance;
    formed[serial] = {low, target};
    targetOfLow[low] = target;
    if (!recording)
      return;
    addresses[target].target = target;
    const bool halves = high.isDirect && !sum.fromRegister;
    const bool oneSided = sum.fromRegister && high.isDirect && high.value == 0 && sum.value >> 31 == 0;
    const bool registers = sum.fromRegister && !high.isDirect && sum.bias == 0 && literal != literals.end() &&
                           literal->second.bias == 0 && !literal->second.isAbsolute;
    const bool fitsBias = sum.bias >= INT16_MIN && sum.bias <= INT16_MAX;
    if (!sum.adjustable || !fitsBias || !(halves || oneSided || registers))
      return escape(at(sum.counter).address);
    PcReference reference;
    reference.target = target;
    reference.negated = negated && !oneSided; // |label| is subtracted: the literal is the signed distance itself
    reference.bias = static_cast<std::int16_t>(sum.bias);
    reference.keepsSign = oneSided;
    refer(sum.literal, sum.counter, reference);
    reference.high = true;
    if (halves)
      refer(place, sum.counter, reference);
    else if (registers)
      refer(literal->second.at, sum.counter, reference);
  }

  void refer(InstrPlace literal, InstrPlace counter, const PcReference& reference) {
    const auto [it, fresh] =
        references.try_emplace({literal.block, literal.index}, AddressFlow::Reference{literal, counter, reference});
    const PcReference& old = it->second.reference;
    if (!fresh && (old.target != reference.target || old.high != reference.high || !(it->second.counter == counter)))
      pin(fmt::format("the constant at 0x{:x} serves several program counters", at(literal).address));
  }

  bool addWide(const State& state, InstrPlace place, const isa::Instruction& inst, Serial serial, bool negated,
               Outputs& outputs) {
    const unsigned to = scalarDestination(inst);
    const auto pair = [&](Kind low, Kind high, std::uint32_t id) {
      outputs = {{to, {low, false, id, 0}}, {to + 1, {high, false, id, 0}}};
    };
    for (const unsigned which : {0u, 1u}) {
      if (negated && which == 1)
        break;
      const ScalarSource base = scalarSource(inst, which), other = scalarSource(inst, 1 - which);
      if (base.constant)
        continue;
      const Value low = state.get(base.encoding), high = state.get(base.encoding + 1);
      const Value otherLow = other.constant ? Value{} : state.get(other.encoding);
      const Value otherHigh = other.constant ? Value{} : state.get(other.encoding + 1);
      const bool raw = low.kind == Kind::counterLow && high.kind == Kind::counterHigh && low.id == high.id;
      const bool exact = isAddress(low, high);
      if ((raw || exact) && otherLow.kind == Kind::loaded && otherHigh.id == otherLow.id && !negated) {
        const bool wide = otherHigh.kind == Kind::loaded && otherHigh.extra == otherLow.extra + 1;
        if (wide || otherHigh.kind == Kind::loadedSign) {
          entries[serial] = {otherLow.id, low.id, raw, true, unsigned(otherLow.extra)};
          pair(Kind::entryLow, Kind::entryHigh, serial);
          outputs[1].second.indexed = wide;
          return true;
        }
      }
      // How the hardware extends a 32-bit literal matters only where its top bit is set.
      const bool fits = other.constant && (inst.size != 8 || *other.constant >> 31 == 0);
      if (raw && fits) {
        Sum sum{counters[low.id], place, 0, *other.constant, negated, true, false, 0};
        sum.anchor = anchorOf(sum.counter);
        sums[serial] = sum;
        const std::uint64_t target = negated ? sum.anchor - sum.value : sum.anchor + sum.value;
        formed[serial] = {serial, target};
        targetOfLow[serial] = target;
        if (recording) {
          addresses[target].target = target;
          PcReference reference;
          reference.target = target;
          reference.negated = negated;
          reference.wide = true;
          refer(place, sum.counter, reference);
        }
        pair(Kind::addressLow, Kind::addressHigh, serial);
        return true;
      }
      const bool derives = holdsAddress(low.kind) && holdsAddress(high.kind) && !isCounter(otherLow.kind) &&
                           otherLow.kind < Kind::loaded;
      if (derives) {
        noteUse(high, false, true);
        const std::int64_t by = !fits ? 0 : negated ? -std::int64_t(*other.constant) : std::int64_t(*other.constant);
        outputs = {{to, {Kind::derivedLow, low.indexed || !fits, low.id, low.extra + by}},
                   {to + 1, {Kind::derivedHigh, false, high.id, 0}}};
        return true;
      }
    }
    return false;
  }

  bool isAddress(const Value& low, const Value& high) const {
    const Formed* address = formedOf(high);
    return low.kind == Kind::addressLow && high.kind == Kind::addressHigh && address && address->low == low.id;
  }
  bool isDerived(const Value& low, const Value& high) const {
    const Formed* address = formedOf(high);
    return holdsAddress(low.kind) && holdsAddress(high.kind) && address && address->low == low.id;
  }

  bool scalarLoad(State& state, const isa::Instruction& inst, Serial serial, Outputs& outputs) {
    // The base is the first register pair that is read, before the offset.
    const isa::Operand* base = nullptr;
    std::int64_t displacement = inst.mods.offset;
    bool indexed = false;
    const isa::Operand* target = nullptr;
    for (const isa::Operand& operand : inst.operands) {
      if (operand.isDef) {
        target = target ? target : &operand;
      } else if (!base && operand.kind == isa::OperandKind::sgpr && operand.dwords == 2) {
        base = &operand;
      } else if (base && operand.kind == isa::OperandKind::imm) {
        displacement += operand.imm;
      } else if (base && operand.kind == isa::OperandKind::sgpr && operand.index < trackedRegisters - 4) {
        indexed = true; // 124 on is m0 or null, and m0 has no business here
      }
    }
    if (!base)
      return false;
    const Value low = state.get(base->index), high = state.get(base->index + 1u);
    if (inst.base.starts_with("s_prefetch_")) { // a hint: it changes no result
      noteUse(high, false, false, true);
      return isCounter(low.kind) || low.kind == Kind::maybeCounter || holdsAddress(low.kind);
    }
    if (!isDerived(low, high) || !target || !inst.base.starts_with("s_load_"))
      return false;
    noteUse(high, true, false);
    if (target->dwords <= 16 && !isOneOf(inst.base, {"s_load_i8", "s_load_u8", "s_load_i16", "s_load_u16"})) {
      loads[serial] = {high.id, low.extra + displacement, indexed || low.indexed, target->dwords};
      for (unsigned i = 0; i < target->dwords; ++i)
        outputs.emplace_back(target->index + i, Value{Kind::loaded, false, serial, i});
    }
    return true;
  }

  bool jump(State& state, InstrPlace place, const isa::Instruction& inst, Serial serial) {
    const bool isCall = flowOf(&inst) == Flow::call;
    if (inst.branchOffset || inst.base.ends_with("_fork")) {
      leave(state, place, isCall, calleeOf(place));
      return true;
    }
    if (!isSop1(inst))
      return false;
    const ScalarSource source = scalarSource(inst, 0);
    if (inst.base.starts_with("s_add_pc_"))
      return jumpRelative(place, inst, source, serial);
    if (source.constant)
      return false;
    const Value low = state.get(source.encoding), high = state.get(source.encoding + 1);
    std::optional<std::uint64_t> target;
    bool known = true;
    if (isAddress(low, high)) {
      target = formedOf(high)->target;
      noteUse(high, false, false);
      if (recording)
        result.jumps.push_back({place, *target});
    } else if (low.kind == Kind::loaded && high.kind == Kind::loaded && low.id == high.id &&
               high.extra == low.extra + 1) {
      tableJump(place, low.id, unsigned(low.extra), nullptr, 8);
    } else if (low.kind == Kind::entryLow && high.kind == Kind::entryHigh && low.id == high.id) {
      const Entry& entry = entries[low.id];
      tableJump(place, entry.load, entry.dword, &entry, high.indexed ? 8 : 4);
    } else if (low.kind != Kind::unknown || high.kind != Kind::unknown) {
      if (recording && low.kind != Kind::constant && high.kind != Kind::constant)
        pin(fmt::format("the target of the jump at 0x{:x} is computed in a way that is not followed",
                        at(place).address));
    } else {
      known = false;
    }
    if (isCall || !known)
      leave(state, place, isCall, target);
    return true;
  }

  bool jumpRelative(InstrPlace place, const isa::Instruction& inst, const ScalarSource& source, Serial serial) {
    counters[serial] = place;
    if (!source.constant || (inst.size == 8 && *source.constant >> 31 != 0)) {
      if (recording)
        pin(fmt::format("the target of the jump at 0x{:x} is computed in a way that is not followed",
                        at(place).address));
      return true;
    }
    if (recording) {
      PcReference reference;
      reference.target = anchorOf(place) + *source.constant;
      reference.wide = true;
      refer(place, place, reference);
      result.jumps.push_back({place, reference.target});
    }
    return true;
  }

  void tableJump(InstrPlace place, Serial load, unsigned dword, const Entry* relative, unsigned entryBytes) {
    const Load& from = loads[load];
    const auto base = formed.find(from.base);
    if (!recording || base == formed.end())
      return;
    AddressFlow::TableJump jump;
    jump.at = place;
    jump.table = base->second.target + static_cast<std::uint64_t>(from.displacement) + dword * 4ull;
    jump.isIndexed = from.indexed;
    jump.entryBytes = entryBytes;
    if (relative) {
      jump.isRelative = true;
      jump.isSigned = relative->isSigned;
      if (relative->rawBase)
        jump.counter = counters[relative->base];
      else
        jump.base = targetOfLow[relative->base];
    }
    result.tableJumps.push_back(jump);
  }

  std::optional<std::uint64_t> calleeOf(InstrPlace place) const {
    const Instr& instr = at(place);
    if (!instr.target || *instr.target >= program.blocks.size())
      return std::nullopt;
    return program.blocks[*instr.target].address;
  }

  /// Control goes where registers may be read that this analysis does not see.
  void leave(const State& state, InstrPlace place, bool isCall, std::optional<std::uint64_t> callee) {
    if (!recording)
      return;
    for (const auto& [reg, value] : state.known) {
      if (!isCounter(value.kind) && value.kind != Kind::maybeCounter)
        continue;
      const std::uint64_t counter = isCounter(value.kind) ? counterAddress(value.id) : at(place).address;
      if (isCall && callee)
        result.passed.push_back({counter, *callee, reg});
      else
        escape(counter);
    }
  }

  static void afterCall(State& state) {
    State kept;
    for (const auto& [reg, value] : state.known) {
      if (isCounter(value.kind) || value.kind == Kind::maybeCounter)
        kept.known.emplace_back(reg, Value{Kind::maybeCounter, false, 0, 0});
      else if (reg >= firstCalleeSaved && reg <= lastCalleeSaved)
        kept.known.emplace_back(reg, value);
    }
    state = std::move(kept);
  }

  void finish() {
    for (const auto& [serial, literal] : literals)
      if (const auto found = references.find({literal.at.block, literal.at.index});
          literal.usedElsewhere && found != references.end()) {
        here = literal.at.block;
        pin(fmt::format("the constant at 0x{:x} is a distance and more", at(literal.at).address));
      }
    for (const auto& [key, reference] : references)
      result.references.push_back(reference);
    for (auto& [target, address] : addresses) {
      address.target = target;
      const auto used = usedOtherwise.find(target);
      address.isPrefetched = used != usedOtherwise.end() && !used->second;
      result.addresses.push_back(address);
    }
  }
};

} // namespace

AddressFlow followAddresses(const Program& program, isa::Codec& codec) {
  return Flow64(program, codec).run();
}

} // namespace asmevo::program
