#include "emulator/strict_support.h"

#include <algorithm>
#include <stdexcept>

namespace asmevo::emulator::test {

std::vector<std::string> StrictOutcome::rules() const {
  std::vector<std::string> list;
  for (const StrictFinding& finding : result.findings)
    if (std::ranges::find(list, finding.rule) == list.end())
      list.push_back(finding.rule);
  return list;
}

const StrictFinding& StrictOutcome::finding(const std::string& rule) const {
  const auto found = std::ranges::find(result.findings, rule, &StrictFinding::rule);
  if (found == result.findings.end())
    throw std::runtime_error("no finding " + rule);
  return *found;
}

StrictOptions waitsOnly(Delivery delivery) {
  return {.delivery = delivery, .races = false};
}

StrictOutcome runStrict(const KernelText& text, const Launch& launch, const StrictOptions& strict) {
  RunOptions options;
  options.strict = strict;
  return {run(text, launch, options)};
}

KernelText strictKernel(const std::string& body, unsigned ldsBytes) {
  KernelText text{loadPointers(2) + "  v_lshlrev_b32_e32 v2, 2, v0\n" + body + storeV1};
  text.ldsBytes = ldsBytes;
  return text;
}

} // namespace asmevo::emulator::test
