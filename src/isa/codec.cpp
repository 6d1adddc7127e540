#include "isa/codec.h"

#include "isa/classify.h"
#include "isa/llvm_target.h"
#include "isa/printed_form.h"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace asmevo::isa {

namespace {

constexpr std::size_t maxAssemblyText = 512;
constexpr std::size_t maxAssemblyCache = 1 << 18;

/// Open-addressed map from an encoding to what is known of it. Keys are never removed.
template <class Key> class EncodingTable {
 public:
  struct Slot {
    Key key = 0;
    bool used = false;
    bool longer = false; ///< the instruction needs more bytes than the key has, or their values
    Instruction* inst = nullptr;
  };

  Slot& at(Key key) {
    if ((count + 1) * 2 > slots.size())
      grow();
    Slot& slot = find(key);
    if (!slot.used) {
      slot.used = true;
      slot.key = key;
      ++count;
    }
    return slot;
  }

 private:
  Slot& find(Key key) {
    const std::size_t mask = slots.size() - 1;
    std::uint64_t hash = static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    for (std::size_t i = static_cast<std::size_t>(hash) & mask;; i = (i + 1) & mask)
      if (!slots[i].used || slots[i].key == key)
        return slots[i];
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(slots.size() * 2, 1024));
    old.swap(slots);
    for (const auto& slot : old)
      if (slot.used)
        find(slot.key) = slot;
  }

  std::vector<Slot> slots;
  std::size_t count = 0;
};

/// Takes what the parser emits; more than one instruction, or anything else, is an error of the caller's text.
class OneInstructionStreamer final : public llvm::MCStreamer {
 public:
  explicit OneInstructionStreamer(llvm::MCContext& context) : MCStreamer(context) {}

  void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo&) override {
    ++count;
    instruction = inst;
  }
  void emitLabel(llvm::MCSymbol*, llvm::SMLoc) override { other = true; }
  void emitAssignment(llvm::MCSymbol*, const llvm::MCExpr*) override { other = true; }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return other = true; }
  void emitCommonSymbol(llvm::MCSymbol*, std::uint64_t, llvm::Align) override { other = true; }
  void emitBytes(llvm::StringRef) override { other = true; }

  unsigned count = 0;
  bool other = false;
  llvm::MCInst instruction;
};

/// Keeps the first error of a parse.
void keepDiagnostic(const llvm::SMDiagnostic& diagnostic, void* kept) {
  auto& out = *static_cast<AssemblerDiagnostic*>(kept);
  if (diagnostic.getKind() != llvm::SourceMgr::DK_Error || !out.message.empty())
    return;
  out.message = diagnostic.getMessage().str();
  out.column = static_cast<unsigned>(diagnostic.getColumnNo() + 1);
}

/// Why `text` cannot be one plain instruction, or nullptr.
const char* refusedSyntax(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return "no instruction";
  if (text.size() > maxAssemblyText)
    return "text too long";
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
      return "control characters and newlines are not allowed";
  // Only ds_swizzle_b32 has a string (its mask), and LLVM 22.1's parser never comes back from one without an end.
  if (text.find_first_of("'\\`") != std::string_view::npos || std::ranges::count(text, '"') % 2 != 0)
    return "quotes are not allowed";
  for (const std::string_view comment : {";", "//", "/*", "#"})
    if (text.find(comment) != std::string_view::npos)
      return "comments and statement separators are not allowed";
  if (text[begin] == '.' || text[begin] == '"')
    return "directives are not allowed";
  const std::size_t word = text.find_first_of(" \t:=", begin);
  if (word != std::string_view::npos) {
    const std::size_t next = text.find_first_not_of(" \t", word);
    if (next != std::string_view::npos && (text[next] == ':' || text[next] == '='))
      return "labels and assignments are not allowed";
  }
  return nullptr;
}

/// 16 bits of a register: operands of true16 instructions (gfx11 and later).
bool isHalfRegister(std::string_view name) {
  return name.ends_with("_LO16") || name.ends_with("_HI16");
}

/// Registers of their own up to gfx9, set through s_setreg or by the hardware only on gfx10 and later, where their
/// operand encodings are SGPRs.
bool isScalarOnlyUpToGfx9(std::string_view name) {
  return name.starts_with("FLAT_SCR") || name.starts_with("XNACK_MASK");
}

