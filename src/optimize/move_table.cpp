#include "optimize/moves/dead_code.h"
#include "optimize/moves/hoist_scalar.h"
#include "optimize/moves/relax_waits.h"
#include "optimize/moves/schedule.h"
#include "optimize/moves/shrink_resources.h"

namespace asmevo::optimize {

const std::vector<const Move*>& moveTable() {
  // In the order the search tries them: resources first, since occupancy decides what is worth hiding; scheduling
  // before waits, since it re-derives them.
  static const std::vector<const Move*> table = {
      &shrinkResourcesMove(), &deadCodeMove(), &hoistScalarMove(), &scheduleMove(), &relaxWaitsMove(),
  };
  return table;
}

} // namespace asmevo::optimize
