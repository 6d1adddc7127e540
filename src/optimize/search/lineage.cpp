#include "optimize/search/lineage.h"

#include <algorithm>

namespace asmevo::optimize {

std::size_t Lineage::best() const {
  return static_cast<std::size_t>(std::ranges::min_element(programs, {}, &Accepted::cycles) - programs.begin());
}

std::vector<Edit> Lineage::editsOf(std::size_t program) const {
  std::vector<std::size_t> path;
  for (std::size_t at = program; at != 0; at = programs[at].parent)
    path.push_back(at);
  std::vector<Edit> edits;
  for (const std::size_t at : std::vector(path.rbegin(), path.rend()))
    edits.insert(edits.end(), programs[at].edits.begin(), programs[at].edits.end());
  return edits;
}

nlohmann::json editsJson(const std::vector<Edit>& edits) {
  nlohmann::json list = nlohmann::json::array();
  for (const Edit& edit : edits)
    list.push_back({{"move", edit.move},
                    {"reason", edit.reason},
                    {"begin", edit.begin},
                    {"end", edit.end},
                    {"cycles_before", edit.cyclesBefore},
                    {"cycles_after", edit.cyclesAfter},
                    {"verdict", verify::levelName(edit.level)},
                    {"assumptions", edit.assumptions},
                    {"perturbed_speedups", edit.perturbedSpeedups}});
  return list;
}

} // namespace asmevo::optimize
