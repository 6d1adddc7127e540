/// Which functions may run when one does.
#pragma once

#include "program/program.h"

#include <vector>

namespace asmevo::program {

struct CallClosure {
  std::vector<const Function*> functions; ///< the function itself first
  /// Some call or jump leads where recovery does not see. `functions` then holds every device function of the program.
  bool unknownCallee = false;
};

/// The function and everything it calls, directly or not. Jumps of device functions to places unknown are returns.
CallClosure callClosure(const Program& program, const Function& function);

} // namespace asmevo::program
