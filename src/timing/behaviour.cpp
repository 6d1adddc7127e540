#include "timing/behaviour.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace asmevo::timing {
namespace {

/// Workgroups that demand as much within this count as alike; wider where too many behaviours were left.
constexpr double alike = 0.04;
constexpr std::size_t mostBehaviours = 8;
constexpr std::uint64_t shareProbes = 4096;

Demand demandOf(const TraceSet::Group& group, const std::vector<StaticInst>& code, const Parameters& p) {
  enum : std::size_t { valu, matrix, scalar, vector, lds, rest };
  Demand demand;
  for (const PreparedWave& wave : group.waves) {
    for (const std::uint32_t offset : *wave.path) {
      const StaticInst& inst = code[offset / 4];
      switch (inst.category) {
      case Category::valu:
        demand.clk[valu] += inst.pipeClk;
        break;
      case Category::mfma:
        demand.clk[matrix] += inst.passes * p.mfmaPassClk;
        break;
      case Category::scalar:
      case Category::branch:
        demand.clk[scalar] += p.slot;
        break;
      case Category::vmem:
      case Category::lds: // by their accesses
        break;
      case Category::internal:
        demand.clk[rest] += p.slot;
        break;
      }
    }
    for (const PreparedAccess& access : wave.accesses)
      if (access.space == emulator::Space::lds)
        demand.clk[lds] += access.bankClk;
      else
        demand.clk[vector] += std::max<double>(p.vmemAddressClk, access.sectorCount);
  }
  return demand;
}

std::array<std::uint64_t, 3> place(std::uint64_t workgroup, const std::array<std::uint64_t, 3>& dims) {
  return {workgroup % dims[0], workgroup / dims[0] % dims[1], workgroup / dims[0] / dims[1]};
}

} // namespace

double Demand::total() const {
  double sum = 0;
  for (const double c : clk)
    sum += c;
  return sum;
}

double Demand::distance(const Demand& other) const {
  double most = 0;
  for (std::size_t i = 0; i < clk.size(); ++i)
    most = std::max(most, std::abs(clk[i] - other.clk[i]));
  const double larger = std::max(total(), other.total());
  return larger > 0 ? most / larger : 0;
}

Behaviours Behaviours::find(const TraceSet& set, const std::vector<StaticInst>& code,
                            const std::array<std::uint64_t, 3>& grid, const Parameters& parameters) {
  Behaviours b;
  b.dims = grid;
  b.workgroups = grid[0] * grid[1] * grid[2];
  for (const TraceSet::Group& group : set.groups) {
    b.indices.push_back(group.index);
    b.demands.push_back(demandOf(group, code, parameters));
  }
  b.classes.resize(b.indices.size());
  for (double tolerance = alike;; tolerance *= 2) {
    b.members.clear();
    for (unsigned trace = 0; trace < b.demands.size(); ++trace) {
      const auto home = std::ranges::find_if(b.members, [&](const std::vector<unsigned>& m) {
        return b.demands[m.front()].distance(b.demands[trace]) <= tolerance;
      });
      b.classes[trace] = static_cast<unsigned>(home - b.members.begin());
      if (home == b.members.end())
        b.members.push_back({trace});
      else
        home->push_back(trace);
    }
    if (b.members.size() <= mostBehaviours || tolerance > 1)
      break;
  }
  if (b.members.size() > 1)
    b.findVarying();
  b.findShares();
  return b;
}

void Behaviours::findVarying() {
  bool found = false;
  for (std::size_t a = 0; a < indices.size(); ++a)
    for (std::size_t c = a + 1; c < indices.size(); ++c) {
      if (classes[a] == classes[c])
        continue;
      const auto one = place(indices[a], dims), two = place(indices[c], dims);
      int different = 0;
      std::size_t axis = 0;
      for (std::size_t d = 0; d < 3; ++d)
        if (one[d] != two[d]) {
          ++different;
          axis = d;
        }
      if (different == 1) {
        varies[axis] = true;
        found = true;
      }
    }
  if (!found) // no two traced workgroups on one line of the grid tell which dimension matters
    varies = {dims[0] > 1, dims[1] > 1, dims[2] > 1};
}

void Behaviours::findShares() {
  traceShares.assign(indices.size(), 0);
  if (members.size() < 2) {
    traceShares.assign(indices.size(), 1 / static_cast<double>(indices.size()));
    return;
  }
  const std::uint64_t probes = std::min(workgroups, shareProbes);
  for (std::uint64_t i = 0; i < probes; ++i) // the middle of each of as many equal parts
    traceShares[traceFor((2 * i + 1) * workgroups / (2 * probes))] += 1 / static_cast<double>(probes);
}

unsigned Behaviours::nearest(std::uint64_t workgroup, std::size_t except) const {
  const auto here = place(workgroup, dims);
  double least = std::numeric_limits<double>::infinity();
  unsigned result = 0;
  for (std::size_t trace = 0; trace < indices.size(); ++trace) {
    if (trace == except)
      continue;
    const auto there = place(indices[trace], dims);
    double distance = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      if (!varies[d])
        continue;
      const double gap =
          here[d] > there[d] ? static_cast<double>(here[d] - there[d]) : static_cast<double>(there[d] - here[d]);
      distance += gap / static_cast<double>(dims[d]);
      if ((here[d] + 1 == dims[d]) != (there[d] + 1 == dims[d]))
        distance += 1;
    }
    if (distance < least) {
      least = distance;
      result = static_cast<unsigned>(trace);
    }
  }
  return result;
}

double Behaviours::uncertainty() const {
  if (members.size() < 2)
    return 0;
  // Each trace foretold by the nearest other one: what is missed on average, and what chance may hide of it.
  double signedMiss = 0, squares = 0, whole = 0;
  for (std::size_t trace = 0; trace < indices.size(); ++trace) {
    const double own = demands[trace].total();
    const double miss = traceShares[trace] * (demands[nearest(indices[trace], trace)].total() - own);
    signedMiss += miss;
    squares += miss * miss;
    whole += traceShares[trace] * own;
  }
  return whole > 0 ? std::max(std::abs(signedMiss), std::sqrt(squares)) / whole : 0;
}

bool differ(const std::vector<emulator::WorkgroupTrace>& traces) {
  std::array<double, 3> least{}, most{};
  for (std::size_t i = 0; i < traces.size(); ++i) {
    std::array<double, 3> shape{};
    for (const emulator::WaveTrace& wave : traces[i].waves) {
      shape[0] += static_cast<double>(wave.path.size());
      shape[1] += static_cast<double>(wave.accesses.size());
      shape[2] += static_cast<double>(wave.lines.size());
    }
    for (std::size_t k = 0; k < shape.size(); ++k) {
      least[k] = i ? std::min(least[k], shape[k]) : shape[k];
      most[k] = std::max(most[k], shape[k]);
    }
  }
  for (std::size_t k = 0; k < least.size(); ++k)
    if (most[k] - least[k] > alike * most[k])
      return true;
  return false;
}

} // namespace asmevo::timing
