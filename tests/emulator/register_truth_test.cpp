// Register effects by perturbation: instructions are run on random states, and again with every unit that isa says they
// do not read changed. What they write must come out the same, everything else must stay as it was.
#include "emulator/bind.h"
#include "isa/codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <map>
#include <set>

namespace asmevo::emulator::test {
namespace {

using isa::InstClass;
using isa::RegSet;
using isa::RegUnit;
namespace sreg = isa::sreg;

constexpr unsigned accumOffset = 256, vgprs = 512, lanes = 64;
constexpr std::size_t ldsBytes = 4096;

/// All state that a straight-line instruction without global memory can see.
struct State {
  Wave wave;
  std::vector<std::uint32_t> registers = std::vector<std::uint32_t>((vgprs + 1) * lanes);
  std::vector<std::uint8_t> lds = std::vector<std::uint8_t>(ldsBytes);

  std::uint32_t* vgpr(unsigned reg) { return aligned() + std::size_t{reg} * lanes; }
  std::uint32_t* aligned() {
    const auto address = reinterpret_cast<std::uintptr_t>(registers.data());
    return registers.data() + (64 - address % 64) % 64 / 4;
  }
  void take(State& from) {
    wave = from.wave;
    std::memcpy(aligned(), from.aligned(), std::size_t{vgprs} * lanes * 4);
    lds = from.lds;
    connect();
  }
  void connect() {
    wave.vgpr = aligned();
    wave.vgprCount = vgprs;
    wave.lds = lds.data();
    wave.ldsBytes = ldsBytes;
  }
};

/// SplitMix64: fast, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state(seed) {}
  std::uint32_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
  }

 private:
  std::uint64_t state;
};

/// Values that operations tell apart: whole numbers, floats, NaN, anything.
std::uint32_t interesting(Random& random) {
  switch (random() % 4) {
  case 0:
    return random() % 1024;
  case 1:
    return 0x3f800000u + random() % 0x1000000;
  case 2:
    return (random() & 0xff) << 23 | (random() & 0x807fffff);
  default:
    return random();
  }
}

void randomize(State& s, Random& random) {
  s.wave = Wave();
  s.connect();
  for (unsigned i = 0; i < 128; ++i)
    s.wave.sgpr[i] = interesting(random);
  const bool small = random() % 2; // LDS addresses within the allocation
  for (unsigned i = 0; i < vgprs * lanes; ++i)
    s.aligned()[i] = small ? random() % ldsBytes & ~7u : interesting(random);
  for (auto& byte : s.lds)
    byte = static_cast<std::uint8_t>(random());
  s.wave.scc = random() & 1;
  s.wave.mode = 0x3f0;
  if (random() % 4 == 0)
    s.wave.sgpr[sreg::execLo] = s.wave.sgpr[sreg::execHi] = ~0u;
}

void changeUnit(State& s, RegUnit unit, Random& random) {
  if (unit >= isa::vgprBase)
    for (unsigned lane = 0; lane < lanes; ++lane)
      s.vgpr(unit - isa::vgprBase)[lane] = interesting(random);
  else if (unit < 128)
    s.wave.sgpr[unit] ^= interesting(random) | 1u;
  else if (unit == sreg::scc)
    s.wave.scc ^= 1;
  else if (unit == sreg::mode)
    s.wave.mode ^= 0x3ffu & (random() | 1u);
}

std::uint64_t valueOf(State& s, RegUnit unit, unsigned lane) {
  if (unit >= isa::vgprBase)
    return s.vgpr(unit - isa::vgprBase)[lane];
  if (unit < 128)
    return s.wave.sgpr[unit];
  // VGPR indexing is part of MODE.
  return unit == sreg::scc ? s.wave.scc : std::uint64_t{s.wave.gprIdx} << 32 | s.wave.mode;
}

template <class F> void forEachUnit(F&& f) {
  for (unsigned unit = 0; unit <= sreg::mode; ++unit)
    f(static_cast<RegUnit>(unit), 1u);
  for (unsigned reg = 0; reg < vgprs; ++reg)
    f(isa::vgprUnit(reg), lanes);
}

