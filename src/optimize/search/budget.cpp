#include "optimize/search/budget.h"

namespace asmevo::optimize {

std::string_view phaseName(Phase phase) {
  static constexpr std::array<std::string_view, phaseCount> names = {"baseline", "moves", "pricing", "verification",
                                                                     "last verification"};
  return names[static_cast<std::size_t>(phase)];
}

} // namespace asmevo::optimize