/// A register of LLVM as units, by its name, halves as the whole; empty for registers we do not track (null, constants,
/// apertures).
std::vector<RegRange> unitsOfLeaf(std::string_view name) {
  struct Special {
    std::string_view prefix;
    unsigned unit, count;
  };
  static constexpr Special specials[] = {
      {"VCC_LO", sreg::vccLo, 1},
      {"VCC_HI", sreg::vccHi, 1},
      {"EXEC_LO", sreg::execLo, 1},
      {"EXEC_HI", sreg::execHi, 1},
      {"M0", sreg::m0, 1},
      {"SCC", sreg::scc, 1},
      {"MODE", sreg::mode, 1},
      {"SRC_VCCZ", sreg::vccLo, 2},
      {"SRC_EXECZ", sreg::execLo, 2},
      {"SRC_SCC", sreg::scc, 1},
      {"LDS_DIRECT", sreg::m0, 1},
      {"FLAT_SCR_LO", sreg::flatScratchLo, 1},
      {"FLAT_SCR_HI", sreg::flatScratchHi, 1},
      {"XNACK_MASK_LO", sreg::xnackMaskLo, 1},
      {"XNACK_MASK_HI", sreg::xnackMaskHi, 1},
  };
  if (isHalfRegister(name))
    name.remove_suffix(std::string_view("_LO16").size());
  const auto number = [&](std::string_view prefix, unsigned limit) -> std::optional<unsigned> {
    if (!name.starts_with(prefix))
      return std::nullopt;
    unsigned value = 0;
    std::size_t i = prefix.size();
    for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && value < 4096; ++i)
      value = value * 10 + static_cast<unsigned>(name[i] - '0');
    // "TTMP4_vi", "SGPR7"; a tuple ("SGPR0_SGPR1") is not a leaf.
    if (i == prefix.size() || value >= limit || (i < name.size() && name.find(prefix, i) != std::string_view::npos))
      return std::nullopt;
    return value;
  };
  RegRange range;
  if (const auto n = number("VGPR", 1024)) {
    range.file = RegRange::File::vgpr;
    range.first = static_cast<std::uint16_t>(*n);
    return {range};
  }
  if (const auto n = number("AGPR", 256)) {
    range.file = RegRange::File::agpr;
    range.first = static_cast<std::uint16_t>(*n);
    return {range};
  }
  if (const auto n = number("SGPR", 106)) {
    range.first = static_cast<std::uint16_t>(*n);
    return {range};
  }
  if (const auto n = number("TTMP", 16)) {
    range.first = static_cast<std::uint16_t>(sreg::ttmp0 + *n);
    return {range};
  }
  for (const auto& special : specials)
    if (name.starts_with(special.prefix)) {
      range.first = static_cast<std::uint16_t>(special.unit);
      range.count = static_cast<std::uint16_t>(special.count);
      return {range};
    }
  return {};
}

/// Appends, extending the last range where the new one continues it.
void append(std::vector<RegRange>& ranges, const RegRange& range) {
  for (const auto& present : ranges)
    if (present.file == range.file && present.first <= range.first &&
        range.first + range.count <= present.first + present.count && present.kills == range.kills)
      return;
  if (!ranges.empty()) {
    RegRange& last = ranges.back();
    if (last.file == range.file && last.kills == range.kills && last.first + last.count == range.first) {
      last.count = static_cast<std::uint16_t>(last.count + range.count);
      return;
    }
  }
  ranges.push_back(range);
}

