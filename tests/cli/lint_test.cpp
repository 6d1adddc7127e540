#include "cli/cli_support.h"

namespace asmevo::cli {
namespace {

using Lint = CommandTest;

TEST_F(Lint, CompilerOutputIsClean) {
  const CommandResult result = runCommand({"lint", "--json", kernelObject("vector_add"), kernelObject("layernorm")});
  EXPECT_EQ(result.exit, ok) << result.out << result.err;
  const auto report = result.json();
  ASSERT_EQ(report.at("files").size(), 2U);
  for (const auto& file : report.at("files")) {
    EXPECT_EQ(file.at("verdict"), "clean");
    EXPECT_EQ(file.at("wait_states_checked"), true);
    EXPECT_TRUE(file.at("findings").empty());
  }
}

// Two loads are in flight, and the first one's register is read: at most one load may be left (ISA: vmcnt counts down
// in order).
TEST_F(Lint, AMissingWaitIsANegativeResult) {
  const std::string bad = edited("vector_add", vector_add::wait, vector_add::nop);
  const CommandResult result = runCommand({"lint", "--json", bad});
  EXPECT_EQ(result.exit, negative);
  const auto file = result.json().at("files").at(0);
  EXPECT_EQ(file.at("verdict"), "finding");
  ASSERT_FALSE(file.at("findings").empty());
  const auto& finding = file.at("findings").at(0);
  EXPECT_EQ(finding.at("rule"), "wait.vm.raw");
  EXPECT_EQ(finding.at("kind"), "vmcnt");
  EXPECT_EQ(finding.at("function"), "vector_add");
  EXPECT_EQ(finding.at("at"), "v_add_f32_e32 v2, v6, v7");
  EXPECT_EQ(finding.at("need"), 1);
  EXPECT_TRUE(finding.at("have").is_null());

  const CommandResult text = runCommand({"lint", bad});
  EXPECT_EQ(text.exit, negative);
  EXPECT_NE(text.out.find("wait.vm.raw: \"v_add_f32_e32 v2, v6, v7\""), std::string::npos) << text.out;
}

TEST_F(Lint, JudgedByABaseline) {
  const std::string bad = edited("vector_add", vector_add::wait, vector_add::nop);
  const CommandResult fresh = runCommand({"lint", "--json", "--baseline", kernelObject("vector_add"), bad});
  EXPECT_EQ(fresh.exit, negative) << fresh.err;
  EXPECT_EQ(fresh.json().at("files").at(0).at("findings").at(0).at("rule"), "wait.vm.raw");
  EXPECT_EQ(runCommand({"lint", "--baseline", bad, bad}).exit, ok);
  EXPECT_EQ(runCommand({"lint", "--baseline", bad, kernelObject("vector_add")}).exit, ok);
  EXPECT_EQ(runCommand({"lint", "--baseline", at("none.co"), bad}).exit, badInput);
}

TEST_F(Lint, SarifNamesRulePlaceAndPath) {
  const std::string bad = edited("vector_add", vector_add::wait, vector_add::nop);
  const CommandResult result = runCommand({"lint", "--format", "sarif", bad});
  EXPECT_EQ(result.exit, negative);
  const auto log = result.json();
  EXPECT_EQ(log.at("version"), "2.1.0");
  const auto& found = log.at("runs").at(0).at("results").at(0);
  EXPECT_EQ(found.at("ruleId"), "wait.raw");
  EXPECT_EQ(found.at("properties").at("manual"), "CDNA3 ISA 4.4");
  EXPECT_EQ(found.at("locations").at(0).at("physicalLocation").at("artifactLocation").at("uri"), bad);
  EXPECT_EQ(runCommand({"lint", "--format", "xml", bad}).exit, usage);
}

// A wait that asks for more than its uses need is worth a note, and no failure unless asked for.
TEST_F(Lint, NotesFailOnlyWhenAsked) {
  constexpr std::uint32_t waitForBoth = 0xbf8c0070; // s_waitcnt vmcnt(0) lgkmcnt(0)
  const std::string strict = edited("vector_add", vector_add::wait, waitForBoth);
  EXPECT_EQ(runCommand({"lint", strict}).out, strict + ": clean\n");
  const CommandResult notes = runCommand({"lint", "--json", "--relaxable", strict});
  EXPECT_EQ(notes.exit, ok);
  EXPECT_EQ(notes.json().at("files").at(0).at("verdict"), "clean");
  const auto note = notes.json().at("files").at(0).at("findings").at(0);
  EXPECT_EQ(note.at("rule"), "wait.relaxable");
  EXPECT_EQ(note.at("message"), "could be relaxed: vmcnt(0) is enough, waits for vmcnt(0) lgkmcnt(0)");
  EXPECT_EQ(runCommand({"lint", "--relaxable", "--fail-on", "note", strict}).exit, negative);
}

TEST_F(Lint, BadInputOutranksFindings) {
  const std::string bad = edited("vector_add", vector_add::wait, vector_add::nop);
  const std::string none = at("none.co");
  const CommandResult result = runCommand({"lint", "--json", none, bad});
  EXPECT_EQ(result.exit, badInput);
  EXPECT_EQ(result.json().at("files").at(0).at("verdict"), "bad_input");
  EXPECT_EQ(result.json().at("files").at(1).at("verdict"), "finding");
  EXPECT_NE(result.err.find(none), std::string::npos) << result.err;
  EXPECT_EQ(runCommand({"lint", write("text.co", "no object")}).exit, badInput);
  EXPECT_EQ(runCommand({"lint"}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
