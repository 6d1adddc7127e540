#include "program/labels.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <string_view>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

bool isPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

/// Names that the operand parser could take for a register, a constant or a function.
bool couldBeOperand(std::string_view name) {
  static constexpr std::string_view prefixes[] = {
      "vcc",      "exec",  "flat_scratch", "xnack_mask", "ttmp",    "tba",   "tma", "src_",     "shared_",
      "private_", "pops_", "lds_",         "hwreg",      "sendmsg", "lit",   "abs", "neg",      "sext",
      "off",      "null",  "scc",          "m0",         "acc",     "idxen", "gds", "quad_perm"};
  for (const std::string_view prefix : prefixes)
    if (name.starts_with(prefix))
      return true;
  const std::string_view number = name.substr(std::min<std::size_t>(1, name.size()));
  return (name.starts_with('v') || name.starts_with('s') || name.starts_with('a')) &&
         std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

const std::vector<const object::Symbol*> none;

} // namespace

std::string assemblerName(const std::string& name) {
  if (name.empty())
    return {};
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return {};
  const bool startsWell = isPlain(name.front()) && !(name.front() >= '0' && name.front() <= '9');
  if (startsWell && std::ranges::all_of(name, isPlain))
    return name;
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Labels::Labels(const object::CodeObject& object) {
  // .symtab first: it has the locals; .dynsym only adds what a stripped file has left.
  for (const bool dynamic : {false, true})
    for (const object::Symbol& symbol : object.symbols()) {
      const bool isPlace = symbol.type != elf::STT_SECTION && symbol.type != elf::STT_FILE;
      if (symbol.dynamic != dynamic || !isPlace || symbol.sectionIndex == elf::SHN_UNDEF ||
          assemblerName(symbol.name).empty())
        continue;
      if (symbol.sectionIndex == elf::SHN_ABS) {
        if (names.insert(symbol.name).second)
          absolute.push_back(&symbol);
        continue;
      }
      if (symbol.sectionIndex >= object.sections().size())
        continue;
      const object::Section& section = object.sections()[symbol.sectionIndex];
      if ((section.flags & elf::SHF_ALLOC) == 0 || symbol.value < section.address ||
          symbol.value - section.address > section.size || !names.insert(symbol.name).second)
        continue;
      symbols[symbol.value].push_back(&symbol);
      if (section.isCode() && symbol.size > 0 && symbol.size <= section.size - (symbol.value - section.address))
        ends[symbol.value + symbol.size].push_back(&symbol);
    }
}

const object::Symbol* Labels::localSymbol(std::uint64_t address) const {
  for (const object::Symbol* symbol : symbolsAt(address))
    if (symbol->binding == elf::STB_LOCAL && !couldBeOperand(symbol->name) &&
        assemblerName(symbol->name) == symbol->name)
      return symbol;
  return nullptr;
}

std::string Labels::local(std::uint64_t address) const {
  if (const object::Symbol* symbol = localSymbol(address))
    return symbol->name;
  std::string name = fmt::format("L_{:x}", address);
  while (names.contains(name))
    name += '_';
  return name;
}

std::string Labels::named(std::uint64_t address) const {
  for (const object::Symbol* symbol : symbolsAt(address))
    if (symbol->binding == elf::STB_LOCAL || (symbol->other & 3) != elf::STV_DEFAULT)
      return assemblerName(symbol->name);
  return local(address);
}

const std::vector<const object::Symbol*>& Labels::symbolsAt(std::uint64_t address) const {
  const auto found = symbols.find(address);
  return found == symbols.end() ? none : found->second;
}

const std::vector<const object::Symbol*>& Labels::endingAt(std::uint64_t address) const {
  const auto found = ends.find(address);
  return found == ends.end() ? none : found->second;
}

std::set<std::uint64_t> Labels::placesIn(std::uint64_t begin, std::uint64_t end) const {
  std::set<std::uint64_t> places;
  for (auto it = symbols.lower_bound(begin); it != symbols.end() && it->first < end; ++it)
    places.insert(it->first);
  for (auto it = ends.lower_bound(begin); it != ends.end() && it->first < end; ++it)
    places.insert(it->first);
  for (auto it = required.lower_bound(begin); it != required.end() && *it < end; ++it)
    places.insert(*it);
  return places;
}

std::string symbolDirectives(const object::Symbol& symbol) {
  const std::string name = assemblerName(symbol.name);
  std::string text;
  if (symbol.binding == elf::STB_GLOBAL)
    text += fmt::format("\t.globl {}\n", name);
  else if (symbol.binding == elf::STB_WEAK)
    text += fmt::format("\t.weak {}\n", name);
  switch (symbol.other & 3) {
  case elf::STV_PROTECTED:
    text += fmt::format("\t.protected {}\n", name);
    break;
  case elf::STV_HIDDEN:
    text += fmt::format("\t.hidden {}\n", name);
    break;
  case elf::STV_INTERNAL:
    text += fmt::format("\t.internal {}\n", name);
    break;
  default:
    break;
  }
  if (symbol.type == elf::STT_FUNC)
    text += fmt::format("\t.type {},@function\n", name);
  else if (symbol.type == elf::STT_OBJECT)
    text += fmt::format("\t.type {},@object\n", name);
  return text;
}

} // namespace asmevo::program
