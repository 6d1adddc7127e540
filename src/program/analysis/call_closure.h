/// Which functions may run when one does.
///
/// Promises: every callee that recovery resolved is in; where a call or jump could not be resolved, `unknownCallee`
/// says so.
#pragma once

#include "program/analysis/dataflow.h"

#include <vector>

namespace asmevo::program {

struct CallClosure {
  std::vector<const Function*> functions; ///< the function itself first
  /// Some call or jump leads where recovery does not see.
  bool unknownCallee = false;
};

enum class UnknownCallees : std::uint8_t { leaveOut, anyDeviceFunction };

/// The function and everything it calls, directly or not. Jumps of device functions to places unknown are returns.
CallClosure callClosure(const Program& program, const Function& function, UnknownCallees unknown);

/// The shortest chain of calls from one function into another, as the places of the call instructions; empty where
/// there is none or the two are the same.
std::vector<Place> callPath(const Program& program, const Function& from, const Function& to);

} // namespace asmevo::program
