#include "isa/printed_form.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

namespace asmevo::isa {

namespace {

struct NamedRegister {
  std::string_view name;
  std::uint16_t index;
  std::uint8_t dwords;
};

// Source encodings of the scalar operand space (CDNA3 ISA, table "SGPR and constant encodings").
constexpr NamedRegister namedRegisters[] = {
    {"vcc", sreg::vccLo, 2},
    {"vcc_lo", sreg::vccLo, 1},
    {"vcc_hi", sreg::vccHi, 1},
    {"exec", sreg::execLo, 2},
    {"exec_lo", sreg::execLo, 1},
    {"exec_hi", sreg::execHi, 1},
    {"m0", sreg::m0, 1},
    {"flat_scratch", sreg::flatScratchLo, 2},
    {"flat_scratch_lo", sreg::flatScratchLo, 1},
    {"flat_scratch_hi", sreg::flatScratchHi, 1},
    {"xnack_mask", sreg::xnackMaskLo, 2},
    {"xnack_mask_lo", sreg::xnackMaskLo, 1},
    {"xnack_mask_hi", sreg::xnackMaskHi, 1},
    {"src_shared_base", 235, 1},
    {"src_shared_limit", 236, 1},
    {"src_private_base", 237, 1},
    {"src_private_limit", 238, 1},
    {"src_pops_exiting_wave_id", 239, 1},
    {"src_vccz", 251, 1},
    {"src_execz", 252, 1},
    {"src_scc", 253, 1},
    {"src_lds_direct", 254, 1},
};

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool parseUnsigned(std::string_view& text, unsigned& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc())
    return false;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return true;
}

/// Decimal or 0x-hexadecimal with optional sign, the whole text.
bool parseInteger(std::string_view text, std::int64_t& value) {
  const bool negative = consume(text, "-");
  const bool hex = consume(text, "0x");
  std::uint64_t magnitude = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || text.empty())
    return false;
  value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

bool parseFloat(std::string_view text, double& value) {
  if (text.find_first_not_of("-.0123456789e") != std::string_view::npos || text.find('.') == std::string_view::npos)
    return false;
  const std::string copy(text);
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() + copy.size();
}

/// v12, v[0:3], a.., s.., ttmp.. with the prefix already known.
bool parseNumbered(std::string_view text, unsigned base, Operand& out) {
  unsigned first = 0, last = 0;
  if (consume(text, "[")) {
    if (!parseUnsigned(text, first))
      return false;
    last = first;
    if (consume(text, ":") && !parseUnsigned(text, last))
      return false;
    if (text != "]" || last < first || last - first >= 64)
      return false;
  } else {
    if (!parseUnsigned(text, first) || !text.empty())
      return false;
    last = first;
  }
  if (last > 1023)
    return false;
  out.index = static_cast<std::uint16_t>(base + first);
  out.dwords = static_cast<std::uint8_t>(last - first + 1);
  return true;
}

bool parseRegister(std::string_view text, Operand& out) {
  for (const auto& named : namedRegisters)
    if (named.name == text) {
      out.kind = OperandKind::sgpr;
      out.index = named.index;
      out.dwords = named.dwords;
      return true;
    }
  if (text.starts_with("ttmp") && parseNumbered(text.substr(4), sreg::ttmp0, out)) {
    out.kind = OperandKind::sgpr;
    return true;
  }
  if (text.size() < 2)
    return false;
  const OperandKind kind = text[0] == 'v'   ? OperandKind::vgpr
                           : text[0] == 'a' ? OperandKind::agpr
                           : text[0] == 's' ? OperandKind::sgpr
                                            : OperandKind::other;
  if (kind == OperandKind::other || !parseNumbered(text.substr(1), 0, out))
    return false;
  out.kind = kind;
  return true;
}

/// Strips the modifiers around an operand; what is left is the register or constant.
std::string_view stripInputModifiers(std::string_view text, Operand& out) {
  for (bool again = true; again;) {
    again = false;
    const auto unwrap = [&](std::string_view prefix, std::string_view suffix, bool& flag) {
      if (text.size() > prefix.size() + suffix.size() && text.starts_with(prefix) && text.ends_with(suffix)) {
        text = text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
        flag = again = true;
      }
    };
    unwrap("neg(", ")", out.neg);
    unwrap("abs(", ")", out.abs);
    unwrap("sext(", ")", out.sext);
    unwrap("|", "|", out.abs);
    // "-1.0" and "-16" are constants of their own; "-v1" and "-|v1|" are negations.
    if (text.size() > 1 && text[0] == '-' && !(text[1] >= '0' && text[1] <= '9')) {
      text.remove_prefix(1);
      out.neg = again = true;
    }
  }
  return text;
}

/// `isDef` aside, everything of an operand. `text` is a part of `whole`, the instruction's text.
Operand parseOperand(std::string_view text, std::string_view whole, std::uint32_t simm16) {
  Operand out;
  text = stripInputModifiers(text, out);
  out.textBegin = static_cast<std::uint16_t>(text.data() - whole.data());
  out.textEnd = static_cast<std::uint16_t>(out.textBegin + text.size());
  if (text.size() > 3 && (text.ends_with(".l") || text.ends_with(".h"))) {
    out.half = text.back() == 'l' ? 1 : 2;
    text.remove_suffix(2);
    out.textEnd = static_cast<std::uint16_t>(out.textEnd - 2);
  }
  std::string_view literal = text;
  if ((literal.starts_with("lit(") || literal.starts_with("lit64(")) && literal.ends_with(")"))
    literal = literal.substr(literal.find('(') + 1, literal.size() - literal.find('(') - 2);
  if (text == "off") {
    out.kind = OperandKind::off;
  } else if (parseRegister(text, out)) {
  } else if (parseInteger(literal, out.imm)) {
    out.kind = OperandKind::imm;
  } else if (parseFloat(literal, out.fp)) {
    out.kind = OperandKind::fpImm;
  } else {
    out.kind = text.starts_with("hwreg(") ? OperandKind::hwreg : OperandKind::other;
    out.imm = simm16;
  }
  return out;
}

/// [a,b,c]: bit i is element i.
std::uint8_t parseBits(std::string_view list) {
  unsigned bits = 0, i = 0;
  for (const char c : list) {
    if (c != '0' && c != '1')
      continue;
    if (c == '1' && i < 8)
      bits |= 1u << i;
    ++i;
  }
  return static_cast<std::uint8_t>(bits);
}

std::uint8_t parseByte(std::string_view text) {
  std::int64_t value = 0;
  return parseInteger(text, value) ? static_cast<std::uint8_t>(value) : std::uint8_t{0};
}

SdwaSel parseSel(std::string_view text) {
  constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  const auto* found = std::find(std::begin(names), std::end(names), text);
  return found == std::end(names) ? SdwaSel::dword : static_cast<SdwaSel>(found - std::begin(names));
}

struct NamedDpp {
  std::string_view name;
  DppCtrl ctrl;
};
constexpr NamedDpp dppNames[] = {
    {"row_shl", DppCtrl::rowShl},
    {"row_shr", DppCtrl::rowShr},
    {"row_ror", DppCtrl::rowRor},
    {"wave_shl", DppCtrl::waveShl},
    {"wave_rol", DppCtrl::waveRol},
    {"wave_shr", DppCtrl::waveShr},
    {"wave_ror", DppCtrl::waveRor},
    {"row_mirror", DppCtrl::rowMirror},
    {"row_half_mirror", DppCtrl::rowHalfMirror},
    {"row_newbcast", DppCtrl::rowNewBcast},
    {"row_share", DppCtrl::rowNewBcast},
};

struct NamedFlag {
  std::string_view name;
  bool Modifiers::* flag;
};
constexpr NamedFlag flagNames[] = {
    {"sc0", &Modifiers::sc0},     {"sc1", &Modifiers::sc1}, {"nt", &Modifiers::nt},   {"glc", &Modifiers::sc0},
    {"slc", &Modifiers::nt},      {"scc", &Modifiers::sc1}, {"lds", &Modifiers::lds}, {"offen", &Modifiers::offen},
    {"idxen", &Modifiers::idxen}, {"gds", &Modifiers::gds}, {"tfe", &Modifiers::tfe}, {"clamp", &Modifiers::clamp},
};

// Flags of other generations and of image and export instructions: recognised so that they are not taken for operands.
constexpr std::string_view otherFlags[] = {"dlc",  "addr64", "unorm", "da",   "r128", "d16",   "lwe",
                                           "done", "vm",     "compr", "norm", "high", "row_en"};

std::uint32_t dword0(const Instruction& inst) {
  return static_cast<std::uint32_t>(inst.encoding[0]) | static_cast<std::uint32_t>(inst.encoding[1]) << 8 |
         static_cast<std::uint32_t>(inst.encoding[2]) << 16 | static_cast<std::uint32_t>(inst.encoding[3]) << 24;
}

/// False where `word` is not a modifier.
bool parseModifier(std::string_view word, Instruction& inst) {
  Modifiers& mods = inst.mods;
  for (const auto& flag : flagNames)
    if (flag.name == word) {
      mods.*flag.flag = true;
      return true;
    }
  if (std::find(std::begin(otherFlags), std::end(otherFlags), word) != std::end(otherFlags))
    return true;
  if (word == "a16" && inst.base.starts_with("image_")) // elsewhere it is a register
    return true;
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
  for (const auto& dpp : dppNames)
    if (dpp.name == name) {
      mods.dpp = dpp.ctrl;
      mods.dppAmount = parseByte(value);
      return true;
    }
  if (colon == std::string_view::npos || name.empty() || name.find_first_of("[(|-") != std::string_view::npos)
    return false;
  if (name == "offset") {
    std::int64_t offset = 0;
    // ds_swizzle prints its offset symbolically; DS keeps it in bits 15:0.
    mods.offset = parseInteger(value, offset) ? static_cast<std::int32_t>(offset)
                                              : static_cast<std::int32_t>(dword0(inst) & 0xffff);
  } else if (name == "offset0") {
    mods.offset0 = parseByte(value);
  } else if (name == "offset1") {
    mods.offset1 = parseByte(value);
  } else if (name == "mul") {
    mods.omod = value == "4" ? 2 : 1;
  } else if (name == "div") {
    mods.omod = 3;
  } else if (name == "op_sel") {
    mods.opSel = parseBits(value);
    mods.opSelPrinted = true;
  } else if (name == "op_sel_hi") {
    mods.opSelHi = parseBits(value);
    mods.opSelHiPrinted = true;
  } else if (name == "neg_lo" || name == "neg") {
    mods.negLo = parseBits(value);
  } else if (name == "neg_hi") {
    mods.negHi = parseBits(value);
  } else if (name == "quad_perm") {
    mods.dpp = DppCtrl::quadPerm;
    std::size_t i = 0;
    for (const char c : value)
      if (c >= '0' && c <= '3' && i < mods.quadPerm.size())
        mods.quadPerm[i++] = static_cast<std::uint8_t>(c - '0');
  } else if (name == "row_bcast") {
    mods.dpp = value == "31" ? DppCtrl::rowBcast31 : DppCtrl::rowBcast15;
    mods.dppAmount = parseByte(value);
  } else if (name == "row_mask") {
    mods.rowMask = parseByte(value);
  } else if (name == "bank_mask") {
    mods.bankMask = parseByte(value);
  } else if (name == "bound_ctrl") {
    mods.boundCtrl = true;
  } else if (name == "dst_sel") {
    mods.dstSel = parseSel(value);
  } else if (name == "dst_unused") {
    mods.dstUnused = value == "UNUSED_PRESERVE" ? SdwaUnused::preserve
                     : value == "UNUSED_SEXT"   ? SdwaUnused::sext
                                                : SdwaUnused::pad;
  } else if (name == "src0_sel") {
    mods.srcSel[0] = parseSel(value);
  } else if (name == "src1_sel") {
    mods.srcSel[1] = parseSel(value);
  } else if (name == "cbsz") {
    mods.cbsz = parseByte(value);
  } else if (name == "abid") {
    mods.abid = parseByte(value);
  } else if (name == "blgp") {
    mods.blgp = parseByte(value);
  } else if (name == "format") {
    std::int64_t format = 0;
    // Printed by name on gfx9: dfmt in bits 22:19, nfmt in 25:23 of MTBUF.
    mods.format = static_cast<std::uint8_t>(parseInteger(value, format) ? format : (dword0(inst) >> 19) & 0x7f);
  }
  return true;
}

/// Cuts the next piece off `rest` at a separator that is outside all brackets; `separators` are single characters.
std::string_view nextPiece(std::string_view& rest, std::string_view separators) {
  int depth = 0;
  std::size_t i = 0;
  for (; i < rest.size(); ++i) {
    if (rest.substr(i).starts_with("/*")) { // LLVM's remark on an operand it would not take
      i = std::min(rest.find("*/", i), rest.size() - 2) + 1;
      continue;
    }
    const char c = rest[i];
    if (c == '[' || c == '(')
      ++depth;
    else if (c == ']' || c == ')')
      --depth;
    else if (depth <= 0 && separators.find(c) != std::string_view::npos)
      break;
  }
  const std::string_view piece = rest.substr(0, i);
  rest.remove_prefix(std::min(i + 1, rest.size()));
  return piece;
}

void markDefs(Instruction& inst, const PrintedFormHints& hints) {
  const std::size_t explicitDefs = std::min<std::size_t>(hints.explicitDefs, inst.operands.size());
  for (std::size_t i = 0; i < explicitDefs; ++i)
    inst.operands[i].isDef = true;
  if (!hints.implicitlyDefinesVcc || explicitDefs >= inst.operands.size())
    return;
  // VOPC prints vcc first, VOP2 carry-outs print it after the VGPR; vcc in a later place is an input.
  Operand& candidate = inst.operands[explicitDefs];
  if (candidate.kind == OperandKind::sgpr && candidate.index == sreg::vccLo && !candidate.neg && !candidate.abs)
    candidate.isDef = true;
}

} // namespace

