#include "object/object_support.h"
#include "object/review.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::parsed;
using testing::twoKernelSource;

bool says(const std::vector<Remark>& remarks, const std::string& kernel, const std::string& text) {
  return std::any_of(remarks.begin(), remarks.end(), [&](const Remark& remark) {
    return remark.kernel == kernel && remark.text.find(text) != std::string::npos;
  });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<Remark> reviewOf(const std::string& source, bool link = true) {
  return review(parsed(assemble(source, "gfx942:sramecc+:xnack-", link)));
}

TEST(Review, CleanObjectsGetNoRemarks) {
  std::string source = replaced(twoKernelSource(), ".vgpr_spill_count: 3", ".vgpr_spill_count: 0");
  source = replaced(source, ".sgpr_spill_count: 5", ".sgpr_spill_count: 0");
  for (const Remark& remark : reviewOf(source))
    ADD_FAILURE() << remark.kernel << ": " << remark.text;
}

TEST(Review, MetadataAgainstDescriptor) {
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), ".vgpr_count: 140", ".vgpr_count: 100")), "first",
                   "metadata says 100 VGPRs, the descriptor allocates 144"));
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), ".vgpr_count: 140", ".vgpr_count: 145")), "first",
                   "metadata says 145 VGPRs"));
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), ".amdhsa_kernarg_size 24", ".amdhsa_kernarg_size 0")), "first",
                   "kernarg size is 0 although metadata says 24"));
  EXPECT_TRUE(
      says(reviewOf(replaced(twoKernelSource(), ".group_segment_fixed_size: 1536", ".group_segment_fixed_size: 1024")),
           "first", "1024 bytes of LDS, the descriptor 1536"));
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), ".kernarg_segment_size: 24", ".kernarg_segment_size: 12")),
                   "first", "arguments reach to byte 20, past the kernarg segment of 12"));
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), ".symbol: second.kd", ".symbol: other.kd")), "second",
                   "does not mention this kernel"));
  EXPECT_TRUE(says(reviewOf(replaced(twoKernelSource(), "amdhsa.target: 'amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-'",
                                     "amdhsa.target: amdgcn-amd-amdhsa--gfx90a")),
                   "", "the ELF header says amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"));
}

TEST(Review, Spills) {
  const auto remarks = reviewOf(replaced(twoKernelSource(),
                                         ".max_flat_workgroup_size: 512\n    .reqd_workgroup_size: "
                                         "[64, 2, 4]",
                                         ".max_flat_workgroup_size: 1024"));
  EXPECT_TRUE(says(remarks, "first", "3 VGPR and 5 SGPR spills, 16 bytes of scratch"));
  EXPECT_TRUE(says(remarks, "first", "default bound of 1024 work-items"));
  EXPECT_FALSE(says(reviewOf(twoKernelSource()), "first", "default bound"));
}

/// Like `assemble`, but linked as lld does on request: undefined symbols stay.
Bytes assembleUndefined(const std::string& source) {
  const std::string relocatable = testing::scratchFile(".o");
  const std::string linked = testing::scratchFile(".co");
  EXPECT_TRUE(writeFileAtomic(relocatable, assemble(source, "gfx942:sramecc+:xnack-", false)));
  testing::runTool({"ld.lld-22", "-shared", "-z", "undefs", relocatable, "-o", linked});
  auto bytes = readFile(linked);
  std::remove(relocatable.c_str());
  std::remove(linked.c_str());
  EXPECT_TRUE(bytes);
  return bytes ? *std::move(bytes) : Bytes();
}

TEST(Review, LoaderRefusals) {
  const Bytes undefined = assembleUndefined(replaced(twoKernelSource(), ".quad 9", ".quad missing_function"));
  EXPECT_TRUE(says(review(parsed(undefined)), "", "undefined symbol missing_function: the loader will refuse it"));
  EXPECT_TRUE(says(reviewOf(twoKernelSource(), false), "", "relocatable: link it first"));
  // 1024 work-items are 16 waves, 4 on each SIMD; 144 registers allow 3.
  EXPECT_TRUE(says(
      reviewOf(replaced(twoKernelSource(), ".reqd_workgroup_size: [64, 2, 4]", ".reqd_workgroup_size: [64, 4, 4]")),
      "first", "a workgroup of 1024 work-items does not fit"));
}

TEST(Review, WorkgroupSize) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  EXPECT_EQ(workgroupSizeOf(**object.findKernel("first")), 512U);
  EXPECT_EQ(workgroupSizeOf(**object.findKernel("second")), 1024U);
  EXPECT_EQ(workgroupSizeOf(Kernel()), 256U);
}

} // namespace
} // namespace asmevo::object
