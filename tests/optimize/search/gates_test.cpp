// The cheap gates in front of the whole-grid price.
#include "optimize/search/candidates.h"

#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

class CheapGates : public testing::Test {
 protected:
  void SetUp() override {
    const auto cycles = pricer.cycles(k0);
    const auto byOne = pricer.byOne(k0);
    ASSERT_TRUE(cycles && byOne);
    gates.parentCycles = *cycles;
    gates.parentByOne = byOne->cycles;
    gates.lintKernel = 0;
    gates.accumOffset = k0.kernels().front().descriptor.accumOffset(k0.target());
    gates.hazards = program::hazardTargetOf(k0.target());
  }

  Candidate priced(const std::function<void(tests::Editable&)>& edit) const {
    tests::Editable editable(k0);
    edit(editable);
    Candidate candidate;
    const auto rebuilt = editable.rebuilt();
    const auto bytes = rebuilt.bytes();
    candidate.bytes.assign(bytes.begin(), bytes.end());
    candidate.proposal.program = editable.program;
    priceInParallel({&candidate}, pricer, gates, "K1", 1);
    return candidate;
  }

  object::CodeObject k0 = tests::kernelObject("matmul_tiled");
  dispatch::Dispatch dispatch = tests::kernelDispatch("matmul_tiled");
  Pricer pricer{tests::simulator(), dispatch, 0};
  Gates gates;
};

void slowDown(tests::Editable& program) {
  for (int i = 0; i < 8; ++i)
    program.insert(program.find("s_barrier"), "s_nop 15");
}

TEST_F(CheapGates, SlowerByOneWorkgroupIsGivenUp) {
  const Candidate slower = priced(slowDown);
  ASSERT_TRUE(slower.cycles);
  EXPECT_TRUE(slower.stoppedByOne);
  // Eight s_nop 15 in front of a barrier in the loop are 128 states of 4 clk at the most for each pass.
  EXPECT_GT(*slower.cycles, gates.parentCycles * 1.01);
}

TEST_F(CheapGates, NoFasterIsGivenUpUnlessWorkgroupsDiffer) {
  const Candidate same = priced([](tests::Editable&) {});
  ASSERT_TRUE(same.cycles);
  EXPECT_TRUE(same.stoppedByOne);
  EXPECT_DOUBLE_EQ(*same.cycles, gates.parentCycles);
  gates.slack = 0.01;
  const Candidate again = priced([](tests::Editable&) {});
  ASSERT_TRUE(again.cycles);
  EXPECT_FALSE(again.stoppedByOne);
  EXPECT_DOUBLE_EQ(*again.cycles, *pricer.cycles(k0));
  EXPECT_TRUE(priced(slowDown).stoppedByOne);
}

TEST_F(CheapGates, FasterGetsTheWholeGridsPrice) {
  // K0 next to a slower parent.
  const auto parent = tests::edited(k0, slowDown);
  gates.parentCycles = *pricer.cycles(parent);
  gates.parentByOne = pricer.byOne(parent)->cycles;
  const Candidate faster = priced([](tests::Editable&) {});
  ASSERT_TRUE(faster.cycles);
  EXPECT_FALSE(faster.stoppedByOne);
  EXPECT_DOUBLE_EQ(*faster.cycles, *pricer.cycles(k0));
  EXPECT_LT(*faster.cycles, gates.parentCycles);
}

TEST_F(CheapGates, AMissingWaitHasNoPrice) {
  gates.parentByOne = 0;
  ASSERT_TRUE(lintsClean(tests::Editable(k0).program, 0, gates.accumOffset, gates.hazards));
  const auto withoutWait = [](tests::Editable& program) { program.erase(program.find("s_waitcnt")); };
  EXPECT_FALSE(priced(withoutWait).cycles);
  // Where the parent has findings of its own, the verification compares.
  gates.lintKernel.reset();
  EXPECT_TRUE(priced(withoutWait).cycles);
}

TEST_F(CheapGates, ThreadsDoNotMatter) {
  std::vector<Candidate> one(6), four(6);
  for (auto* list : {&one, &four}) {
    std::vector<Candidate*> pointers;
    for (std::size_t i = 0; i < list->size(); ++i) {
      tests::Editable editable(k0);
      for (std::size_t n = 0; n < i; ++n)
        editable.insert(editable.find("s_barrier"), "s_nop 7");
      const auto rebuilt = editable.rebuilt();
      const auto bytes = rebuilt.bytes();
      (*list)[i].bytes.assign(bytes.begin(), bytes.end());
      (*list)[i].proposal.program = editable.program;
      pointers.push_back(&(*list)[i]);
    }
    priceInParallel(pointers, pricer, gates, "K1", list == &one ? 1 : 4);
  }
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_TRUE(one[i].cycles);
    EXPECT_EQ(one[i].cycles, four[i].cycles) << i;
  }
}

} // namespace
} // namespace asmevo::optimize
