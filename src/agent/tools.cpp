#include "agent/tools.h"

#include "agent/window_text.h"

#include <algorithm>

namespace asmevo::agent {

using nlohmann::json;

namespace {

json problem(const std::string& message) {
  return {{"error", message}};
}

std::optional<program::BlockId> blockArgument(const json& arguments, const char* key) {
  const auto at = arguments.find(key);
  if (at == arguments.end() || !at->is_number_unsigned() || at->get<std::uint64_t>() > 0xffffffff)
    return std::nullopt;
  return at->get<program::BlockId>();
}

json tool(const char* name, const char* description, json properties, json required) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", description},
            {"parameters",
             {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}}}}}};
}

} // namespace

json Session::toolTable() {
  const json block = {{"type", "integer"}, {"description", "block number, as in label L<number>"}};
  return json::array({
      tool("list_windows", "Basic blocks ranked by modelled cost: block, share, cycles, top stall reason.",
           json::object(), json::array()),
      tool("read_window", "Assembly of blocks first to last.", {{"first", block}, {"last", block}}, {"first", "last"}),
      tool("profile", "Issue counts and stall cycles by reason of each instruction of a block (modelled).",
           {{"block", block}}, {"block"}),
      tool("propose_edit",
           "Replaces blocks first to last by assembly text in the form of read_window (labels L<number>, one "
           "instruction a "
           "line, no directives or comments). The edit is rebuilt, verified against the original object and timed; it "
           "is kept "
           "only if it verifies and is faster.",
           {{"first", block},
            {"last", block},
            {"text", {{"type", "string"}}},
            {"reason", {{"type", "string"}, {"description", "one sentence"}}}},
           {"first", "last", "text", "reason"}),
  });
}

Status Session::adopt(const object::CodeObject& object) {
  if (!codec) {
    auto created = isa::Codec::create(k0);
    if (!created)
      return std::move(created).error();
    codec = *std::move(created);
  }
  auto copy = object::CodeObject::parse(Bytes(object.bytes().begin(), object.bytes().end()), object.name());
  if (!copy)
    return std::move(copy).error();
  best = *std::move(copy);
  auto recovered = program::Program::recover(*best, *codec);
  if (!recovered)
    return std::move(recovered).error();
  program = *std::move(recovered);
  for (auto& block : program.blocks)
    for (auto& instr : block.instrs)
      instr.inst = codec->complete(instr.inst);
  estimate = {};
  double cycles = 0;
  for (const auto& launch : dispatch.cases) {
    auto loaded = device.load(*best, launch.kernel);
    if (!loaded)
      return std::move(loaded).error();
    auto timed = (*loaded)->time(launch);
    if (!timed)
      return std::move(timed).error();
    cycles += timed->cycles;
    if (timed->cycles >= estimate.cycles)
      estimate = *std::move(timed);
  }
  const auto kernel = best->findKernel(dispatch.cases.front().kernel);
  if (!kernel)
    return kernel.error();
  windows = optimize::rankWindows(*best, program, **kernel, estimate);
  for (const auto* section : best->codeSections())
    if (section->contains((*kernel)->entryAddress))
      codeBase = section->address;
  if (outcome.baselineCycles == 0)
    outcome.baselineCycles = cycles;
  outcome.finalCycles = cycles;
  if (outcome.windows.empty())
    outcome.windows = windows;
  return {};
}

json Session::listWindows() const {
  json list = json::array();
  for (const auto& window : windows) {
    if (list.size() == 40)
      break;
    list.push_back({{"block", window.block},
                    {"instructions", program.blocks[window.block].instrs.size()},
                    {"share", window.share},
                    {"modelled_cycles", window.cycles},
                    {"top_stall", timing::stallName(window.topStall)}});
  }
  return {{"modelled_total_cycles", outcome.finalCycles}, {"bound", estimate.bound}, {"windows", std::move(list)}};
}

json Session::readWindow(const json& arguments) const {
  const auto first = blockArgument(arguments, "first"), last = blockArgument(arguments, "last");
  if (!first || !last || *first > *last || *last >= program.blocks.size() || *last - *first >= 64)
    return problem(
        fmt::format("first and last are block numbers from 0 to {}, at most 64 blocks", program.blocks.size() - 1));
  return {{"text", printWindow(program, *first, *last)}};
}

