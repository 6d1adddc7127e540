#include "program/reassemble_data.h"

#include "program/descriptor_text.h"
#include "program/print_data.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

constexpr std::size_t descriptorSize = 64;
/// An ELF note's header and the name "AMDGPU" padded to 8 bytes stand in front of the metadata.
constexpr std::size_t noteHeaderBytes = 20;

/// A section's statements as bytes, with what cannot be a plain number.
struct Evaluated {
  Bytes bytes;
  /// Expressions with symbols in them: kept as they are.
  struct Fixed {
    std::size_t offset, size;
    std::string text;
    const Statement* statement;
  };
  std::vector<Fixed> fixed;
  struct Descriptor {
    std::string kernel;
    std::size_t offset;
    DescriptorDirectives directives;
    const Statement* statement;
    std::vector<const Statement*> lines; ///< of the directives
  };
  std::vector<Descriptor> descriptors;
};

/// Evaluates the statements of one section.
class Evaluator {
 public:
  /// `base` is the section's old address, `contents` its old bytes; without `labels` places are not checked.
  Evaluator(std::uint64_t base, std::span<const std::uint8_t> contents, std::size_t size, const Labels* labels,
            TextDiagnostics& diagnostics)
      : base(base), contents(contents), size(size), labels(labels), diagnostics(diagnostics) {}

  Evaluated run(const std::vector<Statement>& statements) {
    for (std::size_t i = 0; i < statements.size() && !diagnostics.full(); ++i) {
      const Statement& statement = statements[i];
      if (result.bytes.size() > size) {
        diagnostics.error(statement, 0, fmt::format("the section has only {} bytes: data keeps its size", size));
        break;
      }
      if (statement.kind == Statement::Kind::label)
        label(statement);
      else if (firstWord(statement.text) == ".amdhsa_kernel")
        i = descriptor(statements, i);
      else
        directive(statement);
    }
    return std::move(result);
  }

 private:
  const std::uint64_t base;
  const std::span<const std::uint8_t> contents;
  const std::size_t size;
  const Labels* labels;
  TextDiagnostics& diagnostics;
  Evaluated result;

  void label(const Statement& statement) {
    if (!labels)
      return;
    const std::uint64_t here = base + result.bytes.size();
    const std::string name = unquoted(statement.text);
    const auto& symbols = labels->symbolsAt(here);
    const bool known = labels->local(here) == name ||
                       std::ranges::any_of(symbols, [&](const object::Symbol* symbol) { return symbol->name == name; });
    if (!known)
      diagnostics.error(statement, 0,
                        fmt::format("'{}' is no label of the original at {:#x}: data keeps its places", name, here));
  }

