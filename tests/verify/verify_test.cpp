#include "isa/semantics/statement.h"
#include "verify/differential.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

using object::CodeObject;
using tests::Editable;
using tests::edited;
using tests::kernelDispatch;
using tests::kernelObject;
using tests::simulator;

Verdict judge(const CodeObject& k0, const CodeObject& k1, const dispatch::Dispatch& dispatch,
              const Options& options = {}) {
  auto verdict = verify(k0, k1, dispatch, simulator(), options);
  EXPECT_TRUE(verdict) << (verdict ? "" : verdict.error().message);
  return verdict ? *std::move(verdict) : Verdict{};
}

Options withoutProof() {
  Options options;
  options.prove = false;
  return options;
}

TEST(Verify, OnlyTheFirstFourLevelsPass) {
  for (const Level level : {Level::identical, Level::proved, Level::exact, Level::tolerance})
    EXPECT_TRUE(accepted(level)) << levelName(level);
  for (const Level level : {Level::differs, Level::unsafe, Level::refused, Level::timeout, Level::unknown})
    EXPECT_FALSE(accepted(level)) << levelName(level);
}

TEST(Verify, SameBytesAreIdentical) {
  const CodeObject k0 = kernelObject("vector_add");
  EXPECT_EQ(judge(k0, k0, kernelDispatch("vector_add")).level, Level::identical);
}

TEST(Verify, AnInsertedNopIsExactAndTheProofSaysMore) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 3"); });
  const Verdict exact = judge(k0, k1, kernelDispatch("vector_add"), withoutProof());
  EXPECT_EQ(exact.level, Level::exact) << exact.reason;
  EXPECT_EQ(exact.editedBlocks, 1u);
  // The case itself, then its data variants.
  ASSERT_GT(exact.cases.size(), 10u);
  EXPECT_EQ(exact.cases[1].name, exact.cases[0].name + ", floats permuted 1");
  ASSERT_EQ(exact.edits.size(), 1u);
  EXPECT_EQ(exact.edits[0].level, Level::exact);
  EXPECT_EQ(exact.edits[0].removed, 0u);
  EXPECT_EQ(exact.edits[0].added, 1u);
  EXPECT_GT(exact.edits[0].cases, 5u);
  // 10,100 elements by 256: the last workgroup has a partial wave and waves without work.
  EXPECT_GT(exact.edits[0].execFull, 0u);
  EXPECT_GT(exact.edits[0].execPartial, 0u);
  EXPECT_TRUE(exact.cases[0].equal);
  EXPECT_GT(exact.cases[0].waveInstructions, 0u);
  const Verdict proved = judge(k0, k1, kernelDispatch("vector_add"));
  EXPECT_EQ(proved.level, Level::proved) << proved.reason;
}

TEST(Verify, AnotherOperationDiffersInANamedBuffer) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.replace(e.find("v_add_f32"), "v_sub_f32_e32 v2, v6, v7"); });
  const Verdict verdict = judge(k0, k1, kernelDispatch("vector_add"));
  EXPECT_EQ(verdict.level, Level::differs) << verdict.reason;
  EXPECT_NE(verdict.reason.find("'c'"), std::string::npos) << verdict.reason;
  EXPECT_FALSE(verdict.cases.at(0).equal);
}

TEST(Verify, DistancesThatLlvmKeepsStayKept) {
  const CodeObject k0 = kernelObject("softmax");
  // The s_nop 1 between a compare into an SGPR pair and the v_cndmask that selects by it.
  const CodeObject k1 = edited(k0, [](Editable& e) { e.erase(e.find("s_nop")); });
  const Verdict verdict = judge(k0, k1, kernelDispatch("softmax"));
  EXPECT_EQ(verdict.level, Level::unsafe) << verdict.reason;
  ASSERT_EQ(verdict.newFindings.size(), 1u);
  EXPECT_NE(verdict.newFindings[0].message.find("v_cmp_gt_f32"), std::string::npos) << verdict.newFindings[0].message;
}

