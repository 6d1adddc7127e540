/// A linked host program that gets one more loaded segment. Internal to the object room: replace.h is the interface.
#pragma once

#include "object/host_file.h"

namespace asmevo::object {

/// Adds to `patches` what gives the program a new read-only segment with `contents`, and makes every pointer to
/// [begin, begin + size) that starts a bundle there point to it instead. Returns its virtual address.
///
/// The program header table cannot grow where it is, so it moves to the front of the new segment, where e_phoff,
/// PT_PHDR and therefore AT_PHDR lead. The segment lies at the same distance between file offset and address as the
/// first one wherever that costs no more than a modest hole in the file: kernels before Linux 5.18 compute AT_PHDR from
/// that distance. Its section is called `.hip_fatbin` like the old one, so that every tool that looks for bundles by
/// that name finds it.
Result<std::uint64_t> growHost(const HostFile& host, const ByteSource& source, std::uint64_t begin, std::uint64_t size,
                               Bytes contents, FilePatches& patches);

} // namespace asmevo::object
