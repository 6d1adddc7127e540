#include "verify/mutation/score.h"

#include "dispatch/random.h"
#include "program/analysis/dataflow.h"
#include "support/file_io.h"
#include "verify/differential.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

namespace asmevo::verify {

struct MutantJudge::State {
  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  Options gate;
  std::shared_ptr<const Baseline> wider;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;
};

MutantJudge::MutantJudge(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device,
                         const Options& gate, std::shared_ptr<const Baseline> wider)
    : state(new State{k0, dispatch, device, gate, std::move(wider), nullptr, {}}) {
  state->gate.stopAtFirst = true;
  state->gate.mutationScore.reset();
}

MutantJudge::~MutantJudge() = default;

Status MutantJudge::prepare() {
  ASMEVO_TRY(state->codec, isa::Codec::create(state->k0));
  ASMEVO_TRY(state->program, program::Program::recover(state->k0, *state->codec));
  program::completeInstructions(state->program, *state->codec);
  return {};
}

std::vector<Mutant> MutantJudge::mutants() {
  std::set<std::size_t> kernels;
  for (const dispatch::Case& launch : state->dispatch.cases)
    if (const auto kernel = state->k0.findKernel(launch.kernel))
      kernels.insert(static_cast<std::size_t>(*kernel - state->k0.kernels().data()));
  return allMutants(state->k0, state->program, *state->codec, {kernels.begin(), kernels.end()});
}

const program::Program& MutantJudge::program() const {
  return state->program;
}

isa::Codec& MutantJudge::codec() {
  return *state->codec;
}

MutantFate MutantJudge::judge(const Mutant& mutant) {
  const auto k1 = plant(state->k0, state->program, *state->codec, mutant);
  if (k1)
    return judge(mutant, *k1);
  MutantFate fate;
  fate.mutant = mutant;
  fate.reason = k1.error().message;
  return fate;
}

MutantFate MutantJudge::judge(const Mutant& mutant, const object::CodeObject& k1) {
  MutantFate fate;
  fate.mutant = mutant;
  fate.executed = state->gate.baseline && state->gate.baseline->executed.contains(mutant.address);
  const auto verdict = verify(state->k0, k1, state->dispatch, state->device, state->gate);
  if (!verdict) {
    fate.reason = verdict.error().message;
    return fate;
  }
  if (!accepted(verdict->level)) {
    fate.outcome = MutantOutcome::killed;
    fate.gate = verdict->gate;
    fate.reason = verdict->reason;
    return fate;
  }
  const bool proved = verdict->level == Level::proved || verdict->level == Level::identical;
  std::optional<std::string> difference;
  if (state->wider)
    difference = widerDifference(*state->wider, k1, state->device, state->gate);
  if (proved && !difference) {
    fate.outcome = MutantOutcome::equivalent;
    fate.reason = verdict->reason;
    return fate;
  }
  if (difference) {
    fate.outcome = MutantOutcome::blindSpot;
    fate.reason = fmt::format("{}: {}", proved ? "proved, but the proof is wrong" : "other data show it", *difference);
    return fate;
  }
  fate.outcome = MutantOutcome::undecided;
  fate.reason = fmt::format("accepted as {}; {}", levelName(verdict->level),
                            verdict->proof.empty() ? "no proof was tried" : verdict->proof);
  return fate;
}

Result<std::shared_ptr<const Baseline>> measureWider(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                                     device::Device& device, const Options& gate, unsigned rounds) {
  Options options = gate;
  // Strict runs find the sizes that K0 itself is not made for.
  options.strictBudget = gate.variantStrictBudget;
  options.seeds = {gate.seeds.size() + 2}; // another order than the gate's
  options.dataVariants = rounds;
  options.firstVariant = gate.dataVariants + gate.furtherRounds + 1;
  return measureBaseline(k0, dispatch, device, options);
}

std::optional<std::string> widerDifference(const Baseline& wider, const object::CodeObject& k1, device::Device& device,
                                           const Options& gate) {
  Options options = gate;
  options.stopAtFirst = true;
  DifferentialRun runs(wider, k1, device, options, std::numeric_limits<double>::infinity());
  runs.runInOrder();
  if (accepted(runs.result.level))
    return std::nullopt;
  return runs.result.reason;
}

std::string_view mutantOutcomeName(MutantOutcome outcome) {
  static constexpr std::array<std::string_view, mutantOutcomes> names = {"killed", "equivalent", "blind spot",
                                                                         "undecided", "unbuilt"};
  return names[static_cast<std::size_t>(outcome)];
}

std::size_t MutationScore::count(MutantOutcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(fates, outcome, &MutantFate::outcome));
}