  void append(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i, value >>= 8)
      result.bytes.push_back(static_cast<std::uint8_t>(value));
  }

  /// Bytes of the original for something that is no number.
  void appendOriginal(std::size_t bytes, const Statement& statement) {
    const std::size_t at = result.bytes.size();
    result.fixed.push_back({at, bytes, canonicalStatement(statement.text), &statement});
    for (std::size_t i = at; i < at + bytes; ++i)
      result.bytes.push_back(i < contents.size() ? contents[i] : 0);
  }

  void fill(std::size_t count, const Statement& statement) {
    if (count > size - std::min(size, result.bytes.size()))
      return diagnostics.error(statement, 0, fmt::format("the section has only {} bytes: data keeps its size", size));
    result.bytes.resize(result.bytes.size() + count);
  }

  void directive(const Statement& statement) {
    const std::string_view word = firstWord(statement.text), rest = afterFirstWord(statement.text);
    if (isSymbolDirective(word))
      return;
    if (const std::size_t element = elementBytes(word); element > 0)
      return numbers(statement, element, rest);
    if (word == ".zero" || word == ".skip" || word == ".space") {
      const auto count = integerConstant(rest);
      return count ? fill(*count, statement) : diagnostics.error(statement, 0, "a number of bytes is expected");
    }
    if (word == ".p2align") {
      const auto power = integerConstant(rest);
      if (!power || *power > 16)
        return diagnostics.error(statement, 0, "an alignment of 0 to 16 is expected");
      const std::size_t mask = (std::size_t{1} << *power) - 1;
      return fill((mask + 1 - (result.bytes.size() & mask)) & mask, statement);
    }
    if (word == ".ascii" || word == ".asciz" || word == ".string")
      return string(statement, rest, word != ".ascii");
    if (word == ".float" || word == ".single" || word == ".double")
      return floats(statement, rest, word == ".double");
    diagnostics.error(statement, 0, fmt::format("'{}' is not accepted in a data section", word),
                      "accepted: .byte .short .long .quad .float .double .ascii .asciz .zero .p2align and labels");
  }

  void numbers(const Statement& statement, std::size_t element, std::string_view list) {
    const auto values = commaSeparated(list);
    std::vector<std::uint64_t> constants;
    constants.reserve(values.size());
    for (const std::string_view value : values)
      if (const auto constant = integerConstant(value))
        constants.push_back(*constant);
    const bool anyExpression = constants.size() != values.size();
    if (anyExpression && (values.size() != 1 || values[0].empty()))
      return diagnostics.error(statement, 0, "integer constants are expected");
    if (anyExpression)
      return appendOriginal(element, statement);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string_view value = values[i];
      const std::uint64_t number = constants[i];
      const std::uint64_t above = element < 8 ? number >> (element * 8) : 0;
      const std::uint64_t allOnes = element < 8 ? ~std::uint64_t{0} >> (element * 8) : 0;
      if (above != 0 && above != allOnes)
        return diagnostics.error(statement, static_cast<std::size_t>(value.data() - statement.text.data()),
                                 fmt::format("{} does not fit {} bytes", value, element));
      append(number, element);
    }
  }

  void floats(const Statement& statement, std::string_view list, bool wide) {
    for (const std::string_view value : commaSeparated(list)) {
      double number = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
      if (value.empty() || parsed.ec != std::errc() || parsed.ptr != value.data() + value.size())
        return diagnostics.error(statement, 0, fmt::format("'{}' is no number", value));
      const auto narrow = static_cast<float>(number);
      std::uint64_t bits = 0;
      if (wide)
        std::memcpy(&bits, &number, sizeof number);
      else
        std::memcpy(&bits, &narrow, sizeof narrow);
      append(bits, wide ? 8 : 4);
    }
  }

  void string(const Statement& statement, std::string_view text, bool terminated) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
      return diagnostics.error(statement, 0, "a string in double quotes is expected");
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] != '\\' || i + 2 >= text.size()) {
        append(static_cast<std::uint8_t>(text[i]), 1);
        continue;
      }
      const char c = text[++i];
      if (c >= '0' && c <= '7') {
        unsigned value = 0, digits = 0;
        for (; digits < 3 && i + 1 < text.size() && text[i] >= '0' && text[i] <= '7'; ++digits, ++i)
          value = value * 8 + static_cast<unsigned>(text[i] - '0');
        --i;
        append(value, 1);
        continue;
      }
      constexpr std::string_view escapes = "nrtbf", meanings = "\n\r\t\b\f";
      const std::size_t which = escapes.find(c);
      append(static_cast<std::uint8_t>(which == std::string_view::npos ? c : meanings[which]), 1);
    }
    if (terminated)
      append(0, 1);
  }

  /// From .amdhsa_kernel to .end_amdhsa_kernel; gives the index of the last statement taken.
  std::size_t descriptor(const std::vector<Statement>& statements, std::size_t i) {
    const Statement& first = statements[i];
    fill((descriptorSize - result.bytes.size() % descriptorSize) % descriptorSize, first);
    Evaluated::Descriptor block{unquoted(afterFirstWord(first.text)), result.bytes.size(), {}, &first, {}};
    for (++i; i < statements.size() && statements[i].text != ".end_amdhsa_kernel"; ++i) {
      const std::string_view word = firstWord(statements[i].text);
      const auto value = integerConstant(afterFirstWord(statements[i].text));
      if (!word.starts_with(".amdhsa_") || !value) {
        diagnostics.error(statements[i], 0, "an .amdhsa_ directive with a number is expected up to .end_amdhsa_kernel");
        return i;
      }
      block.directives.emplace_back(word, *value);
      block.lines.push_back(&statements[i]);
    }
    if (i == statements.size())
      diagnostics.error(first, 0, "this .amdhsa_kernel has no .end_amdhsa_kernel");
    for (std::size_t at = block.offset; at < block.offset + descriptorSize; ++at)
      result.bytes.push_back(at < contents.size() ? contents[at] : 0);
    result.descriptors.push_back(std::move(block));
    return i;
  }
};

} // namespace

