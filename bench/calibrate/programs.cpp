#include "programs.h"

#include "dispatch/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <regex>

namespace asmevo::calibrate {
namespace {

/// The numbers of a size as written, "1024x1024_mask3": 1024, 1024, 3.
using Numbers = std::vector<std::uint32_t>;

constexpr float inputScale = 1.0f / 8;

/// Small multiples of 1/8 in [-4, 4): sums of few of them are exact.
std::uint32_t smallFloat(std::uint64_t i) {
  return std::bit_cast<std::uint32_t>((static_cast<float>(dispatch::SplitMix64::mix(i) % 64) - 32.0f) * inputScale);
}
std::uint32_t smallInteger(std::uint64_t i) {
  return static_cast<std::uint32_t>(dispatch::SplitMix64::mix(i) % 100 + 1);
}

std::uint32_t groupsFor(std::uint64_t items, std::uint32_t perGroup) {
  return static_cast<std::uint32_t>((items + perGroup - 1) / perGroup);
}

/// A launch over `items` in one dimension.
PlanLaunch over(std::string kernel, std::uint64_t items, std::uint32_t perGroup, std::vector<PlanArgument> arguments) {
  PlanLaunch launch;
  launch.kernel = std::move(kernel);
  launch.workgroup = {perGroup, 1, 1};
  launch.groups = {groupsFor(items, perGroup), 1, 1};
  launch.arguments = std::move(arguments);
  return launch;
}

/// A loop of `total` rounds, given by argument `at`, as two loops of `first` and `second` rounds: the rounds past the
/// second take as long as those between the two.
std::vector<PlanLaunch> shortened(const PlanLaunch& whole, std::size_t at, std::uint32_t total, std::uint32_t first,
                                  std::uint32_t second) {
  if (total <= second)
    return {whole};
  const double rest = (static_cast<double>(total) - first) / (static_cast<double>(second) - first);
  PlanLaunch less = whole, more = whole;
  less.arguments.at(at) = first;
  less.weight = whole.weight * (1 - rest);
  more.arguments.at(at) = second;
  more.weight = whole.weight * rest;
  return {less, more};
}

/// How many of the values 0 .. counts.size()-1, each counted as given, are nearest to each pick (ascending).
std::vector<double> nearestShare(const std::vector<double>& counts, const std::vector<std::uint32_t>& picks) {
  std::vector<double> share(picks.size());
  for (std::size_t value = 0; value < counts.size(); ++value) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < picks.size(); ++i)
      if (std::abs(static_cast<double>(picks[i]) - static_cast<double>(value)) <
          std::abs(static_cast<double>(picks[best]) - static_cast<double>(value)))
        best = i;
    share[best] += counts[value];
  }
  return share;
}

/// Powers of two that stand for pair distances 2^0 .. 2^(last): within a wave's data, within a workgroup's, beyond.
std::vector<std::uint32_t> distancePicks(std::uint32_t last) {
  std::vector<std::uint32_t> picks;
  for (const std::uint32_t pick : {0U, 3U, 6U, 9U, 14U})
    if (pick < last)
      picks.push_back(pick);
  picks.push_back(last);
  return picks;
}

std::uint32_t log2Of(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n)) - 1;
}

/// Of an array that every launch rewrites in pairs 2^distance apart: bytes that come to another XCD than wrote them.
/// While both elements of a pair belong to one workgroup's stretch of the array nothing moves; beyond, workgroups meet
/// other stretches in each launch, and of six XCDs five are others. Lines are tracked as far as the Infinity Cache
/// reaches.
double migratedBytes(std::uint32_t distance, std::uint32_t itemsPerGroup, double arrayBytes) {
  constexpr double infinityCacheBytes = 268435456, otherXcds = 5.0 / 6;
  return (1U << distance) < itemsPerGroup ? 0 : std::min(arrayBytes, infinityCacheBytes) * otherXcds;
}

/// Launches for the pair distances of distancePicks that stand for all; counts[d] launches have distance 2^d.
std::vector<PlanLaunch> byDistance(const std::vector<double>& counts, std::uint32_t itemsPerGroup, double arrayBytes,
                                   const std::function<PlanLaunch(std::uint32_t distance)>& launchAt) {
  std::vector<double> moved;
  for (std::uint32_t d = 0; d < counts.size(); ++d)
    moved.push_back(counts[d] * migratedBytes(d, itemsPerGroup, arrayBytes));
  const auto picks = distancePicks(static_cast<std::uint32_t>(counts.size()) - 1);
  const auto share = nearestShare(counts, picks), movedShare = nearestShare(moved, picks);
  std::vector<PlanLaunch> launches;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    launches.push_back(launchAt(picks[i]));
    launches.back().weight = share[i];
    launches.back().migratedBytes = movedShare[i] / share[i];
  }
  return launches;
}

