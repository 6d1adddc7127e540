#include "isa/waitcnt.h"
#include "isa_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace asmevo::isa::test {
namespace {

std::vector<std::uint8_t> bytesOf(std::initializer_list<std::uint32_t> dwords) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t dword : dwords)
    for (int i = 0; i < 4; ++i)
      bytes.push_back(static_cast<std::uint8_t>(dword >> (8 * i)));
  return bytes;
}

// Encodings as llvm-mc-22 -mcpu=gfx942 --show-encoding gives them.
TEST(Codec, KnownEncodings) {
  const std::pair<const char*, std::vector<std::uint8_t>> known[] = {
      {"s_nop 0", bytesOf({0xbf800000})},
      {"s_endpgm", bytesOf({0xbf810000})},
      {"s_barrier", bytesOf({0xbf8a0000})},
      {"s_waitcnt vmcnt(8) lgkmcnt(0)", bytesOf({0xbf8c0078})},
      {"v_mov_b32_e32 v1, v2", bytesOf({0x7e020302})},
      {"s_mov_b32 s0, 0x12345678", bytesOf({0xbe8000ff, 0x12345678})},
      {"buffer_load_dword v228, v8, s[16:19], s35 offen", bytesOf({0xe0501000, 0x2304e408})},
      {"ds_read_b32 v64, v5 offset:20736", bytesOf({0xd86c5100, 0x40000005})},
      {"global_atomic_pk_add_f16 v80, v64, s[8:9]", bytesOf({0xdd388000, 0x00084050})},
  };
  for (const auto& [text, bytes] : known) {
    const InstRef decoded = gfx942().decode(bytes);
    EXPECT_EQ(decoded->text, text);
    const InstRef assembled = instruction(gfx942(), text);
    EXPECT_EQ(assembled, decoded) << text;
    const auto encoded = gfx942().reencode(decoded);
    ASSERT_TRUE(encoded);
    EXPECT_EQ(*encoded, bytes);
  }
}

TEST(Codec, EqualEncodingsAreOneObject) {
  const auto nop = bytesOf({0xbf800000, 0xbf800000});
  const auto nopThenOther = bytesOf({0xbf800000, 0x12345678});
  EXPECT_EQ(gfx942().decode(nop), gfx942().decode(nopThenOther));
  EXPECT_EQ(gfx942().decode(nop), gfx942().decode(std::span(nop).first(4)));
  const auto literal = bytesOf({0xbe8000ff, 1, 7}), other = bytesOf({0xbe8000ff, 2, 7});
  EXPECT_NE(gfx942().decode(literal), gfx942().decode(other));
  EXPECT_EQ(gfx942().decode(literal), gfx942().decode(std::span(literal).first(8)));
}

TEST(Codec, ShallowIsTheSameObjectCompletedLater) {
  const auto codec = codecFor("gfx942");
  const auto bytes = bytesOf({0xbf840003}); // s_cbranch_scc0 3
  const InstRef shallow = codec->decodeShallow(bytes);
  EXPECT_EQ(shallow->size, 4);
  EXPECT_EQ(shallow->cls, InstClass::branch);
  EXPECT_EQ(shallow->branchOffset, 3);
  EXPECT_FALSE(shallow->isComplete);
  EXPECT_EQ(codec->complete(shallow), shallow);
  EXPECT_TRUE(shallow->isComplete);
  EXPECT_EQ(shallow->text, "s_cbranch_scc0 3");
  EXPECT_EQ(codec->decode(bytes), shallow);
}

TEST(Codec, UndecodableWordsAreOpaque) {
  for (const std::uint32_t word : {0xffffffffu, 0xf4080500u, 0x7e0002d1u}) {
    const auto bytes = bytesOf({word, 0});
    const InstRef inst = gfx942().decode(bytes);
    EXPECT_EQ(inst->cls, InstClass::unknown);
    EXPECT_EQ(inst->size, 4);
    EXPECT_EQ(inst->text, fmt::format(".long 0x{:08x}", word));
    EXPECT_EQ(inst, gfx942().decode(std::span(bytes).first(4)));
    EXPECT_FALSE(gfx942().reencode(inst));
  }
}

TEST(Codec, TruncatedInput) {
  const std::vector<std::uint8_t> none, three{0x12, 0x34, 0x56};
  EXPECT_EQ(gfx942().decode(none)->size, 0);
  EXPECT_EQ(gfx942().decode(none)->cls, InstClass::unknown);
  EXPECT_EQ(gfx942().decode(three)->size, 3);
  EXPECT_EQ(gfx942().decode(three)->text, ".byte 0x12, 0x34, 0x56");
  // An instruction that lacks its literal or second dword is no instruction.
  for (const std::uint32_t word : {0xbe8000ffu, 0x7e0202ffu, 0xe0501000u, 0xd1000001u}) {
    const auto bytes = bytesOf({word});
    EXPECT_EQ(gfx942().decode(bytes)->cls, InstClass::unknown) << word;
    EXPECT_EQ(gfx942().decode(bytes)->size, 4) << word;
  }
}