void returnHandler(Wave&, const Op*) {}

/// One instruction, bound.
class Subject {
 public:
  explicit Subject(isa::InstRef i)
      : inst(i), reads(i->reads(accumOffset)), writes(i->writes(accumOffset)), kills(i->kills(accumOffset)) {
    BindContext context;
    context.accumOffset = accumOffset;
    context.arena = &arena;
    ops[0].inst = inst;
    ops[1].fn = &returnHandler;
    Status bound = refused("class");
    if (inst->cls == InstClass::lds)
      bound = bindMemory(*inst, context, ops[0]);
    else if (inst->cls == InstClass::mfma)
      bound = bindMfma(*inst, context, ops[0]);
    else if (inst->cls == InstClass::valu || inst->cls == InstClass::salu)
      bound = bindAlu(*inst, context, ops[0]);
    modelled = static_cast<bool>(bound);
  }
  Subject(const Subject&) = delete;

  bool isModelled() const { return modelled; }

  /// Wrong effects seen on `start`, or "". False in `ran`: this state stops the instruction.
  std::string check(State& start, Random& random, bool& ran) {
    first.take(start);
    run(first);
    ran = first.wave.stop == Stop::running;
    if (!ran)
      return {};
    changed.take(start);
    forEachUnit([&](RegUnit unit, unsigned) {
      if (!reads.test(unit))
        changeUnit(changed, unit, random);
    });
    second.take(changed);
    run(second);
    if (second.wave.stop != Stop::running)
      return "stops when registers that it does not read change: " + second.wave.faultMessage;
    std::string wrong;
    const auto report = [&](const char* what, RegUnit unit, unsigned lane) {
      if (wrong.empty())
        wrong = fmt::format("{} {}[{}]", what, isa::regUnitName(unit), lane);
    };
    const std::uint64_t exec = start.wave.exec();
    forEachUnit([&](RegUnit unit, unsigned count) {
      for (unsigned lane = 0; lane < count; ++lane) {
        const auto before = valueOf(start, unit, lane), after = valueOf(first, unit, lane);
        const auto changedBefore = valueOf(changed, unit, lane), changedAfter = valueOf(second, unit, lane);
        if (!writes.test(unit)) {
          if (after != before || changedAfter != changedBefore)
            report("writes", unit, lane);
        } else if (kills.test(unit) || reads.test(unit)) {
          if (after != changedAfter)
            report("depends on more than it reads:", unit, lane);
        } else {
          // Inactive lanes keep what they had, active ones do not depend on it.
          const bool active = unit < isa::vgprBase || ((exec >> lane) & 1) != 0;
          if (changedAfter != (active ? after : changedBefore))
            report(active ? "depends on more than it reads:" : "writes an inactive lane of", unit, lane);
        }
      }
    });
    if (wrong.empty() && first.lds != second.lds)
      wrong = "LDS contents depend on more than it reads";
    return wrong;
  }

 private:
  void run(State& s) {
    s.wave.stop = Stop::running;
    s.wave.runStart = ops;
    ops[0].fn(s.wave, ops);
  }

  isa::InstRef inst;
  RegSet reads, writes, kills;
  Arena arena;
  Op ops[2];
  bool modelled = false;
  static inline State first, changed, second;
};

isa::Codec& codec() {
  static const std::unique_ptr<isa::Codec> shared = [] {
    object::Target target;
    target.processor = "gfx942";
    return *isa::Codec::create(target);
  }();
  return *shared;
}

/// Runs `inst` on `rounds` states; false if the emulator does not model it.
bool holds(isa::InstRef inst, unsigned rounds, std::string& wrong, unsigned& runs) {
  Subject subject(inst);
  if (!subject.isModelled())
    return false;
  static State start;
  Random random(12345);
  for (unsigned round = 0; round < rounds && wrong.empty(); ++round) {
    randomize(start, random);
    bool ran = false;
    wrong = subject.check(start, random, ran);
    runs += ran;
  }
  return true;
}

