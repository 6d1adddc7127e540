#include "optimize/edit/branches.h"

#include <algorithm>
#include <string>
#include <utility>

namespace asmevo::optimize {

const char* invertedBranch(std::string_view base) {
  constexpr std::pair<std::string_view, const char*> pairs[] = {
      {"s_cbranch_scc0", "s_cbranch_scc1"},    {"s_cbranch_scc1", "s_cbranch_scc0"},
      {"s_cbranch_vccz", "s_cbranch_vccnz"},   {"s_cbranch_vccnz", "s_cbranch_vccz"},
      {"s_cbranch_execz", "s_cbranch_execnz"}, {"s_cbranch_execnz", "s_cbranch_execz"},
  };
  const auto* found = std::ranges::find(pairs, base, &std::pair<std::string_view, const char*>::first);
  return found == std::end(pairs) ? nullptr : found->second;
}

std::optional<program::Instr> branchTo(const char* mnemonic, program::BlockId target, isa::Codec& codec) {
  auto inst = codec.assemble(std::string(mnemonic) + " 0");
  if (!inst)
    return std::nullopt;
  program::Instr branch;
  branch.inst = codec.complete(*inst);
  branch.target = target;
  return branch;
}

} // namespace asmevo::optimize
