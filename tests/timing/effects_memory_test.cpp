// What vector memory costs, against published measurements (facts: cdna3.md sections 1.6 and 5). One CU is replayed
// with the others of the chip as load.
#include "timing_support.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace asmevo::timing::fixture {
namespace {

constexpr std::uint64_t base = 0x10'0000'0000;
constexpr double cus = 304, xcds = 8, cusPerXcd = 38, clockHz = 2.1e9; // MI300X
constexpr double kilobyte = 1024, megabyte = 1024 * kilobyte;

/// All CUs of MI300X do the same.
ChipLoad everyCu(double footprintBytes, bool inMall = false) {
  ChipLoad load;
  load.activeCusPerXcd = cusPerXcd;
  load.activeXcds = xcds;
  load.workShare = 1 / cus;
  load.workShareOfXcd = 1 / cusPerXcd;
  load.footprintBytes = footprintBytes;
  load.warmMall = inMall;
  return load;
}

using WaveOf = std::function<emulator::WaveTrace(unsigned wave)>;

/// A workgroup; with `twice` followed by another one of the same XCD, which does the same to the same data.
CuResult run(const Program& program, unsigned waves, const WaveOf& waveOf, const ChipLoad& load = {},
             bool twice = false) {
  std::vector<emulator::WorkgroupTrace> groups(twice ? 2 : 1);
  for (emulator::WorkgroupTrace& group : groups) {
    group.index = groups.size() == 2 && &group == &groups.back() ? 8 : 0;
    for (unsigned i = 0; i < waves; ++i)
      group.waves.push_back(waveOf(i));
  }
  const auto result = replay(chip(), program.code(), 0, groups, 1, load);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return result->result;
}

/// Bytes per second of the whole chip when every CU moves `bytes` as in `run`.
double chipRate(const CuResult& run, double bytes) {
  return bytes * cus / (static_cast<double>(run.end) / clockHz);
}

/// A dwordx4 load of 64 consecutive lanes, waited for in groups.
const Program& streaming() {
  static const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)"});
  return program;
}

/// `loads` loads of 1 KB per wave, of a buffer of `bytes` per CU, `depth` in flight.
CuResult stream(unsigned waves, unsigned loads, unsigned depth, double bytes, const ChipLoad& load) {
  const auto blocks = static_cast<std::uint64_t>(bytes / kilobyte);
  return run(
      streaming(), waves,
      [&](unsigned wave) {
        WaveBuilder b(streaming());
        for (std::uint64_t i = 0; i < loads; ++i) {
          b.step(0).global(base + (i * waves + wave) % blocks * 1024, 16);
          if (i % depth == depth - 1)
            b.step(1);
        }
        return b.step(1).step(2).trace;
      },
      load);
}

/// Clk per load of one wave that chases pointers through `bytes`, one line of 128 bytes after the other.
double chase(double bytes, const ChipLoad& load) {
  const Program program({"global_load_dword v0, v0, s[0:1]", "s_waitcnt vmcnt(0)"});
  const auto lines = static_cast<std::uint64_t>(bytes / 128);
  constexpr std::uint64_t most = 12000;
  const std::uint64_t steps = std::min(2 * lines, most);
  const CuResult result = run(
      program, 1,
      [&](unsigned) {
        WaveBuilder b(program);
        // An odd step visits every line of a power of two once per round, pages in no order.
        for (std::uint64_t i = 0; i < steps; ++i)
          b.step(0).strided(base + i * 0x9e3779b1 % lines * 128, 4, 0).step(1);
        return b.step(2).trace;
      },
      load);
  return static_cast<double>(result.end) / static_cast<double>(steps);
}

