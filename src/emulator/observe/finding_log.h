/// Findings by rule and pair of instructions, counted. Private to the emulator.
#pragma once

#include "emulator/debug/describe.h"
#include "emulator/scheduler.h"
#include "emulator/strict.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <vector>

namespace asmevo::emulator {

class FindingLog {
 public:
  /// More distinct findings than that are counted, not kept.
  static constexpr std::size_t limit = 10'000;

  /// One occurrence. The rule's name is `family` and `rule`, a string literal or one that outlives the log. `message`
  /// is called for the first one of its kind; `shortfall` is the worst of all.
  template <class Message>
  void add(std::string_view family, std::string_view rule, const Op* producer, const Op* consumer, const Wave& wave,
           unsigned lane, Message&& message, unsigned shortfall = 0) {
    const Key key{rule, producer, consumer};
    const auto known = index.find(key);
    if (known != index.end()) {
      StrictFinding& finding = list[known->second];
      ++finding.count;
      finding.shortfall = std::max(finding.shortfall, shortfall);
      return;
    }
    if (list.size() >= limit) {
      ++beyondLimit;
      return;
    }
    index.emplace(key, list.size());
    list.push_back({std::string(family).append(rule), objectAddress(wave, producer), objectAddress(wave, consumer),
                    wave.waveInGroup, lane, wave.group->index, 1, shortfall, message()});
  }
  const std::vector<StrictFinding>& findings() const { return list; }
  std::uint64_t dropped() const { return beyondLimit; }

 private:
  struct Key {
    std::string_view rule;
    const Op *producer, *consumer;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::hash<const void*> pointer;
      return std::hash<std::string_view>()(key.rule) ^
             (pointer(key.producer) * 31 + pointer(key.consumer)) * 0x9e3779b9;
    }
  };
  std::unordered_map<Key, std::size_t, Hash> index;
  std::vector<StrictFinding> list;
  std::uint64_t beyondLimit = 0;
};

/// "v_add_f32_e32 v1, v2, v3" at 0x1234
inline std::string quoted(const Wave& wave, const Op* op) {
  return fmt::format("\"{}\" at {:#x}", op->inst->text, objectAddress(wave, op));
}

} // namespace asmevo::emulator
