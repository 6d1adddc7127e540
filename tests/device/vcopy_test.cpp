// rocprofiler-compute's vcopy (1,048,576 doubles, 4,096 workgroups of 256) against its counters on real chips
// (facts: hardware_traces.md; medians of warm dispatches).
#include "device/run_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo {
namespace {

using namespace test;

/// As the profiler runs it: the arguments' first read is a cold one (ATT: 1724-1844 clk), data comes from HBM
/// (TCC_EA0_RDREQ_LEVEL shows 1400 clk per read).
timing::Estimate vcopyOn(const std::string& chipName) {
  const auto device = must(device::makeSimulator(chipName));
  const timing::Chip chip = must(timing::loadChip(chipName));
  const auto kernel = must(device->load(loadObject(kernelObject("vcopy")), "vcopy"));
  const dispatch::Dispatch dispatch = loadDispatch(dataFile("device/vcopy.dispatch.json"));
  const dispatch::Case& launch = dispatch.cases.front();
  device::TracedCase traced =
      must(kernel->trace(launch, timing::sampleWorkgroups(chip, kernel->target(), kernel->shapeOf(launch))));
  traced.shape.kernargClk = 1784;
  traced.shape.warmData = false;
  return must(traced.estimate(chip));
}

double counter(const timing::Estimate& estimate, std::string_view name) {
  const auto found = std::ranges::find(estimate.counters, name, &std::pair<std::string, double>::first);
  return found == estimate.counters.end() ? -1 : found->second;
}

TEST(Vcopy, CountersThatFollowFromTheProgram) {
  const timing::Estimate e = vcopyOn("mi300x");
  constexpr std::pair<const char*, double> measured[] = {{"SQ_WAVES", 16384},
                                                         {"SQ_INSTS", 327680},
                                                         {"SQ_INSTS_VALU", 98304},
                                                         {"SQ_INSTS_SALU", 49152},
                                                         {"SQ_INSTS_SMEM", 65536},
                                                         {"SQ_INSTS_BRANCH", 16384},
                                                         {"SQ_INSTS_VMEM", 32768},
                                                         {"SQ_INSTS_VMEM_RD", 16384},
                                                         {"SQ_INSTS_VMEM_WR", 16384},
                                                         {"SQ_ACTIVE_INST_VALU", 98304},
                                                         {"SQ_ACTIVE_INST_SCA", 114688},
                                                         {"SQC_DCACHE_REQ", 65536},
                                                         {"TA_TOTAL_WAVEFRONTS_sum", 32768},
                                                         {"TCP_TA_TCP_STATE_READ_sum", 32768},
                                                         {"TD_STORE_WAVEFRONT_sum", 16384},
                                                         {"TCP_TOTAL_ACCESSES_sum", 2097152},
                                                         {"TCP_TOTAL_READ_sum", 1048576},
                                                         {"TCP_TOTAL_WRITE_sum", 1048576},
                                                         {"TCP_TOTAL_CACHE_ACCESSES_sum", 524288},
                                                         {"TCP_UTCL1_REQUEST_sum", 524288},
                                                         {"TCP_TCC_READ_REQ_sum", 65536},
                                                         {"TCP_TCC_WRITE_REQ_sum", 131072},
                                                         {"TCC_RW_REQ_sum", 196608},
                                                         {"TCC_WRITE_sum", 131072}};
  for (const auto& [name, value] : measured)
    EXPECT_NEAR(counter(e, name), value, 0.5) << name;
  // With a few requests of the scalar caches and the command processor among them on the hardware.
  EXPECT_NEAR(counter(e, "TCC_HIT_sum") / 65536, 1, 0.005);
  EXPECT_NEAR(counter(e, "TCC_MISS_sum") / 131323, 1, 0.005);
  EXPECT_NEAR(counter(e, "TCC_EA0_RDREQ_sum") / 65758, 1, 0.005);
  EXPECT_NEAR(counter(e, "TCC_WRITEBACK_sum") / 65536, 1, 0.01);
  EXPECT_NEAR(counter(e, "TCC_EA0_WRREQ_sum") / 131072, 1, 0.01);
}

TEST(Vcopy, BusyCycles) {
  EXPECT_NEAR(vcopyOn("mi300x").cycles / 7766, 1, 0.1) << "shader engines busy 7672-7860";
  EXPECT_NEAR(vcopyOn("mi300a").cycles / 8225, 1, 0.1) << "8190-8260";
}

} // namespace
} // namespace asmevo