json Session::profile(const json& arguments) const {
  const auto block = blockArgument(arguments, "block");
  if (!block || *block >= program.blocks.size())
    return problem(fmt::format("block is a number from 0 to {}", program.blocks.size() - 1));
  json rows = json::array();
  for (const auto& instr : program.blocks[*block].instrs) {
    const auto offset = static_cast<std::uint32_t>(instr.address - codeBase);
    const auto at = std::ranges::lower_bound(estimate.instructions, offset, {}, &timing::InstructionProfile::offset);
    if (at == estimate.instructions.end() || at->offset != offset)
      continue;
    json stalls = json::object();
    for (std::size_t r = 0; r < timing::stallCount; ++r)
      if (at->byReason[r] > 0)
        stalls[std::string(timing::stallName(static_cast<timing::Stall>(r)))] = at->byReason[r];
    rows.push_back({{"instruction", instr.inst->text}, {"issued", at->issued}, {"stall_cycles", std::move(stalls)}});
  }
  return {{"modelled", true}, {"instructions", std::move(rows)}};
}

json Session::proposeEdit(const json& arguments) {
  const auto first = blockArgument(arguments, "first"), last = blockArgument(arguments, "last");
  const auto text = arguments.find("text");
  if (!first || !last || text == arguments.end() || !text->is_string())
    return problem("propose_edit takes first, last, text and reason");
  ++proposals;
  ++outcome.candidatesTried;
  if (!best)
    return problem("no object to edit");
  auto edited = applyWindowText(program, *codec, *first, *last, text->get<std::string>());
  if (!edited) {
    ++outcome.candidatesRejected;
    return problem(edited.error().message);
  }
  auto judged = optimize::judge(k0, *best, *edited, dispatch, device, *codec, options);
  if (!judged) {
    ++outcome.candidatesRejected;
    return problem(judged.error().message);
  }
  json answer{{"verdict", verify::levelName(judged->verdict.level)}, {"reason", judged->verdict.reason}};
  if (!verify::accepted(judged->verdict.level)) {
    ++outcome.candidatesRejected;
    answer["kept"] = false;
    answer["message"] = judged->message;
    json cases = json::array();
    for (const auto& c : judged->verdict.cases)
      if (!c.equal)
        cases.push_back({{"case", c.name}, {"detail", c.detail}});
    answer["cases"] = std::move(cases);
    return answer;
  }
  answer["modelled_cycles_before"] = outcome.finalCycles;
  answer["modelled_cycles_after"] = judged->cycles;
  const bool faster = judged->cycles < outcome.finalCycles;
  answer["kept"] = faster;
  if (!faster)
    return answer;
  ++accepted;
  const auto reason = arguments.find("reason");
  const auto& blocks = program.blocks;
  optimize::Edit edit{"agent",
                      reason != arguments.end() && reason->is_string() ? reason->get<std::string>().substr(0, 400) : "",
                      blocks[*first].address,
                      blocks[*last].address,
                      outcome.finalCycles,
                      judged->cycles,
                      judged->verdict.level,
                      {},
                      {}};
  outcome.edits.push_back(std::move(edit));
  outcome.verdict = judged->verdict;
  outcome.improved = true;
  outcome.k1 = judged->bytes;
  const auto object = object::CodeObject::parse(judged->bytes, k0.name());
  if (!object)
    return problem(object.error().message);
  if (const Status adopted = adopt(*object); !adopted)
    return problem(adopted.error().message);
  answer["note"] = "block numbers refer to the new program from now on";
  return answer;
}

json Session::call(const std::string& name, const std::string& argumentText) {
  json arguments = json::parse(argumentText.empty() ? "{}" : argumentText, nullptr, /*allow_exceptions=*/false);
  if (!arguments.is_object())
    return problem("the arguments are not a JSON object");
  if (name == "list_windows")
    return listWindows();
  if (name == "read_window")
    return readWindow(arguments);
  if (name == "profile")
    return profile(arguments);
  if (name == "propose_edit")
    return proposeEdit(arguments);
  return problem(
      fmt::format("no tool '{}'; there are list_windows, read_window, profile and propose_edit", name.substr(0, 60)));
}

} // namespace asmevo::agent
