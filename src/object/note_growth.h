/// Metadata fields whose new value needs more bytes than its encoding has: the note grows. Internal to the object room:
/// rewrite.h is the interface.
#pragma once

#include "object/rewrite.h"

#include <optional>

namespace asmevo::object {

/// New contents of the section that holds the metadata note, with all `fields` set; nothing if every field fits where
/// it is. Refused where another note follows in the section, or a field lies in a kernel that is not there.
Result<std::optional<SectionEdit>> grownNote(const CodeObject& object, const std::vector<Rewrite::Field>& fields);

} // namespace asmevo::object
