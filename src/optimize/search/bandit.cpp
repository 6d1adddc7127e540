#include "optimize/search/bandit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace asmevo::optimize {

std::string windowClass(const program::Program& program, const HotWindow& window, bool inLoop) {
  using isa::InstClass;
  std::array<std::size_t, 4> counts{}; // matrix, LDS, vector memory, all
  for (const auto& instr : program.blocks[window.block].instrs) {
    const auto& inst = *instr.inst;
    counts[0] += inst.cls == InstClass::mfma;
    counts[1] += inst.cls == InstClass::lds;
    counts[2] += inst.isVectorMemory();
    ++counts[3];
  }
  std::string mix;
  static constexpr std::array<std::string_view, 3> names = {" mfma", " lds", " vmem"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (counts[i] * 20 >= std::max<std::size_t>(1, counts[3]))
      mix += names[i];
  return fmt::format("{} {}{}", inLoop ? "loop" : "straight", timing::stallName(window.topStall),
                     mix.empty() ? " alu" : mix);
}

void Bandit::prior(const std::string& windowClass, const std::string& move, double pulls, double gains) {
  if (!(pulls > 0))
    return;
  const double scale = std::min(1.0, weight / pulls);
  Arm& arm = arms[{windowClass, move}];
  arm.gains += gains * scale;
  arm.failures += (pulls - gains) * scale;
}

void Bandit::record(const std::string& windowClass, const std::string& move, bool gained) {
  Arm& arm = arms[{windowClass, move}];
  (gained ? arm.gains : arm.failures) += 1;
}

double Bandit::mean(const std::string& windowClass, const std::string& move) const {
  const auto found = arms.find({windowClass, move});
  const Arm arm = found == arms.end() ? Arm{} : found->second;
  return (arm.gains + optimism) / (arm.gains + arm.failures + 2 * optimism);
}

std::size_t Bandit::choose(std::span<const Choice> choices) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto found = arms.find({choices[i].windowClass, choices[i].move});
    const double value = choices[i].stake * sample(found == arms.end() ? Arm{} : found->second);
    if (value > most) {
      most = value;
      best = i;
    }
  }
  return best;
}

double Bandit::uniform() {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

/// Marsaglia and Tsang's method; shapes below 1 by their boost.
double Bandit::gammaDraw(double shape) {
  if (shape < 1)
    return gammaDraw(shape + 1) * std::pow(uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi_v<double> * uniform());
    const double v = std::pow(1 + c * normal, 3);
    if (v > 0 && std::log(uniform()) < normal * normal / 2 + d - d * v + d * std::log(v))
      return d * v;
  }
}

double Bandit::sample(const Arm& arm) {
  const double x = gammaDraw(arm.gains + optimism + 0.5), y = gammaDraw(arm.failures + optimism + 0.5);
  return x / (x + y);
}

} // namespace asmevo::optimize
