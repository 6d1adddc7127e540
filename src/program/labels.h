/// Names for the places of a printed program: symbols of the object where they can be written down, L_<address>
/// elsewhere.
#pragma once

#include "object/code_object.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace asmevo::program {

/// A symbol name as assembler text, quoted where it has to be; empty if no spelling exists (control characters).
std::string assemblerName(const std::string& name);

class Labels {
 public:
  explicit Labels(const object::CodeObject& object);

  /// Asks for something to refer to at that address. References use local names only: a global one may be preempted,
  /// which the linker refuses to resolve relative to the program counter.
  void require(std::uint64_t address) { required.insert(address); }
  /// The name of a required place.
  std::string local(std::uint64_t address) const;
  /// The same for data, where a symbol that cannot be preempted serves as well, whatever its spelling.
  std::string named(std::uint64_t address) const;

  /// Symbols to be defined at an address, once each, in symbol table order.
  const std::vector<const object::Symbol*>& symbolsAt(std::uint64_t address) const;
  /// True if the place needs an L_<address> label next to its symbols.
  bool needsLabel(std::uint64_t address) const { return required.contains(address) && !localSymbol(address); }
  /// Every address in [begin, end) with a symbol, the end of a sized symbol, or a required label.
  std::set<std::uint64_t> placesIn(std::uint64_t begin, std::uint64_t end) const;
  /// Sized code symbols that end at an address.
  const std::vector<const object::Symbol*>& endingAt(std::uint64_t address) const;
  /// Symbols whose value is no address.
  const std::vector<const object::Symbol*>& absolutes() const { return absolute; }

 private:
  std::map<std::uint64_t, std::vector<const object::Symbol*>> symbols, ends;
  std::vector<const object::Symbol*> absolute;
  std::set<std::uint64_t> required;
  std::set<std::string> names;

  const object::Symbol* localSymbol(std::uint64_t address) const;
};

/// .globl, .protected, .type of a symbol (no label, no size).
std::string symbolDirectives(const object::Symbol& symbol);

} // namespace asmevo::program