/// LLVM's disassembler crashes on some of these.
TEST(Codec, HostileEncodingsAreRefused) {
  const std::vector<std::uint8_t> hostile[] = {
      bytesOf({0xd1c74c62, 0x8c79eeff}), // VOP3 with a literal source
      bytesOf({0xe288261a, 0xff55fe0f}), // SOFFSET 255
      bytesOf({0x5bf8c2f9, 0x05344f7f}), // SDWA dst_sel 7
      bytesOf({0x020002f9, 0x068606ff}), // SDWA source literal
      bytesOf({0xd28900ff, 0x00000101}), // v_readlane into "literal"
  };
  for (const auto& bytes : hostile)
    EXPECT_EQ(gfx942().decode(bytes)->cls, InstClass::unknown);
  for (const char* processor : {"gfx906", "gfx90a", "gfx942", "gfx950"}) {
    const auto codec = codecFor(processor);
    std::mt19937 random(7);
    for (int i = 0; i < 40000; ++i) {
      std::array<std::uint32_t, 5> words{};
      for (auto& word : words)
        word = static_cast<std::uint32_t>(random());
      if (i % 2)
        words[0] = (words[0] & 0x03ffffff) | 0xd0000000; // VOP3
      if (i % 3 == 0)
        words[1] |= 0xff;
      std::vector<std::uint8_t> bytes(20);
      std::memcpy(bytes.data(), words.data(), 20);
      const InstRef inst = codec->decode(std::span(bytes).first(4u << (i % 3)));
      ASSERT_TRUE(inst->size == 4 || inst->size == 8 || inst->size >= 12);
      ASSERT_FALSE(inst->text.empty());
    }
  }
}

TEST(Codec, OtherTargets) {
  // One encoding, two meanings: AGPRs on gfx942 where gfx908 has other operands.
  EXPECT_EQ(codecFor("gfx1030")->decode(bytesOf({0xbf810000}))->text, "s_endpgm");
  EXPECT_EQ(codecFor("gfx1100")->decode(bytesOf({0xbfb00000}))->cls, InstClass::endpgm);
  const auto gfx10 = codecFor("gfx1030");
  const InstRef wide = instruction(*gfx10, "v_fma_f32 v1, v2, v3, 0x12345678"); // VOP3 literal: 12 bytes
  EXPECT_EQ(wide->size, 12);
  std::vector<std::uint8_t> padded(wide->bytes().begin(), wide->bytes().end());
  padded.resize(20);
  EXPECT_EQ(gfx10->decode(padded), wide);
  object::Target bad;
  bad.processor = "gfx000";
  const auto refused = Codec::create(bad);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("gfx000"), std::string::npos);
}

TEST(Codec, BranchOffsets) {
  const InstRef branch = instruction(gfx942(), "s_cbranch_vccnz 5");
  const auto moved = gfx942().withBranchOffset(branch, -32768);
  ASSERT_TRUE(moved);
  EXPECT_EQ((*moved)->branchOffset, -32768);
  EXPECT_EQ((*moved)->mnemonic, "s_cbranch_vccnz");
  EXPECT_FALSE(gfx942().withBranchOffset(branch, 32768));
  EXPECT_FALSE(gfx942().withBranchOffset(instruction(gfx942(), "s_nop 0"), 1));
  const auto call = gfx942().withBranchOffset(instruction(gfx942(), "s_call_b64 s[30:31], 1"), 100);
  ASSERT_TRUE(call);
  EXPECT_EQ((*call)->text, "s_call_b64 s[30:31], 100");
}

std::string assemblyError(const std::string& text) {
  const auto result = gfx942().assemble(text);
  return result ? "accepted" : result.error().message;
}

TEST(Assemble, RefusesEverythingButOneInstruction) {
  for (const char* text : {"", "  ", "s_nop 0\ns_nop 0", "s_nop 0 ; comment", "s_nop 0 // comment", "s_nop /* */ 0",
                           ".long 5", ".include \"/etc/passwd\"", "label: s_nop 0", "label:", "x = 5", "s_branch label",
                           "v_mov_b32 v0, symbol", "v_bogus v1", "s_nop 0 \x01", "# 1 \"file\""})
    EXPECT_NE(assemblyError(text), "accepted") << text;
  EXPECT_NE(assemblyError(std::string(10000, 'v')), "accepted");
}