std::size_t elementBytes(std::string_view directive) {
  struct Element {
    std::string_view name;
    std::size_t bytes;
  };
  static constexpr Element elements[] = {{".byte", 1}, {".short", 2}, {".2byte", 2}, {".hword", 2}, {".long", 4},
                                         {".int", 4},  {".4byte", 4}, {".quad", 8},  {".8byte", 8}};
  for (const Element& element : elements)
    if (element.name == directive)
      return element.bytes;
  return 0;
}

bool isSymbolDirective(std::string_view directive) {
  static constexpr std::string_view names[] = {".globl",  ".global",   ".local", ".weak", ".protected",
                                               ".hidden", ".internal", ".type",  ".size"};
  return std::ranges::find(names, directive) != std::end(names);
}

Status DataReader::section(std::size_t index, const std::vector<Statement>& statements) {
  const object::Section& section = object.sections()[index];
  const bool isNote = section.type == elf::SHT_NOTE;
  std::string printed;
  if (isNote) {
    printed = printMetadata(object);
  } else {
    ASMEVO_TRY(printed, printDataSection(object, section, labels));
  }
  // What the original's own text gives is the measure: the same evaluation of both.
  const AssemblyLines lines = lexAssembly(printed);
  std::vector<Statement> reference;
  for (const Statement& statement : lines.statements)
    if (firstWord(statement.text) != ".section")
      reference.push_back(statement);
  TextDiagnostics referenceDiagnostics(section.name, lines);
  const auto contents = object.contents(section);
  const std::span<const std::uint8_t> old = isNote ? std::span<const std::uint8_t>() : contents;
  const std::size_t size = isNote ? contents.size() + noteHeaderBytes : section.size;
  const Evaluated before = Evaluator(section.address, old, size, nullptr, referenceDiagnostics).run(reference);
  if (referenceDiagnostics.any())
    return referenceDiagnostics.asError();

  const bool had = diagnostics.any();
  Evaluated after = Evaluator(section.address, old, size, isNote ? nullptr : &labels, diagnostics).run(statements);
  if (!had && diagnostics.any())
    return {};
  if (statements.empty())
    return {};
  const Statement& last = statements.back();
  for (std::size_t i = 0; i < std::max(before.fixed.size(), after.fixed.size()); ++i) {
    const bool same = i < before.fixed.size() && i < after.fixed.size() &&
                      before.fixed[i].offset == after.fixed[i].offset && before.fixed[i].text == after.fixed[i].text;
    if (same)
      continue;
    const Statement& where = i < after.fixed.size() ? *after.fixed[i].statement : last;
    diagnostics.error(where, 0, "addresses in data cannot be changed, moved or added",
                      i < before.fixed.size() ? fmt::format("the original has '{}'", before.fixed[i].text) : "");
    return {};
  }
  if (after.bytes.size() != before.bytes.size()) {
    diagnostics.error(last, 0,
                      fmt::format("section {} has {} bytes here and {} in the original: data keeps its size",
                                  section.name, after.bytes.size(), before.bytes.size()));
    return {};
  }
  if (isNote) {
    if (const auto note = object.metadataNote(); note && after.bytes != before.bytes)
      replaceNote(*note, std::span(after.bytes).subspan(std::min(noteHeaderBytes, after.bytes.size())), last);
    return {};
  }
  if (after.descriptors.size() != before.descriptors.size()) {
    diagnostics.error(last, 0, "kernels cannot be added or removed");
    return {};
  }
  for (std::size_t i = 0; i < after.descriptors.size(); ++i) {
    const auto &now = after.descriptors[i], &then = before.descriptors[i];
    if (now.kernel != then.kernel || now.offset != then.offset) {
      diagnostics.error(*now.statement, 0, fmt::format("the original has the descriptor of '{}' here", then.kernel));
      continue;
    }
    if (now.directives == then.directives)
      continue;
    auto descriptor = assembleDescriptor(object.target(), object.abiVersion(), now.directives);
    if (!descriptor) {
      const Statement* where = now.statement;
      for (std::size_t k = 0; k < now.directives.size(); ++k)
        if (descriptor.error().message.starts_with(now.directives[k].first + ":"))
          where = now.lines[k];
      diagnostics.error(*where, 0, descriptor.error().message);
      continue;
    }
    for (std::size_t k = 0; k < object.kernels().size(); ++k)
      if (object.kernels()[k].descriptorAddress == section.address + now.offset) {
        descriptor->setEntryOffset(object.kernels()[k].descriptor.entryOffset());
        descriptors[k] = *descriptor;
      }
  }
  descriptorBytes(index, after.bytes);
  if (section.type != elf::SHT_NOBITS && !std::ranges::equal(after.bytes, contents)) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < contents.size(); ++i)
      changed += contents[i] != after.bytes[i];
    notes.push_back(fmt::format("section {}: {} bytes changed", section.name, changed));
    data[index] = std::move(after.bytes);
  }
  return {};
}

