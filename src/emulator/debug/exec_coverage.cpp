#include "emulator/debug/exec_coverage.h"

#include "emulator/debug/describe.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace asmevo::emulator {

namespace {

class Counter final : public ExecCoverage {
 public:
  void before(Wave& wave, const Op* op) override {
    const std::uint64_t at = (op->pc - wave.codeAddress) / 4;
    if (at >= counts.size()) {
      if (counts.empty())
        first = objectAddress(wave, op) - at * 4;
      counts.resize(at + 256);
    }
    const std::uint64_t exec = wave.exec();
    ExecPatterns& count = counts[at];
    ++(exec == ~std::uint64_t{0} ? count.full : exec == 0 ? count.none : count.partial);
    if (!left.empty())
      if (const auto from = left.find(&wave); from != left.end()) {
        taken.insert(from->second << 32 | at);
        left.erase(from);
      }
    const isa::InstClass cls = op->inst->cls;
    if (cls == isa::InstClass::branch || cls == isa::InstClass::jump)
      left[&wave] = at;
  }
  // Another workgroup's waves may lie where this one's did.
  void waveEnded(Wave& wave) override { left.erase(&wave); }

  std::map<std::uint64_t, ExecPatterns> patterns() const override {
    std::map<std::uint64_t, ExecPatterns> result;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i].all() != 0)
        result.emplace_hint(result.end(), first + i * 4, counts[i]);
    return result;
  }

  std::set<std::pair<std::uint64_t, std::uint64_t>> edges() const override {
    std::set<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const std::uint64_t edge : taken)
      result.emplace(first + (edge >> 32) * 4, first + (edge & 0xffffffff) * 4);
    return result;
  }

 private:
  std::vector<ExecPatterns> counts;                    ///< by dword of the code
  std::uint64_t first = 0;                             ///< object address of the first
  std::unordered_map<const Wave*, std::uint64_t> left; ///< waves whose last instruction was a branch, and which
  std::unordered_set<std::uint64_t> taken;             ///< dword left << 32 | dword reached
};

} // namespace

std::unique_ptr<ExecCoverage> makeExecCoverage() {
  return std::make_unique<Counter>();
}

} // namespace asmevo::emulator
