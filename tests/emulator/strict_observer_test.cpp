// What observers see of a run: every executed instruction, every access with its addresses, barriers and ends.
#include "emulator/machine_support.h"
#include "emulator/observe/observer.h"
#include "emulator/scheduler.h"

#include <gtest/gtest.h>

#include <map>

namespace asmevo::emulator::test {
namespace {

struct SeenAccess {
  std::string mnemonic;
  AccessEvent event;
  std::vector<std::uint64_t> addresses; ///< of lanes 0 and 63, or the scalar one
};

struct Recorder final : Observer {
  std::vector<std::string> log;
  std::vector<SeenAccess> accesses;
  std::map<std::string, std::uint32_t> v1After; ///< lane 0 of v1 after an instruction

  void before(Wave& wave, const Op* op) override {
    log.push_back(fmt::format("{} before {}", wave.waveInGroup, op->inst->base));
  }
  void access(Wave&, const Op* op, const AccessEvent& event) override {
    SeenAccess seen{op->inst->base, event, {event.address[0]}};
    if (event.space != Space::scalar)
      seen.addresses.push_back(event.address[63]);
    seen.event.address = nullptr;
    accesses.push_back(std::move(seen));
  }
  void after(Wave& wave, const Op* op) override {
    log.push_back(fmt::format("{} after {}", wave.waveInGroup, op->inst->base));
    v1After[op->inst->text] = wave.lanes(1)[0];
  }
  void workgroupStarted(Workgroup& group) override { log.push_back(fmt::format("start {}", group.index)); }
  void barrierReleased(Workgroup&) override { log.push_back("barrier"); }
  void waveEnded(Wave& wave) override { log.push_back(fmt::format("{} ended", wave.waveInGroup)); }
  void workgroupEnded(Workgroup& group) override { log.push_back(fmt::format("end {}", group.index)); }
};

TEST(StrictObserver, EveryInstructionIsSeenBeforeAndAfter) {
  Recorder recorder;
  RunOptions options;
  options.threads = 4;
  options.observers = {&recorder};
  run({"v_mov_b32_e32 v1, 7\n s_barrier\n v_mov_b32_e32 v1, 9\n s_endpgm\n"},
      {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(64)}}, options);
  EXPECT_EQ(recorder.log, (std::vector<std::string>{
                              "start 0",
                              "0 before v_mov_b32",
                              "0 after v_mov_b32",
                              "0 before s_barrier",
                              "0 after s_barrier",
                              "1 before v_mov_b32",
                              "1 after v_mov_b32",
                              "1 before s_barrier",
                              "1 after s_barrier",
                              "barrier",
                              "0 before v_mov_b32",
                              "0 after v_mov_b32",
                              "0 before s_endpgm",
                              "0 after s_endpgm",
                              "0 ended",
                              "1 before v_mov_b32",
                              "1 after v_mov_b32",
                              "1 before s_endpgm",
                              "1 after s_endpgm",
                              "1 ended",
                              "end 0",
                          }));
  EXPECT_EQ(recorder.v1After["v_mov_b32_e32 v1, 7"], 7u);
  EXPECT_EQ(recorder.v1After["v_mov_b32_e32 v1, 9"], 9u);
}

TEST(StrictObserver, AccessesCarrySpaceAddressesAndValidLanes) {
  Recorder recorder;
  RunOptions options;
  options.observers = {&recorder};
  KernelText text{loadPointers(1) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  ds_write2_b32 v2, v0, v0 offset0:0 offset1:64
  ds_read_b64 v[4:5], v2 offset:16
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_mov_b32 s10, 128
  s_mov_b32 s11, 0x20000
  s_waitcnt lgkmcnt(0)
  buffer_store_dword v0, v2, s[8:11], 0 offen
  global_atomic_add v6, v2, v0, s[4:5] sc0
  s_mov_b32 m0, 256
  buffer_load_dword v2, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_endpgm
)"};
  text.ldsBytes = 1024;
  run(text, {.buffers = {filled(64)}}, options);
  ASSERT_EQ(recorder.accesses.size(), 8u);
  const std::uint64_t half = 0xffffffff, all = ~std::uint64_t{0};
  const std::uint64_t out = recorder.accesses[4].addresses[0];

  EXPECT_EQ(recorder.accesses[0].event.space, Space::scalar);
  EXPECT_TRUE(recorder.accesses[0].event.load);
  EXPECT_EQ(recorder.accesses[0].event.bytes, 8);
  EXPECT_EQ(recorder.accesses[1].event.space, Space::lds);
  EXPECT_TRUE(recorder.accesses[1].event.store);
  EXPECT_EQ(recorder.accesses[1].addresses, (std::vector<std::uint64_t>{0, 252}));
  EXPECT_EQ(recorder.accesses[2].addresses, (std::vector<std::uint64_t>{256, 508}));
  EXPECT_TRUE(recorder.accesses[3].event.load);
  EXPECT_EQ(recorder.accesses[3].event.bytes, 8);
  EXPECT_EQ(recorder.accesses[3].addresses, (std::vector<std::uint64_t>{16, 268}));
  EXPECT_EQ(recorder.accesses[3].event.exec, all);
  // 128 bytes of records: the upper lanes are out of range.
  EXPECT_EQ(recorder.accesses[4].event.space, Space::global);
  EXPECT_TRUE(recorder.accesses[4].event.store);
  EXPECT_EQ(recorder.accesses[4].event.exec, all);
  EXPECT_EQ(recorder.accesses[4].event.valid[0], half);
  EXPECT_TRUE(recorder.accesses[5].event.atomic);
  EXPECT_TRUE(recorder.accesses[5].event.returns);
  EXPECT_FALSE(recorder.accesses[5].event.store);
  EXPECT_EQ(recorder.accesses[5].addresses, (std::vector<std::uint64_t>{out, out + 252}));
  EXPECT_TRUE(recorder.accesses[6].event.ldsDma);
  EXPECT_TRUE(recorder.accesses[6].event.load);
  EXPECT_EQ(recorder.accesses[6].event.valid[0], half);
  EXPECT_EQ(recorder.accesses[7].event.space, Space::lds);
  EXPECT_TRUE(recorder.accesses[7].event.store);
  EXPECT_EQ(recorder.accesses[7].addresses, (std::vector<std::uint64_t>{256, 508}));
  EXPECT_EQ(recorder.accesses[7].event.valid[0], all);
}

TEST(StrictObserver, AFaultingInstructionHasNotExecuted) {
  Recorder recorder;
  RunOptions options;
  options.observers = {&recorder};
  const Error error = runError({"v_mov_b32_e32 v2, 0\n v_mov_b32_e32 v3, 0\n global_load_dword v1, v[2:3], off\n"},
                               {.buffers = {filled(64)}}, options);
  EXPECT_EQ(error.kind, ErrorKind::fault);
  ASSERT_FALSE(recorder.log.empty());
  EXPECT_EQ(recorder.log.back(), "0 before global_load_dword");
}

} // namespace
} // namespace asmevo::emulator::test