double MutationScore::value() const {
  const std::size_t killed = count(MutantOutcome::killed), missed = count(MutantOutcome::blindSpot);
  return killed + missed == 0 ? 1 : static_cast<double>(killed) / static_cast<double>(killed + missed);
}

double MutationScore::lowerBound() const {
  const std::size_t killed = count(MutantOutcome::killed);
  const std::size_t missed = count(MutantOutcome::blindSpot) + count(MutantOutcome::undecided);
  return killed + missed == 0 ? 1 : static_cast<double>(killed) / static_cast<double>(killed + missed);
}

double MutationScore::noticedByRuns() const {
  const std::size_t killed = count(MutantOutcome::killed);
  const std::size_t missed = count(MutantOutcome::blindSpot) + count(MutantOutcome::undecided);
  const auto kills = killsByGate();
  const auto proof = kills.find("proof");
  const std::size_t local = proof == kills.end() ? 0 : proof->second;
  return killed + missed == 0 ? 1 : static_cast<double>(killed - local) / static_cast<double>(killed + missed);
}

std::map<std::string, std::size_t> MutationScore::killsByGate() const {
  std::map<std::string, std::size_t> result;
  for (const MutantFate& fate : fates)
    if (fate.outcome == MutantOutcome::killed)
      ++result[fate.gate];
  return result;
}

std::array<std::array<std::size_t, mutantOutcomes>, mutantKinds> MutationScore::byKind() const {
  std::array<std::array<std::size_t, mutantOutcomes>, mutantKinds> result{};
  for (const MutantFate& fate : fates)
    ++result[static_cast<std::size_t>(fate.mutant.kind)][static_cast<std::size_t>(fate.outcome)];
  return result;
}

Result<MutationScore> scoreMutants(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                   device::Device& device, const MutationOptions& options) {
  Options gate = options.gate;
  gate.threads = 1;
  if (!gate.baseline || !gate.baseline->fits(k0, dispatch, gate)) {
    ASMEVO_TRY(gate.baseline, measureBaseline(k0, dispatch, device, gate));
  }
  std::shared_ptr<const Baseline> wider;
  if (options.widerRounds != 0) {
    ASMEVO_TRY(wider, measureWider(k0, dispatch, device, gate, options.widerRounds));
  }
  MutantJudge first(k0, dispatch, device, gate, wider);
  ASMEVO_CHECK(first.prepare());
  MutationScore score;
  score.seed = options.seed;
  std::vector<Mutant> all = first.mutants();
  score.possible = all.size();
  const std::vector<Mutant> chosen = sampleMutants(std::move(all), options.mutants, options.seed);
  score.fates.resize(chosen.size());

  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  dispatch::SplitMix64 random(options.seed);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.next() % i]);
  const double deadline = options.timeLimitSeconds > 0 ? steadySeconds() + options.timeLimitSeconds
                                                       : std::numeric_limits<double>::infinity();
  std::atomic<std::size_t> next = 0;
  std::mutex reporting;
  std::size_t done = 0;
  const auto work = [&](MutantJudge& judge) {
    for (std::size_t i = next++; i < chosen.size() && steadySeconds() < deadline; i = next++) {
      score.fates[order[i]] = judge.judge(chosen[order[i]]);
      const std::lock_guard lock(reporting);
      if (options.progress)
        options.progress(++done, chosen.size());
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned t = 1; t < options.threads; ++t)
    workers.emplace_back([&] {
      MutantJudge judge(k0, dispatch, device, gate, wider);
      if (judge.prepare())
        work(judge);
    });
  work(first);
  workers.clear();
  // Those that the time did not reach have nothing in them.
  std::erase_if(score.fates, [](const MutantFate& fate) { return fate.mutant.description.empty(); });
  return score;
}