/// One launch that is the whole sequence.
void single(Plan& plan, PlanLaunch launch) {
  plan.timed = {launch};
  plan.launches = {std::move(launch)};
}

Plan vectoradd(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"sum", n[0], {}, {}}, {"left", n[0], smallFloat, {}}, {"right", n[0], smallFloat, {}}};
  single(plan, over("vectoradd", n[0], 256, {"sum", "left", "right", n[0], 1}));
  return plan;
}

Plan relu(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"in", n[0], smallFloat, {}}, {"out", n[0], {}, {}}};
  single(plan, over("relu", n[0], 256, {n[0], "in", "out"}));
  return plan;
}

Plan matrixtranspose(const Numbers& n) {
  Plan plan;
  const std::uint64_t cells = std::uint64_t{n[0]} * n[0];
  const std::uint32_t quads = n[0] / 4, groups = quads / 16;
  plan.buffers = {{"out", cells, {}, {}}, {"in", cells, smallFloat, {}}};
  PlanLaunch launch;
  launch.kernel = "matrixtranspose";
  launch.workgroup = {16, 16, 1};
  launch.groups = {groups, groups, 1};
  launch.dynamicLdsBytes = 64 * 64 * 4;
  launch.arguments = {"out", "in", quads, quads, groups};
  single(plan, std::move(launch));
  return plan;
}

Plan matrixmultiplication(const Numbers& n) {
  Plan plan;
  const std::uint64_t cells = std::uint64_t{n[0]} * n[0];
  plan.buffers = {{"a", cells, smallFloat, {}},
                  {"b", cells, smallFloat, {}},
                  {"c", cells, {}, {}},
                  {"scratch", 8 * 8 * 4 * 4, {}, {}}};
  PlanLaunch launch;
  launch.kernel = "matrixmultiplication";
  launch.workgroup = {8, 8, 1};
  launch.groups = {n[0] / 32, n[0] / 32, 1};
  launch.arguments = {"a", "b", "c", n[0], "scratch", n[0]};
  plan.launches = {launch};
  plan.timed = shortened(launch, 5, n[0], 128, 256);
  return plan;
}

Plan fir(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"out", n[0], {}, {}},
                  {"coefficients", n[1], smallFloat, {}},
                  {"in", n[0], smallFloat, {}},
                  {"history", n[1] + 1, smallFloat, {}}};
  single(plan, over("fir", n[0], 256, {"out", "coefficients", "in", "history", n[1]}));
  return plan;
}

/// atax and bicg: a pass over the rows, a pass over the columns.
Plan matrixVectorTwice(const Numbers& n, const std::string& name, bool clears) {
  constexpr std::uint32_t first = 128, second = 256;
  Plan plan;
  plan.buffers = {{"a", std::uint64_t{n[0]} * n[0], smallFloat, {}},
                  {"x", n[0], smallFloat, {}},
                  {"r", n[0], smallFloat, {}},
                  {"sum", n[0], {}, {}},
                  {"y", n[0], {}, {}}};
  const PlanLaunch rows = over(name + "_rows", n[0], 256, {"a", "x", "sum", n[0], n[0], n[0]});
  const PlanLaunch columns = over(name + "_columns", n[0], 256, {"a", "y", clears ? "sum" : "r", n[0], n[0], n[0]});
  if (clears) {
    plan.launches.push_back(over(name + "_clear", n[0], 256, {"sum", n[0]}));
    plan.launches.push_back(over(name + "_clear", n[0], 256, {"y", n[0]}));
    plan.timed.push_back(plan.launches.front());
    plan.timed.front().weight = 2;
  }
  for (const PlanLaunch& launch : {rows, columns}) {
    plan.launches.push_back(launch);
    std::ranges::copy(shortened(launch, 5, n[0], first, second), std::back_inserter(plan.timed));
  }
  return plan;
}
Plan atax(const Numbers& n) {
  return matrixVectorTwice(n, "atax", true);
}
Plan bicg(const Numbers& n) {
  return matrixVectorTwice(n, "bicg", false);
}

