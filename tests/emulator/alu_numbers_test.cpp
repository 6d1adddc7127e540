// Numbers against the host's long double and exact integers, and the two host levels against each other.
#include "emulator/alu/alu_internal.h"
#include "emulator/alu_support.h"
#include "isa/semantics/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

namespace asmevo::emulator {
namespace {

/// Fixed-seed SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state;
};

/// Largest count of f32 results that are not the correctly rounded long double result, over 64 * `rounds` inputs.
unsigned misrounded(AluRig& rig, const std::string& line, const std::function<float(Random&)>& input,
                    const std::function<long double(long double)>& exact, unsigned rounds) {
  Random random(7);
  unsigned wrong = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    for (unsigned lane = 0; lane < 64; ++lane)
      rig.v(2, lane) = std::bit_cast<std::uint32_t>(input(random));
    rig.run(line);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float expected = static_cast<float>(exact(static_cast<long double>(rig.asFloat(2, lane))));
      const float flushed = std::fpclassify(expected) == FP_SUBNORMAL ? std::copysign(0.0f, expected) : expected;
      wrong += rig.asFloat(1, lane) != flushed;
    }
  }
  return wrong;
}

TEST(AluNumbers, TranscendentalsAreCorrectlyRounded) {
  for (const SimdLevel level : hostSimdLevels()) {
    AluRig rig(level);
    const auto wide = [](Random& r) { return static_cast<float>(r.uniform(-126, 127)); };
    const auto positive = [](Random& r) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(0x00800000 + r.next() % 0x7f000000));
    };
    const auto nearOne = [](Random& r) { return static_cast<float>(r.uniform(0.9, 1.1)); };
    const auto turns = [](Random& r) { return static_cast<float>(r.uniform(-4, 4)); };
    const long double tau = 2 * acosl(-1.0L);
    EXPECT_EQ(misrounded(rig, "v_exp_f32_e32 v1, v2", wide, [](long double x) { return exp2l(x); }, 200), 0u);
    EXPECT_EQ(misrounded(rig, "v_log_f32_e32 v1, v2", positive, [](long double x) { return log2l(x); }, 200), 0u);
    EXPECT_EQ(misrounded(rig, "v_log_f32_e32 v1, v2", nearOne, [](long double x) { return log2l(x); }, 200), 0u);
    EXPECT_EQ(misrounded(rig, "v_rcp_f32_e32 v1, v2", positive, [](long double x) { return 1 / x; }, 200), 0u);
    EXPECT_EQ(misrounded(rig, "v_rsq_f32_e32 v1, v2", positive, [](long double x) { return 1 / sqrtl(x); }, 200), 0u);
    EXPECT_EQ(misrounded(rig, "v_sqrt_f32_e32 v1, v2", positive, [](long double x) { return sqrtl(x); }, 200), 0u);
    // Reduced exactly first: the argument in revolutions has no rounding of its own.
    EXPECT_EQ(misrounded(
                  rig, "v_sin_f32_e32 v1, v2", turns, [&](long double x) { return sinl(tau * (x - roundl(x))); }, 200),
              0u);
    EXPECT_EQ(misrounded(
                  rig, "v_cos_f32_e32 v1, v2", turns, [&](long double x) { return cosl(tau * (x - roundl(x))); }, 200),
              0u);
  }
}

