/// Writes an edited code object: new contents for code sections, possibly longer, with every header, table, symbol,
/// relocation, dynamic entry and descriptor that holds an address brought along.
#pragma once

#include "object/code_object.h"

#include <functional>
#include <vector>

namespace asmevo::object {

/// New contents of one code section (index into CodeObject::sections()).
struct SectionEdit {
  std::size_t section = 0;
  Bytes contents;
};

/// What changes. `moved` maps an old virtual address inside an edited code section to the new address of the same
/// program point *relative to the section's start being where it was*; it must be monotone. Section growth moves later
/// sections by a multiple of the page alignment; `rewrite` works that out itself.
struct Rewrite {
  std::vector<SectionEdit> code;
  std::function<std::uint64_t(std::uint64_t)> moved;
  /// Replacement descriptors by kernel index (entry offsets are re-derived by `rewrite`).
  std::vector<std::pair<std::size_t, KernelDescriptor>> descriptors;
  /// Metadata fields to patch: kernel index, field, value.
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

private:
  friend Result<AddressPlan> planAddresses(const CodeObject&, const Rewrite&);
  struct Range {
    std::uint64_t begin, end;
    std::int64_t shift;
  };
  std::vector<Range> ranges;
  std::function<std::uint64_t(std::uint64_t)> moved;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> codeRanges;
};

/// Only sizes of `code` contents matter here, so that program::rebuild can fix pc-relative references to data that moves
/// before the final bytes exist.
Result<AddressPlan> planAddresses(const CodeObject& object, const Rewrite& rewrite);

/// The new file. With nothing changed it is byte-identical to the old one.
Result<Bytes> rewriteObject(const CodeObject& object, const Rewrite& rewrite);

} // namespace asmevo::object
