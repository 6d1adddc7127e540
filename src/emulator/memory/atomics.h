/// Bodies of read-modify-write operations on one memory element. Private to the emulator.
#pragma once

#include <cstdint>
#include <string_view>

namespace asmevo::emulator {

/// New value from the old one. `compare` is used by compare-and-swap forms only (and as the second operand of
/// ds_mskor); `mode` is the MODE register. Values of 4-byte elements are in the low half.
using AtomicBody = std::uint64_t (*)(std::uint64_t old, std::uint64_t data, std::uint64_t compare, std::uint32_t mode);

struct AtomicForm {
  AtomicBody body = nullptr;
  unsigned bytes = 4;        ///< of the element
  unsigned dataOperands = 1; ///< 2: data and compare
  bool floating = false;
};

/// By the operation's name without its memory prefix: "add", "add_x2", "pk_add_bf16" for buffer, flat and global forms.
/// Null when there is no such operation.
const AtomicForm* findMemoryAtomic(std::string_view operation);
/// By the operation's name without "ds_" and "_rtn": "add_u32", "cmpst_b64".
const AtomicForm* findLdsAtomic(std::string_view operation);

/// Applies `form` to the element at `host`, which is aligned for guest-global memory, and gives the old value. Atomic
/// with respect to other host threads when `shared`.
std::uint64_t applyAtomic(const AtomicForm& form, std::uint8_t* host, std::uint64_t data, std::uint64_t compare,
                          std::uint32_t mode, bool shared);

} // namespace asmevo::emulator
