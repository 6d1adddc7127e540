/// EXEC compared with what it was at one point of a program, under the names that edits use.
#pragma once

#include "program/analysis/exec_relation.h"

namespace asmevo::optimize {

using program::ExecRelation;
using program::Lanes;

} // namespace asmevo::optimize