/// The launch of im2col for a picture of n[2] x n[3] and a mask of n[4] x n[5].
PlanLaunch unroll(const Numbers& n) {
  using Extent = std::array<std::uint32_t, 2>;
  const std::uint64_t field = std::uint64_t{n[2] - n[4] + 1} * (n[3] - n[5] + 1);
  return over(
      "im2col", field, 256,
      {"in", "columns", Extent{n[3], n[2]}, Extent{n[5], n[4]}, Extent{1, 1}, Extent{0, 0}, Extent{1, 1}, 1U, 1U});
}

Plan im2col(const Numbers& n) {
  Plan plan;
  const std::uint64_t field = std::uint64_t{n[2] - n[4] + 1} * (n[3] - n[5] + 1);
  plan.buffers = {{"in", std::uint64_t{n[2]} * n[3], smallFloat, {}}, {"columns", field * n[4] * n[5], {}, {}}};
  single(plan, unroll(n));
  return plan;
}

Plan conv2d(const Numbers& n) {
  Plan plan;
  const std::uint32_t field = (n[2] - n[4] + 1) * (n[3] - n[5] + 1), taps = n[4] * n[5], outputs = n[6];
  // The multiplication clears whole tiles of the result, past its end.
  const std::uint64_t cleared = 15 * std::uint64_t{field} + groupsFor(field, 16) * 16;
  plan.buffers = {{"in", std::uint64_t{n[2]} * n[3], smallFloat, {}},
                  {"columns", std::uint64_t{field} * taps, {}, {}},
                  {"weights", outputs * taps, smallFloat, {}},
                  {"bias", std::uint64_t{outputs} * field, {}, {}},
                  {"out", cleared, {}, {}}};
  PlanLaunch multiply;
  multiply.kernel = "conv2d_gemm";
  multiply.workgroup = {16, 16, 1};
  multiply.groups = {groupsFor(field, 16), groupsFor(outputs, 16), 1};
  multiply.arguments = {outputs, field, taps, 1.0f, 0.0f, "weights", "columns", "bias", "out"};
  plan.launches = {unroll(n), multiply};
  plan.timed = plan.launches;
  return plan;
}

Plan kmeans(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"features", std::uint64_t{n[0]} * n[1], smallFloat, {}},
                  {"centres", n[2] * n[1], smallFloat, {}},
                  {"membership", n[0], {}, {}}};
  single(plan, over("kmeans", n[0], 256, {"features", "centres", "membership", n[0], n[2], n[1]}));
  return plan;
}

Plan spmv(const Numbers& n) {
  Plan plan;
  const std::uint32_t rows = n[0], perRow = n[2] / n[0];
  const auto rowsOf = [rows](std::uint64_t group) {
    return ElementRange{group * 256, std::min<std::uint64_t>(rows, (group + 1) * 256)};
  };
  plan.buffers = {{"values", n[2], smallFloat, {}},
                  {"vector", rows, smallFloat, {}},
                  {"columns", n[2],
                   [=](std::uint64_t i) { return static_cast<std::uint32_t>((i / perRow + i % perRow) % rows); },
                   [=](std::uint64_t group) {
                     const auto [first, last] = rowsOf(group);
                     return std::vector<ElementRange>{{first * perRow, last * perRow}};
                   }},
                  {"rowStarts", rows + 1, [=](std::uint64_t i) { return static_cast<std::uint32_t>(i * perRow); },
                   [=](std::uint64_t group) {
                     const auto [first, last] = rowsOf(group);
                     return std::vector<ElementRange>{{first, last + 1}};
                   }},
                  {"out", rows, {}, {}}};
  single(plan, over("spmv_csr_scalar", rows, 256, {"values", "vector", "columns", "rowStarts", rows, "out"}));
  return plan;
}

Plan nbody(const Numbers& n) {
  Plan plan;
  const std::uint64_t words = std::uint64_t{n[0]} * 4;
  plan.buffers = {{"position", words, smallFloat, {}},
                  {"velocity", words, smallFloat, {}},
                  {"tile", 256 * 4, {}, {}},
                  {"newPosition", words, {}, {}},
                  {"newVelocity", words, {}, {}}};
  const PlanLaunch launch = over(
      "nbody", n[0], 256, {"position", "velocity", n[0] / 256, 0.005f, 50.0f, "tile", "newPosition", "newVelocity"});
  plan.launches = {launch};
  plan.timed = shortened(launch, 2, n[0] / 256, 1, 2);
  return plan;
}

