// The whole loop against a scripted endpoint: what the model is told, and what becomes of what it asks for.
#include "agent/agent.h"

#include "agent/scripted_server.h"
#include "agent/window_text.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <sstream>

namespace asmevo::agent {
namespace {

using nlohmann::json;
using tests::MoveFixture;
using tests::ScriptedAnswer;
using tests::ScriptedServer;

constexpr const char* key = "sk-never-shown";

Options optionsFor(const ScriptedServer& server) {
  Options options;
  options.endpoint = {server.baseUrl(), "some-model", key, 20};
  options.budgetSeconds = 3600;
  options.gate.verify.seeds = {0};
  options.gate.verify.dataVariants = 1;
  return options;
}

ScriptedAnswer message(const json& content) {
  return {200, json{{"choices", json::array({{{"message", content}}})}}.dump()};
}

/// A message that calls one tool with arguments as text.
ScriptedAnswer callText(const std::string& id, const std::string& name, const std::string& arguments) {
  return message(
      {{"role", "assistant"},
       {"content", nullptr},
       {"tool_calls",
        json::array({{{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}}})}});
}

ScriptedAnswer call(const std::string& id, const std::string& name, const json& arguments) {
  return callText(id, name, arguments.dump());
}

/// The tool's answer to call `id` as the last of `requests` shows it.
json toolAnswer(const std::vector<std::string>& requests, const std::string& id) {
  const std::string& last = requests.back();
  const json body = json::parse(last.substr(last.find("\r\n\r\n") + 4));
  for (const auto& m : body["messages"])
    if (m["role"] == "tool" && m["tool_call_id"] == id)
      return json::parse(m["content"].get<std::string>());
  return {};
}

/// A block of K0 and text for it that computes the same in fewer modelled cycles, made by a move.
struct FasterText {
  program::BlockId block = 0;
  std::string text;
  double cycles = 0;
};

FasterText fasterText(const MoveFixture& fixture) {
  const double baseline = *optimize::modelledCycles(fixture.object, fixture.dispatch, tests::simulator());
  for (const optimize::Move* move : optimize::moveTable())
    for (const auto& proposal : fixture.propose(*move)) {
      std::vector<program::BlockId> changed;
      for (program::BlockId id = 0; id < fixture.program.blocks.size(); ++id)
        if (printWindow(fixture.program, id, id) != printWindow(proposal.program, id, id))
          changed.push_back(id);
      const double cycles =
          *optimize::modelledCycles(fixture.rebuilt(proposal.program), fixture.dispatch, tests::simulator());
      if (changed.size() == 1 && cycles < baseline)
        return {changed[0], printWindow(proposal.program, changed[0], changed[0]), cycles};
    }
  throw std::runtime_error("no move improves one block alone");
}

std::string withoutLine(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::string result;
  bool dropped = false;
  for (std::string line; std::getline(lines, line);)
    if (!dropped && line.find(part) != std::string::npos)
      dropped = true;
    else
      result += line + "\n";
  EXPECT_TRUE(dropped) << part;
  return result;
}

TEST(Agent, AConversation) {
  const MoveFixture fixture(tests::kernelObject("histogram"), tests::kernelDispatch("histogram"));
  const FasterText faster = fasterText(fixture);
  program::BlockId counting = 0;
  while (printWindow(fixture.program, counting, counting).find("ds_add_u32") == std::string::npos)
    ++counting;
  const std::string window = printWindow(fixture.program, counting, counting);
  const auto edit = [](program::BlockId block, const std::string& text) {
    return json{{"first", block}, {"last", block}, {"text", text}, {"reason", "less waiting"}};
  };
  ScriptedServer server({
      call("a", "list_windows", json::object()),
      call("b", "read_window", {{"first", counting}, {"last", counting}}),
      call("c", "profile", {{"block", counting}}),
      call("d", "propose_edit", edit(counting, withoutLine(window, "ds_add_u32"))),
      call("e", "propose_edit", edit(counting, ".byte 0\n" + window)),
      call("f", "propose_edit", edit(faster.block, faster.text)),
      call("g", "run_shell", {{"command", "true"}}),
      callText("h", "read_window", "{not json"),
      call("i", "read_window", {{"first", 5000000}, {"last", 5000001}}),
      call("j", "propose_edit", {{"first", 0}, {"text", 7}}),
      message({{"role", "assistant"}, {"content", "nothing left to try"}}),
  });
  const auto dispatch = tests::kernelDispatch("histogram");
  const auto outcome = run(fixture.object, fixture.object, dispatch, tests::simulator(), optionsFor(server));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->turns, 11u);
  EXPECT_EQ(outcome->proposals, 3u);
  EXPECT_EQ(outcome->accepted, 1u);
  EXPECT_EQ(outcome->lastMessage, "nothing left to try");

  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 11u);
  // Each request carries the answer to the call before it.
  for (std::size_t i = 1; i < requests.size(); ++i)
    EXPECT_NE(requests[i].find(fmt::format("\"tool_call_id\":\"{}\"", "abcdefghij"[i - 1])), std::string::npos);
  const json windows = toolAnswer(requests, "a")["windows"];
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows[0]["block"], fixture.windows[0].block);
  EXPECT_EQ(toolAnswer(requests, "b")["text"], window);
  EXPECT_EQ(toolAnswer(requests, "c")["modelled"], true);
  EXPECT_FALSE(toolAnswer(requests, "c")["instructions"].empty());
  const json wrong = toolAnswer(requests, "d");
  EXPECT_EQ(wrong["kept"], false);
  EXPECT_EQ(wrong["verdict"], "differs");
  EXPECT_NE(wrong["message"].get<std::string>().find("counts"), std::string::npos) << wrong;
  EXPECT_NE(toolAnswer(requests, "e")["error"].get<std::string>().find("line 1"), std::string::npos);
  const json kept = toolAnswer(requests, "f");
  EXPECT_EQ(kept["kept"], true) << kept;
  EXPECT_DOUBLE_EQ(kept["modelled_cycles_after"].get<double>(), faster.cycles);
  EXPECT_NE(toolAnswer(requests, "g")["error"].get<std::string>().find("run_shell"), std::string::npos);
  EXPECT_TRUE(toolAnswer(requests, "h").contains("error"));
  EXPECT_TRUE(toolAnswer(requests, "i").contains("error"));
  EXPECT_TRUE(toolAnswer(requests, "j").contains("error"));

  const auto& result = outcome->result;
  EXPECT_TRUE(result.improved);
  ASSERT_EQ(result.edits.size(), 1u);
  EXPECT_EQ(result.edits[0].move, "agent");
  EXPECT_EQ(result.edits[0].reason, "less waiting");
  EXPECT_DOUBLE_EQ(result.finalCycles, faster.cycles);
  EXPECT_LT(result.finalCycles, result.baselineCycles);
  const auto k1 = object::CodeObject::parse(result.k1, "K1");
  ASSERT_TRUE(k1) << k1.error().message;
  const auto verdict = verify::verify(fixture.object, *k1, dispatch, tests::simulator(), {});
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verify::accepted(verdict->level)) << verdict->reason;
}

