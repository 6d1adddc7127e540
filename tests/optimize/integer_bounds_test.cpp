// Bounds against what host arithmetic computes from values inside the operands' bounds.
#include "optimize/integer_bounds.h"

#include "dispatch/random.h"
#include "isa/codec.h"

#include <gtest/gtest.h>

#include <functional>

namespace asmevo::optimize {
namespace {

using Host = std::function<std::uint32_t(std::uint32_t, std::uint32_t, std::uint32_t)>;

/// An instruction that computes v4 of v1, v2 and v3.
struct Row {
  std::string text;
  Host host;
};

const std::vector<Row>& rows() {
  using u32 = std::uint32_t;
  const auto low24 = [](u32 v) { return v & 0xffffff; };
  static const std::vector<Row> table = {
      {"v_mov_b32_e32 v4, v1", [](u32 a, u32, u32) { return a; }},
      {"v_and_b32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return a & b; }},
      {"v_or_b32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return a | b; }},
      {"v_xor_b32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return a ^ b; }},
      {"v_add_u32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return a + b; }},
      {"v_sub_u32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return a - b; }},
      {"v_subrev_u32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return b - a; }},
      {"v_lshlrev_b32_e32 v4, 3, v2", [](u32, u32 b, u32) { return b << 3; }},
      {"v_lshlrev_b32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return b << (a & 31); }},
      {"v_lshrrev_b32_e32 v4, 5, v2", [](u32, u32 b, u32) { return b >> 5; }},
      {"v_lshrrev_b32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return b >> (a & 31); }},
      {"v_mul_u32_u24_e32 v4, v1, v2", [=](u32 a, u32 b, u32) { return low24(a) * low24(b); }},
      {"v_mul_lo_u32 v4, v1, v2", [](u32 a, u32 b, u32) { return a * b; }},
      {"v_min_u32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return std::min(a, b); }},
      {"v_max_u32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return std::max(a, b); }},
      {"v_min_i32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(std::min(std::int32_t(a), std::int32_t(b))); }},
      {"v_max_i32_e32 v4, v1, v2", [](u32 a, u32 b, u32) { return u32(std::max(std::int32_t(a), std::int32_t(b))); }},
      {"v_and_or_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (a & b) | c; }},
      {"v_lshl_add_u32 v4, v1, 4, v3", [](u32 a, u32, u32 c) { return (a << 4) + c; }},
      {"v_add_lshl_u32 v4, v1, v2, 2", [](u32 a, u32 b, u32) { return (a + b) << 2; }},
      {"v_lshl_or_b32 v4, v1, 7, v3", [](u32 a, u32, u32 c) { return a << 7 | c; }},
      {"v_or3_b32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return a | b | c; }},
      {"v_add3_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return a + b + c; }},
      {"v_xad_u32 v4, v1, v2, v3", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }},
      {"v_bfe_u32 v4, v1, 4, 6", [](u32 a, u32, u32) { return a >> 4 & 63; }},
      {"v_mad_u32_u24 v4, v1, v2, v3", [=](u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }},
      {"v_cndmask_b32_e32 v4, v1, v2, vcc", [](u32 a, u32 b, u32 c) { return c & 1 ? b : a; }},
  };
  return table;
}

class IntegerBounds : public testing::Test {
 protected:
  IntegerBounds() {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    codec = *isa::Codec::create(target);
  }
  isa::InstRef instruction(const std::string& text) {
    auto inst = codec->assemble(text);
    EXPECT_TRUE(inst) << text;
    return codec->complete(*inst);
  }
  std::unique_ptr<isa::Codec> codec;
};

/// A few values and bounds that hold them all, of every magnitude.
struct Values {
  Values(dispatch::SplitMix64& random) {
    const std::uint64_t kind = random.next();
    const auto mask = static_cast<std::uint32_t>(0xffffffffull >> (kind >> 8) % 32) & ~((1u << (kind >> 16) % 6) - 1);
    const auto base = kind & 1 ? static_cast<std::uint32_t>(random.next()) >> (kind >> 24) % 32 : 0;
    for (auto& value : list) {
      value = (static_cast<std::uint32_t>(random.next()) & mask) | base;
      bounds = &value == &list[0] ? Bounds::constant(value) : bounds.joined(Bounds::constant(value));
    }
  }
  std::array<std::uint32_t, 4> list{};
  Bounds bounds;
};

bool holds(const Bounds& bounds, std::uint32_t value) {
  return value >= bounds.min && value <= bounds.max && (value & ~bounds.bits) == 0;
}

TEST_F(IntegerBounds, HoldWhatTheHostComputes) {
  dispatch::SplitMix64 random(7);
  for (const Row& row : rows()) {
    const isa::InstRef inst = instruction(row.text);
    std::size_t bounded = 0;
    for (unsigned round = 0; round < 2000; ++round) {
      const Values a(random), b(random), c(random);
      RegisterBounds registers;
      registers.set(isa::vgprUnit(1), a.bounds);
      registers.set(isa::vgprUnit(2), b.bounds);
      registers.set(isa::vgprUnit(3), c.bounds);
      registers.step(*inst, 256, true);
      const Bounds& result = registers[isa::vgprUnit(4)];
      bounded += result.isBounded();
      for (const std::uint32_t x : a.list)
        for (const std::uint32_t y : b.list)
          for (const std::uint32_t z : c.list) {
            const std::uint32_t value = row.host(x, y, z);
            ASSERT_TRUE(holds(result, value)) << row.text << ": " << x << ", " << y << ", " << z << " give " << value
                                              << ", said to be " << result.min << " to " << result.max;
          }
    }
    EXPECT_GT(bounded, 100u) << row.text << " is never bounded";
  }
}

TEST_F(IntegerBounds, ScalarFormsToo) {
  const auto of = [&](const std::string& text, Bounds a, Bounds b) {
    RegisterBounds registers;
    registers.set(1, a);
    registers.set(2, b);
    registers.step(*instruction(text), 256, true);
    return registers[4];
  };
  const Bounds three = Bounds::constant(3), upTo7 = Bounds::upTo(7);
  EXPECT_EQ(of("s_mul_i32 s4, s1, s2", three, upTo7).max, 21u);
  EXPECT_EQ(of("s_lshl2_add_u32 s4, s1, s2", three, upTo7).max, 19u);
  EXPECT_EQ(of("s_lshl2_add_u32 s4, s1, s2", three, upTo7).min, 12u);
  EXPECT_EQ(of("s_bfe_u32 s4, s1, 0x30002", Bounds::upTo(255), upTo7).max, 7u); // three bits from bit 2
  EXPECT_EQ(of("s_cselect_b32 s4, s1, s2", three, upTo7), (Bounds{0, 7, 7}));
  EXPECT_EQ(of("s_sub_u32 s4, s2, s1", Bounds::upTo(2), Bounds{4, 6, 7}), (Bounds{2, 6, 7}));
  EXPECT_FALSE(of("s_sub_u32 s4, s1, s2", three, upTo7).isBounded());
  EXPECT_FALSE(of("s_movk_i32 s4, 0x8000", three, upTo7).isBounded());
}

TEST_F(IntegerBounds, LanesThatAreOffKeepTheirValues) {
  RegisterBounds registers;
  registers.set(isa::vgprUnit(4), Bounds::constant(100));
  registers.step(*instruction("v_mov_b32_e32 v4, 7"), 256, false);
  EXPECT_EQ(registers[isa::vgprUnit(4)], (Bounds{7, 100, 103}));
  registers.step(*instruction("v_readfirstlane_b32 s4, v4"), 256, false);
  EXPECT_EQ(registers[4], (Bounds{7, 100, 103}));
}

TEST_F(IntegerBounds, ModifiersAndForeignWritesAreAnything) {
  for (const char* text : {"v_add_u32_sdwa v4, v1, v2 dst_sel:BYTE_1 src0_sel:DWORD src1_sel:DWORD",
                           "v_mov_b32_dpp v4, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf",
                           "global_load_dword v4, v[2:3], off", "v_mul_f32_e32 v4, v1, v2"}) {
    RegisterBounds registers;
    for (unsigned v = 1; v <= 4; ++v)
      registers.set(isa::vgprUnit(v), Bounds::constant(1));
    registers.step(*instruction(text), 256, true);
    EXPECT_FALSE(registers[isa::vgprUnit(4)].isBounded()) << text;
  }
}

TEST_F(IntegerBounds, JoinsOfAGrowingBoundEnd) {
  RegisterBounds at;
  unsigned joins = 0;
  for (std::uint32_t value = 3;; value = 2 * value + 1) {
    RegisterBounds next;
    next.set(isa::vgprUnit(4), Bounds::constant(value));
    if (!at.join(next))
      break;
    ASSERT_LT(++joins, 64u);
  }
  EXPECT_TRUE(holds(at[isa::vgprUnit(4)], 0xffffffff));
}

} // namespace
} // namespace asmevo::optimize
