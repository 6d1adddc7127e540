/// Writes an edited code object: new contents for code sections, possibly longer, with every header, table, symbol,
/// relocation, dynamic entry and descriptor that holds an address brought along. Debug sections keep their bytes.
#pragma once

#include "object/code_object.h"

#include <functional>
#include <vector>

namespace asmevo::object {

/// New contents of one section (index into CodeObject::sections()). Only code and notes may change their size: a data
/// section's new contents are as long as the old ones.
struct SectionEdit {
  std::size_t section = 0;
  Bytes contents;
};

/// What changes. `moved` maps an old virtual address inside an edited code section to the new address of the same
/// program point *relative to the section's start being where it was*; it must be monotone and stay inside the new
/// contents. It is not asked for the section's end, which maps to the new end. Without `moved` nothing inside moves.
/// Section growth moves later sections by a multiple of the page alignment; `rewrite` works that out itself.
struct Rewrite {
  std::vector<SectionEdit> code;
  std::function<std::uint64_t(std::uint64_t)> moved;
  /// Replacement descriptors by kernel index (entry offsets are re-derived by `rewrite`).
  std::vector<std::pair<std::size_t, KernelDescriptor>> descriptors;
  /// Metadata fields to patch: kernel index, field, value. A field the note does not have is left out; where one's
  /// encoding is too short for the value the note grows, which is refused only where another note follows it.
  struct Field {
    std::size_t kernel;
    std::string field;
    std::uint32_t value;
  };
  std::vector<Field> metadata;
};

/// The address plan of a rewrite: where every old virtual address of the file lands.
class AddressPlan {
 public:
  std::uint64_t map(std::uint64_t oldAddress) const;
  /// Like `map`, but the end of edited code section `section` means that section's new end even where another section
  /// starts at the same address.
  std::uint64_t mapInSection(std::uint64_t oldAddress, std::size_t section) const;

 private:
  friend Result<AddressPlan> planAddresses(const CodeObject&, const Rewrite&);
  /// Everything at or above `from` moves by `shift` (the sum of all moves below it).
  struct Step {
    std::uint64_t from;
    std::uint64_t shift;
  };
  /// An edited code section.
  struct Code {
    std::size_t section;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t newEnd; ///< relative to an unmoved start
    bool followed;        ///< another section starts at `end`
  };
  std::uint64_t shiftOf(std::uint64_t oldAddress) const;
  std::vector<Step> steps; ///< ascending
  std::vector<Code> code;
  std::function<std::uint64_t(std::uint64_t)> moved;
};

/// Only sizes of `code` contents matter here, so that program::rebuild can fix pc-relative references to data that
/// moves before the final bytes exist.
Result<AddressPlan> planAddresses(const CodeObject& object, const Rewrite& request);

/// Whether the metadata note can take the fields, in place or by growing.
Status checkMetadata(const CodeObject& object, const std::vector<Rewrite::Field>& fields);

/// The new file. With nothing changed it is byte-identical to the old one.
Result<Bytes> rewriteObject(const CodeObject& object, const Rewrite& request);

} // namespace asmevo::object