TEST(MemoryLevels, LatencyOfAPointerChase) {
  // RRZE gpu-benches, MI300X: 116-120, 212-214, 455 (about 500 beyond the TLB's 64 MB), 865-890 clk.
  ChipLoad alone;
  alone.footprintBytes = 16 * kilobyte;
  const Program program({"global_load_dword v0, v0, s[0:1]", "s_waitcnt vmcnt(0)"});
  const auto warm = [&](double bytes, unsigned rounds, ChipLoad load) {
    const auto lines = static_cast<std::uint64_t>(bytes / 128);
    const auto clk = [&](unsigned count) {
      return static_cast<double>(run(
                                     program, 1,
                                     [&](unsigned) {
                                       WaveBuilder b(program);
                                       for (std::uint64_t i = 0; i < count * lines; ++i)
                                         b.step(0).strided(base + i * 0x9e3779b1 % lines * 128, 4, 0).step(1);
                                       return b.step(2).trace;
                                     },
                                     load)
                                     .end);
    };
    return (clk(rounds) - clk(1)) / static_cast<double>((rounds - 1) * lines);
  };
  EXPECT_NEAR(warm(16 * kilobyte, 9, alone), 118, 12);
  EXPECT_NEAR(warm(512 * kilobyte, 3, alone), 213, 15);
  ChipLoad mall;
  mall.warmMall = true;
  mall.footprintBytes = 32 * megabyte;
  EXPECT_NEAR(chase(32 * megabyte, mall), 455, 20);
  mall.footprintBytes = 128 * megabyte;
  EXPECT_NEAR(chase(128 * megabyte, mall), 513, 14) << "500-527 with TLB misses";
  ChipLoad memory;
  memory.footprintBytes = 1024 * megabyte;
  EXPECT_NEAR(chase(1024 * megabyte, memory), 877, 25);
}

TEST(MemoryLevels, Bandwidth) {
  // RRZE gpu-benches, MI300X: L1 60.8 B/clk per CU, L2 27-28.5 TB/s, Infinity Cache 5.4-5.8 TB/s.
  const double l1 = chipRate(stream(16, 200, 4, 16 * kilobyte, everyCu(megabyte)), 16 * 200 * kilobyte);
  EXPECT_NEAR(l1 / cus / clockHz, 60.8, 6);
  const double l2 = chipRate(stream(16, 400, 8, 80 * kilobyte, everyCu(25 * megabyte)), 16 * 400 * kilobyte);
  EXPECT_NEAR(l2 / 1e12, 27.5, 3);
  const double mall = chipRate(stream(16, 60, 4, 8 * megabyte, everyCu(200 * megabyte, true)), 16 * 60 * kilobyte);
  EXPECT_NEAR(mall / 1e12, 5.6, 0.4);
}

TEST(MemoryLevels, LoadsInFlight) {
  // fleet-mi300x: 304 workgroups of 256 threads, 1 to 16 loads in flight per wave.
  constexpr std::pair<unsigned, double> measured[] = {{1, 2.59}, {2, 3.40},  {4, 3.74},
                                                      {8, 4.24}, {12, 4.17}, {16, 4.15}};
  for (const auto& [depth, rate] : measured) {
    constexpr unsigned loads = 480;
    const double modelled =
        chipRate(stream(4, loads, depth, 1024 * megabyte, everyCu(1e9)), 4 * loads * kilobyte) / 1e12;
    EXPECT_NEAR(modelled / rate, 1, 0.08) << depth << " in flight: " << modelled << " TB/s";
  }
}

TEST(MemoryLevels, InfinityCacheHoldsWhatFits) {
  // Data read twice by the dispatch: what fits the Infinity Cache comes from there the second time.
  const auto hbmShare = [](double bytesPerCu) {
    const auto blocks = static_cast<unsigned>(bytesPerCu / kilobyte / 4);
    const CuResult result = stream(4, 2 * blocks, 4, bytesPerCu, everyCu(bytesPerCu * cus));
    return result.traffic.hbmBytes / (result.traffic.hbmBytes + result.traffic.mallBytes);
  };
  EXPECT_NEAR(hbmShare(768 * kilobyte), 0.5, 0.02) << "228 MB";
  EXPECT_NEAR(hbmShare(1024 * kilobyte), 1, 0.02) << "304 MB";
}

