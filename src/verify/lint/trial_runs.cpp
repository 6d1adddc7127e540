#include "verify/lint/trial_runs.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace asmevo::verify {

namespace {

using isa::InstClass;
using isa::InstRef;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using program::Place;
namespace sreg = isa::sreg;

constexpr unsigned mostRuns = 64;
constexpr unsigned mostSteps = 20'000;

/// Scalar operations that decide about branches and count loops; all others give unknown results.
enum class Op : std::uint8_t {
  none,
  mov,
  add,
  sub,
  mul,
  lshl,
  lshr,
  ashr,
  band,
  bor,
  bxor,
  minU,
  minI,
  maxU,
  maxI,
  select,
  compare,
  readFirst
};
enum class Relation : std::uint8_t { eq, ne, lt, le, gt, ge };

struct Decoded {
  Op op = Op::none;
  Relation relation = Relation::eq;
  bool isSigned = false, immediate = false; ///< immediate: SOPK, the constant is the second source
  program::CounterUses uses;
  program::WaitModel::Waits waits;
};

constexpr std::pair<std::string_view, Op> operations[] = {
    {"s_mov_b32", Op::mov},   {"s_movk_i32", Op::mov},       {"s_add_u32", Op::add},
    {"s_add_i32", Op::add},   {"s_addk_i32", Op::add},       {"s_sub_u32", Op::sub},
    {"s_sub_i32", Op::sub},   {"s_mul_i32", Op::mul},        {"s_mulk_i32", Op::mul},
    {"s_lshl_b32", Op::lshl}, {"s_lshr_b32", Op::lshr},      {"s_ashr_i32", Op::ashr},
    {"s_and_b32", Op::band},  {"s_or_b32", Op::bor},         {"s_xor_b32", Op::bxor},
    {"s_min_u32", Op::minU},  {"s_min_i32", Op::minI},       {"s_max_u32", Op::maxU},
    {"s_max_i32", Op::maxI},  {"s_cselect_b32", Op::select}, {"v_readfirstlane_b32", Op::readFirst},
};
constexpr std::pair<std::string_view, Relation> relations[] = {
    {"eq", Relation::eq}, {"lg", Relation::ne}, {"lt", Relation::lt},
    {"le", Relation::le}, {"gt", Relation::gt}, {"ge", Relation::ge},
};

Decoded decode(const Instruction& inst, const program::WaitModel& model) {
  Decoded d;
  d.uses = model.usesOf(inst);
  d.waits = model.waitsOf(inst);
  const std::string_view base = inst.base;
  for (const auto& [name, op] : operations)
    if (base == name)
      d.op = op;
  d.immediate = base == "s_addk_i32" || base == "s_mulk_i32" || base.starts_with("s_cmpk_");
  const bool compares = base.starts_with("s_cmp_") || base.starts_with("s_cmpk_");
  if (compares && (base.ends_with("_u32") || base.ends_with("_i32"))) {
    d.op = Op::compare;
    d.isSigned = base.ends_with("_i32");
    const std::string_view name = base.substr(base.find('_', 2) + 1, 2);
    for (const auto& [text, relation] : relations)
      if (name == text)
        d.relation = relation;
  }
  return d;
}

bool holds(Relation relation, std::int64_t a, std::int64_t b) {
  switch (relation) {
  case Relation::eq:
    return a == b;
  case Relation::ne:
    return a != b;
  case Relation::lt:
    return a < b;
  case Relation::le:
    return a <= b;
  case Relation::gt:
    return a > b;
  case Relation::ge:
    return a >= b;
  }
  return false;
}

class Trials {
 public:
  Trials(const program::Program& c, const std::vector<program::WaitFinding>& f, const program::WaitModel& m,
         unsigned waves)
      : code(c), findings(f), model(m), wavesPerGroup(std::max(1u, waves)), seen(f.size()) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      byProducer[findings[i].producer].push_back(i);
      byConsumer[findings[i].consumer].push_back(i);
      for (const program::CounterUse& use : decoded(at(findings[i].producer).inst).uses)
        if (use.counter == findings[i].counter)
          streams[i] = use.stream;
    }
  }

  std::vector<bool> run(program::BlockId entry) {
    for (unsigned trial = 0; trial < mostRuns && std::ranges::find(seen, false) != seen.end(); ++trial)
      once(entry, trial);
    return seen;
  }

 private:
  const program::Instr& at(Place place) const { return code.blocks[place.block].instrs[place.index]; }

  const Decoded& decoded(InstRef inst) {
    const auto [entry, fresh] = table.try_emplace(inst);
    if (fresh)
      entry->second = decode(*inst, model);
    return entry->second;
  }

  std::uint64_t random() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// Sizes, counts and flags, small ones more often.
  std::uint32_t input() {
    const std::uint64_t r = random();
    const auto value = static_cast<std::uint32_t>(r >> 8);
    switch (r & 7) {
    case 0:
    case 1:
      return value % 4;
    case 2:
    case 3:
      return value % 12;
    case 4:
      return value % 16 * 32;
    case 5:
      return value % 1024;
    case 6:
      return value % 8 * 256;
    default:
      return value % 65536;
    }
  }

  void once(program::BlockId entry, unsigned trial) {
    state = 0x1234567 + trial;
    wave = trial % wavesPerGroup;
    for (std::uint32_t& value : scalars)
      value = input();
    scc = false;
    active.clear();
    std::vector<Place> stack;
    Place place{entry, 0};
    for (unsigned steps = 0; steps < mostSteps; ++steps) {
      const program::Block& block = code.blocks[place.block];
      if (block.opaque)
        return;
      if (place.index >= block.instrs.size()) {
        if (block.successors.empty())
          return;
        place = {block.successors.size() == 1 ? block.successors[0] : fallThrough(place.block), 0};
        continue;
      }
      const program::Instr& instr = block.instrs[place.index];
      observe(place, decoded(instr.inst));
      execute(*instr.inst, decoded(instr.inst));
      const program::Flow flow = program::flowOf(instr.inst);
      if (flow == program::Flow::end)
        return;
      Place next{place.block, place.index + 1};
      if (flow == program::Flow::call) {
        if (instr.target) {
          stack.push_back(next);
          next = {*instr.target, 0};
        } else {
          active.clear();
        }
      } else if (flow == program::Flow::jump && !instr.target) {
        if (instr.codeTable != 0 && !block.successors.empty()) {
          next = {block.successors[random() % block.successors.size()], 0};
        } else {
          if (stack.empty())
            return;
          next = stack.back();
          stack.pop_back();
        }
      } else if ((flow == program::Flow::always || flow == program::Flow::jump) && instr.target) {
        next = {*instr.target, 0};
      } else if (flow == program::Flow::conditional && instr.target && taken(*instr.inst)) {
        next = {*instr.target, 0};
      }
      place = next;
    }
  }

  program::BlockId fallThrough(program::BlockId id) const { return id + 1 < code.blocks.size() ? id + 1 : id; }

  bool taken(const Instruction& branch) {
    if (branch.base == "s_cbranch_scc1")
      return scc;
    if (branch.base == "s_cbranch_scc0")
      return !scc;
    return (random() & 1) != 0;
  }

  void observe(Place place, const Decoded& d) {
    if (const auto here = byConsumer.find(place); here != byConsumer.end())
      for (const std::size_t i : here->second)
        if (active.contains(i))
          seen[i] = true;
    for (auto entry = active.begin(); entry != active.end();)
      entry = survives(entry->first, entry->second, d) ? std::next(entry) : active.erase(entry);
    if (const auto here = byProducer.find(place); here != byProducer.end())
      for (const std::size_t i : here->second)
        if (!seen[i])
          active[i] = 0;
  }

  bool survives(std::size_t finding, unsigned& later, const Decoded& d) const {
    const program::Counter counter = findings[finding].counter;
    const auto wait = d.waits[static_cast<std::size_t>(counter)];
    if (wait && *wait <= later)
      return false;
    const program::Stream stream = streams.at(finding);
    for (const program::CounterUse& use : d.uses)
      if (stream != program::Stream::none && use.counter == counter && use.stream == stream &&
          ++later > model.limit(counter))
        return false;
    return true;
  }

  std::uint32_t value(const Operand& operand) {
    if (operand.kind == OperandKind::imm)
      return static_cast<std::uint32_t>(operand.imm);
    return operand.kind == OperandKind::sgpr && operand.index < scalars.size() ? scalars[operand.index] : input();
  }

  void execute(const Instruction& inst, const Decoded& d) {
    std::array<std::uint32_t, 2> source{};
    std::size_t count = 0;
    for (const Operand& operand : inst.operands)
      if (!operand.isDef && count < 2)
        source[count++] = value(operand);
    if (d.immediate && count > 0 && inst.cls == InstClass::salu && d.op != Op::compare) {
      source[1] = static_cast<std::uint32_t>(static_cast<std::int16_t>(inst.simm16));
      source[0] = value(inst.operands[0]);
    }
    const auto [a, b] = source;
    std::optional<std::uint32_t> result;
    switch (d.op) {
    case Op::none:
      forget(inst);
      return;
    case Op::compare:
      scc = d.isSigned ? holds(d.relation, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b))
                       : holds(d.relation, a, b);
      return;
    case Op::mov:
      result = a;
      break;
    case Op::add:
      result = a + b;
      scc = *result < a;
      break;
    case Op::sub:
      result = a - b;
      scc = a < b;
      break;
    case Op::mul:
      result = a * b;
      break;
    case Op::lshl:
      result = a << (b & 31);
      scc = *result != 0;
      break;
    case Op::lshr:
      result = a >> (b & 31);
      scc = *result != 0;
      break;
    case Op::ashr:
      result = static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> (b & 31));
      scc = *result != 0;
      break;
    case Op::band:
      result = a & b;
      scc = *result != 0;
      break;
    case Op::bor:
      result = a | b;
      scc = *result != 0;
      break;
    case Op::bxor:
      result = a ^ b;
      scc = *result != 0;
      break;
    case Op::minU:
      result = std::min(a, b);
      scc = *result == a;
      break;
    case Op::maxU:
      result = std::max(a, b);
      scc = *result == a;
      break;
    case Op::minI:
      result = static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
      scc = *result == a;
      break;
    case Op::maxI:
      result = static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
      scc = *result == a;
      break;
    case Op::select:
      result = scc ? a : b;
      break;
    case Op::readFirst:
      result = wave;
      break;
    }
    if (result && !inst.operands.empty() && inst.operands[0].kind == OperandKind::sgpr &&
        inst.operands[0].index < scalars.size())
      scalars[inst.operands[0].index] = *result;
  }

  void forget(const Instruction& inst) {
    for (const isa::RegRange& range : inst.writeRanges) {
      if (range.file != isa::RegRange::File::scalar)
        continue;
      for (unsigned unit = range.first; unit < unsigned{range.first} + range.count; ++unit)
        if (unit == sreg::scc)
          scc = (random() & 1) != 0;
        else if (unit < scalars.size())
          scalars[unit] = input();
    }
  }

  const program::Program& code;
  const std::vector<program::WaitFinding>& findings;
  const program::WaitModel& model;
  unsigned wavesPerGroup;
  std::vector<bool> seen;
  std::map<Place, std::vector<std::size_t>> byProducer, byConsumer; ///< findings
  std::map<std::size_t, program::Stream> streams;                   ///< of the producer, by finding
  std::unordered_map<InstRef, Decoded> table;

  std::uint64_t state = 0;
  unsigned wave = 0;
  std::array<std::uint32_t, sreg::scc> scalars{};
  bool scc = false;
  std::map<std::size_t, unsigned> active; ///< by finding in flight: operations of its stream since
};

} // namespace

std::vector<bool> seenInTrials(const program::Program& code, const program::Function& root,
                               const std::vector<program::WaitFinding>& findings, const program::WaitModel& model,
                               unsigned wavesPerGroup) {
  return Trials(code, findings, model, wavesPerGroup).run(root.entryBlock);
}

} // namespace asmevo::verify
