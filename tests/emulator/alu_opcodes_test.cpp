// Every encoding that LLVM decodes for gfx942, opcode field by opcode field: each opcode is modelled or stands in the
// list below with its reason.
#include "emulator/bind.h"
#include "isa/codec.h"
#include "isa/semantics/statement.h"
#include "isa/semantics/table.h"
#include "object/target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

namespace asmevo::emulator {
namespace {

/// Opcodes that no form of is modelled, with a part of the refusal that they must give.
const std::map<std::string, std::string> refusedOpcodes = {
    {"s_rfe_b64", "trap handler"},
    {"s_rfe_restore_b64", "trap handler"},
    {"s_sendmsghalt", "halts the wave"},
    {"s_setkill", "kill command"},
    {"s_endpgm_ordered_ps_done", "pixel shaders"},
    {"v_screen_partition_4se_b32", "not modelled"}, // decoded by LLVM, not in the CDNA3 manual
    {"ds_gws_init", "global"},
    {"ds_gws_sema_v", "global"},
    {"ds_gws_sema_br", "global"},
    {"ds_gws_sema_p", "global"},
    {"ds_gws_sema_release_all", "global"},
    {"ds_gws_barrier", "global"},
};

/// An encoding family of gfx9: where its opcode lies and what marks it.
struct Family {
  const char* name;
  std::uint32_t marker, fixedBits;
  unsigned shift, bits;
  bool wide; ///< a second dword with more fields
};
constexpr Family families[] = {
    {"SOP2", 0x80000000, 0xc0000000, 23, 7, false},     {"SOPK", 0xb0000000, 0xf0000000, 23, 5, false},
    {"SOP1", 0xbe800000, 0xff800000, 8, 8, false},      {"SOPC", 0xbf000000, 0xff800000, 16, 7, false},
    {"SOPP", 0xbf800000, 0xff800000, 16, 7, false},     {"SMEM", 0xc0000000, 0xfc000000, 18, 8, true},
    {"VOP1", 0x7e000000, 0xfe000000, 9, 8, false},      {"VOP2", 0x00000000, 0x80000000, 25, 6, false},
    {"VOPC", 0x7c000000, 0xfe000000, 17, 8, false},     {"VOP3", 0xd0000000, 0xfc000000, 16, 10, true},
    {"VOP3P", 0xd3800000, 0xff800000, 16, 7, true},     {"DS", 0xd8000000, 0xfc000000, 17, 8, true},
    {"MUBUF", 0xe0000000, 0xfc000000, 18, 7, true},     {"MTBUF", 0xe8000000, 0xfc000000, 15, 4, true},
    {"FLAT", 0xdc000000, 0xfc000000, 18, 7, true},      {"VOP1_SDWA", 0x7e0000f9, 0xfe0001ff, 9, 8, true},
    {"VOP2_SDWA", 0x000000f9, 0x800001ff, 25, 6, true}, {"VOPC_SDWA", 0x7c0000f9, 0xfe0001ff, 17, 8, true},
    {"VOP1_DPP", 0x7e0000fa, 0xfe0001ff, 9, 8, true},   {"VOP2_DPP", 0x000000fa, 0x800001ff, 25, 6, true},
};

struct Seen {
  std::set<std::string> modelled;
  std::map<std::string, std::string> refused; ///< reason of the first form
};

/// Fills the fields with bits that tend to make legal operands: low, even register numbers, few modifiers.
void fillFields(const Family& family, unsigned opcode, unsigned attempt, std::mt19937_64& random,
                std::uint32_t (&word)[5]) {
  for (std::uint32_t& w : word)
    w = static_cast<std::uint32_t>(random());
  if (attempt % 2 == 1) {
    word[0] &= family.wide ? 0xffffc0fe : 0xffffffff;
    word[1] &= attempt % 4 == 1 ? 0x7e7e7e7e : 0x02fefefe;
    if (attempt % 8 == 1) // VOP3P: sources in VGPRs
      word[1] = (word[1] & 0xe3fffefe) | 0x04020100;
  }
  // Little but the opcode: registers where each family has them, the segments of FLAT, the flags of atomics and GWS.
  constexpr std::uint32_t plain[][2] = {
      {0, 0x00020402},        {0, 0x04000000},        {0, 0x040a0806},        {1u << 16, 0x00020402}, {0, 0x047f0602},
      {1u << 14, 0x047f0602}, {2u << 14, 0x047f0602}, {2u << 14, 0x04040602}, {1u << 16, 0x047f0602}, {0, 0x80010402},
      {5u << 14, 0x047f0602}, {6u << 14, 0x047f0602}, {1u << 16, 0x00000004}, {1u << 16, 0x00000400}, {1u << 16, 0},
  };
  if (attempt < std::size(plain)) {
    word[0] = plain[attempt][0];
    word[1] = plain[attempt][1];
  }
  const std::uint32_t opcodeMask = ((1u << family.bits) - 1) << family.shift;
  word[0] = (word[0] & ~(family.fixedBits | opcodeMask)) | family.marker | opcode << family.shift;
}

Seen walk(isa::Codec& codec) {
  constexpr unsigned attempts = 240, enough = 6;
  Seen seen;
  std::mt19937_64 random(42);
  for (const Family& family : families)
    for (unsigned opcode = 0; opcode < (1u << family.bits); ++opcode) {
      unsigned found = 0;
      for (unsigned attempt = 0; attempt < attempts && found < enough; ++attempt) {
        std::uint32_t word[5];
        fillFields(family, opcode, attempt, random, word);
        std::uint8_t bytes[sizeof word];
        std::memcpy(bytes, word, sizeof word);
        const isa::InstRef inst = codec.decode(bytes);
        if (inst->cls == isa::InstClass::unknown)
          continue;
        Arena arena;
        BindContext context;
        context.accumOffset = 256;
        context.arena = &arena;
        Op op;
        const Status bound = bindInstruction(*inst, context, op);
        if (bound) {
          seen.modelled.insert(inst->base);
          ++found;
        } else if (codec.assemble(inst->text)) { // the decoder also takes forms that no assembler does
          seen.refused.emplace(inst->base, bound.error().message);
        }
      }
    }
  return seen;
}

TEST(AluOpcodes, EveryOpcodeOfTheTargetIsModelledOrRefusedForAReason) {
  object::Target target;
  target.processor = "gfx942";
  auto codec = isa::Codec::create(target);
  ASSERT_TRUE(codec);
  const Seen seen = walk(**codec);
  EXPECT_GE(seen.modelled.size(), 1010u);
  std::set<std::string> refused;
  for (const auto& [base, reason] : seen.refused) {
    if (seen.modelled.contains(base))
      continue;
    refused.insert(base);
    const auto listed = refusedOpcodes.find(base);
    ASSERT_NE(listed, refusedOpcodes.end()) << base << " is not modelled: " << reason;
    EXPECT_NE(reason.find(listed->second), std::string::npos) << base << ": " << reason;
  }
  for (const char* base : {"s_rfe_b64", "s_sendmsghalt", "v_screen_partition_4se_b32", "ds_gws_barrier"})
    EXPECT_TRUE(refused.contains(base)) << base;
  for (const auto& [base, reason] : refusedOpcodes)
    EXPECT_FALSE(seen.modelled.contains(base)) << base << " is modelled and listed as refused";
  // A few of each kind that must have been met for the walk to mean anything.
  for (const char* base : {"s_cbranch_g_fork",
                           "s_scratch_store_dwordx4",
                           "s_buffer_atomic_add_x2",
                           "tbuffer_load_format_d16_xyzw",
                           "buffer_store_format_xyz",
                           "buffer_atomic_pk_add_f16",
                           "flat_atomic_max_f64",
                           "global_load_lds_dword",
                           "scratch_load_short_d16_hi",
                           "ds_condxchg32_rtn_b64",
                           "ds_append",
                           "ds_read_addtid_b32",
                           "v_pk_mov_b32",
                           "v_fma_mixhi_f16",
                           "v_dot8_u32_u4",
                           "v_cvt_sr_bf8_f32",
                           "v_mfma_f64_4x4x4_4b_f64",
                           "v_smfmac_i32_32x32x32_i8",
                           "v_accvgpr_write_b32",
                           "v_mqsad_u32_u8",
                           "v_trig_preop_f64",
                           "v_cmpx_class_f16",
                           "s_set_gpr_idx_idx"})
    EXPECT_TRUE(seen.modelled.contains(base)) << base;
}

TEST(AluOpcodes, EveryRowCitesItsChapter) {
  for (const auto& row : isa::semantics::opcodeTable())
    EXPECT_TRUE(isa::semantics::manualSection(row.section).starts_with("CDNA3 ISA 12.")) << row.mnemonic;
  EXPECT_EQ(isa::semantics::manualSection("VOP1"), "CDNA3 ISA 12.8, VOP1 instructions");
  EXPECT_EQ(isa::semantics::manualSection("nothing"), "");
}

TEST(AluOpcodes, TheStatementNamesTheApproximateFunctions) {
  bool found = false;
  for (const auto& item : isa::semantics::statement()) {
    EXPECT_FALSE(item.topic.empty() || item.text.empty());
    found |= item.topic == "approximate functions" && item.text.find("correctly rounded") != std::string_view::npos;
  }
  EXPECT_TRUE(found);
}

} // namespace
} // namespace asmevo::emulator
