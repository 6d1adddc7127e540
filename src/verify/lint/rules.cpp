#include "verify/lint/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace asmevo::verify {

namespace {

constexpr std::string_view waits = "ISA 4.4", table37 = "ISA 7.5 table 37";
constexpr std::string_view llvm = "LLVM GCNHazardRecognizer";

/// Sections that begin like those above are the manual's, all others stand for themselves.
bool isOfManual(std::string_view section) {
  return section.starts_with("ISA ");
}

std::string_view manualName(const object::Target& target) {
  const std::string_view name = target.processor;
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"gfx908", "CDNA1"}, {"gfx90a", "CDNA2"},   {"gfx94", "CDNA3"},  {"gfx9-4", "CDNA3"},
      {"gfx950", "CDNA4"}, {"gfx9", "Vega"},      {"gfx103", "RDNA2"}, {"gfx10-3", "RDNA2"},
      {"gfx10", "RDNA1"},  {"gfx115", "RDNA3.5"}, {"gfx11", "RDNA3"},  {"gfx12", "RDNA4"}};
  for (const auto& [head, manual] : names)
    if (name.starts_with(head))
      return manual;
  return "AMD";
}

} // namespace

const std::vector<LintRule>& lintRules() {
  static const std::vector<LintRule> rules = {
      {"barrier.divergent", "A barrier that only some lanes' waves may reach", "LLVM AMDGPUUsage, memory model"},
      {"clause.xnack", "A soft clause whose replay after a page fault uses changed addresses", llvm},
      {"lds.beyond", "An LDS access beyond what the descriptor allocates", "ISA 12.1"},
      {"nop.relaxable", "Wait states that nothing needs", "ISA 4.5"},
      {"race.global", "Waves of a workgroup exchange data in global memory without a barrier",
       "LLVM AMDGPUUsage, memory model"},
      {"race.lds", "Waves of a workgroup exchange data in LDS without a barrier", "LLVM AMDGPUUsage, memory model"},
      {"registers.accum", "An AGPR beyond what the descriptor allocates", "LLVM AMDGPUUsage, kernel descriptor"},
      {"registers.sgpr", "An SGPR beyond what the descriptor allocates", "LLVM AMDGPUUsage, kernel descriptor"},
      {"registers.vgpr", "A VGPR beyond what the descriptor allocates", "LLVM AMDGPUUsage, kernel descriptor"},
      {"states.accumulator-between", "V_ACCVGPR_* directly between a VALU write and its reader", llvm},
      {"states.accumulator-move", "V_ACCVGPR_READ or _WRITE too near to a matrix operation or to each other", llvm},
      {"states.dest-select", "VALU reads a result that OPSEL or SDWA moved", "ISA 4.5 table 11 row 20"},
      {"states.dgemm-between", "A DGEMM between a VALU write and the memory operation that reads it", llvm},
      {"states.dgemm-fma64", "V_FMA_F64 after a DGEMM", table37},
      {"states.dot-product", "A dot product's result is used by another operation", table37},
      {"states.exec-mfma", "VALU writes EXEC before a matrix operation", table37},
      {"states.mfma-source-overwrite", "VALU overwrites SrcC that a matrix operation still reads", table37},
      {"states.mfma-srcab", "A matrix result is read as SrcA, SrcB or index", table37},
      {"states.mfma-srcc", "A matrix result is read as SrcC", table37},
      {"states.mfma-vector", "VALU or memory uses a matrix result", table37},
      {"states.permlane", "V_PERMLANE* reads a VALU result, or after V_CMPX", "ISA 4.5 table 11"},
      {"states.salu-m0", "SALU writes M0 before its use", "ISA 4.5 table 11 rows 10, 15, 16"},
      {"states.setreg-getreg", "S_SETREG before S_GETREG or S_SETREG of the same register",
       "ISA 4.5 table 11 rows 1, 2"},
      {"states.setreg-trapsts", "S_SETREG of TRAPSTS before S_RFE", "ISA 4.5 table 11 row 14"},
      {"states.setreg-vskip", "MODE.vskip is set before a vector operation", "ISA 4.5 table 11 rows 3, 4"},
      {"states.store-data", "The data of a wide store is overwritten", "ISA 4.5 table 11 row 8"},
      {"states.transcendental", "A transcendental result is read by another operation", "ISA 4.5 table 11 row 21"},
      {"states.valu-div-fmas", "VALU writes VCC before V_DIV_FMAS", "ISA 4.5 table 11 row 7"},
      {"states.valu-dpp", "DPP reads a VALU result", "ISA 4.5 table 11 row 11"},
      {"states.valu-exec-dpp", "VALU writes EXEC before DPP", "ISA 4.5 table 11 row 12"},
      {"states.valu-exec-valu", "VALU writes EXEC before it is read as data or by a lane access",
       "ISA 4.5 table 11 row 18"},
      {"states.valu-lane-select", "VALU writes the SGPR that selects a lane", "ISA 4.5 table 11 row 6"},
      {"states.valu-mfma", "A matrix operation reads a VALU result", table37},
      {"states.valu-readlane", "A lane access reads a VALU result", "ISA 4.5 table 11 row 19"},
      {"states.valu-sgpr-valu", "VALU reads an SGPR that VALU wrote", "ISA 4.5 table 11 row 17"},
      {"states.valu-sgpr-vmem", "Vector memory reads an SGPR that VALU wrote", "ISA 4.5 table 11 row 9"},
      {"states.valu-vccz", "VALU reads VCCZ or EXECZ after VALU wrote VCC or EXEC", "ISA 4.5 table 11 row 5"},
      {"undecodable", "Words that are reached but are no instruction of the target", "ISA 12"},
      {"wait.lds-dma", "LDS is read, or a barrier passed, before data moved straight to LDS has arrived", waits},
      {"wait.order", "A memory operation that the baseline completes before this point may be in flight", waits},
      {"wait.raw", "A register is read while a memory operation that writes it may be in flight", waits},
      {"wait.relaxable", "A wait that asks for more than any use of it needs", waits},
      {"wait.war", "A register is overwritten while an export or GDS operation has yet to read it", waits},
      {"wait.waw", "A register is overwritten while a memory operation that writes it may be in flight", waits},
  };
  return rules;
}

const LintRule* lintRuleOf(std::string_view rule) {
  std::string id(rule);
  if (id.starts_with("wait.") && std::ranges::count(id, '.') == 2)
    id = fmt::format("wait.{}", id.substr(id.rfind('.') + 1));
  const auto& rules = lintRules();
  const auto found = std::ranges::lower_bound(rules, std::string_view(id), {}, &LintRule::id);
  return found != rules.end() && found->id == id ? &*found : nullptr;
}

std::string manualOf(std::string_view rule, const object::Target& target) {
  const LintRule* found = lintRuleOf(rule);
  if (!found)
    return {};
  if (!isOfManual(found->section))
    return std::string(found->section);
  // The numbers of gfx908 are LLVM's; CDNA2 has the same tables as CDNA3 with its own numbers.
  if (target.processor == "gfx908" && rule.starts_with("states.") && found->section == table37)
    return std::string(llvm);
  return fmt::format("{} {}", manualName(target), found->section);
}

} // namespace asmevo::verify
