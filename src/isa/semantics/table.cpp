#include "isa/semantics/table.h"

#include <unordered_map>
#include <utility>

namespace asmevo::isa::semantics {

std::span<const OpcodeInfo> opcodeTable() {
  static constexpr OpcodeInfo table[] = {
#define ASMEVO_OP(name, speed, use, body, signature, section) {#name, Signature<signature>::info(), section, false},
#include "isa/semantics/compare_float.def"
#include "isa/semantics/compare_int.def"
#include "isa/semantics/conversions.def"
#include "isa/semantics/transcendental.def"
#include "isa/semantics/vop3p.def"
#include "isa/semantics/vop_f16.def"
#include "isa/semantics/vop_f32.def"
#include "isa/semantics/vop_f64.def"
#include "isa/semantics/vop_int.def"
#include "isa/semantics/vop_int16.def"
#undef ASMEVO_OP
#define ASMEVO_OP(name, speed, use, body, signature, section) {#name, Signature<signature>::info(), section, true},
#include "isa/semantics/sop.def"
#undef ASMEVO_OP
  };
  return table;
}

const OpcodeInfo* findOpcode(std::string_view mnemonic) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpcodeInfo*> map;
    for (const OpcodeInfo& row : opcodeTable())
      map.emplace(row.mnemonic, &row);
    return map;
  }();
  const auto it = index.find(mnemonic);
  return it == index.end() ? nullptr : it->second;
}

std::string_view manualSection(std::string_view section) {
  static constexpr std::pair<std::string_view, std::string_view> chapters[] = {
      {"SOP2", "CDNA3 ISA 12.1, SOP2 instructions"},
      {"SOPK", "CDNA3 ISA 12.2, SOPK instructions"},
      {"SOP1", "CDNA3 ISA 12.3, SOP1 instructions"},
      {"SOPC", "CDNA3 ISA 12.4, SOPC instructions"},
      {"SOPP", "CDNA3 ISA 12.5, SOPP instructions"},
      {"SMEM", "CDNA3 ISA 12.6, SMEM instructions"},
      {"VOP2", "CDNA3 ISA 12.7, VOP2 instructions"},
      {"VOP1", "CDNA3 ISA 12.8, VOP1 instructions"},
      {"VOPC", "CDNA3 ISA 12.9, VOPC instructions"},
      {"VOP3P", "CDNA3 ISA 12.10, VOP3P instructions"},
      {"VOP3A", "CDNA3 ISA 12.11, VOP3A and VOP3B instructions"},
      {"VOP3B", "CDNA3 ISA 12.11, VOP3A and VOP3B instructions"},
  };
  for (const auto& [name, title] : chapters)
    if (name == section)
      return title;
  return {};
}

std::span<const std::string_view> specialOpcodes() {
  static constexpr std::string_view names[] = {
      "v_nop",
      "v_clrexcp",
      "v_swap_b32",
      "v_readfirstlane_b32",
      "v_readlane_b32",
      "v_writelane_b32",
      "s_movrels_b32",
      "s_movrels_b64",
      "s_movreld_b32",
      "s_movreld_b64",
      "s_set_gpr_idx_on",
      "s_set_gpr_idx_off",
      "s_set_gpr_idx_mode",
      "s_set_gpr_idx_idx",
      "s_getreg_b32",
      "s_setreg_b32",
      "s_setreg_imm32_b32",
  };
  return names;
}

} // namespace asmevo::isa::semantics