Plan bitonicsort(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"array", n[0], smallInteger, {}}};
  const std::uint32_t stages = log2Of(n[0]);
  const auto pass = [&](std::uint32_t stage, std::uint32_t passOfStage) {
    return over("bitonicsort", n[0] / 2, 64, {"array", stage, passOfStage, 1U});
  };
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    for (std::uint32_t p = 0; p <= stage; ++p)
      plan.launches.push_back(pass(stage, p));
  // Pair distance 2^d occurs once in each stage from d on.
  std::vector<double> counts;
  for (std::uint32_t d = 0; d < stages; ++d)
    counts.push_back(stages - d);
  plan.timed = byDistance(counts, 64, n[0] * 4.0, [&](std::uint32_t d) { return pass(stages - 1, stages - 1 - d); });
  plan.copies = 1;
  plan.copiedBytes = n[0] * 4.0;
  plan.synchronizations = 1;
  return plan;
}

Plan fastwalshtransform(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"array", n[0], smallFloat, {}}};
  const std::uint32_t passes = log2Of(n[0]);
  const auto pass = [&](std::uint32_t step) {
    return over("fastwalshtransform", n[0] / 2, 256, {"array", 1U << step});
  };
  for (std::uint32_t step = 0; step < passes; ++step)
    plan.launches.push_back(pass(step));
  plan.timed = byDistance(std::vector<double>(passes, 1), 256, n[0] * 4.0, pass);
  plan.copies = 1;
  plan.copiedBytes = n[0] * 4.0;
  plan.synchronizations = 1;
  return plan;
}

Plan pagerank(const Numbers& n) {
  Plan plan;
  // Of each two columns a row has one: half of all, in an irregular order. Values as a uniform vector would have them.
  const std::uint64_t rows = n[0], perRow = rows / 2;
  const float link = 1.0f / static_cast<float>(perRow), share = 1.0f / static_cast<float>(rows);
  plan.buffers = {
      {"rowStarts", rows + 1, [=](std::uint64_t i) { return static_cast<std::uint32_t>(i * perRow); },
       [](std::uint64_t row) { return std::vector<ElementRange>{{row, row + 2}}; }},
      {"columns", rows * perRow,
       [=](std::uint64_t i) { return static_cast<std::uint32_t>(i % perRow * 2 + (dispatch::SplitMix64::mix(i) & 1)); },
       [=](std::uint64_t row) { return std::vector<ElementRange>{{row * perRow, (row + 1) * perRow}}; }},
      {"values", rows * perRow, [=](std::uint64_t) { return std::bit_cast<std::uint32_t>(link); }, {}},
      {"x", rows, [=](std::uint64_t) { return std::bit_cast<std::uint32_t>(share); }, {}},
      {"y", rows, {}, {}}};
  plan.launches = {over("pagerank", rows * 64, 64, {n[0], "rowStarts", "columns", "values", "x", "y"}),
                   over("pagerank", rows * 64, 64, {n[0], "rowStarts", "columns", "values", "y", "x"})};
  plan.timed = {plan.launches.front()};
  plan.timed.front().weight = 2;
  plan.copies = 1;
  plan.copiedBytes = n[0] * 4.0;
  return plan;
}

Plan simpleconvolution(const Numbers& n) {
  Plan plan;
  const std::uint32_t mask = n[2], pitch = n[0] + mask - 1;
  plan.buffers = {{"in", std::uint64_t{pitch} * (n[1] + mask - 1), smallInteger, {}},
                  {"mask", mask * mask, smallFloat, {}},
                  {"out", std::uint64_t{n[0]} * n[1], {}, {}}};
  single(plan, over("simpleconvolution", std::uint64_t{n[0]} * n[1], 64,
                    {"in", "mask", "out", n[0], n[1], mask, mask, pitch}));
  return plan;
}

Plan stencil2d(const Numbers& n) {
  Plan plan;
  constexpr std::uint32_t alignment = 16;
  const std::uint64_t padded = (std::uint64_t{n[1]} + 2 + alignment - 1) / alignment * alignment;
  const std::uint64_t cells = (std::uint64_t{n[0]} + 2) * padded;
  plan.buffers = {{"in", cells, smallFloat, {}}, {"out", cells, {}, {}}};
  PlanLaunch launch;
  launch.kernel = "stencil2d";
  launch.workgroup = {1, 64, 1};
  launch.groups = {n[0] / 16, n[1] / 64, 1};
  launch.arguments = {"in", "out", alignment, 0.25f, 0.15f, 0.05f};
  single(plan, std::move(launch));
  return plan;
}