TEST(Verify, ADroppedWaitIsUnsafeThoughTheValuesAgree) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    auto place = e.find("v_add_f32");
    --place.index;
    ASSERT_EQ(e.at(place).inst->cls, isa::InstClass::waitcnt);
    e.erase(place);
  });
  const Verdict verdict = judge(k0, k1, kernelDispatch("vector_add"));
  EXPECT_EQ(verdict.level, Level::unsafe) << verdict.reason;
  ASSERT_FALSE(verdict.newFindings.empty());
  EXPECT_EQ(verdict.newFindings[0].rule.substr(0, 7), "wait.vm");
  EXPECT_EQ(verdict.baselineFindings, 0u);
}

TEST(Verify, WhatK0ViolatesItselfIsTheBaselineAndHidesNothingNew) {
  const CodeObject k0 = edited(kernelObject("saxpy"), [](Editable& e) {
    auto place = e.find("v_fmac_f32");
    while (e.at(place).inst->cls != isa::InstClass::waitcnt)
      --place.index;
    e.erase(place);
  });
  const CodeObject same = edited(k0, [](Editable& e) { e.insert(e.find("v_fmac_f32"), "s_nop 0"); });
  const Verdict kept = judge(k0, same, kernelDispatch("saxpy"), withoutProof());
  EXPECT_TRUE(accepted(kept.level)) << kept.reason;
  EXPECT_GT(kept.baselineFindings, 0u);
  EXPECT_TRUE(kept.newFindings.empty());
  const CodeObject worse = edited(k0, [](Editable& e) {
    for (std::size_t n = 0;; ++n) { // a wait of the other path, which is still there
      auto place = e.find("s_waitcnt", n);
      if (e.at(place).inst->waitCount().vm == 63)
        continue;
      e.erase(place);
      return;
    }
  });
  EXPECT_EQ(judge(k0, worse, kernelDispatch("saxpy"), withoutProof()).level, Level::unsafe);
}

TEST(Verify, AStoreBesideItsPlaceDiffers) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(
      k0, [](Editable& e) { e.replace(e.find("global_store_dword"), "global_store_dword v[0:1], v2, off offset:4"); });
  EXPECT_EQ(judge(k0, k1, kernelDispatch("vector_add")).level, Level::differs);
}

TEST(Verify, AStoreOutsideEveryBufferIsFoundInTheGuardZone) {
  // Work-items store what they should, and once more just behind the buffer's end.
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 =
      edited(k0, [](Editable& e) { e.insert(e.find("s_endpgm"), "global_store_dword v[0:1], v2, off offset:2048"); });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  for (dispatch::Buffer& buffer : dispatch.cases[0].buffers) // one wave's worth: 2048 bytes further is outside
    buffer.initial.resize(256), buffer.shape = {64};
  dispatch.cases[0].gridSize = {64, 1, 1};
  dispatch.cases[0].workgroupSize = {64, 1, 1};
  dispatch.cases[0].arguments.back().bytes = {64, 0, 0, 0};
  const Verdict verdict = judge(k0, k1, dispatch);
  EXPECT_EQ(verdict.level, Level::differs) << verdict.reason;
  EXPECT_NE(verdict.reason.find("outside"), std::string::npos) << verdict.reason;
}

TEST(Verify, AnEndlessCandidateEnds) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    auto place = e.find("s_endpgm");
    e.replace(place, "s_branch 0");
    e.at(place).target = place.block;
  });
  const Verdict verdict = judge(k0, k1, kernelDispatch("vector_add"), withoutProof());
  EXPECT_EQ(verdict.level, Level::differs) << verdict.reason;
}

TEST(Verify, AnEditThatNoCaseExecutesIsUnknownUnlessProved) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 0"); });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  dispatch.cases[0].arguments.back().bytes = {0, 0, 0, 0}; // n = 0: every work-item leaves at once
  const Verdict verdict = judge(k0, k1, dispatch, withoutProof());
  EXPECT_EQ(verdict.level, Level::unknown) << verdict.reason;
  ASSERT_EQ(verdict.uncoveredEdits.size(), 1u);
  EXPECT_EQ(judge(k0, k1, dispatch).level, Level::proved);
}

