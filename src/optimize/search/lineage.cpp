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

void Population::lead(Parent parent, double slack) {
  leader = std::move(parent);
  std::erase_if(others, [&](const Parent& other) {
    return other.cycles > leader.cycles * (1 + slack) || other.hash == leader.hash;
  });
}

void Population::offer(Parent parent) {
  if (parent.hash == leader.hash || std::ranges::find(others, parent.hash, &Parent::hash) != others.end())
    return;
  const std::string place = parent.place;
  others.insert(std::ranges::upper_bound(others, parent.cycles, {}, &Parent::cycles), std::move(parent));
  if (std::ranges::count(others, place, &Parent::place) > static_cast<std::ptrdiff_t>(mostOfOnePlace)) {
    const auto slowest =
        std::find_if(others.rbegin(), others.rend(), [&](const Parent& p) { return p.place == place; });
    others.erase(std::prev(slowest.base()));
  }
  if (others.size() > mostOthers)
    others.pop_back();
}

std::optional<Parent> Population::next(unsigned mostEffort) const {
  const Parent* best = nullptr;
  unsigned least = 0;
  const auto look = [&](const Parent& parent, unsigned turn) {
    if (parent.idle < mostIdle && turn <= mostEffort && (!best || turn < least)) {
      best = &parent;
      least = turn;
    }
  };
  look(leader, leader.effort);
  for (const Parent& other : others)
    look(other, other.effort + headStart);
  return best ? std::optional(*best) : std::nullopt;
}

void Population::finished(const std::string& hash, bool foundCandidates) {
  const auto count = [&](Parent& parent) {
    if (parent.hash != hash)
      return;
    ++parent.effort;
    parent.idle = foundCandidates ? 0 : parent.idle + 1;
  };
  count(leader);
  std::ranges::for_each(others, count);
}

void Population::remove(const std::string& hash) {
  std::erase_if(others, [&](const Parent& parent) { return parent.hash == hash; });
}

bool Population::isExhausted() const {
  return leader.idle >= mostIdle && std::ranges::all_of(others, [](const Parent& p) { return p.idle >= mostIdle; });
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
                    {"perturbed_speedups", edit.perturbedSpeedups},
                    {"seconds", edit.seconds}});
  return list;
}

} // namespace asmevo::optimize
