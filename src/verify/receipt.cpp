#include "isa/semantics/statement.h"
#include "verify/data_variants.h"
#include "verify/proof/kept_counterexamples.h"
#include "verify/verify.h"

namespace asmevo::verify {

namespace {

using nlohmann::json;

constexpr const char* toolVersion = "asmevo 0.1.0";

json addresses(const std::vector<std::uint64_t>& values) {
  json list = json::array();
  for (const std::uint64_t value : values)
    list.push_back(fmt::format("{:#x}", value));
  return list;
}

json ruleOf(const dispatch::Comparison& rule) {
  switch (rule.mode) {
  case dispatch::Comparison::Mode::bitwise:
    return {{"bitwise", true}};
  case dispatch::Comparison::Mode::tolerance:
    return {{"rtol", rule.rtol}, {"atol", rule.atol}};
  case dispatch::Comparison::Mode::ignore:
    return {{"ignore", true}};
  }
  return {};
}

json caseOf(const dispatch::Case& launch, const CaseResult* result) {
  json buffers = json::object();
  for (const dispatch::Buffer& buffer : launch.buffers)
    buffers[buffer.name] = {{"bytes", buffer.initial.size()},
                            {"initial_sha256", sha256Hex(buffer.initial)},
                            {"compared", ruleOf(launch.comparisonOf(buffer.name))}};
  json entry{{"name", launch.name},
             {"kernel", launch.kernel},
             {"workgroup_size", launch.workgroupSize},
             {"grid_size", launch.gridSize},
             {"dynamic_lds_bytes", launch.dynamicLdsBytes},
             {"buffers", std::move(buffers)}};
  if (result && result->skipped) {
    entry["skipped"] = result->detail;
  } else if (result) {
    entry["equal"] = result->equal;
    entry["wave_instructions"] = result->waveInstructions;
    if (!result->detail.empty())
      entry["detail"] = result->detail;
  }
  return entry;
}

json listOf(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings)
    list.push_back({{"rule", finding.rule},
                    {"producer", fmt::format("{:#x}", finding.producer)},
                    {"consumer", fmt::format("{:#x}", finding.consumer)},
                    {"message", finding.message}});
  return list;
}

json lintOf(const Verdict& verdict) {
  return {{"new", listOf(verdict.newFindings)}, {"also_in_k0", verdict.baselineFindings}};
}

json editOf(const EditReport& edit) {
  const auto range = [](std::uint64_t begin, std::uint64_t end) -> json {
    if (begin == 0)
      return nullptr;
    return json::array({fmt::format("{:#x}", begin), fmt::format("{:#x}", end)});
  };
  json entry{{"k0", range(edit.k0Begin, edit.k0End)},
             {"k1", range(edit.k1Begin, edit.k1End)},
             {"removed", edit.removed},
             {"added", edit.added},
             {"level", levelName(edit.level)},
             {"reason", edit.reason},
             {"cases", edit.cases},
             {"exec", {{"all_lanes", edit.execFull}, {"some_lanes", edit.execPartial}, {"no_lane", edit.execNone}}}};
  if (edit.cases != 0)
    entry["first_case"] = edit.firstCase;
  if (edit.inLoop)
    entry["back_edge_taken"] = edit.backEdgeTaken;
  if (!edit.reach.empty())
    entry["reached_by"] = edit.reach;
  return entry;
}

/// What strict runs found: new findings reject K1; those of K0 are named, the first of them in full.
json strictOf(const Verdict& verdict) {
  constexpr std::size_t named = 100;
  json cases = json::array();
  for (const StrictSummary& summary : verdict.strict)
    cases.push_back({{"name", summary.name},
                     {"workgroups", summary.workgroups},
                     {"deliveries", summary.deliveries},
                     {"notes", summary.notes}});
  std::vector<Finding> known = verdict.knownStrictFindings;
  if (known.size() > named)
    known.resize(named);
  return {{"cases", std::move(cases)},
          {"new", listOf(verdict.newStrictFindings)},
          {"also_in_k0", verdict.knownStrictFindings.size()},
          {"baseline", listOf(known)}};
}

} // namespace

json receipt(const object::CodeObject& k0, const object::CodeObject& k1, const Verdict& verdict,
             const dispatch::Dispatch& given, const device::Device& device) {
  const dispatch::Dispatch dispatch = withVariants(given, verdict.dataVariants).dispatch;
  json cases = json::array();
  for (std::size_t i = 0; i < dispatch.cases.size(); ++i)
    cases.push_back(caseOf(dispatch.cases[i], i < verdict.cases.size() ? &verdict.cases[i] : nullptr));
  json edits = json::array();
  for (const EditReport& edit : verdict.edits)
    edits.push_back(editOf(edit));
  json result{{"asmevo_receipt", 1},
              {"tool", toolVersion},
              {"target", k0.target().id()},
              {"k0", {{"sha256", sha256Hex(k0.bytes())}, {"bytes", k0.bytes().size()}}},
              {"k1", {{"sha256", sha256Hex(k1.bytes())}, {"bytes", k1.bytes().size()}}},
              {"device", {{"name", device.name()}, {"modelled", device.modelled()}}},
              {"verdict", levelName(verdict.level)},
              {"accepted", accepted(verdict.level)},
              {"reason", verdict.reason},
              {"rejected_by", verdict.gate.empty() ? json(nullptr) : json(verdict.gate)},
              {"edited_blocks", verdict.editedBlocks},
              {"edits", std::move(edits)},
              {"uncovered_edits", addresses(verdict.uncoveredEdits)},
              {"uncovered_new_blocks", addresses(verdict.uncoveredNew)},
              {"resources", verdict.otherChanges},
              {"lint", lintOf(verdict)},
              {"strict", strictOf(verdict)},
              {"seeds", verdict.seeds},
              {"variants",
               {{"rounds", verdict.dataVariants},
                {"further_rounds", verdict.furtherRounds},
                {"sizes_without_news", verdict.sizesWithoutNews},
                {"left_out", verdict.leftOut}}},
              {"k0_nondeterminism", verdict.nondeterminism},
              {"cases", std::move(cases)}};
  if (!verdict.proof.empty())
    result["proof"] = verdict.proof;
  if (!verdict.proofAssumptions.empty())
    result["proof_assumptions"] = verdict.proofAssumptions;
  if (verdict.counterexample)
    result["counterexample"] = counterexampleJson(*verdict.counterexample);
  if (verdict.mutationScore)
    result["mutation_score"] = *verdict.mutationScore;
  if (device.modelled()) {
    json notes = json::array();
    for (const isa::semantics::Statement& item : isa::semantics::statement())
      notes.push_back(fmt::format("{}: {}", item.topic, item.text));
    notes.push_back("time: every time and cycle count is modelled, not measured.");
    result["notes"] = std::move(notes);
  }
  return result;
}

} // namespace asmevo::verify
