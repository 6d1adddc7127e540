/// `asmevo inspect` of files that hold device code rather than being it: every bundle, target and kernel, read and
/// printed one object at a time.
#pragma once

#include "object/container.h"

namespace asmevo::cli {

/// Prints the listing. `brief` leaves the kernels out. Returns an Exit; damaged bundles and objects are named and the
/// rest is listed.
int listContainer(const object::Container& container, bool brief);
/// The same as one JSON object.
int listContainerJson(const object::Container& container, bool brief);

} // namespace asmevo::cli