std::uint32_t loadDword(std::span<const std::uint8_t> bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::uint64_t loadQword(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Encodings that ask for a literal (operand 255) where the instruction takes none: VOP3 and VOP3P sources and scalar
/// results of GFX8 and GFX9 (CDNA3 ISA, "Literal constants"), SOFFSET of buffer instructions, SOP1 barriers of gfx12.
/// LLVM 22.1's disassembler crashes on them instead of refusing.
bool asksForImpossibleLiteral(std::span<const std::uint8_t> bytes, bool isGfx8Or9) {
  constexpr std::uint32_t literal = 255;
  const std::uint32_t first = loadDword(bytes);
  const std::uint32_t sop1 = (first >> 8) & 0xff;
  if (!isGfx8Or9 && first >> 23 == 0x17d && sop1 >= 0x4e && sop1 <= 0x58)
    return (first & 0xff) == literal;
  if (bytes.size() < 8)
    return false;
  const std::uint32_t encoding = first >> 26;
  const std::uint32_t second = loadDword(bytes.subspan(4));
  if (encoding == 0x38 || encoding == 0x3a) // MUBUF, MTBUF
    return second >> 24 == literal;
  if (!isGfx8Or9 || encoding != 0x34)
    return false;
  const std::uint32_t vop3 = (first >> 16) & 0x3ff;
  const bool scalarResult = vop3 < 0x100 || vop3 == 0x142 || vop3 == 0x289; // compares, v_readfirstlane, v_readlane
  return (scalarResult && (first & 0xff) == literal) || (second & 0x1ff) == literal ||
         ((second >> 9) & 0x1ff) == literal || ((second >> 18) & 0x1ff) == literal;
}

/// VOP1, VOP2 and VOPC with SDWA whose scalar sources ask for a literal, or with selections that do not exist: the
/// first crash LLVM 22.1's disassembler, the second its printer (CDNA3 ISA, "SDWA").
bool isImpossibleSdwa(std::span<const std::uint8_t> bytes) {
  constexpr std::uint32_t literal = 255, sdwa = 249;
  const std::uint32_t first = loadDword(bytes);
  if (bytes.size() < 8 || first >> 31 != 0 || (first & 0x1ff) != sdwa)
    return false;
  const std::uint32_t second = loadDword(bytes.subspan(4));
  const bool isVopc = first >> 25 == 0x3e, isVop1 = first >> 25 == 0x3f;
  const bool literal0 = ((second >> 23) & 1) != 0 && (second & 0xff) == literal;
  const bool literal1 = !isVop1 && second >> 31 != 0 && ((first >> 9) & 0xff) == literal;
  const bool badDest = !isVopc && (((second >> 8) & 7) == 7 || ((second >> 11) & 3) == 3);
  const bool badSource = ((second >> 16) & 7) == 7 || (!isVop1 && ((second >> 24) & 7) == 7);
  return literal0 || literal1 || badDest || badSource;
}

/// V_MFMA_*_F8F6F4, alone or behind its V_MFMA_LD_SCALE prefix, with a source format above 4 (CDNA4 ISA: CBSZ and BLGP
/// choose fp8, bf8, fp6, bf6 or fp4) or a SrcA or SrcB that is no VGPR; LLVM 22.1 crashes on them.
bool isImpossibleFormat(std::span<const std::uint8_t, 20> window) {
  const auto bad = [&](std::size_t at) {
    const std::uint32_t first = loadDword(window.subspan(at)), second = loadDword(window.subspan(at + 4));
    const bool isF8f6f4 = first >> 16 == 0xd3ad || first >> 16 == 0xd3ae;
    const bool vectors = ((second >> 8) & 1) != 0 && ((second >> 17) & 1) != 0;
    return isF8f6f4 && (((first >> 8) & 7) > 4 || second >> 29 > 4 || !vectors);
  };
  return bad(0) || (loadDword(window) >> 16 == 0xd3ac && bad(8));
}

/// What LLVM's registers are in our units. Its register list is the same for all processors.
struct RegisterTable {
  std::vector<std::vector<RegRange>> units; ///< by LLVM register
  std::vector<bool> halves;                 ///< by LLVM register: 16 bits of one
};

std::vector<RegRange> unitsOfTuple(const RegisterTable& table, const llvm::MCRegisterInfo& registers,
                                   llvm::MCRegister reg) {
  std::vector<RegRange> all, units;
  for (const auto sub : registers.subregs(reg)) {
    const auto& part = table.units[sub];
    if (part.size() == 1 && part[0].count == 1) // not one of the tuples already made
      all.push_back(part[0]);
  }
  std::sort(all.begin(), all.end(),
            [](const RegRange& a, const RegRange& b) { return std::tie(a.file, a.first) < std::tie(b.file, b.first); });
  for (const auto& range : all)
    append(units, range);
  return units;
}

RegisterTable makeRegisterTable(const llvm::MCRegisterInfo& registers, bool gfx10OrLater) {
  RegisterTable table;
  table.units.resize(registers.getNumRegs());
  table.halves.resize(registers.getNumRegs());
  for (unsigned reg = 1; reg < registers.getNumRegs(); ++reg) {
    const std::string_view name = registers.getName(llvm::MCRegister(reg));
    table.halves[reg] = isHalfRegister(name);
    table.units[reg] = unitsOfLeaf(name);
    if (gfx10OrLater && isScalarOnlyUpToGfx9(name))
      table.units[reg] = {RegRange{RegRange::File::scalar, false, sreg::hwreg, 1}};
  }
  for (unsigned reg = 1; reg < registers.getNumRegs(); ++reg)
    if (table.units[reg].empty())
      table.units[reg] = unitsOfTuple(table, registers, llvm::MCRegister(reg));
  return table;
}

/// Made once a process: it takes longer than all else of a codec.
const RegisterTable& registerTable(const llvm::MCRegisterInfo& registers, bool gfx10OrLater) {
  if (gfx10OrLater) {
    static const RegisterTable later = makeRegisterTable(registers, true);
    return later;
  }
  static const RegisterTable upToGfx9 = makeRegisterTable(registers, false);
  return upToGfx9;
}

/// What every instruction of an LLVM opcode has in common.
struct OpcodeInfo {
  bool known = false;
  InstClass cls = InstClass::unknown;
};

} // namespace

struct Codec::Impl {
  object::Target target;
  const llvm::Target* llvmTarget = nullptr;
  llvm::Triple triple{tripleName};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instrs;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::unique_ptr<llvm::MCCodeEmitter> emitter;
  bool isGfx8 = false, isGfx9 = false;

  std::deque<Instruction> arena;
  EncodingTable<std::uint32_t> dwords;
  EncodingTable<std::uint64_t> qwords;
  std::map<std::vector<std::uint8_t>, Instruction*> longer;   ///< instructions of more than 8 bytes
  std::map<std::vector<std::uint8_t>, Instruction*> unknowns; ///< undecodable bytes
  std::vector<OpcodeInfo> opcodes;
  const RegisterTable* registerTable = nullptr;
  EffectRules rules;
  std::unordered_map<std::string, InstRef> assembled;

  Status init(const object::Target& t, std::optional<unsigned> waveSize);
  Instruction* lookup(std::span<const std::uint8_t> bytes);
  Instruction* decodeNew(std::span<const std::uint8_t> bytes);
  Instruction* internUnknown(std::span<const std::uint8_t> bytes);
  const OpcodeInfo& opcodeInfo(const llvm::MCInst& mc);
  void complete(Instruction& inst);
  void fillEffects(Instruction& inst, const llvm::MCInst& mc) const;
  bool decodeMC(std::span<const std::uint8_t> bytes, llvm::MCInst& mc, std::uint64_t& size) const;
  Result<std::vector<std::uint8_t>> encode(const llvm::MCInst& mc) const;
  Result<InstRef> assemble(const std::string& text, AssemblerDiagnostic& diagnostic);
};

Status Codec::Impl::init(const object::Target& t, std::optional<unsigned> waveSize) {
  target = t;
  llvmTarget = amdgcnTarget();
  if (!llvmTarget)
    return internalError("this LLVM has no AMDGPU target");
  std::string features = featureString(t);
  if (waveSize && !t.isGfx9())
    features += fmt::format("{}+wavefrontsize{}", features.empty() ? "" : ",", *waveSize == 32 ? 32 : 64);
  registers.reset(llvmTarget->createMCRegInfo(triple));
  asmInfo.reset(llvmTarget->createMCAsmInfo(*registers, triple, options));
  instrs.reset(llvmTarget->createMCInstrInfo());
  // An unknown processor would make LLVM write to stderr; ask a default subtarget first.
  subtarget.reset(llvmTarget->createMCSubtargetInfo(triple, "", ""));
  if (!registers || !asmInfo || !instrs || !subtarget)
    return internalError("LLVM's AMDGPU MC layer is incomplete");
  if (!subtarget->isCPUStringValid(t.processor))
    return badInput("LLVM does not know the processor \"{}\"", t.processor);
  subtarget.reset(llvmTarget->createMCSubtargetInfo(triple, t.processor, features));
  context = std::make_unique<llvm::MCContext>(triple, asmInfo.get(), registers.get(), subtarget.get());
  disassembler.reset(llvmTarget->createMCDisassembler(*subtarget, *context));
  printer.reset(llvmTarget->createMCInstPrinter(triple, asmInfo->getAssemblerDialect(), *asmInfo, *instrs, *registers));
  emitter.reset(llvmTarget->createMCCodeEmitter(*instrs, *context));
  if (!disassembler || !printer || !emitter)
    return internalError("LLVM's AMDGPU MC layer is incomplete");
  isGfx9 = t.isGfx9();
  isGfx8 = t.processor.starts_with("gfx8");
  rules.gfx10OrLater = t.processor.starts_with("gfx1");
  rules.gfx9OrLater = isGfx9 || rules.gfx10OrLater;
  rules.vgprBanks = t.processor.starts_with("gfx125");
  rules.waveSize = subtarget->checkFeatures("+wavefrontsize32") ? 32 : 64;
  opcodes.resize(instrs->getNumOpcodes());
  registerTable = &isa::registerTable(*registers, rules.gfx10OrLater);
  return {};
}

bool Codec::Impl::decodeMC(std::span<const std::uint8_t> bytes, llvm::MCInst& mc, std::uint64_t& size) const {
  // With less than a literal's bytes left LLVM crashes too, so it always gets the longest instruction's size to look
  // at.
  std::array<std::uint8_t, std::tuple_size_v<decltype(Instruction::encoding)>> window{};
  const std::size_t available = std::min(bytes.size(), window.size());
  std::copy_n(bytes.begin(), available, window.begin());
  if (asksForImpossibleLiteral(window, isGfx9 || isGfx8) || isImpossibleSdwa(window) ||
      (isGfx9 && isImpossibleFormat(window)))
    return false;
  const llvm::ArrayRef<std::uint8_t> array(window.data(), window.size());
  return disassembler->getInstruction(mc, size, array, 0, llvm::nulls()) == llvm::MCDisassembler::Success &&
         size >= 4 && size <= available && size % 4 == 0;
}

const OpcodeInfo& Codec::Impl::opcodeInfo(const llvm::MCInst& mc) {
  OpcodeInfo& info = opcodes[mc.getOpcode()];
  if (!info.known) {
    info.known = true;
    const char* name = printer->getMnemonic(mc).first;
    std::string_view base = name ? name : "";
    if (const auto end = base.find_first_of(" \t"); end != std::string_view::npos)
      base = base.substr(0, end);
    info.cls = classify(baseMnemonic(base));
  }
  return info;
}

Instruction* Codec::Impl::internUnknown(std::span<const std::uint8_t> bytes) {
  const auto used = bytes.first(std::min<std::size_t>(bytes.size(), 4));
  Instruction*& slot = unknowns[std::vector<std::uint8_t>(used.begin(), used.end())];
  if (!slot) {
    slot = &arena.emplace_back();
    std::copy(used.begin(), used.end(), slot->encoding.begin());
    slot->size = static_cast<std::uint8_t>(used.size());
    slot->base = slot->mnemonic = ".long";
    if (used.size() == 4) {
      slot->text = fmt::format(".long 0x{:08x}", loadDword(used));
    } else {
      slot->base = slot->mnemonic = ".byte";
      slot->text = ".byte";
      for (std::size_t i = 0; i < used.size(); ++i)
        slot->text += fmt::format("{} 0x{:02x}", i ? "," : "", used[i]);
    }
    slot->isComplete = true;
  }
  return slot;
}

Instruction* Codec::Impl::decodeNew(std::span<const std::uint8_t> bytes) {
  llvm::MCInst mc;
  std::uint64_t size = 0;
  if (!decodeMC(bytes.first(std::min<std::size_t>(bytes.size(), 20)), mc, size))
    return nullptr;
  Instruction& inst = arena.emplace_back();
  std::copy_n(bytes.begin(), size, inst.encoding.begin());
  inst.size = static_cast<std::uint8_t>(size);
  inst.opcode = mc.getOpcode();
  inst.cls = opcodeInfo(mc).cls;
  const std::uint32_t word = loadDword(bytes);
  const std::uint32_t top9 = word >> 23;
  const bool isSopp = top9 == 0x17f;
  const bool isSopk = (word >> 28) == 0xb && top9 != 0x17d && top9 != 0x17e && !isSopp;
  if (isSopp || isSopk)
    inst.simm16 = word & 0xffff;
  const bool isCall = isSopk && inst.cls == InstClass::jump;
  if (inst.cls == InstClass::branch || isCall)
    inst.branchOffset = static_cast<std::int16_t>(inst.simm16);
  return &inst;
}

Instruction* Codec::Impl::lookup(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 4)
    return internUnknown(bytes);
  auto& dword = dwords.at(loadDword(bytes));
  if (dword.inst)
    return dword.inst;
  if (!dword.longer) {
    Instruction* inst = decodeNew(bytes);
    if (inst && inst->size == 4)
      return dword.inst = inst;
    dword.longer = true;
    if (!inst) {
      inst = internUnknown(bytes);
    } else if (inst->size > 8) {
      if (bytes.size() >= 8)
        qwords.at(loadQword(bytes)).longer = true;
      longer[std::vector<std::uint8_t>(inst->bytes().begin(), inst->bytes().end())] = inst;
      return inst;
    }
    if (bytes.size() >= 8)
      qwords.at(loadQword(bytes)).inst = inst;
    return inst;
  }
  if (bytes.size() < 8)
    return internUnknown(bytes); // its first dword needs a second one
  auto& qword = qwords.at(loadQword(bytes));
  if (qword.inst)
    return qword.inst;
  if (!qword.longer) {
    Instruction* inst = decodeNew(bytes);
    if (!inst)
      inst = internUnknown(bytes);
    if (inst->size <= 8) {
      // A first dword that is a whole instruction never gets here, so this is an 8-byte one or opaque.
      return qword.inst = inst;
    }
    qword.longer = true;
    longer[std::vector<std::uint8_t>(inst->bytes().begin(), inst->bytes().end())] = inst;
    return inst;
  }
  for (std::size_t size = 12; size <= std::min<std::size_t>(bytes.size(), 20); size += 4)
    if (const auto found =
            longer.find(std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
        found != longer.end())
      return found->second;
  Instruction* inst = decodeNew(bytes);
  if (!inst)
    return internUnknown(bytes);
  longer[std::vector<std::uint8_t>(inst->bytes().begin(), inst->bytes().end())] = inst;
  return inst;
}

void Codec::Impl::fillEffects(Instruction& inst, const llvm::MCInst& mc) const {
  const llvm::MCInstrDesc& desc = instrs->get(mc.getOpcode());
  const auto add = [&](std::vector<RegRange>& ranges, unsigned reg, bool isWrite) {
    if (reg >= registerTable->units.size())
      return;
    for (RegRange range : registerTable->units[reg]) {
      // VGPR results are written in active lanes only; scalar results and matrix results whatever EXEC is.
      range.kills = isWrite && (range.file == RegRange::File::scalar || inst.cls == InstClass::mfma);
      append(ranges, range);
    }
  };
  const unsigned defs = desc.getNumDefs();
  for (unsigned i = 0; i < mc.getNumOperands(); ++i) {
    if (!mc.getOperand(i).isReg())
      continue;
    const unsigned reg = mc.getOperand(i).getReg().id();
    add(i < defs ? inst.writeRanges : inst.readRanges, reg, i < defs);
    if (i < defs && reg < registerTable->halves.size() && registerTable->halves[reg]) {
      inst.tiedDest = true; // the other half stays
      add(inst.readRanges, reg, false);
    }
  }
  for (unsigned i = defs; i < desc.getNumOperands(); ++i) {
    const int tied = desc.getOperandConstraint(i, llvm::MCOI::TIED_TO);
    if (tied < 0 || static_cast<unsigned>(tied) >= mc.getNumOperands() ||
        !mc.getOperand(static_cast<unsigned>(tied)).isReg())
      continue;
    inst.tiedDest = true;
    add(inst.readRanges, mc.getOperand(static_cast<unsigned>(tied)).getReg().id(), false);
  }
  // LLVM lists VCC and EXEC whole; a wave of 32 lanes uses their low halves, and so do s_*_saveexec_b32 and the like.
  const std::string_view mnemonic = std::string_view(inst.text).substr(0, inst.text.find(' '));
  const bool masksAreNarrow = inst.cls == InstClass::salu ? mnemonic.ends_with("_b32") : rules.waveSize == 32;
  const auto addImplicit = [&](llvm::ArrayRef<llvm::MCPhysReg> list, std::vector<RegRange>& ranges,
                               std::vector<RegUnit>& units, bool isWrite) {
    for (const auto reg : list)
      for (RegRange range : registerTable->units[reg]) {
        const bool isMask = range.file == RegRange::File::scalar && range.count == 2 &&
                            (range.first == sreg::vccLo || range.first == sreg::execLo);
        if (isMask && masksAreNarrow)
          range.count = 1;
        range.kills = isWrite && (range.file == RegRange::File::scalar || inst.cls == InstClass::mfma);
        append(ranges, range);
        if (range.file == RegRange::File::scalar)
          for (unsigned k = 0; k < range.count; ++k)
            units.push_back(static_cast<RegUnit>(range.first + k));
      }
  };
  addImplicit(desc.implicit_uses(), inst.readRanges, inst.implicitReads, false);
  addImplicit(desc.implicit_defs(), inst.writeRanges, inst.implicitWrites, true);
}

void Codec::Impl::complete(Instruction& inst) {
  inst.isComplete = true;
  llvm::MCInst mc;
  std::uint64_t size = 0;
  if (!decodeMC(inst.bytes(), mc, size))
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  printer->printInst(&mc, 0, "", *subtarget, stream);
  std::replace(text.begin(), text.end(), '\t', ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  const std::size_t end = text.find_last_not_of(' ');
  inst.text = begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
  if (const std::size_t space = inst.text.find(' '); space != std::string::npos)
    while (space + 1 < inst.text.size() && inst.text[space + 1] == ' ')
      inst.text.erase(space + 1, 1);

  const llvm::MCInstrDesc& desc = instrs->get(mc.getOpcode());
  fillEffects(inst, mc);
  PrintedFormHints hints;
  hints.explicitDefs = desc.getNumDefs();
  hints.implicitlyDefinesVcc =
      std::find(inst.implicitWrites.begin(), inst.implicitWrites.end(), sreg::vccLo) != inst.implicitWrites.end();
  if (inst.text.starts_with("s_set_gpr_idx_on"))
    inst.simm16 = (loadDword(inst.bytes()) >> 8) & 0xff; // SOPC: the index modes stand in the SSRC1 field
  parsePrintedForm(inst, hints);

  const bool touchesMemory = inst.isVectorMemory() || inst.cls == InstClass::smem || inst.cls == InstClass::lds;
  inst.mayLoad = touchesMemory && desc.mayLoad();
  inst.mayStore = touchesMemory && desc.mayStore();
  inst.isConditional = inst.cls == InstClass::branch && inst.base != "s_branch";
  inst.isTerminator =
      inst.cls == InstClass::branch || inst.cls == InstClass::endpgm ||
      (inst.cls == InstClass::jump && !inst.base.starts_with("s_swap") && !inst.base.starts_with("s_call"));
  const std::uint32_t top6 = loadDword(inst.bytes()) >> 26;
  // VOP3/VOP3P of GFX9: 110100; VOP3 of GFX10 and later 110101, VOP3P 110011.
  inst.isVop3 = (inst.cls == InstClass::valu || inst.cls == InstClass::mfma) && inst.size >= 8 &&
                (isGfx9 ? top6 == 0x34 : (top6 == 0x35 || top6 == 0x33 || (!rules.gfx9OrLater && top6 == 0x34)));
  mendEffects(inst, rules);
}

Result<std::vector<std::uint8_t>> Codec::Impl::encode(const llvm::MCInst& mc) const {
  llvm::SmallVector<char, 24> code;
  llvm::SmallVector<llvm::MCFixup, 2> fixups;
  emitter->encodeInstruction(mc, code, fixups, *subtarget);
  if (!fixups.empty())
    return badInput("symbols and expressions that are not constants are not allowed");
  return std::vector<std::uint8_t>(code.begin(), code.end());
}

Result<InstRef> Codec::Impl::assemble(const std::string& text, AssemblerDiagnostic& diagnostic) {
  if (const auto found = assembled.find(text); found != assembled.end())
    return found->second;
  if (const char* why = refusedSyntax(text)) {
    diagnostic.message = why;
    return badInput("assembly \"{}\": {}", text.substr(0, 80), why);
  }

  llvm::SourceMgr sources;
  sources.setDiagHandler(keepDiagnostic, &diagnostic);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text + "\n", "instruction"), llvm::SMLoc());
  llvm::MCContext parseContext(triple, asmInfo.get(), registers.get(), subtarget.get(), &sources);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(
      llvmTarget->createMCObjectFileInfo(parseContext, /*PIC=*/true));
  parseContext.setObjectFileInfo(sections.get());
  OneInstructionStreamer streamer(parseContext);
  llvmTarget->createNullTargetStreamer(streamer); // owned by the streamer
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, parseContext, streamer, *asmInfo));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(
      llvmTarget->createMCAsmParser(*subtarget, *parser, *instrs, options));
  if (!targetParser)
    return internalError("LLVM's AMDGPU MC layer has no assembly parser");
  parser->setTargetParser(*targetParser);
  const bool failed = parser->Run(/*NoInitialTextSection=*/false, /*NoFinalize=*/true);
  if (failed || !diagnostic.message.empty())
    return badInput("assembly \"{}\", column {}: {}", text, diagnostic.column,
                    diagnostic.message.empty() ? "not accepted" : diagnostic.message);
  if (streamer.count != 1 || streamer.other)
    return badInput("assembly \"{}\": not exactly one instruction", text);
  for (const auto& operand : streamer.instruction)
    if (operand.isExpr()) {
      std::int64_t value = 0;
      if (!operand.getExpr()->evaluateAsAbsolute(value))
        return badInput("assembly \"{}\": symbols are not allowed", text);
    }
  auto code = encode(streamer.instruction);
  if (!code)
    return badInput("assembly \"{}\": {}", text, code.error().message);
  Instruction* inst = lookup(*code);
  if (inst->cls == InstClass::unknown || inst->size != code->size())
    return internalError("assembly \"{}\": LLVM does not decode what it encoded", text);
  if (!inst->isComplete)
    complete(*inst);
  if (assembled.size() < maxAssemblyCache)
    assembled.emplace(text, inst);
  return InstRef(inst);
}