/// The value of a half; infinities and NaNs give NaN.
long double halfValue(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const long double fraction = bits & 0x3ff;
  const long double magnitude = exponent == 31  ? NAN
                                : exponent == 0 ? ldexpl(fraction, -24)
                                                : ldexpl(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}
/// The half nearest to x, ties to even.
long double nearestHalf(long double x) {
  if (x == 0)
    return x;
  const int unit = std::max(ilogbl(x), -14) - 10;
  return ldexpl(nearbyintl(ldexpl(x, -unit)), unit);
}

TEST(AluNumbers, HalfTranscendentalsAreCorrectlyRoundedEverywhere) {
  const long double tau = 2 * acosl(-1.0L);
  struct Function {
    const char* opcode;
    std::function<long double(long double)> exact;
  };
  // Quarter turns are reduced exactly: sine and cosine are 0 and 1 there to the bit.
  const auto turn = [&](long double x, int quarters) {
    if (!std::isfinite(x))
      return std::numeric_limits<long double>::quiet_NaN();
    const long double r = x - roundl(x), quarter = roundl(r * 4);
    const long double y = tau * (r - quarter / 4);
    const int k = (static_cast<int>(quarter) + quarters) & 3;
    const long double v = k & 1 ? cosl(y) : sinl(y);
    return k & 2 ? -v : v;
  };
  const Function functions[] = {{"v_exp_f16", [](long double x) { return exp2l(x); }},
                                {"v_log_f16", [](long double x) { return log2l(x); }},
                                {"v_rcp_f16", [](long double x) { return 1 / x; }},
                                {"v_rsq_f16", [](long double x) { return 1 / sqrtl(x); }},
                                {"v_sqrt_f16", [](long double x) { return sqrtl(x); }},
                                {"v_sin_f16", [&](long double x) { return turn(x, 0); }},
                                {"v_cos_f16", [&](long double x) { return turn(x, 1); }}};
  for (const SimdLevel level : hostSimdLevels()) {
    AluRig rig(level);
    for (const Function& function : functions)
      for (std::uint32_t first = 0; first < 0x10000; first += 64) {
        for (unsigned lane = 0; lane < 64; ++lane)
          rig.v(2, lane) = first + lane;
        rig.run(std::string(function.opcode) + "_e32 v1, v2");
        for (unsigned lane = 0; lane < 64; ++lane) {
          const long double x = halfValue(first + lane), want = nearestHalf(function.exact(x));
          if (std::isfinite(x) && std::isfinite(want) && fabsl(want) <= 65504)
            ASSERT_EQ(halfValue(rig.v(1, lane)), want) << function.opcode << " of " << std::hex << first + lane;
        }
      }
  }
}

/// A half as an integer multiple of 2^-24.
__int128 halfFixed(std::uint32_t bits) {
  const unsigned field = bits >> 10 & 31;
  const __int128 magnitude = field ? static_cast<__int128>((bits & 0x3ff) | 0x400) << (field - 1) : bits & 0x3ff;
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Nearest-even half of an integer multiple of 2^-48; `negativeZero` is the sign of an exact zero.
std::uint32_t halfOf(__int128 value, bool negativeZero) {
  if (value == 0)
    return negativeZero ? 0x8000 : 0;
  const std::uint32_t sign = value < 0 ? 0x8000 : 0;
  unsigned __int128 m = static_cast<unsigned __int128>(value < 0 ? -value : value);
  int top = 127;
  while (!(m >> top & 1))
    --top;
  const int lsb = std::max(top - 10, 24); // 2^-24 is the last bit of a half
  const unsigned __int128 kept = m >> lsb, rest = m - (kept << lsb),
                          half = static_cast<unsigned __int128>(1) << (lsb - 1);
  const unsigned __int128 rounded = kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  const auto bits =
      static_cast<std::uint32_t>(static_cast<std::uint64_t>(rounded)) + (static_cast<std::uint32_t>(lsb - 24) << 10);
  return sign | std::min(bits, 0x7c00u);
}

TEST(AluNumbers, HalfFmaRoundsOnce) {
  for (const SimdLevel level : hostSimdLevels()) {
    AluRig rig(level);
    Random random(11);
    for (unsigned round = 0; round < 400; ++round) {
      for (unsigned lane = 0; lane < 64; ++lane)
        for (const unsigned reg : {2u, 3u, 4u}) {
          std::uint32_t bits = static_cast<std::uint32_t>(random.next()) & 0xffff;
          if ((bits & 0x7c00) == 0x7c00)
            bits &= 0x83ff; // finite
          rig.v(reg, lane) = bits;
        }
      rig.setAll(1, 0);
      rig.run("v_fma_f16 v1, v2, v3, v4");
      for (unsigned lane = 0; lane < 64; ++lane) {
        const std::uint32_t a = rig.v(2, lane), b = rig.v(3, lane), c = rig.v(4, lane);
        const __int128 product = halfFixed(a) * halfFixed(b);
        const bool bothNegative = ((a ^ b) & 0x8000) && (c & 0x8000);
        EXPECT_EQ(rig.v(1, lane), halfOf(product + (halfFixed(c) << 24), bothNegative))
            << std::hex << a << " * " << b << " + " << c;
      }
    }
  }
}

TEST(AluNumbers, IntegerProductsAndFields) {
  for (const SimdLevel level : hostSimdLevels()) {
    AluRig rig(level);
    Random random(13);
    for (unsigned round = 0; round < 50; ++round) {
      for (unsigned reg = 2; reg < 8; ++reg)
        for (unsigned lane = 0; lane < 64; ++lane)
          rig.v(reg, lane) = static_cast<std::uint32_t>(random.next() >> (random.next() % 48));
      rig.run({"v_mad_u64_u32 v[10:11], s[4:5], v2, v3, v[4:5]", "v_mul_hi_i32 v12, v2, v3",
               "v_alignbit_b32 v13, v2, v3, v6", "v_bcnt_u32_b32 v14, v2, v3",
               "v_lshl_add_u64 v[16:17], v[4:5], 3, v[6:7]"});
      for (unsigned lane = 0; lane < 64; ++lane) {
        const std::uint64_t a = rig.v(2, lane), b = rig.v(3, lane),
                            c = rig.v(4, lane) | std::uint64_t{rig.v(5, lane)} << 32;
        const unsigned __int128 sum = static_cast<unsigned __int128>(a * b) + c;
        EXPECT_EQ(rig.v(10, lane) | std::uint64_t{rig.v(11, lane)} << 32, static_cast<std::uint64_t>(sum));
        EXPECT_EQ(rig.wave.pair(4) >> lane & 1, static_cast<std::uint64_t>(sum >> 64));
        const std::int64_t product = std::int64_t{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b);
        EXPECT_EQ(rig.v(12, lane), static_cast<std::uint32_t>(product >> 32));
        EXPECT_EQ(rig.v(13, lane), static_cast<std::uint32_t>((a << 32 | b) >> (rig.v(6, lane) & 31)));
        EXPECT_EQ(rig.v(14, lane), static_cast<std::uint32_t>(std::popcount(a) + static_cast<int>(b)));
        EXPECT_EQ(rig.v(16, lane) | std::uint64_t{rig.v(17, lane)} << 32,
                  (c << 3) + (rig.v(6, lane) | std::uint64_t{rig.v(7, lane)} << 32));
      }
    }
  }
}

struct alignas(64) CoreBuffers {
  std::uint32_t src[4][4][64];
  std::uint32_t dst[4][64];
};

/// Bit patterns that floating point treats specially, and random ones.
std::uint32_t pattern(Random& random) {
  constexpr std::uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                       0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                       0x7f800001, 0xffc12345, 0x7ff00000, 0x7ff80000, 0xfff00000, 0x00007c00,
                                       0x7e017c01, 0x03ff0400, 0xfc00fe00};
  const std::uint64_t r = random.next();
  return r % 3 == 0 ? special[(r >> 8) % std::size(special)] : static_cast<std::uint32_t>(r >> 16);
}

TEST(AluNumbers, HostLevelsAgreeBitForBit) {
  const std::vector<SimdLevel> levels = hostSimdLevels();
  ASSERT_GE(levels.size(), 2u) << "the tests need AVX2";
  auto buffers = std::make_unique<std::array<CoreBuffers, 3>>();
  unsigned opcodes = 0;
  for (const auto& row : isa::semantics::opcodeTable()) {
    if (row.scalar)
      continue;
    Random random(17);
    ++opcodes;
    for (const std::uint32_t mode : {0x3f0u, 0xc0u, 0x2d0u}) {
      CoreBuffers& first = (*buffers)[0];
      for (auto& source : first.src)
        for (auto& dword : source)
          for (std::uint32_t& lane : dword)
            lane = pattern(random);
      (*buffers)[1] = (*buffers)[2] = first;
      std::uint64_t masks[3] = {};
      for (std::size_t k = 0; k < levels.size(); ++k) {
        const CoreEntry* entry = findCore(row.mnemonic, levels[k]);
        ASSERT_TRUE(entry) << row.mnemonic;
        CoreBuffers& b = (*buffers)[k];
        CoreArgs args;
        for (unsigned i = 0; i < 4; ++i) {
          args.src[i].step = 16;
          for (unsigned dword = 0; dword < 4; ++dword)
            args.src[i].dword[dword] = b.src[i][dword];
          args.dst[i] = b.dst[i];
        }
        args.maskIn = 0x123456789abcdef0;
        entry->core(args, ModeState::of(mode));
        masks[k] = args.maskOut;
      }
      const unsigned dwords = row.signature.dst == isa::semantics::OperandType::mask
                                  ? 0
                                  : isa::semantics::typeInfo(row.signature.dst).dwords;
      for (std::size_t k = 1; k < levels.size(); ++k) {
        EXPECT_EQ(masks[0], masks[k]) << row.mnemonic;
        for (unsigned d = 0; d < dwords; ++d)
          for (unsigned lane = 0; lane < 64; ++lane)
            ASSERT_EQ((*buffers)[0].dst[d][lane], (*buffers)[k].dst[d][lane])
                << row.mnemonic << " lane " << lane << " of " << std::hex << first.src[0][0][lane] << " "
                << first.src[1][0][lane] << " " << first.src[2][0][lane] << " mode " << mode << " "
                << levelName(levels[k]);
      }
    }
  }
  EXPECT_GT(opcodes, 450u);
}

} // namespace
} // namespace asmevo::emulator
