// What goes wrong with an address, in words.
#include "emulator/memory/lane_access.h"

namespace asmevo::emulator {

namespace {

std::string_view verb(const AccessShape& shape) {
  return shape.atomic ? "atomic access" : shape.store ? "store" : "load";
}

} // namespace

void failAccess(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint64_t guestAddress,
                std::string_view why) {
  wave.fail(op, ErrorKind::fault,
            fmt::format("lane {}: {} of {} bytes at {:#x} ({}){}{}", lane, verb(shape), shape.bytes, guestAddress,
                        wave.memory->describe(guestAddress), why.empty() ? "" : ", which ", why));
}

void failPrivate(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint32_t offset) {
  wave.fail(op, ErrorKind::fault,
            fmt::format("lane {}: {} of {} bytes at scratch offset {:#x}, but a work-item has {} bytes", lane,
                        verb(shape), shape.bytes, offset, wave.scratchPerLane));
}

void failDescriptor(Wave& wave, const Op* op, std::string_view what) {
  wave.fail(op, ErrorKind::refused, fmt::format("the buffer descriptor asks for {}, which is not modelled", what));
}

} // namespace asmevo::emulator