/// Descriptors that are written field by field: edits of theirs are edits of the kernel, not of the data.
void DataReader::descriptorBytes(std::size_t index, Bytes& contents) {
  const object::Section& section = object.sections()[index];
  for (std::size_t k = 0; k < object.kernels().size(); ++k) {
    const object::Kernel& kernel = object.kernels()[k];
    const std::uint64_t at = kernel.descriptorAddress - section.address;
    if (!section.contains(kernel.descriptorAddress) || contents.size() - at < descriptorSize)
      continue;
    object::KernelDescriptor now = kernel.descriptor;
    std::copy_n(contents.begin() + static_cast<std::ptrdiff_t>(at), descriptorSize, now.raw.begin());
    now.setEntryOffset(kernel.descriptor.entryOffset());
    if (now.raw != kernel.descriptor.raw)
      descriptors[k] = now;
    std::ranges::copy(kernel.descriptor.raw, contents.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void DataReader::metadata(const std::vector<Statement>& lines) {
  const auto note = object.metadataNote();
  std::string yaml;
  for (const Statement& line : lines) {
    yaml += line.text;
    yaml += '\n';
  }
  std::string before = object.metadataText();
  if (!before.ends_with('\n'))
    before += '\n';
  if (yaml == before || lines.empty())
    return;
  if (!note)
    return diagnostics.error(lines.front(), 0, "the original has no metadata");
  const auto assembled = assembledMetadata(yaml);
  if (!assembled)
    return diagnostics.error(lines.front(), 0, "this is no metadata that LLVM's assembler accepts");
  const auto* first = reinterpret_cast<const std::uint8_t*>(assembled->data());
  replaceNote(*note, {first, assembled->size()}, lines.front());
}

void DataReader::replaceNote(const object::CodeObject::FileRange& note, std::span<const std::uint8_t> contents,
                             const Statement& first) {
  while (contents.size() > note.size && contents.back() == 0)
    contents = contents.first(contents.size() - 1);
  if (contents.size() != note.size)
    return diagnostics.error(first, 0,
                             fmt::format("the metadata takes {} bytes as it is and {} in the original: only values of "
                                         "the same encoded length can be changed",
                                         contents.size(), note.size));
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const object::Section& section = object.sections()[i];
    if (section.type != elf::SHT_NOTE || note.offset < section.offset ||
        note.offset + note.size > section.offset + section.size)
      continue;
    const auto old = object.contents(section);
    Bytes now(old.begin(), old.end());
    std::ranges::copy(contents, now.begin() + static_cast<std::ptrdiff_t>(note.offset - section.offset));
    data[i] = std::move(now);
    notes.emplace_back("metadata changed");
    return;
  }
  diagnostics.error(first, 0, "the metadata note of the original lies in no section");
}

} // namespace asmevo::program