Codec::Codec(std::unique_ptr<Impl> i) : impl(std::move(i)) {}
Codec::~Codec() = default;

Result<std::unique_ptr<Codec>> Codec::create(const object::Target& target, std::optional<unsigned> waveSize) {
  // LLVM's disassembler ends the process on the generations before GCN3 (AMDGPUDisassembler.cpp).
  if (target.processor.starts_with("gfx6") || target.processor.starts_with("gfx7"))
    return refused("{}: LLVM cannot disassemble this generation; gfx8 and later are supported", target.processor);
  auto impl = std::make_unique<Impl>();
  ASMEVO_CHECK(impl->init(target, waveSize));
  return std::unique_ptr<Codec>(new Codec(std::move(impl)));
}

Result<std::unique_ptr<Codec>> Codec::create(const object::CodeObject& object) {
  const auto& kernels = object.kernels();
  const auto isWave32 = [](const object::Kernel& kernel) { return kernel.descriptor.isWave32(); };
  std::optional<unsigned> waveSize;
  if (object.target().processor.starts_with("gfx1") && !kernels.empty())
    waveSize = std::any_of(kernels.begin(), kernels.end(), isWave32) ? 32 : 64;
  return create(object.target(), waveSize);
}

unsigned Codec::waveSize() const {
  return impl->rules.waveSize;
}

