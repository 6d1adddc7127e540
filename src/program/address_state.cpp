#include "program/address_state.h"

#include <algorithm>

namespace asmevo::program {

namespace {

using Kind = AddressValue::Kind;

AddressValue joined(const AddressValue& a, const AddressValue& b) {
  if (a == b)
    return a;
  const auto either = [&](auto&& test) { return test(a.kind) || test(b.kind); };
  if (either([](Kind k) { return isCounter(k) || k == Kind::maybeCounter; }))
    return {Kind::maybeCounter, false, 0, 0};
  if (either([](Kind k) { return k >= Kind::derivedLow && k <= Kind::tainted; }))
    return {Kind::tainted, false, 0, 0};
  return {};
}

} // namespace

AddressValue AddressState::get(unsigned reg) const {
  const auto found = std::ranges::lower_bound(known, reg, {}, &std::pair<unsigned, AddressValue>::first);
  return found != known.end() && found->first == reg ? found->second : AddressValue{};
}
void AddressState::set(unsigned reg, const AddressValue& value) {
  const auto found = std::ranges::lower_bound(known, reg, {}, &std::pair<unsigned, AddressValue>::first);
  const bool present = found != known.end() && found->first == reg;
  if (value.kind == Kind::unknown) {
    if (present)
      known.erase(found);
  } else if (present) {
    found->second = value;
  } else {
    known.insert(found, {reg, value});
  }
}

AddressState joined(const AddressState& a, const AddressState& b) {
  AddressState result;
  result.carry = a.carry == b.carry ? a.carry : 0;
  std::size_t i = 0, j = 0;
  while (i < a.known.size() || j < b.known.size()) {
    const unsigned left = i < a.known.size() ? a.known[i].first : ~0u;
    const unsigned right = j < b.known.size() ? b.known[j].first : ~0u;
    const unsigned reg = std::min(left, right);
    const AddressValue value =
        joined(left == reg ? a.known[i].second : AddressValue{}, right == reg ? b.known[j].second : AddressValue{});
    if (value.kind != Kind::unknown)
      result.known.emplace_back(reg, value);
    i += left == reg;
    j += right == reg;
  }
  return result;
}

} // namespace asmevo::program
