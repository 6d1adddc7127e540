#include "emulator/race/store_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace asmevo::emulator {

namespace {

/// Lanes whose every dword is in range; partly dropped stores are left alone.
std::uint64_t wholeLanes(const AccessEvent& event) {
  std::uint64_t lanes = event.exec;
  for (std::size_t k = 0; k * 4 < event.bytes && k < event.valid.size(); ++k)
    lanes &= event.valid[k];
  return lanes;
}

/// Ascending addresses that do not overlap: what nearly every store has.
bool spreadUpwards(const AccessEvent& event, std::uint64_t lanes) {
  std::uint64_t end = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint64_t address = event.address[std::countr_zero(lanes)];
    if (address < end)
      return false;
    end = address + event.bytes;
  }
  return true;
}

} // namespace

std::optional<std::uint8_t> storedByte(const Wave& wave, const Op* op, const AccessEvent& event, unsigned element,
                                       unsigned lane, std::uint64_t at) {
  if (!event.store || event.ldsDma)
    return std::nullopt;
  if (event.space == Space::scalar)
    return static_cast<std::uint8_t>(wave.sgpr[op->src[2].reg + at / 4] >> at % 4 * 8);
  const bool lds = op->inst->cls == isa::InstClass::lds;
  // ds_write_addtid_b32 and the two-element forms: see the binders in memory/.
  const Src& data = op->src[lds && element != 0 ? 2 : 1];
  if (data.kind != SrcKind::vgpr)
    return std::nullopt;
  // Forms that store the high half of the register.
  const std::uint64_t offset = at + (event.bytes < 4 && op->inst->base.ends_with("_d16_hi") ? 2 : 0);
  return static_cast<std::uint8_t>(wave.lanes(data.reg + static_cast<unsigned>(offset / 4))[lane] >> offset % 4 * 8);
}

std::optional<LaneConflict> findLaneConflict(const Wave& wave, const Op* op, const AccessEvent& event,
                                             unsigned element) {
  const std::uint64_t lanes = wholeLanes(event);
  if (spreadUpwards(event, lanes))
    return std::nullopt;
  std::array<std::uint8_t, 64> order{};
  std::size_t count = 0;
  for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1)
    order[count++] = static_cast<std::uint8_t>(std::countr_zero(rest));
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
            [&](unsigned a, unsigned b) { return std::pair(event.address[a], a) < std::pair(event.address[b], b); });
  for (std::size_t i = 1; i < count; ++i) {
    const unsigned a = order[i - 1], b = order[i];
    for (std::uint64_t at = event.address[b]; at < event.address[a] + event.bytes; ++at) {
      const auto x = storedByte(wave, op, event, element, a, at - event.address[a]);
      const auto y = storedByte(wave, op, event, element, b, at - event.address[b]);
      if (x && y && *x != *y)
        return LaneConflict{std::min(a, b), std::max(a, b), a < b ? *x : *y, a < b ? *y : *x, at};
    }
  }
  return std::nullopt;
}

} // namespace asmevo::emulator