TEST(RegisterTruth, InstructionsOfTheVectorFile) {
  std::ifstream file(ASMEVO_SOURCE_DIR "/tests/data/isa_vectors.jsonl");
  std::set<std::string> texts;
  for (std::string line; std::getline(file, line);)
    texts.insert(nlohmann::json::parse(line).at("asm").get<std::string>());
  unsigned checked = 0, runs = 0;
  for (const auto& text : texts) {
    const auto inst = codec().assemble(text);
    ASSERT_TRUE(inst) << text;
    std::string wrong;
    checked += holds(*inst, 4, wrong, runs);
    EXPECT_EQ(wrong, "") << text;
  }
  EXPECT_EQ(checked, texts.size());
  EXPECT_GT(runs, 3 * texts.size());
}

/// One instruction for every opcode and form that a systematic walk over the encodings meets.
std::map<unsigned, isa::InstRef> oneOfEachOpcode(unsigned variants) {
  std::map<unsigned, isa::InstRef> found;
  Random random(1);
  for (unsigned top = 0; top < 0x10000; ++top)
    for (unsigned variant = 0; variant < variants; ++variant) {
      std::array<std::uint32_t, 3> words{};
      for (auto& word : words)
        word = random();
      words[0] = top << 16 | (words[0] & 0xffff);
      if (variant % 3 == 1) // VOP: a VGPR source
        words[0] |= 0x100;
      if (variant % 3 == 2) { // 64-bit forms: even VGPR sources, few modifiers
        words[0] &= 0xffff00fe;
        words[1] = (words[1] & 0x03fdfcfe) | 0x00020100;
      }
      std::array<std::uint8_t, 12> bytes{};
      std::memcpy(bytes.data(), words.data(), bytes.size());
      const isa::InstRef shallow = codec().decodeShallow(bytes);
      if (shallow->cls != InstClass::valu && shallow->cls != InstClass::salu && shallow->cls != InstClass::mfma &&
          shallow->cls != InstClass::lds)
        continue;
      const auto at = found.find(shallow->opcode);
      if (at != found.end())
        continue;
      const isa::InstRef inst = codec().complete(shallow);
      if (inst->text.find("/*") == std::string::npos) // LLVM remarks on operands that are not allowed
        found.emplace(inst->opcode, inst);
    }
  return found;
}

TEST(RegisterTruth, EveryOpcodeThatTheEmulatorModels) {
  std::map<InstClass, unsigned> checked;
  unsigned runs = 0, wrongOnes = 0;
  for (const auto& [opcode, inst] : oneOfEachOpcode(9)) {
    std::string wrong;
    checked[inst->cls] += holds(inst, 3, wrong, runs);
    EXPECT_EQ(wrong, "") << inst->text;
    wrongOnes += !wrong.empty();
  }
  EXPECT_EQ(wrongOnes, 0u);
  EXPECT_GT(checked[InstClass::valu], 600u);
  EXPECT_GT(checked[InstClass::salu], 100u);
  EXPECT_GT(checked[InstClass::mfma], 20u);
  EXPECT_GT(checked[InstClass::lds], 30u);
}

/// The check can fail: a wrong claim about a register is found.
TEST(RegisterTruth, MissingReadsAndWritesAreFound) {
  const isa::InstRef right = *codec().assemble("v_fma_f32 v1, v2, v3, v4");
  const auto verdict = [&](auto&& spoil) {
    isa::Instruction wrong = *right;
    spoil(wrong);
    std::string text;
    unsigned runs = 0;
    holds(&wrong, 4, text, runs);
    return text;
  };
  EXPECT_EQ(verdict([](isa::Instruction&) {}), "");
  const auto drop = [](std::vector<isa::RegRange>& ranges) {
    std::erase_if(ranges, [](const isa::RegRange& range) { return range.file == isa::RegRange::File::vgpr; });
  };
  EXPECT_NE(verdict([&](isa::Instruction& i) { drop(i.readRanges); }), "");
  EXPECT_NE(verdict([&](isa::Instruction& i) { drop(i.writeRanges); }), "");
  EXPECT_NE(verdict([&](isa::Instruction& i) { i.writeRanges.at(0).kills = true; }), "");
}

} // namespace
} // namespace asmevo::emulator::test