namespace {

std::string cacheKey(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, const MutationOptions& options) {
  constexpr int format = 3;
  std::string text = fmt::format("{} {} {} {} {} {} {} {} {}\n", format, sha256Hex(k0.bytes()), options.mutants,
                                 options.seed, options.widerRounds, options.gate.dataVariants,
                                 options.gate.furtherRounds, options.gate.strict, options.gate.seeds.size());
  for (const dispatch::Case& launch : dispatch.cases) {
    text += fmt::format("{} {} {} {}", launch.kernel, fmt::join(launch.workgroupSize, ","),
                        fmt::join(launch.gridSize, ","), launch.dynamicLdsBytes);
    for (const dispatch::Buffer& buffer : launch.buffers) {
      const dispatch::Comparison rule = launch.comparisonOf(buffer.name);
      text += fmt::format(" {}:{}:{}:{}:{}:{}", buffer.name, dispatch::dtypeName(buffer.dtype),
                          sha256Hex(buffer.initial), static_cast<int>(rule.mode), rule.rtol, rule.atol);
    }
    for (const dispatch::Argument& argument : launch.arguments)
      text += fmt::format(" {}+{}@{}={}", argument.buffer, argument.offset, argument.at.value_or(0),
                          fmt::join(argument.bytes, ","));
    text += '\n';
  }
  return sha256Hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

} // namespace

Result<nlohmann::json> cachedScore(const object::CodeObject& k0, const dispatch::Dispatch& dispatch,
                                   device::Device& device, const MutationOptions& options, const std::string& folder) {
  constexpr std::uint64_t largest = std::uint64_t{16} << 20;
  const std::string path = fmt::format("{}/{}.json", folder, cacheKey(k0, dispatch, options));
  if (const auto kept = readFile(path, largest)) {
    auto score = nlohmann::json::parse(kept->begin(), kept->end(), nullptr, false);
    if (score.is_object() && score.contains("score") && score["score"].is_number())
      return score;
  }
  ASMEVO_TRY(const MutationScore score, scoreMutants(k0, dispatch, device, options));
  nlohmann::json result = scoreJson(score);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  // Not kept: only the next job takes longer.
  [[maybe_unused]] const Status kept = writeFileAtomic(path, result.dump(2) + "\n");
  return result;
}

nlohmann::json scoreJson(const MutationScore& score) {
  using nlohmann::json;
  json kinds = json::object();
  const auto table = score.byKind();
  for (std::size_t k = 0; k < mutantKinds; ++k) {
    json row = json::object();
    for (std::size_t o = 0; o < mutantOutcomes; ++o)
      row[std::string(mutantOutcomeName(static_cast<MutantOutcome>(o)))] = table[k][o];
    kinds[std::string(mutantKindName(static_cast<MutantKind>(k)))] = std::move(row);
  }
  const auto listed = [&](MutantOutcome outcome) {
    json list = json::array();
    for (const MutantFate& fate : score.fates)
      if (fate.outcome == outcome)
        list.push_back({{"kind", mutantKindName(fate.mutant.kind)},
                        {"at", fmt::format("{:#x}", fate.mutant.address)},
                        {"mutant", fate.mutant.description},
                        {"executed", fate.executed},
                        {"why", fate.reason}});
    return list;
  };
  return {{"score", score.value()},
          {"lower_bound", score.lowerBound()},
          {"noticed_by_runs", score.noticedByRuns()},
          {"seed", score.seed},
          {"possible", score.possible},
          {"planted", score.fates.size() - score.count(MutantOutcome::unbuilt)},
          {"killed", score.count(MutantOutcome::killed)},
          {"killed_by", score.killsByGate()},
          {"by_kind", std::move(kinds)},
          {"blind_spots", listed(MutantOutcome::blindSpot)},
          {"undecided", listed(MutantOutcome::undecided)},
          {"equivalent", listed(MutantOutcome::equivalent)}};
}

} // namespace asmevo::verify
