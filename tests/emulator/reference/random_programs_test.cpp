// Random straight-line programs on the emulator's handlers and on the reference interpreter: every register, LDS,
// buffer and scratch byte must be equal at the end. ASMEVO_PROGRAMS sets the number, ASMEVO_SEED the first seed.
#include "emulator/bind.h"
#include "emulator/launch.h"
#include "emulator/reference/random_program.h"
#include "isa/codec.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>

namespace asmevo::emulator::reference {
namespace {

isa::Codec& codec() {
  static const auto owner = [] {
    object::Target target;
    target.processor = "gfx942";
    return isa::Codec::create(target);
  }();
  return **owner;
}

void stopHere(Wave&, const Op*) {}

/// The guest's memory, the same for all runs.
GuestMemory& guestMemory() {
  static GuestMemory memory = [] {
    auto created = GuestMemory::create({{"buffer", 0, memoryBytes, 0}});
    if (!created)
      throw std::runtime_error(created.error().message);
    return *std::move(created);
  }();
  return memory;
}

/// One wave with the state of a Machine.
class Emulated {
 public:
  explicit Emulated(const Machine& from) : from(from), registers(from.v.size()), lds(from.lds), scratch(from.scratch) {
    for (std::size_t r = 0; r < registers.size(); ++r)
      std::copy(from.v[r].begin(), from.v[r].end(), registers[r].lanes);
    wave.vgpr = registers[0].lanes;
    wave.vgprCount = static_cast<std::uint32_t>(registers.size());
    std::copy(from.s.begin(), from.s.end(), wave.sgpr);
    wave.scc = from.scc;
    wave.mode = from.mode;
    wave.lds = lds.data();
    wave.ldsBytes = static_cast<std::uint32_t>(lds.size());
    wave.memory = &guestMemory();
    wave.scratch = scratch.data();
    wave.scratchPerLane = from.scratchPerLane;
    const auto bytes = guestMemory().contents(guestMemory().regions()[0]);
    std::copy(from.memory.begin(), from.memory.end(), bytes.begin());
  }

  /// Empty, or why the instructions did not run to their end.
  std::string run(std::span<const isa::InstRef> program, SimdLevel level) {
    Arena arena;
    BindContext context;
    context.accumOffset = from.accumOffset;
    context.simd = level;
    context.arena = &arena;
    std::vector<Op> ops(program.size() + 1);
    for (std::size_t i = 0; i < program.size(); ++i) {
      if (const Status bound = bindInstruction(*program[i], context, ops[i]); !bound)
        return bound.error().message;
      ops[i].inst = program[i];
    }
    ops.back().fn = stopHere;
    wave.runStart = ops.data();
    ops[0].fn(wave, ops.data());
    return wave.stop == Stop::running ? "" : wave.faultMessage;
  }