TEST(Coalescing, LaneStride) {
  // 64 lanes, dword each, 1, 2, 16 and 64 dwords apart: as many times the lines, and look-ups one lane at a time.
  const Program program({"global_load_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)"});
  const auto clk = [&](unsigned strideDwords, const ChipLoad& load) {
    return static_cast<double>(run(
                                   program, 16,
                                   [&](unsigned wave) {
                                     WaveBuilder b(program);
                                     for (std::uint64_t i = 0; i < 40; ++i) {
                                       b.step(0).strided(base + (i * 16 + wave) * 256 * strideDwords, 4,
                                                         4 * strideDwords);
                                       if (i % 4 == 3)
                                         b.step(1);
                                     }
                                     return b.step(2).trace;
                                   },
                                   load)
                                   .end);
  };
  const ChipLoad load = everyCu(1e9);
  const double one = clk(1, load), two = clk(2, load), sixteen = clk(16, load), sixtyFour = clk(64, load);
  EXPECT_NEAR(two / one, 2, 0.5) << "half of every line unused";
  EXPECT_NEAR(sixteen / one, 16, 3) << "two of a line's 32 dwords used";
  EXPECT_NEAR(sixtyFour / sixteen, 2, 0.4) << "one used";
}

TEST(Coalescing, WideLoadsBeatNarrowOnes) {
  // L1-resident data: a dwordx4 load moves 64 bytes per clk and a quarter of the instructions; dword is bound by the
  // wave's own issue and the address unit's 4 clk as well as by the waits.
  const auto bytesPerClk = [](const char* statement, unsigned bytes) {
    const Program program({statement, "s_waitcnt vmcnt(0)"});
    const CuResult result = run(program, 4, [&](unsigned wave) {
      WaveBuilder b(program);
      for (std::uint64_t i = 0; i < 200; ++i) {
        b.step(0).global(base + (i * 4 + wave) % 8 * 64 * bytes, bytes);
        if (i % 2 == 1)
          b.step(1);
      }
      return b.step(2).trace;
    });
    return 4.0 * 200 * 64 * bytes / static_cast<double>(result.end);
  };
  const double narrow = bytesPerClk("global_load_dword v0, v1, s[0:1]", 4);
  const double wide = bytesPerClk("global_load_dwordx4 v[0:3], v4, s[0:1]", 16);
  EXPECT_GT(wide / narrow, 2);
  EXPECT_LT(wide / narrow, 4.2);
}

TEST(Coalescing, AddressUnitTakesSixteenNarrowOrFourWideLanes) {
  // vcopy counters: 16 look-ups for a dwordx2 of consecutive lanes; ATT: dword back to back 4 clk, dwordx4 16.
  const auto interval = [](const char* statement, unsigned bytes) {
    const Program program({statement});
    WaveBuilder b(program);
    for (int i = 0; i < 60; ++i)
      b.step(0).global(base, bytes);
    const Replay result = simulate(program, {b.step(1).trace});
    return static_cast<double>(result.gap(40, 59)) / 19;
  };
  EXPECT_NEAR(interval("global_load_dword v0, v1, s[0:1]", 4), 4, 0.1);
  EXPECT_NEAR(interval("global_load_dwordx2 v[0:1], v2, s[0:1]", 8), 16, 0.1);
  EXPECT_NEAR(interval("global_load_dwordx4 v[0:3], v4, s[0:1]", 16), 16, 0.1);
}

TEST(CacheSets, PowerOfTwoStridesUseFewOfThem) {
  // wave-lang documentation: the L1 set is address bits 8:7, so lines 512 bytes apart share one set of 64 lines.
  const Program program({"global_load_dword v0, v0, s[0:1]", "s_waitcnt vmcnt(0)"});
  const auto hits = [&](std::uint64_t stride, std::uint64_t lines) {
    const CuResult result = run(program, 1, [&](unsigned) {
      WaveBuilder b(program);
      for (std::uint64_t i = 0; i < 8 * lines; ++i)
        b.step(0).strided(base + i % lines * stride, 4, 0).step(1);
      return b.step(2).trace;
    });
    return result.traffic.l1Hits;
  };
  EXPECT_EQ(hits(128, 256), 7 * 256U) << "32 KB fit";
  EXPECT_EQ(hits(512, 64), 7 * 64U) << "8 KB of one set fit";
  EXPECT_EQ(hits(512, 80), 0U) << "10 KB of one set do not";
  // Chips and Cheese: with a stride of 4 KB the L2 shows 256 KB, one channel of 16.
  const auto l2Hits = [&](std::uint64_t stride, std::uint64_t lines) {
    const CuResult result = run(program, 1, [&](unsigned) {
      WaveBuilder b(program);
      for (std::uint64_t i = 0; i < 2 * lines; ++i)
        b.step(0).strided(base + i % lines * stride, 4, 0).step(1);
      return b.step(2).trace;
    });
    return static_cast<double>(result.traffic.l2Hits) / static_cast<double>(lines);
  };
  EXPECT_GT(l2Hits(4096 + 128, 6000), 0.95) << "750 KB over all channels";
  EXPECT_GT(l2Hits(4096, 1200), 0.85) << "150 KB in one channel";
  EXPECT_LT(l2Hits(4096, 6000), 0.05) << "750 KB in one channel";
}