TEST(Verify, ChangedDataAndDescriptorsAreUnsafe) {
  const CodeObject k0 = kernelObject("table_lookup");
  const auto withByte = [&](std::uint64_t offset) {
    Bytes bytes(k0.bytes().begin(), k0.bytes().end());
    bytes[offset] ^= 1;
    auto k1 = CodeObject::parse(std::move(bytes), "K1");
    EXPECT_TRUE(k1);
    return *std::move(k1);
  };
  std::uint64_t table = 0;
  for (const object::Symbol& symbol : k0.symbols())
    if (symbol.name.find("crcTable") != std::string::npos && symbol.size == 1024)
      table = *k0.fileOffset(symbol.value + 512);
  if (table == 0) // local symbols were stripped: any byte of .rodata behind the descriptor
    for (const object::Section& section : k0.sections())
      if (section.name == ".rodata")
        table = section.offset + section.size - 512;
  ASSERT_NE(table, 0u);
  const Verdict data = judge(k0, withByte(table), kernelDispatch("table_lookup"));
  EXPECT_EQ(data.level, Level::unsafe) << data.reason;
  EXPECT_NE(data.reason.find("data section"), std::string::npos) << data.reason;
  // KERNEL_CODE_PROPERTIES, byte 56: which user registers are set up.
  const Verdict descriptor =
      judge(k0, withByte(k0.kernels()[0].descriptorFileOffset + 56), kernelDispatch("table_lookup"));
  EXPECT_EQ(descriptor.level, Level::unsafe) << descriptor.reason;
  EXPECT_NE(descriptor.reason.find("descriptor"), std::string::npos) << descriptor.reason;
}

TEST(Verify, TooFewDeclaredRegistersAreUnsafe) {
  const CodeObject k0 = edited(kernelObject("vector_add"), [](Editable& e) {
    e.program.resources[0].vgprs = 64;
    e.program.resources[0].accumOffset = 64;
  });
  const auto declaring = [&](unsigned vgprs) {
    return edited(k0, [&](Editable& e) {
      e.program.resources[0].vgprs = vgprs;
      e.program.resources[0].accumOffset = vgprs;
      e.replace(e.find("v_add_f32"), "v_add_f32_e32 v20, v6, v7");
      e.replace(e.find("global_store_dword"), "global_store_dword v[0:1], v20, off");
    });
  };
  const Verdict enough = judge(k0, declaring(24), kernelDispatch("vector_add"));
  EXPECT_TRUE(accepted(enough.level)) << enough.reason;
  EXPECT_FALSE(enough.otherChanges.empty());
  const Verdict few = judge(k0, declaring(16), kernelDispatch("vector_add"));
  EXPECT_EQ(few.level, Level::unsafe) << few.reason;
}

TEST(Verify, WhatK0DoesNotComputeAlikeIsNamedNotTolerated) {
  // K0 stores a scalar register that nothing set.
  const CodeObject k0 =
      edited(kernelObject("vector_add"), [](Editable& e) { e.replace(e.find("v_add_f32"), "v_mov_b32_e32 v2, s20"); });
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("s_endpgm"), "s_nop 0"); });
  const Verdict verdict = judge(k0, k1, kernelDispatch("vector_add"), withoutProof());
  EXPECT_EQ(verdict.level, Level::refused) << verdict.reason;
  ASSERT_FALSE(verdict.nondeterminism.empty());
  EXPECT_NE(verdict.nondeterminism[0].find("registers and LDS hold something else"), std::string::npos)
      << verdict.nondeterminism[0];
  const Verdict proved = judge(k0, k1, kernelDispatch("vector_add"));
  EXPECT_EQ(proved.level, Level::proved) << proved.reason;
  EXPECT_FALSE(proved.nondeterminism.empty());
}

