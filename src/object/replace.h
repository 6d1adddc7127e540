/// Puts a device object back into the container it came from.
#pragma once

#include "object/container.h"

#include <string>

namespace asmevo::object {

/// How the new object found its place.
enum class Placement {
  slot,    ///< where the old one was, everything else untouched
  bundle,  ///< the bundle was laid out anew (and compressed anew if it was) within the room it had
  file,    ///< a file of bundles: what follows moved
  section, ///< a relocatable host object: the section moved to the end of the file
  segment, ///< a linked host program: a new segment at the end, and the wrapper points there
};

struct Replacement {
  FilePlan file; ///< over Container::source()
  Placement placement = Placement::slot;
  std::uint64_t oldSize = 0; ///< of the device object
  std::uint64_t newSize = 0;
  std::uint64_t newAddress = 0; ///< of the bundle, if `segment`
};

/// The container with entry `object` replaced by `fresh`. The new object must be for the same target as the old one and
/// define all of its kernels (the host program looks them up by name). Refused, with the reason: a code object that is
/// no container, an archive member or host program that cannot grow (no wrapper found, pointers into the bundle that
/// cannot be brought along, an unknown host machine).
Result<Replacement> replaceObject(const Container& container, const DeviceObject& object, const CodeObject& fresh);

} // namespace asmevo::object
