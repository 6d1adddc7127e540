#include "isa/waitcnt.h"

#include <fmt/format.h>

namespace asmevo::isa {

std::uint16_t encodeWaitcnt(WaitCount wait) {
  const unsigned vm = std::min<unsigned>(wait.vm, noWait.vm);
  const unsigned exp = std::min<unsigned>(wait.exp, noWait.exp);
  const unsigned lgkm = std::min<unsigned>(wait.lgkm, noWait.lgkm);
  return static_cast<std::uint16_t>((vm & 0xf) | (exp << 4) | (lgkm << 8) | ((vm >> 4) << 14));
}

WaitCount decodeWaitcnt(std::uint32_t simm16) {
  WaitCount wait;
  wait.vm = static_cast<std::uint8_t>((simm16 & 0xf) | (((simm16 >> 14) & 3) << 4));
  wait.exp = static_cast<std::uint8_t>((simm16 >> 4) & 7);
  wait.lgkm = static_cast<std::uint8_t>((simm16 >> 8) & 0xf);
  return wait;
}

std::string waitcntText(WaitCount wait) {
  std::string text = "s_waitcnt";
  const bool all = wait == noWait;
  if (all || wait.vm < noWait.vm)
    text += fmt::format(" vmcnt({})", wait.vm);
  if (all || wait.exp < noWait.exp)
    text += fmt::format(" expcnt({})", wait.exp);
  if (all || wait.lgkm < noWait.lgkm)
    text += fmt::format(" lgkmcnt({})", wait.lgkm);
  return text;
}

} // namespace asmevo::isa
