/// What decides whether code is executed: for edits that no case reaches.
#pragma once

#include "object/code_object.h"
#include "program/program.h"
#include "verify/data_variants.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace asmevo::verify {

/// Branches that runs reached and that lead to the block at `address` by the way they did not go, as sentences, nearest
/// first, at most four. Each names the instruction that makes the condition and the kernel arguments that it is
/// computed from, with their values in the dispatch's first case, as far as scalar and vector operations lead back to
/// them. `executed`: instruction addresses over all runs. Needs complete instructions.
std::vector<std::string> whatReaches(const object::CodeObject& object, const program::Program& program,
                                     std::uint64_t address, const std::set<std::uint64_t>& executed,
                                     const VariedDispatch& dispatch);

} // namespace asmevo::verify