TEST(L2Channels, OneChannelIsASixteenthOfTheRate) {
  // 16 waves read 1024 lines round and round, all CUs of the XCD alike; lanes 4 KB apart stay on one channel.
  const Program program({"global_load_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)"});
  const auto clk = [&](std::uint64_t strideBytes) {
    return static_cast<double>(
        run(
            program, 16,
            [&](unsigned wave) {
              WaveBuilder b(program);
              for (std::uint64_t i = 0; i < 24; ++i)
                b.step(0).strided(base + wave * 64 * strideBytes, 4, static_cast<unsigned>(strideBytes)).step(1);
              return b.step(2).trace;
            },
            everyCu(megabyte, true), true)
            .end);
  };
  EXPECT_GT(clk(4096) / clk(4096 + 256), 4);
  EXPECT_LT(clk(4096) / clk(4096 + 256), 16.5);
}

/// Weights that all workgroups read, `nt` or not, as many activations of their own, and MFMAs that take about the time.
CuResult reusedWeights(bool nt) {
  const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "global_load_dwordx4 v[0:3], v4, s[0:1] nt",
                         "s_waitcnt vmcnt(0)", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"});
  std::vector<emulator::WorkgroupTrace> groups;
  // Two on one CU and a neighbour on the XCD: all three read the weights, each its own activations.
  for (const std::uint64_t index : {0U, 304U, 8U}) {
    emulator::WorkgroupTrace& group = groups.emplace_back();
    group.index = index;
    for (unsigned wave = 0; wave < 8; ++wave) {
      WaveBuilder b(program);
      for (std::uint64_t i = 0; i < 96; ++i) {
        b.step(nt ? 1 : 0);
        b.global(base + (i * 8 + wave) * 1024, 16);
        b.trace.accesses.back().cachePolicy = nt ? emulator::policyNt : 0;
        b.step(0).global(2 * base + ((index * 96 + i) * 8 + wave) * 1024, 16);
        b.step(2);
        for (int m = 0; m < 29; ++m)
          b.step(3);
      }
      group.waves.push_back(b.step(4).trace);
    }
  }
  const auto result = replay(chip(), program.code(), 0, groups, 1, everyCu(1e9));
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? result->result : CuResult{};
}

double l2HitRate(const Traffic& t) {
  return static_cast<double>(t.l2Hits) / static_cast<double>(t.l2Hits + t.l2Misses);
}

TEST(CachePolicy, NtOnReusedLoadsCosts) {
  // MI308X MoE stage 1: without nt on the reused weights the L2 hit rate rises from 13 to 48 %, HBM reads fall to 0.59,
  // the matrix pipe's share rises from 59 to 76 % and the time falls by 18 to 20 %.
  const CuResult streaming = reusedWeights(true), kept = reusedWeights(false);
  EXPECT_LT(l2HitRate(streaming.traffic), 0.15);
  EXPECT_NEAR(l2HitRate(kept.traffic), 0.48, 0.06);
  EXPECT_NEAR(kept.traffic.hbmBytes / streaming.traffic.hbmBytes, 0.59, 0.1);
  const auto matrixShare = [](const CuResult& r) { return r.mfmaBusy / (4 * static_cast<double>(r.end)); };
  EXPECT_NEAR(matrixShare(streaming), 0.59, 0.04);
  EXPECT_NEAR(matrixShare(kept), 0.76, 0.08);
  const double saved = 1 - static_cast<double>(kept.end) / static_cast<double>(streaming.end);
  EXPECT_NEAR(saved, 0.19, 0.05);
}