Plan floydwarshall(const Numbers& n) {
  Plan plan;
  const std::uint64_t cells = std::uint64_t{n[0]} * n[0];
  const std::uint32_t nodes = n[0];
  plan.buffers = {
      {"distance", cells, [=](std::uint64_t i) { return i / nodes == i % nodes ? 0 : smallInteger(i); }, {}},
      {"path", cells, [=](std::uint64_t i) { return static_cast<std::uint32_t>(i / nodes); }, {}}};
  for (std::uint32_t k = 0; k < nodes; ++k) {
    PlanLaunch launch;
    launch.kernel = "floydwarshall";
    launch.workgroup = {8, 8, 1};
    launch.groups = {nodes / 8, nodes / 8, 1};
    launch.arguments = {"distance", "path", nodes, k};
    plan.launches.push_back(std::move(launch));
  }
  // Of zero distances none improves: the state that most passes find.
  plan.timed = {plan.launches[nodes / 2]};
  plan.timed.front().weight = nodes;
  plan.copies = 2;
  plan.copiedBytes = static_cast<double>(cells) * 8;
  plan.synchronizations = 1;
  return plan;
}

Plan nw(const Numbers& n) {
  constexpr int side = 64, penalty = 10;
  Plan plan;
  const std::uint64_t pitch = n[0] + 1;
  const std::uint32_t blocks = n[0] / side;
  plan.buffers = {{"reference",
                   pitch * pitch,
                   [=](std::uint64_t i) { return static_cast<std::uint32_t>(smallInteger(i) % 16) - 4; },
                   {}},
                  {"scores",
                   pitch * pitch,
                   [=](std::uint64_t i) {
                     const std::uint64_t row = i / pitch, column = i % pitch;
                     return row == 0 || column == 0
                                ? static_cast<std::uint32_t>(-static_cast<int>(row + column) * penalty)
                                : 0;
                   },
                   {}}};
  const auto upper = [&](std::uint32_t diagonal) {
    return over("nw_upper", std::uint64_t{diagonal} * side, side,
                {"reference", "scores", static_cast<std::uint32_t>(pitch), penalty, diagonal, side});
  };
  for (std::uint32_t diagonal = 1; diagonal <= blocks; ++diagonal)
    plan.launches.push_back(upper(diagonal));
  for (std::uint32_t diagonal = blocks - 1; diagonal >= 1; --diagonal)
    plan.launches.push_back(
        over("nw_lower", std::uint64_t{diagonal} * side, side,
             {"reference", "scores", static_cast<std::uint32_t>(pitch), penalty, diagonal, side, blocks}));
  // Each diagonal length occurs twice but for the longest; both kernels do the same.
  std::vector<double> counts(blocks + 1, 2);
  counts.front() = 0;
  counts.back() = 1;
  std::vector<std::uint32_t> picks{1};
  if (blocks > 2)
    picks.push_back((blocks + 1) / 2);
  if (blocks > 1)
    picks.push_back(blocks);
  const auto share = nearestShare(counts, picks);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    plan.timed.push_back(upper(picks[i]));
    plan.timed.back().weight = share[i];
  }
  plan.copies = 1;
  plan.copiedBytes = static_cast<double>(pitch * pitch) * 4;
  return plan;
}

Plan fft(const Numbers& n) {
  Plan plan;
  plan.buffers = {{"work", std::uint64_t{n[0]} * 2, smallFloat, {}}};
  single(plan, over("fft1D_512", n[0] / 8, 64, {"work"}));
  return plan;
}

struct Program {
  const char* name;
  const char* size; ///< a regular expression with a group for each number
  Plan (*plan)(const Numbers&);
  std::uint32_t unit; ///< the first number is a multiple of it
};

