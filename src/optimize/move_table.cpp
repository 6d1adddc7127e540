#include "optimize/moves/arithmetic/dead_code.h"
#include "optimize/moves/arithmetic/drop_quieting.h"
#include "optimize/moves/arithmetic/fuse_integer.h"
#include "optimize/moves/arithmetic/group_nan_guards.h"
#include "optimize/moves/arithmetic/hoist_scalar.h"
#include "optimize/moves/arithmetic/hoist_vector.h"
#include "optimize/moves/arithmetic/lane_permutes.h"
#include "optimize/moves/arithmetic/pack_bf16.h"
#include "optimize/moves/arithmetic/pair_floats.h"
#include "optimize/moves/arithmetic/propagate_copies.h"
#include "optimize/moves/control/straighten.h"
#include "optimize/moves/loops/batch_guarded_loads.h"
#include "optimize/moves/loops/batch_loads.h"
#include "optimize/moves/loops/prefetch.h"
#include "optimize/moves/memory/fold_addresses.h"
#include "optimize/moves/memory/hoist_loads.h"
#include "optimize/moves/memory/narrow_loads.h"
#include "optimize/moves/resources/shrink_resources.h"
#include "optimize/moves/scheduling/raise_priority.h"
#include "optimize/moves/scheduling/relax_waits.h"
#include "optimize/moves/scheduling/schedule.h"
#include "optimize/moves/scheduling/trim_nops.h"

namespace asmevo::optimize {

const std::vector<const Move*>& moveTable() {
  // In the order the search tries them: resources first, since occupancy decides what is worth hiding; scheduling
  // before waits, since it re-derives them.
  static const std::vector<const Move*> table = {
      &shrinkResourcesMove(),   &foldAddressesMove(),
      &narrowLoadsMove(),       &deadCodeMove(),
      &straightenMove(),        &lanePermutesMove(),
      &dropQuietingMove(),      &hoistScalarMove(),
      &hoistVectorMove(),       &fuseIntegerMove(),
      &packBf16Move(),          &groupNanGuardsMove(),
      &propagateCopiesMove(),   &commonSubexpressionsMove(),
      &pairFloatsMove(),        &batchLoadsMove(),
      &batchGuardedLoadsMove(), &prefetchMove(),
      &hoistLoadsMove(),        &scheduleMove(),
      &relaxWaitsMove(),        &trimNopsMove(),
      &raisePriorityMove(),
  };
  return table;
}

} // namespace asmevo::optimize