TEST(CachePolicy, DeviceScopeLoadsPassTheCaches) {
  const Program program(
      {"global_load_dword v0, v1, s[0:1]", "global_load_dword v0, v1, s[0:1] sc1", "s_waitcnt vmcnt(0)"});
  const auto l2Requests = [&](std::size_t statement, std::uint8_t policy) {
    return run(program, 1, [&](unsigned) {
      WaveBuilder b(program);
      for (int i = 0; i < 10; ++i) {
        b.step(statement).global(base, 4);
        b.trace.accesses.back().cachePolicy = policy;
        b.step(2);
      }
      return b.step(3).trace;
    });
  };
  EXPECT_EQ(l2Requests(0, 0).traffic.l2Reads, 2U);
  const CuResult scoped = l2Requests(1, emulator::policySc1);
  EXPECT_EQ(scoped.traffic.l2Reads, 20U);
  EXPECT_EQ(scoped.traffic.fabricReads, 20U);
  EXPECT_GT(scoped.end, 3 * l2Requests(0, 0).end / 2);
}

TEST(WorkgroupOrder, XcdAwareOrderOfAGemm) {
  // AMD: consecutive tiles on one XCD instead of round-robin raise the L2 hit rate of a GEMM from 43 to 92 %.
  // 16 x 64 tiles; a workgroup reads its row panel of A and its column panel of B. Round-robin puts every eighth tile
  // on an XCD, so that a row's tiles of one XCD are few; XCD-aware order gives it whole neighbourhoods.
  const Program program({"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)"});
  constexpr std::uint64_t rows = 304, columns = 8, panel = 64 * 1024;
  const auto simulated = [&](bool aware) {
    std::vector<emulator::WorkgroupTrace> groups;
    for (std::uint64_t i = 0; i < 38; ++i) {
      emulator::WorkgroupTrace& group = groups.emplace_back();
      group.index = i * 8;
      // Tile number of this workgroup, row by row.
      const std::uint64_t tile = aware ? i : i * 8;
      const std::uint64_t row = tile / columns % rows, column = tile % columns;
      for (unsigned wave = 0; wave < 4; ++wave) {
        WaveBuilder b(program);
        for (std::uint64_t k = 0; k < panel / 4096; ++k) {
          b.step(0).global(base + row * panel + (k * 4 + wave) * 1024, 16);
          b.step(0).global(2 * base + column * panel + (k * 4 + wave) * 1024, 16);
          b.step(1);
        }
        group.waves.push_back(b.step(2).trace);
      }
    }
    ChipLoad load = everyCu(1e9);
    load.concurrentWorkgroups = 304;
    const auto result = replay(chip(), program.code(), 0, groups, 1, load);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? result->result : CuResult{};
  };
  const CuResult plain = simulated(false), aware = simulated(true);
  EXPECT_NEAR(l2HitRate(plain.traffic), 0.43, 0.08);
  EXPECT_NEAR(l2HitRate(aware.traffic), 0.92, 0.07);
  EXPECT_GT(static_cast<double>(plain.end) / static_cast<double>(aware.end), 1.3);
}

TEST(Atomics, OneAddressTakesTurns) {
  const Program program(
      {"global_atomic_add v0, v1, s[0:1]", "global_atomic_add v2, v0, v1, s[0:1] sc0", "s_waitcnt vmcnt(0)"});
  const auto clk = [&](std::size_t statement, unsigned waves, std::uint16_t passes, bool apart) {
    return static_cast<double>(run(program, waves, [&](unsigned wave) {
                                 WaveBuilder b(program);
                                 for (std::uint64_t i = 0; i < 20; ++i) {
                                   b.step(statement).global(base + (apart ? (i * 32 + wave) * 256 : 0), 4);
                                   emulator::MemoryAccess& access = b.trace.accesses.back();
                                   access.atomic = true;
                                   access.returns = statement == 1;
                                   access.passes = passes;
                                   b.step(2);
                                 }
                                 return b.step(3).trace;
                               }).end);
  };
  EXPECT_GT(clk(0, 8, 64, false) / clk(0, 8, 1, false), 4) << "64 lanes on one dword";
  EXPECT_GT(clk(0, 16, 64, false) / clk(0, 4, 64, false), 2) << "waves that meet on a line queue up";
  EXPECT_LT(clk(0, 16, 1, true) / clk(0, 4, 1, true), 2) << "waves that do not meet hardly do";
  // Chips and Cheese: 116-202 ns for a global atomic and back, 244 to 424 clk.
  const double round = clk(1, 1, 1, false) / 20;
  EXPECT_GT(round, 244);
  EXPECT_LT(round, 424);
}