TEST(Assemble, DiagnosticsNameTheColumn) {
  EXPECT_NE(assemblyError("v_add_u32 v1, v2, v300").find("column 19"), std::string::npos)
      << assemblyError("v_add_u32 v1, v2, v300");
  EXPECT_NE(assemblyError("ds_add_u32 v1, v2 offset:4 gds").find("column 28"), std::string::npos);
  EXPECT_NE(assemblyError("v_bogus v1").find("invalid instruction"), std::string::npos);
}

TEST(Assemble, ConstantExpressionsFold) {
  EXPECT_EQ(instruction(gfx942(), "s_mov_b32 s0, 1+2")->text, "s_mov_b32 s0, 3");
}

TEST(Waitcnt, Encoding) {
  // vm[3:0] in 3:0, exp in 6:4, lgkm in 11:8, vm[5:4] in 15:14.
  EXPECT_EQ(encodeWaitcnt({0, 0, 0}), 0);
  EXPECT_EQ(encodeWaitcnt({63, 7, 15}), 0xcf7f);
  EXPECT_EQ(encodeWaitcnt({28, 7, 0}), 0x407c);
  EXPECT_EQ(encodeWaitcnt({8, 7, 0}), 0x0078);
  for (unsigned vm = 0; vm < 64; ++vm)
    for (unsigned exp = 0; exp < 8; ++exp)
      for (unsigned lgkm = 0; lgkm < 16; ++lgkm) {
        const WaitCount wait{static_cast<std::uint8_t>(vm), static_cast<std::uint8_t>(exp),
                             static_cast<std::uint8_t>(lgkm)};
        ASSERT_EQ(decodeWaitcnt(encodeWaitcnt(wait)), wait);
      }
  EXPECT_EQ(instruction(gfx942(), "s_waitcnt vmcnt(28) lgkmcnt(0)")->waitCount(), (WaitCount{28, 7, 0}));
  EXPECT_EQ(instruction(gfx942(), "s_nop 0")->waitCount(), noWait);
  for (const WaitCount wait : {WaitCount{0, 0, 0}, WaitCount{63, 7, 3}, WaitCount{5, 7, 15}, noWait})
    EXPECT_EQ(instruction(gfx942(), waitcntText(wait))->waitCount(), wait);
  EXPECT_EQ(strongest({3, 7, 15}, {5, 7, 2}), (WaitCount{3, 7, 2}));
  EXPECT_TRUE(covers({3, 7, 2}, {5, 7, 2}));
  EXPECT_FALSE(covers({3, 7, 2}, {5, 7, 1}));
}

std::vector<std::uint8_t> textSection(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
  const auto load = [&](std::size_t at, auto& value) { std::memcpy(&value, all.data() + at, sizeof value); };
  std::uint64_t sections = 0;
  std::uint16_t count = 0;
  load(40, sections);
  load(60, count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t type = 0;
    std::uint64_t flags = 0, offset = 0, size = 0;
    load(sections + 64 * i + 4, type);
    load(sections + 64 * i + 8, flags);
    load(sections + 64 * i + 24, offset);
    load(sections + 64 * i + 32, size);
    if (type == 1 && (flags & 4)) // SHT_PROGBITS, SHF_EXECINSTR
      return {all.begin() + static_cast<std::ptrdiff_t>(offset),
              all.begin() + static_cast<std::ptrdiff_t>(offset + size)};
  }
  return {};
}

/// Production kernels: every instruction decodes, encodes to its own bytes, and its text assembles to the same object.
TEST(Corpus, DecodeEncodeAndAssembleAgree) {
  const std::string root = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942";
  ASSERT_TRUE(std::filesystem::exists(root)) << "run scripts/corpus";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".co")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  const auto codec = codecFor("gfx942");
  std::size_t instructions = 0;
  for (std::size_t i = 0; i < files.size(); i += 60) {
    const auto text = textSection(files[i]);
    for (std::size_t at = 0; at < text.size(); ++instructions) {
      const InstRef inst = codec->decode(std::span(text).subspan(at));
      ASSERT_NE(inst->cls, InstClass::unknown) << files[i] << " +" << at;
      at += inst->size;
      const auto encoded = codec->reencode(inst);
      ASSERT_TRUE(encoded);
      ASSERT_TRUE(std::ranges::equal(*encoded, inst->bytes())) << inst->text;
      const auto assembled = codec->assemble(inst->text);
      ASSERT_TRUE(assembled) << assembled.error().message;
      ASSERT_EQ(*assembled, inst) << inst->text;
    }
  }
  EXPECT_GT(instructions, 50000u);
}

/// A table of ours must name opcodes that LLVM still has.
TEST(Codec, OpcodeNames) {
  const auto names = gfx942().opcodeNames();
  EXPECT_GT(names.size(), 10000u);
  for (const char* name : {"V_ADD_F32_e32_vi", "S_WAITCNT_vi", "DS_READ_B32_vi", "GLOBAL_LOAD_DWORD_vi"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

} // namespace
} // namespace asmevo::isa::test