TEST(Verify, ToleranceIsALevelOfItsOwnAndOptIn) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { // (a + b) + 2^-24 of itself
    auto place = e.find("v_add_f32");
    ++place.index;
    e.insert(place, "v_mul_f32_e32 v2, 0x3f800001, v2");
  });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  EXPECT_EQ(judge(k0, k1, dispatch, withoutProof()).level, Level::differs);
  dispatch.cases[0].compare["c"] = {dispatch::Comparison::Mode::tolerance, 1e-5, 1e-6};
  EXPECT_EQ(judge(k0, k1, dispatch, withoutProof()).level, Level::tolerance);
  const CodeObject equal = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 0"); });
  EXPECT_EQ(judge(k0, equal, dispatch, withoutProof()).level, Level::exact); // a tolerance that nothing needed
}

TEST(Verify, NanAndInfinityHaveToAgreeWhateverTheTolerance) {
  const CodeObject k0 = kernelObject("vector_add");
  // maxnum: NaN becomes the least finite value, all else stays.
  const CodeObject k1 = edited(k0, [](Editable& e) {
    auto place = e.find("v_add_f32");
    ++place.index;
    e.insert(place, "v_max_f32_e32 v2, 0xff7fffff, v2");
  });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  dispatch.cases[0].compare["c"] = {dispatch::Comparison::Mode::tolerance, 1e-2, 1e-2};
  const Verdict verdict = judge(k0, k1, dispatch, withoutProof());
  EXPECT_EQ(verdict.level, Level::differs) << verdict.reason;
  EXPECT_EQ(verdict.gate, "differential");
  EXPECT_NE(verdict.reason.find("NaN and infinity"), std::string::npos) << verdict.reason;
}

TEST(Verify, ACounterexampleForbidsExactAndIsKept) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    auto place = e.find("v_add_f32");
    ++place.index;
    e.insert(place, "v_max_f32_e32 v2, 0xff7fffff, v2");
    e.insert(e.find("s_endpgm"), "s_nop 0");
  });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  Options options;
  options.dataVariants = 0; // ordinary data alone show nothing
  options.prove = false;
  EXPECT_EQ(judge(k0, k1, dispatch, options).level, Level::exact);
  options.prove = true;
  for (const bool stopAtFirst : {false, true}) {
    options.stopAtFirst = stopAtFirst;
    const Verdict verdict = judge(k0, k1, dispatch, options);
    EXPECT_EQ(verdict.level, Level::unknown) << verdict.reason;
    EXPECT_EQ(verdict.gate, "proof");
    ASSERT_TRUE(verdict.counterexample);
    // One edit by itself is right, and the receipt says which.
    ASSERT_EQ(verdict.edits.size(), 2u);
    EXPECT_EQ(verdict.edits[0].level, Level::exact) << verdict.edits[0].reason;
    EXPECT_NE(verdict.edits[0].reason.find("not proved"), std::string::npos);
    EXPECT_EQ(verdict.edits[1].level, Level::proved) << verdict.edits[1].reason;
    const auto json = receipt(k0, k1, verdict, dispatch, simulator());
    EXPECT_EQ(json.at("rejected_by"), "proof");
    EXPECT_EQ(json.at("counterexample").at("difference"), verdict.counterexample->difference);
    EXPECT_FALSE(json.at("counterexample").at("registers").empty());
    EXPECT_EQ(json.at("edits").at(1).at("level"), "proved");
  }
  dispatch.cases[0].compare["c"] = {dispatch::Comparison::Mode::tolerance, 1e-5, 1e-6};
  EXPECT_EQ(judge(k0, k1, dispatch, options).level, Level::tolerance); // not more than that
}

TEST(Verify, AFaultOfK0IsNotHeldAgainstNobody) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 0"); });
  dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  dispatch::Argument& pointer = dispatch.cases[0].arguments[0];
  pointer.buffer.clear();
  pointer.bytes = Bytes(8, 0x11); // an address far outside everything
  const Verdict verdict = judge(k0, k1, dispatch, withoutProof());
  EXPECT_EQ(verdict.level, Level::refused) << verdict.reason;
  EXPECT_NE(verdict.reason.find("K0 itself"), std::string::npos);
}

TEST(Verify, TimeRunsOut) {
  const CodeObject k0 = kernelObject("matmul_tiled");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("s_endpgm"), "s_nop 0"); });
  Options options = withoutProof();
  options.timeLimitSeconds = 1e-9;
  EXPECT_EQ(judge(k0, k1, kernelDispatch("matmul_tiled"), options).level, Level::timeout);
}