TEST(Stores, WriteCombiningInL2) {
  // Two halves of a line by two stores: two requests to L2, one line written back.
  const Program program({"global_store_dword v0, v1, s[0:1]"});
  const CuResult result = run(program, 1, [&](unsigned) {
    WaveBuilder b(program);
    for (std::uint64_t i = 0; i < 16; ++i)
      b.step(0).global(base + i * 256, 4, true);
    return b.step(1).trace;
  });
  EXPECT_EQ(result.traffic.l2Writes, 64U);
  EXPECT_EQ(result.traffic.l2Misses, 32U) << "the first half of each line";
  EXPECT_EQ(result.traffic.dirtyBytes, 4096);
  EXPECT_EQ(result.traffic.fabricReads, 0U) << "nothing is fetched to be overwritten";
}

TEST(Stores, StreamsThatWrite) {
  // RRZE and BabelStream, MI300X: read 4.2, copy 4.0, triad 3.9, init 4.8 TB/s. Eight workgroups of four waves at a
  // time, one KB per wave and array.
  const Program program(
      {"global_load_dwordx4 v[0:3], v4, s[0:1]", "s_waitcnt vmcnt(0)", "global_store_dwordx4 v4, v[0:3], s[0:1]"});
  const auto rate = [&](unsigned reads, unsigned writes) {
    std::vector<emulator::WorkgroupTrace> groups(60);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].index = g * static_cast<std::uint64_t>(cus);
      for (unsigned wave = 0; wave < 4; ++wave) {
        const std::uint64_t at = (groups[g].index * 4 + wave) * 1024;
        WaveBuilder b(program);
        for (unsigned i = 0; i < reads; ++i)
          b.step(0).global((1 + i) * base + at, 16);
        b.step(1);
        for (unsigned i = 0; i < writes; ++i)
          b.step(2).global((4 + i) * base + at, 16, true);
        groups[g].waves.push_back(b.step(3).trace);
      }
    }
    const auto result = replay(chip(), program.code(), 0, groups, 8, everyCu(4e9));
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return 0.0;
    }
    // Between the second and the last but one round: the first starts with an idle memory.
    const std::vector<Clk>& ends = result->result.workgroupEnds;
    const double seconds = static_cast<double>(ends[51] - ends[15]) / clockHz;
    return cus * 36 * 4 * kilobyte * (reads + writes) / seconds / 1e12;
  };
  EXPECT_NEAR(rate(1, 0) / 4.2, 1, 0.05);
  EXPECT_NEAR(rate(1, 1) / 4.0, 1, 0.05);
  EXPECT_NEAR(rate(2, 1) / 3.9, 1, 0.05);
  EXPECT_NEAR(rate(0, 1) / 4.8, 1, 0.05);
}

TEST(LdsDma, DataGoesThroughTheLds) {
  const Program program({"buffer_load_dword v0, s[4:7], 0 offen lds", "s_waitcnt vmcnt(0)", "v_mov_b32 v1, v2"});
  WaveBuilder b(program);
  for (int i = 0; i < 2; ++i) {
    b.step(0).global(base, 4);
    b.trace.accesses.back().ldsDma = true;
    b.step(1);
  }
  const Replay result = simulate(program, {b.run(2, 4).trace});
  EXPECT_GT(result.gap(2, 4), 118) << "the L1 hit and the LDS behind it";
  EXPECT_LT(result.gap(2, 4), 180);
  EXPECT_GT(result.result.ldsBankBusy, 0);
}

} // namespace
} // namespace asmevo::timing::fixture
