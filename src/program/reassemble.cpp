#include "program/reassemble.h"

#include "program/descriptor_text.h"
#include "program/print_assembly.h"
#include "program/print_data.h"
#include "program/reassemble_code.h"
#include "program/reassemble_data.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

constexpr std::size_t largestText = std::size_t{512} << 20;

class Reassembler {
 public:
  Reassembler(const object::CodeObject& object, const Program& original, isa::Codec& codec, std::string_view text,
              const ReassembleOptions& options)
      : object(object), original(original), codec(codec), options(options), lines(lexAssembly(text)),
        diagnostics(options.fileName, lines), statements(object, original, codec),
        code(object, original, codec, statements, diagnostics), data(object, statements.labels(), diagnostics) {}

  Result<Reassembly> run() {
    ASMEVO_CHECK(findPart());
    split();
    for (const auto& [index, list] : sections) {
      const object::Section& section = object.sections()[index];
      if (isCodeSection(section)) {
        const bool whole = !part || original.blocks[part->first].section != index;
        code.section(index, whole ? firstBlock(index) : part->first, whole ? pastBlocks(index) : part->last + 1, list);
      } else {
        ASMEVO_CHECK(data.section(index, list));
      }
    }
    data.metadata(metadata);
    // Labels and registers are looked at even so, for all errors at once.
    Reassembly result;
    result.program = code.finish();
    result.program.data = std::move(data.data);
    result.notes = std::move(data.notes);
    setResources(result);
    if (diagnostics.any())
      return diagnostics.asError();
    result.kept = code.kept;
    result.assembled = code.assembled;
    result.gone = code.gone;
    return result;
  }

 private:
  const object::CodeObject& object;
  const Program& original;
  isa::Codec& codec;
  const ReassembleOptions& options;
  const AssemblyLines lines;
  TextDiagnostics diagnostics;
  Statements statements;
  CodeReader code;
  DataReader data;
  std::map<std::size_t, std::vector<Statement>> sections;
  std::vector<Statement> metadata;
  std::optional<BlockRange> part;

  static bool isCodeSection(const object::Section& section) {
    return section.isCode() && section.type != elf::SHT_NOBITS;
  }
  BlockId firstBlock(std::size_t section) const {
    BlockId id = 0;
    while (id < original.blocks.size() && original.blocks[id].section != section)
      ++id;
    return id;
  }
  BlockId pastBlocks(std::size_t section) const {
    BlockId id = firstBlock(section);
    while (id < original.blocks.size() && original.blocks[id].section == section)
      ++id;
    return id;
  }

  Status findPart() {
    for (const auto& [line, comment] : lines.comments) {
      const auto marker = readPartMarker(comment);
      if (!marker)
        continue;
      if (marker->blocks != original.blocks.size())
        return badInput("{}:{}: this is a part of a program of {} blocks; the original has {}", options.fileName,
                        line + 1, marker->blocks, original.blocks.size());
      ASMEVO_TRY(part, blocksByNumber(original, marker->part.first, marker->part.last));
      break;
    }
    return {};
  }