TEST(Verify, ABaselineServesManyCandidates) {
  const CodeObject k0 = kernelObject("vector_add");
  const dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  Options options = withoutProof();
  auto baseline = measureBaseline(k0, dispatch, simulator(), options);
  ASSERT_TRUE(baseline);
  options.baseline = *baseline;
  const CodeObject good = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 0"); });
  const CodeObject bad = edited(k0, [](Editable& e) { e.replace(e.find("v_add_f32"), "v_max_f32_e32 v2, v6, v7"); });
  EXPECT_EQ(judge(k0, good, dispatch, options).level, Level::exact);
  EXPECT_EQ(judge(k0, bad, dispatch, options).level, Level::differs);
  // Another K0's baseline is of no use and not used.
  EXPECT_EQ(
      judge(bad, edited(bad, [](Editable& e) { e.insert(e.find("v_max_f32"), "s_nop 0"); }), dispatch, options).level,
      Level::exact);
}

TEST(Verify, ReceiptSaysWhatWasComparedOnWhat) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 0"); });
  const dispatch::Dispatch dispatch = kernelDispatch("vector_add");
  const Verdict verdict = judge(k0, k1, dispatch, withoutProof());
  const nlohmann::json r = receipt(k0, k1, verdict, dispatch, simulator());
  EXPECT_EQ(r["k0"]["sha256"].get<std::string>(), sha256Hex(k0.bytes()));
  EXPECT_EQ(r["k1"]["sha256"].get<std::string>(), sha256Hex(k1.bytes()));
  EXPECT_EQ(r["device"]["name"], "sim:mi300x");
  EXPECT_EQ(r["device"]["modelled"], true);
  EXPECT_EQ(r["verdict"], "exact");
  EXPECT_EQ(r["accepted"], true);
  EXPECT_EQ(r["seeds"], (nlohmann::json{0, 1}));
  EXPECT_EQ(r["cases"][0]["buffers"]["c"]["compared"]["bitwise"], true);
  EXPECT_EQ(r["cases"][0]["buffers"].size(), 3u);
  // Every decision of the semantics, then that times are modelled.
  const auto statement = isa::semantics::statement();
  ASSERT_EQ(r["notes"].size(), statement.size() + 1);
  for (std::size_t i = 0; i < statement.size(); ++i)
    EXPECT_NE(r["notes"][i].get<std::string>().find(statement[i].text), std::string::npos);
  EXPECT_NE(r["notes"][0].get<std::string>().find("correctly rounded"), std::string::npos);
  EXPECT_NE(r["notes"].back().get<std::string>().find("modelled, not measured"), std::string::npos);
}

TEST(Verify, EveryKernelWithNopsEverywhereIsAccepted) {
  for (const char* name : {"vector_add", "saxpy", "relu", "softmax", "layernorm", "matmul_tiled", "matmul_mfma",
                           "reduce_dpp", "histogram", "transpose", "device_call", "table_lookup"}) {
    const CodeObject k0 = kernelObject(name);
    const CodeObject k1 = edited(k0, [](Editable& e) {
      for (program::BlockId id = 0; id < e.program.blocks.size(); ++id)
        if (e.program.blocks[id].reachable && !e.program.blocks[id].opaque)
          e.insert({id, 0}, "s_nop 0");
    });
    Options options = withoutProof();
    options.seeds = {1};
    const Verdict verdict = judge(k0, k1, kernelDispatch(name), options);
    EXPECT_TRUE(accepted(verdict.level) || verdict.level == Level::unknown) << name << ": " << verdict.reason;
    EXPECT_TRUE(verdict.newFindings.empty()) << name;
    for (const CaseResult& result : verdict.cases)
      EXPECT_TRUE(result.equal) << name << ": " << result.detail;
    EXPECT_EQ(verdict.level == Level::unknown, !verdict.uncoveredEdits.empty()) << name << ": " << verdict.reason;
  }
}

} // namespace
} // namespace asmevo::verify
