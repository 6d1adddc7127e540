/// Initial contents of a buffer from its "init".
#pragma once

#include "dispatch/dispatch.h"
#include "dispatch/json_node.h"

namespace asmevo::dispatch {

/// One scalar of the json as an element: integers must fit the type, finite numbers must stay finite.
Result<std::uint64_t> scalarBits(const Node& node, DType type);

/// Fills `buffer.initial` (already of its full size) and `buffer.pointers` as `init` says. `folder` is where files are.
Status fillBuffer(Buffer& buffer, const Node& init, const std::string& folder);

/// Reads `file` relative to `folder`. Absolute paths and paths that leave the folder, also through symbolic links, are
/// refused.
Result<Bytes> readInitFile(const Node& node, const std::string& folder, std::uint64_t expectedBytes);

} // namespace asmevo::dispatch
