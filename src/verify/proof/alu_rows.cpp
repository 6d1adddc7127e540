#include "isa/semantics/sop.h"
#include "verify/proof/alu_rows_internal.h"

#include <unordered_map>

namespace asmevo::verify {

namespace rows {

namespace scalarOps {
using namespace isa::semantics;
#define ASMEVO_OP ASMEVO_TERM_SPEC
#include "isa/semantics/sop.def"
#undef ASMEVO_OP
constexpr AluRow table[] = {
#define ASMEVO_OP ASMEVO_TERM_ROW
#include "isa/semantics/sop.def"
#undef ASMEVO_OP
};
} // namespace scalarOps

namespace {

using Index = std::unordered_map<std::string_view, const AluRow*>;

void addRows(Index& index, std::span<const AluRow> list) {
  for (const AluRow& row : list)
    index.emplace(row.name, &row);
}

const AluRow* find(const Index& index, std::string_view name) {
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

} // namespace

} // namespace rows

const AluRow* findVectorRow(std::string_view base) {
  static const rows::Index index = [] {
    rows::Index map;
    rows::addRows(map, rows::integerRows());
    rows::addRows(map, rows::floatRows());
    return map;
  }();
  return rows::find(index, base);
}

const AluRow* findScalarRow(std::string_view base) {
  static const rows::Index index = [] {
    rows::Index map;
    rows::addRows(map, rows::scalarOps::table);
    return map;
  }();
  return rows::find(index, base);
}

} // namespace asmevo::verify
