#include "verify/proof/proof_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify::test {

object::CodeObject assembled(const program::test::KernelText& text) {
  auto object = object::CodeObject::parse(program::test::assembleFile(program::test::kernelFile(text)), "k.co");
  EXPECT_TRUE(object) << object.error().message;
  return *std::move(object);
}

program::test::KernelText straight(const std::string& lines) {
  return {R"(
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[6:7], s[2:3], 0x400
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
)" + lines +
          R"(
  global_store_dword v1, v4, s[2:3]
  s_endpgm
)"};
}

program::test::KernelText loop(const std::string& before, const std::string& top, const std::string& bottom) {
  return straight("  s_mov_b32 s10, 4\n  v_mov_b32 v4, 0\n" + before + "\n.Lloop:\n" + top +
                  "\n  v_add_u32 v4, s9, v4\n" + bottom +
                  "\n  s_sub_u32 s10, s10, 1\n  s_cmp_lg_u32 s10, 0\n  s_cbranch_scc1 .Lloop\n");
}

} // namespace asmevo::verify::test
