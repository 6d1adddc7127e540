#include "agent/agent.h"

#include "agent/tools.h"

#include <chrono>

namespace asmevo::agent {

using nlohmann::json;

namespace {

constexpr const char* systemPrompt =
    "You optimize one AMD GPU kernel, given as machine code recovered from a compiled code object (gfx942, wave64). "
    "Use the "
    "tools: list_windows to see where the modelled time goes, read_window and profile to study a window, propose_edit "
    "to try a "
    "replacement. An edit must compute exactly the same (all buffers bit-equal, memory order kept, every register read "
    "after a "
    "load covered by an s_waitcnt, wait states kept). The tool tells you whether it verified and was faster; only then "
    "is it "
    "kept. Work on the hottest windows first. Typical gains: issue loads earlier, weaken waits to the exact count, "
    "fill MFMA "
    "shadows, remove redundant work. When you have nothing left to try, answer without a tool call.";

std::string textOf(const json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : std::string();
}

} // namespace

Result<Outcome> run(const object::CodeObject& k0, const object::CodeObject& start, const dispatch::Dispatch& dispatch,
                    device::Device& device, const Options& options) {
  if (dispatch.cases.empty())
    return badInput("{}: no cases to optimize for", dispatch.path);
  Session session(k0, dispatch, device, options.gate);
  ASMEVO_CHECK(session.adopt(start));
  json messages = json::array({{{"role", "system"}, {"content", systemPrompt}},
                               {{"role", "user"}, {"content", session.call("list_windows", "{}").dump()}}});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.budgetSeconds);
  Outcome outcome;
  while (outcome.turns < options.maxTurns && std::chrono::steady_clock::now() < deadline) {
    ++outcome.turns;
    if (options.progress)
      options.progress(
          fmt::format("agent turn {}: {} proposals, {} kept", outcome.turns, session.proposals, session.accepted));
    ASMEVO_TRY(json message, complete(options.endpoint, messages, Session::toolTable()));
    messages.push_back(message);
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array() || calls->empty()) {
      outcome.lastMessage = textOf(message);
      break;
    }
    for (const auto& call : *calls) {
      std::string name, arguments, id;
      if (call.is_object() && call.contains("function") && call["function"].is_object()) {
        name = call["function"].value("name", json()).is_string() ? call["function"]["name"].get<std::string>() : "";
        const json given = call["function"].value("arguments", json());
        arguments = given.is_string() ? given.get<std::string>() : given.dump();
        id = call.value("id", json()).is_string() ? call["id"].get<std::string>() : "";
      }
      // One message may ask for any number of calls.
      const json answer = std::chrono::steady_clock::now() < deadline ? session.call(name, arguments)
                                                                      : json{{"error", "the time budget is used up"}};
      messages.push_back({{"role", "tool"},
                          {"tool_call_id", id},
                          {"content", answer.dump(-1, ' ', false, json::error_handler_t::replace)}});
    }
  }
  outcome.result = std::move(session.outcome);
  outcome.proposals = session.proposals;
  outcome.accepted = session.accepted;
  return outcome;
}

} // namespace asmevo::agent