constexpr Program programs[] = {
    {"atax", "(\\d+)x(\\d+)", atax, 1},
    {"bicg", "(\\d+)x(\\d+)", bicg, 1},
    {"bitonicsort", "(\\d+)", bitonicsort, 128},
    {"conv2d", "N(\\d+)_C(\\d+)_(\\d+)x(\\d+)_k(\\d+)x(\\d+)_OC(\\d+)", conv2d, 1},
    {"fastwalshtransform", "(\\d+)", fastwalshtransform, 512},
    {"fft1D_512", "(\\d+)_elements", fft, 512},
    {"fir", "(\\d+)_taps(\\d+)", fir, 256},
    {"floydwarshall", "(\\d+)_nodes", floydwarshall, 8},
    {"im2col", "N(\\d+)_C(\\d+)_(\\d+)x(\\d+)_k(\\d+)x(\\d+)", im2col, 1},
    {"kmeans", "pts(\\d+)_feat(\\d+)_clus(\\d+)", kmeans, 1},
    {"matrixmultiplication", "(\\d+)x(\\d+)x(\\d+)", matrixmultiplication, 32},
    {"matrixtranspose", "(\\d+)x(\\d+)", matrixtranspose, 64},
    {"nbody", "(\\d+)_particles", nbody, 256},
    {"nw", "length=(\\d+)", nw, 64},
    {"pagerank", "nodes(\\d+)_sparsity0.5_priters2", pagerank, 2},
    {"relu", "(\\d+)", relu, 1},
    {"simpleconvolution", "(\\d+)x(\\d+)_mask(\\d+)", simpleconvolution, 1},
    {"spmv_csr_scalar", "(\\d+)x(\\d+)_nnz(\\d+)", spmv, 1},
    {"stencil2d", "(\\d+)x(\\d+)", stencil2d, 64},
    {"vectoradd", "(\\d+)", vectoradd, 1},
};

dispatch::Case emptyCase(const Plan& plan, const PlanLaunch& launch) {
  dispatch::Case result;
  result.name = plan.object;
  result.kernel = launch.kernel;
  result.workgroupSize = launch.workgroup;
  for (std::size_t d = 0; d < 3; ++d)
    result.gridSize[d] = launch.groups[d] * launch.workgroup[d];
  result.dynamicLdsBytes = launch.dynamicLdsBytes;
  for (const PlanBuffer& buffer : plan.buffers) {
    dispatch::Buffer& made = result.buffers.emplace_back();
    made.name = buffer.name;
    made.dtype = dispatch::DType::u32;
    made.shape = {buffer.elements};
  }
  for (const PlanArgument& argument : launch.arguments) {
    dispatch::Argument& made = result.arguments.emplace_back();
    made.buffer = argument.buffer;
    made.bytes = argument.bytes;
  }
  return result;
}

Bytes contentsOf(const PlanBuffer& buffer, ElementRange range) {
  Bytes bytes((range.second - range.first) * 4);
  if (buffer.value)
    for (std::uint64_t i = range.first; i < range.second; ++i) {
      const std::uint32_t value = buffer.value(i);
      std::memcpy(bytes.data() + (i - range.first) * 4, &value, 4);
    }
  return bytes;
}

} // namespace

std::vector<std::string> programNames() {
  std::vector<std::string> names;
  for (const Program& program : programs)
    names.emplace_back(program.name);
  return names;
}

Result<Plan> planOf(const std::string& program, const std::string& size) {
  const auto known = std::ranges::find_if(programs, [&](const Program& p) { return p.name == program; });
  if (known == std::end(programs))
    return badInput("no program '{}'", program);
  std::smatch match;
  if (!std::regex_match(size, match, std::regex(known->size)))
    return badInput("{}: '{}' is not a size of it", program, size);
  Numbers numbers;
  for (std::size_t i = 1; i < match.size(); ++i) {
    if (match[i].length() > 9)
      return badInput("{}: size '{}' is out of range", program, size);
    numbers.push_back(static_cast<std::uint32_t>(std::stoul(match[i])));
    if (numbers.back() == 0)
      return badInput("{}: size '{}' has a zero", program, size);
  }
  if (numbers.front() % known->unit != 0)
    return badInput("{}: size '{}' is no multiple of {}", program, size, known->unit);
  Plan plan = known->plan(numbers);
  plan.object = program;
  return plan;
}

dispatch::Case wholeCase(const Plan& plan, const PlanLaunch& launch) {
  dispatch::Case result = emptyCase(plan, launch);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    result.buffers[i].initial = contentsOf(plan.buffers[i], {0, plan.buffers[i].elements});
  return result;
}

dispatch::Case sparseCase(const Plan& plan, const PlanLaunch& launch, const std::vector<std::uint64_t>& workgroups) {
  dispatch::Case result = emptyCase(plan, launch);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    result.buffers[i].sparseBytes = buffer.elements * 4;
    if (!buffer.steers)
      continue;
    for (const std::uint64_t workgroup : workgroups)
      for (const ElementRange& range : buffer.steers(workgroup))
        result.buffers[i].pieces.push_back({range.first * 4, contentsOf(buffer, range)});
  }
  return result;
}

} // namespace asmevo::calibrate