TEST(Agent, AnEndlessConversationStops) {
  ScriptedServer server(std::vector<ScriptedAnswer>(20, call("x", "list_windows", json::object())));
  Options options = optionsFor(server);
  options.maxTurns = 5;
  const auto k0 = tests::kernelObject("vector_add");
  const auto dispatch = tests::kernelDispatch("vector_add");
  const auto outcome = run(k0, k0, dispatch, tests::simulator(), options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->turns, 5u);
  EXPECT_EQ(server.requests().size(), 5u);
  EXPECT_FALSE(outcome->result.improved);
  EXPECT_TRUE(outcome->result.k1.empty());
}

TEST(Agent, OddToolCallsAreAnswered) {
  const auto calls = [](const json& list) { return message({{"role", "assistant"}, {"tool_calls", list}}); };
  ScriptedServer server({
      calls(json::array({3, "x", json::object(), {{"function", 5}}, {{"id", 7}, {"function", {{"name", 1}}}}})),
      calls(json::array({{{"id", "o"}, {"function", {{"name", "list_windows"}, {"arguments", json::object()}}}}})),
      message({{"role", "assistant"}, {"content", json::array({1})}, {"tool_calls", 4}}),
  });
  const auto k0 = tests::kernelObject("vector_add");
  const auto dispatch = tests::kernelDispatch("vector_add");
  const auto outcome = run(k0, k0, dispatch, tests::simulator(), optionsFor(server));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->turns, 3u);
  EXPECT_EQ(outcome->proposals, 0u);
  EXPECT_TRUE(toolAnswer(server.requests(), "o").contains("windows"));
}

TEST(Agent, AServerErrorNamesTheUrlAndNotTheKey) {
  // Some servers repeat the key in their answer.
  ScriptedServer server({{401, std::string("invalid key ") + key}});
  const auto k0 = tests::kernelObject("vector_add");
  const auto dispatch = tests::kernelDispatch("vector_add");
  const auto outcome = run(k0, k0, dispatch, tests::simulator(), optionsFor(server));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find(server.baseUrl()), std::string::npos) << outcome.error().message;
  EXPECT_NE(outcome.error().message.find("401"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(outcome.error().message.find(key), std::string::npos) << outcome.error().message;
}

TEST(Agent, NoCasesIsAnError) {
  ScriptedServer server({});
  const auto k0 = tests::kernelObject("vector_add");
  EXPECT_FALSE(run(k0, k0, {}, tests::simulator(), optionsFor(server)));
  EXPECT_TRUE(server.requests().empty());
}

} // namespace
} // namespace asmevo::agent