  /// Empty, or the first place where the two states differ.
  std::string difference(const Machine& want) const {
    for (unsigned i = 0; i < want.s.size(); ++i)
      if (wave.sgpr[i] != want.s[i])
        return fmt::format("s{} is {:#x}, the reference has {:#x}", i, wave.sgpr[i], want.s[i]);
    if (wave.scc != want.scc)
      return fmt::format("scc is {}, the reference has {}", wave.scc, want.scc);
    for (std::size_t r = 0; r < registers.size(); ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        if (registers[r].lanes[lane] != want.v[r][lane])
          return fmt::format("v{}[{}] is {:#x}, the reference has {:#x}, before {:#x}", r, lane,
                             registers[r].lanes[lane], want.v[r][lane], from.v[r][lane]);
    const auto bytes = guestMemory().contents(guestMemory().regions()[0]);
    const auto compare = [](const char* what, const auto& got, const auto& wanted) -> std::string {
      for (std::size_t i = 0; i < wanted.size(); i += 4)
        if (std::memcmp(&got[i], &wanted[i], 4) != 0) {
          std::uint32_t g = 0, w = 0;
          std::memcpy(&g, &got[i], 4);
          std::memcpy(&w, &wanted[i], 4);
          return fmt::format("the dword of {} at {:#x} is {:#x}, the reference has {:#x}", what, i, g, w);
        }
      return "";
    };
    std::string where = compare("LDS", lds, want.lds);
    if (where.empty())
      where = compare("memory", bytes, want.memory);
    return where.empty() ? compare("scratch", scratch, want.scratch) : where;
  }

 private:
  struct alignas(64) Lanes {
    std::uint32_t lanes[64];
  };
  const Machine& from;
  std::vector<Lanes> registers;
  std::vector<std::uint8_t> lds, scratch;
  Wave wave;
};

/// Runs single instructions until one differs, and describes it.
std::string firstDifference(const RandomProgram& program, const std::vector<isa::InstRef>& instructions,
                            SimdLevel level) {
  Machine m = program.start;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Machine before = m;
    if (!step(m, *instructions[i]))
      return fmt::format("'{}': the reference does not know it", program.lines[i]);
    Emulated emulated(before);
    const std::string stopped = emulated.run(std::span(&instructions[i], 1), level);
    const std::string where = stopped.empty() ? emulated.difference(m) : stopped;
    if (!where.empty())
      return fmt::format("'{}' (instruction {}, MODE {:#x}, EXEC {:#x}): {}", program.lines[i], i, before.mode,
                         before.exec(), where);
  }
  return "only the whole program differs";
}

std::uint64_t numberFrom(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(RandomPrograms, EqualTheReferenceInterpreter) {
  const std::uint64_t first = numberFrom("ASMEVO_SEED", 1), count = numberFrom("ASMEVO_PROGRAMS", 400);
  unsigned reported = 0;
  std::map<std::string, unsigned> instructionsOf;
  for (std::uint64_t seed = first; seed < first + count && reported < 20; ++seed) {
    const RandomProgram program = randomProgram(seed, guestMemory().regions()[0].address);
    std::vector<isa::InstRef> instructions;
    for (std::size_t i = 0; i < program.lines.size(); ++i) {
      const auto inst = codec().assemble(program.lines[i]);
      ASSERT_TRUE(inst) << program.lines[i] << ": " << inst.error().message;
      instructions.push_back(*inst);
      ++instructionsOf[className(program.classes[i])];
    }
    Machine m = program.start;
    bool known = true;
    for (const isa::InstRef inst : instructions)
      known = known && step(m, *inst);
    for (const SimdLevel level : hostSimdLevels()) {
      Emulated emulated(program.start);
      const std::string stopped = emulated.run(instructions, level);
      if (known && stopped.empty() && emulated.difference(m).empty())
        continue;
      ++reported;
      ADD_FAILURE() << "seed " << seed << ", " << atLevel<const char*>(level, "scalar", "avx2", "avx512") << ": "
                    << firstDifference(program, instructions, level);
    }
  }
  for (const auto& [name, instructions] : instructionsOf)
    RecordProperty(name, static_cast<int>(instructions));
  EXPECT_TRUE(count < 100 || instructionsOf.size() == classCount);
}

/// Each template on its own, so that no opcode goes untested for want of luck.
TEST(RandomPrograms, EveryTemplateIsDrawnAndKnown) {
  std::set<std::string> missing;
  for (const std::string& name : templateMnemonics())
    missing.insert(name);
  const std::size_t all = missing.size();
  EXPECT_GT(all, 700u);
  for (std::uint64_t seed = 1; seed <= 400; ++seed)
    for (const std::string& line : randomProgram(seed, guestMemory().regions()[0].address).lines)
      missing.erase(line.substr(0, line.find(' ')));
  EXPECT_LT(missing.size(), all / 50) << *missing.begin();
}

/// The oracle itself, on values that the manual states.
TEST(RandomPrograms, TheReferenceComputesWhatTheManualSays) {
  Machine m;
  m.v.resize(8);
  m.setPair(Machine::execLo, 1);
  const auto run = [&](const char* text) {
    const auto inst = codec().assemble(text);
    ASSERT_TRUE(inst) << text;
    ASSERT_TRUE(step(m, **inst)) << text;
  };
  m.v[1][0] = 0x3f800000; // 1
  m.v[2][0] = 0x33800000; // 2^-24: half an ulp of 1
  run("v_add_f32_e32 v3, v1, v2");
  EXPECT_EQ(m.v[3][0], 0x3f800000u); // ties to even
  m.mode = 0x3f1;
  run("v_add_f32_e32 v3, v1, v2");
  EXPECT_EQ(m.v[3][0], 0x3f800001u); // up
  m.mode = 0x3f0;
  m.v[1][0] = 0xffff8000;
  run("v_bfe_i32 v3, v1, 12, 8");
  EXPECT_EQ(m.v[3][0], 0xfffffff8u); // sign of bit 19
  m.v[1][0] = 0x12345678;
  m.v[2][0] = 0x9abcdef0;
  m.s[20] = 0x0c0d0407;
  run("v_perm_b32 v3, v1, v2, s20");
  EXPECT_EQ(m.v[3][0], 0x00ff7812u);
  m.s[20] = 0x80000000;
  run("s_sub_i32 s21, s20, 1");
  EXPECT_EQ(m.s[21], 0x7fffffffu);
  EXPECT_EQ(m.scc, 1u);
  for (unsigned lane = 0; lane < 64; ++lane)
    m.v[4][lane] = lane;
  m.setPair(Machine::execLo, ~std::uint64_t{0});
  run("v_mov_b32_dpp v5, v4 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0");
  EXPECT_EQ(m.v[5][0], 0u);
  EXPECT_EQ(m.v[5][17], 16u);
}

} // namespace
} // namespace asmevo::emulator::reference