InstRef Codec::decode(std::span<const std::uint8_t> bytes) {
  Instruction* inst = impl->lookup(bytes);
  if (!inst->isComplete)
    impl->complete(*inst);
  return inst;
}

InstRef Codec::decodeShallow(std::span<const std::uint8_t> bytes) {
  return impl->lookup(bytes);
}

InstRef Codec::complete(InstRef instruction) {
  // Every Instruction a codec hands out lives in its arena, which is not const.
  if (!instruction->isComplete)
    impl->complete(const_cast<Instruction&>(*instruction));
  return instruction;
}

Result<InstRef> Codec::assemble(const std::string& text) {
  AssemblerDiagnostic diagnostic;
  return impl->assemble(text, diagnostic);
}

Result<InstRef> Codec::assemble(const std::string& text, AssemblerDiagnostic& diagnostic) {
  diagnostic = {};
  auto result = impl->assemble(text, diagnostic);
  if (!result && diagnostic.message.empty())
    diagnostic.message = result.error().message;
  return result;
}

Result<InstRef> Codec::withBranchOffset(InstRef branch, std::int32_t dwords) {
  if (!branch->branchOffset)
    return usageError("\"{}\" has no branch offset", branch->text);
  if (dwords < INT16_MIN || dwords > INT16_MAX)
    return badInput("branch distance of {} dwords does not fit 16 bits", dwords);
  std::vector<std::uint8_t> bytes(branch->bytes().begin(), branch->bytes().end());
  bytes[0] = static_cast<std::uint8_t>(dwords & 0xff);
  bytes[1] = static_cast<std::uint8_t>((dwords >> 8) & 0xff);
  return decode(bytes);
}

Result<std::vector<std::uint8_t>> Codec::reencode(InstRef instruction) {
  if (instruction->cls == InstClass::unknown)
    return badInput("\"{}\" is not an instruction", instruction->text);
  llvm::MCInst mc;
  std::uint64_t size = 0;
  if (!impl->decodeMC(instruction->bytes(), mc, size))
    return internalError("\"{}\" does not decode any more", instruction->text);
  return impl->encode(mc);
}

const object::Target& Codec::target() const {
  return impl->target;
}

std::vector<std::string> Codec::opcodeNames() const {
  std::vector<std::string> names;
  names.reserve(impl->instrs->getNumOpcodes());
  for (unsigned i = 0; i < impl->instrs->getNumOpcodes(); ++i)
    names.emplace_back(impl->instrs->getName(i));
  return names;
}

} // namespace asmevo::isa