std::string_view baseMnemonic(std::string_view mnemonic) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_dpp8"})
      if (mnemonic.ends_with(suffix)) {
        mnemonic.remove_suffix(suffix.size());
        again = true;
      }
  }
  return mnemonic;
}

void parsePrintedForm(Instruction& inst, const PrintedFormHints& hints) {
  const std::string_view text = inst.text;
  const std::size_t space = text.find(' ');
  inst.mnemonic = text.substr(0, space);
  inst.base = baseMnemonic(inst.mnemonic);
  inst.operands.clear();
  inst.mods = Modifiers();
  inst.mods.isSdwa = inst.mnemonic.ends_with("_sdwa");
  std::string_view rest = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (inst.cls == InstClass::waitcnt)
    rest = {}; // counters are in simm16
  std::size_t secondHalf = 0;
  while (!rest.empty()) {
    std::string_view words = nextPiece(rest, ",");
    while (!words.empty()) {
      std::string_view word = nextPiece(words, " ");
      word = word.substr(0, word.find("/*"));
      if (word == "::") { // the second half of a VOPD pair; its mnemonic follows
        nextPiece(words, " ");
        secondHalf = inst.operands.size();
        continue;
      }
      if (!word.empty() && !parseModifier(word, inst))
        inst.operands.push_back(parseOperand(word, text, inst.simm16));
    }
  }
  // Mixed-precision FMA selects f32 unless op_sel_hi says f16; packed math selects the high half for the high result.
  if (!inst.mods.opSelHiPrinted && inst.base.find("_mix") != std::string::npos)
    inst.mods.opSelHi = 0;
  if (secondHalf > 0 && secondHalf < inst.operands.size())
    inst.operands[0].isDef = inst.operands[secondHalf].isDef = true;
  else
    markDefs(inst, hints);
}

} // namespace asmevo::isa