  /// The section a directive names; its statements of the text are gathered before they are read.
  std::optional<std::size_t> sectionNamed(const Statement& statement, const std::string& name) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < object.sections().size(); ++i) {
      const object::Section& section = object.sections()[i];
      const bool isNote = section.type == elf::SHT_NOTE && name == ".note";
      const bool isPrinted = (section.flags & elf::SHF_ALLOC) != 0 && !isMadeByLinker(section);
      if (isNote || (isPrinted && section.name == name))
        return i;
      if (isPrinted)
        names.push_back(section.name);
    }
    const std::string near = nearest(name, names);
    diagnostics.error(statement, 0, fmt::format("'{}' is no section of the original: sections cannot be added", name),
                      near.empty() ? std::string() : fmt::format("did you mean {}?", near));
    return std::nullopt;
  }

  void split() {
    std::optional<std::size_t> current;
    bool any = false;
    for (const Statement& statement : lines.statements) {
      if (diagnostics.full())
        return;
      if (statement.kind == Statement::Kind::metadata) {
        metadata.push_back(statement);
        continue;
      }
      const std::string_view word = firstWord(statement.text);
      if (statement.kind == Statement::Kind::directive) {
        if (word == ".section" || word == ".text" || word == ".rodata" || word == ".data" || word == ".bss") {
          const auto operands = commaSeparated(afterFirstWord(statement.text));
          const std::string name = word != ".section" ? std::string(word)
                                   : operands.empty() ? std::string()
                                                      : unquoted(operands.front());
          current = sectionNamed(statement, name);
          any = true;
          if (current)
            sections[*current];
          continue;
        }
        if (isHeader(statement, word, any))
          continue;
      }
      if (!any) {
        current = sectionNamed(statement, ".text");
        any = true;
      }
      if (current)
        sections[*current].push_back(statement);
    }
  }

  /// Directives about the file as a whole: they say what the original is and cannot change it.
  bool isHeader(const Statement& statement, std::string_view word, bool inSection) {
    const std::string_view rest = afterFirstWord(statement.text);
    if (word == ".amdgpu_metadata" || word == ".end_amdgpu_metadata")
      return true;
    if (word == ".amdgcn_target") {
      if (unquoted(rest) != object.target().isaName())
        diagnostics.error(statement, 0, fmt::format("the original is for {}", object.target().isaName()),
                          "the target cannot be changed");
      return true;
    }
    if (word == ".amdhsa_code_object_version") {
      if (integerConstant(rest) != codeObjectVersion(object.abiVersion()))
        diagnostics.error(
            statement, 0,
            fmt::format("the original has code object version {}", codeObjectVersion(object.abiVersion())),
            "the version cannot be changed");
      return true;
    }
    if (word == ".set") {
      const auto operands = commaSeparated(rest);
      const auto value = operands.size() == 2 ? integerConstant(operands[1]) : std::nullopt;
      const auto& absolutes = statements.labels().absolutes();
      if (!value || std::ranges::none_of(absolutes, [&](const object::Symbol* symbol) {
            return symbol->name == unquoted(operands[0]) && symbol->value == *value;
          }))
        diagnostics.error(statement, 0, "symbols and their values cannot be added or changed");
      return true;
    }
    if (!inSection && isSymbolDirective(word)) {
      const auto operands = commaSeparated(rest);
      const std::string name = operands.empty() ? std::string() : unquoted(operands.front());
      if (std::ranges::none_of(object.symbols(), [&](const object::Symbol& symbol) { return symbol.name == name; }))
        diagnostics.error(statement, 0, fmt::format("'{}' is no symbol of the original", name));
      return true;
    }
    return false;
  }

  struct Use {
    unsigned vgprs = 0, agprs = 0, sgprs = 0; ///< one more than the highest number
    const Statement *vgpr = nullptr, *agpr = nullptr, *sgpr = nullptr;
  };

  void setResources(Reassembly& result) {
    for (const auto& [kernel, descriptor] : data.descriptors) {
      result.program.resources[kernel].descriptor = descriptor;
      noteDescriptor(kernel, object.kernels()[kernel].descriptor, descriptor, result);
    }
    for (const Function& function : result.program.functions)
      if (function.kernel)
        checkRegisters(function, *function.kernel, result);
  }

  void checkRegisters(const Function& function, std::size_t kernel, Reassembly& result) {
    const object::Target& target = object.target();
    const auto edited = data.descriptors.find(kernel);
    const object::KernelDescriptor& descriptor =
        edited == data.descriptors.end() ? object.kernels()[kernel].descriptor : edited->second;
    const Use use = freshUse(result.program, function);
    const unsigned allocated = descriptor.allocatedVgprs(target);
    const bool unified = target.hasUnifiedRegisterFile();
    const unsigned accum = unified ? descriptor.accumOffset(target) : 0;
    const unsigned forAgprs = unified ? allocated - std::min(accum, allocated) : allocated;
    // v[accum_offset + i] is a[i]: below the allocation such a register exists, but as somebody else's.
    const bool aliases = unified && use.vgprs > accum && use.vgprs <= allocated && !usesAbove(kernel, accum);
    const bool vgprsFit = use.vgprs <= allocated && !aliases;
    const bool agprsFit = use.agprs <= forAgprs;
    if (target.isGfx9() && use.sgprs > descriptor.allocatedSgprs(target))
      diagnostics.error(*use.sgpr, 0,
                        fmt::format("s{} is beyond the {} SGPRs that the descriptor of '{}' allocates", use.sgprs - 1,
                                    descriptor.allocatedSgprs(target), function.name),
                        "raise .amdhsa_next_free_sgpr");
    if (vgprsFit && agprsFit)
      return;
    if (options.growRegisters) {
      const unsigned newAccum = vgprsFit ? accum : (use.vgprs + 3) / 4 * 4;
      const unsigned total = unified ? newAccum + std::max(forAgprs, use.agprs) : std::max(use.vgprs, use.agprs);
      constexpr unsigned most = 512;
      if (!unified || total <= most) {
        const unsigned wanted = std::max(unified && forAgprs == 0 && use.agprs == 0 ? newAccum : total, allocated);
        object::KernelDescriptor grown = descriptor;
        grown.setVgprs(target, wanted, unified ? newAccum : descriptor.accumOffset(target));
        result.program.resources[kernel].descriptor = grown;
        noteDescriptor(kernel, descriptor, grown, result);
        return;
      }
    }
    const std::string hint = ".amdhsa_next_free_vgpr and .amdhsa_accum_offset say how many there are; --grow-registers "
                             "raises them to what is used";
    if (!agprsFit)
      diagnostics.error(*use.agpr, 0,
                        fmt::format("a{} is beyond the {} AGPRs that the descriptor of '{}' allocates", use.agprs - 1,
                                    forAgprs, function.name),
                        hint);
    if (aliases)
      diagnostics.error(*use.vgpr, 0,
                        fmt::format("v{} is a{} of '{}', whose AGPRs start at {}", use.vgprs - 1, use.vgprs - 1 - accum,
                                    function.name, accum),
                        hint);
    else if (!vgprsFit)
      diagnostics.error(*use.vgpr, 0,
                        fmt::format("v{} is beyond the {} VGPRs that the descriptor of '{}' allocates", use.vgprs - 1,
                                    allocated, function.name),
                        hint);
  }

  Use freshUse(const Program& program, const Function& function) const {
    Use use;
    const auto raise = [](unsigned& highest, const Statement*& where, unsigned value, const Statement* statement) {
      if (value > highest) {
        highest = value;
        where = statement;
      }
    };
    for (const CodeReader::Fresh& each : code.fresh) {
      if (!std::ranges::binary_search(function.blocks, each.block))
        continue;
      for (const isa::Operand& operand : program.blocks[each.block].instrs[each.index].inst->operands) {
        const unsigned end = operand.index + unsigned{operand.dwords};
        if (operand.kind == isa::OperandKind::vgpr)
          raise(use.vgprs, use.vgpr, end, each.statement);
        else if (operand.kind == isa::OperandKind::agpr)
          raise(use.agprs, use.agpr, end, each.statement);
        else if (operand.kind == isa::OperandKind::sgpr && end <= isa::sreg::flatScratchLo)
          raise(use.sgprs, use.sgpr, end, each.statement);
      }
    }
    return use;
  }

  /// Whether the original already uses VGPRs by numbers from accum_offset on, as some hand-written kernels do.
  bool usesAbove(std::size_t kernel, unsigned accum) {
    const Function* before = original.functionOf(kernel);
    if (!before)
      return false;
    for (const BlockId id : before->blocks)
      for (const Instr& instr : original.blocks[id].instrs)
        for (const isa::Operand& operand : codec.complete(instr.inst)->operands)
          if (operand.kind == isa::OperandKind::vgpr && operand.index + unsigned{operand.dwords} > accum)
            return true;
    return false;
  }

  void noteDescriptor(std::size_t kernel, const object::KernelDescriptor& before, const object::KernelDescriptor& now,
                      Reassembly& result) const {
    const auto then = before.fields(object.target()), fields = now.fields(object.target());
    for (std::size_t i = 0; i < fields.size() && i < then.size(); ++i)
      if (fields[i].second != then[i].second)
        result.notes.push_back(fmt::format("kernel {}: {} {} -> {}", object.kernels()[kernel].name, fields[i].first,
                                           then[i].second, fields[i].second));
  }
};

} // namespace

Result<Reassembly> reassemble(const object::CodeObject& object, const Program& original, isa::Codec& codec,
                              std::string_view text, const ReassembleOptions& options) {
  if (text.size() > largestText)
    return badInput("{}: a text of {} bytes", options.fileName, text.size());
  if (object.elfType() == elf::ET_REL)
    return refused("{}: relocatable: link it first", object.name());
  return Reassembler(object, original, codec, text, options).run();
}

} // namespace asmevo::program
