#include "report/results.h"

#include "support/file_io.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace asmevo::report {

using nlohmann::json;

RoofPosition roofPosition(const timing::Estimate& estimate) {
  RoofPosition position;
  if (!estimate.resources.empty()) {
    position.resource = estimate.resources.front().name;
    position.share = estimate.resources.front().share;
  }
  position.wavesPerSimd = estimate.wavesPerSimd;
  return position;
}

std::size_t KernelResult::signChanges() const {
  return static_cast<std::size_t>(std::ranges::count_if(perturbedSpeedups, [](double s) { return s < 1; }));
}

namespace {

json roofJson(const RoofPosition& position) {
  return {{"resource", position.resource}, {"share", position.share}, {"waves_per_simd", position.wavesPerSimd}};
}

json boundJson(const timing::Bound& bound) {
  return {{"cycles", bound.cycles},
          {"accesses_as_written", bound.written},
          {"accesses_by_dataflow", bound.dataflow},
          {"busiest_unit", bound.busiestUnit}};
}

/// Reads typed entries; the first that is missing is the error.
class Entries {
 public:
  Entries(const json& object, std::string where) : object(object), where(std::move(where)) {}

  void text(const char* key, std::string& into) { take(key, into, &json::is_string); }
  void flag(const char* key, bool& into) { take(key, into, &json::is_boolean); }
  void real(const char* key, double& into) { take(key, into, &json::is_number); }
  template <class T> void count(const char* key, T& into) { take(key, into, &json::is_number_unsigned); }
  void roof(const char* key, RoofPosition& into) {
    inside(key, [&](Entries& inner) {
      inner.text("resource", into.resource);
      inner.real("share", into.share);
      inner.count("waves_per_simd", into.wavesPerSimd);
    });
  }
  void bound(const char* key, timing::Bound& into) {
    inside(key, [&](Entries& inner) {
      inner.real("cycles", into.cycles);
      inner.real("accesses_as_written", into.written);
      inner.real("accesses_by_dataflow", into.dataflow);
      inner.real("busiest_unit", into.busiestUnit);
    });
  }
  template <class T> void list(const char* key, std::vector<T>& into, bool (json::*is)() const noexcept) {
    if (!object.contains(key) || !object[key].is_array())
      return miss(key);
    for (const json& one : object[key]) {
      if (!(one.*is)())
        return miss(key);
      into.push_back(one.template get<T>());
    }
  }

  const json& object;
  std::string where, missing;

  void miss(const char* key) {
    if (missing.empty())
      missing = where + key;
  }

 private:
  template <class F> void inside(const char* key, F&& read) {
    if (!object.contains(key) || !object[key].is_object())
      return miss(key);
    Entries inner(object[key], where + key + ".");
    read(inner);
    if (missing.empty())
      missing = inner.missing;
  }
  template <class T> void take(const char* key, T& into, bool (json::*is)() const noexcept) {
    if (!object.contains(key) || !(object[key].*is)())
      return miss(key);
    into = object[key].template get<T>();
  }
};

} // namespace

json resultJson(const KernelResult& r) {
  json edits = json::array();
  for (const auto& edit : r.edits)
    edits.push_back({{"move", edit.move}, {"reason", edit.reason}, {"speedup", edit.speedup}});
  return {{"asmevo_result", 1},
          {"suite", r.suite},
          {"kernel", r.kernel},
          {"title", r.title},
          {"k0_sha256", r.k0Sha256},
          {"k1_sha256", r.k1Sha256},
          {"device", r.device},
          {"modelled", r.modelled},
          {"options", r.options},
          {"baseline_cycles", r.baselineCycles},
          {"final_cycles", r.finalCycles},
          {"baseline_us", r.baselineMicroseconds},
          {"final_us", r.finalMicroseconds},
          {"speedup", r.speedup()},
          {"verdict", r.verdict},
          {"final_verdict", r.finalVerdict},
          {"final_on_timed", r.finalOnTimed},
          {"bound", boundJson(r.bound)},
          {"at_roof", r.atRoof()},
          {"perturbed_speedups", r.perturbedSpeedups},
          {"before", roofJson(r.before)},
          {"after", roofJson(r.after)},
          {"edits", std::move(edits)},
          {"assumptions", r.assumptions},
          {"cases", r.cases},
          {"candidates", r.candidates},
          {"rejected", r.rejected},
          {"seconds", r.seconds},
          {"seconds_to_nine_tenths", r.secondsToNineTenths},
          {"error", r.error}};
}

Result<KernelResult> parseResult(const json& file, const std::string& name) {
  if (!file.is_object() || file.value("asmevo_result", json()) != 1)
    return badInput("{}: no result of asmevo bench", name);
  KernelResult r;
  Entries entries(file, "");
  entries.text("suite", r.suite);
  entries.text("kernel", r.kernel);
  entries.text("title", r.title);
  entries.text("k0_sha256", r.k0Sha256);
  entries.text("k1_sha256", r.k1Sha256);
  entries.text("device", r.device);
  entries.flag("modelled", r.modelled);
  entries.text("options", r.options);
  entries.real("baseline_cycles", r.baselineCycles);
  entries.real("final_cycles", r.finalCycles);
  entries.real("baseline_us", r.baselineMicroseconds);
  entries.real("final_us", r.finalMicroseconds);
  entries.text("verdict", r.verdict);
  entries.text("final_verdict", r.finalVerdict);
  entries.flag("final_on_timed", r.finalOnTimed);
  entries.bound("bound", r.bound);
  entries.list("perturbed_speedups", r.perturbedSpeedups, &json::is_number);
  entries.roof("before", r.before);
  entries.roof("after", r.after);
  entries.list("assumptions", r.assumptions, &json::is_string);
  entries.count("cases", r.cases);
  entries.count("candidates", r.candidates);
  entries.count("rejected", r.rejected);
  entries.real("seconds", r.seconds);
  entries.real("seconds_to_nine_tenths", r.secondsToNineTenths);
  entries.text("error", r.error);
  std::vector<json> edits;
  entries.list("edits", edits, &json::is_object);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    Entries inner(edits[i], fmt::format("edits[{}].", i));
    KernelResult::Edit& edit = r.edits.emplace_back();
    inner.text("move", edit.move);
    inner.text("reason", edit.reason);
    inner.real("speedup", edit.speedup);
    if (entries.missing.empty())
      entries.missing = inner.missing;
  }
  if (!entries.missing.empty())
    return badInput("{}: \"{}\" is missing or of another type", name, entries.missing);
  return r;
}

Summary summarise(std::span<const KernelResult> results) {
  Summary summary;
  double logs = 0;
  for (const KernelResult& r : results) {
    ++summary.kernels;
    summary.failed += !r.error.empty();
    summary.verified += r.verified();
    summary.improved += r.improved();
    summary.atRoof += r.atRoof();
    logs += std::log(r.speedup());
    summary.maximum = std::max(summary.maximum, r.speedup());
  }
  if (!results.empty())
    summary.geometricMean = std::exp(logs / static_cast<double>(results.size()));
  return summary;
}

json summaryJson(const Summary& s) {
  return {{"kernels", s.kernels}, {"verified", s.verified}, {"improved", s.improved},
          {"at_roof", s.atRoof},  {"failed", s.failed},     {"geometric_mean", s.geometricMean},
          {"maximum", s.maximum}};
}

Result<std::vector<KernelResult>> loadResults(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder))
    return badInput("{}: no folder of results", folder);
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().ends_with(".result.json"))
      paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  std::vector<KernelResult> results;
  for (const std::string& path : paths) {
    ASMEVO_TRY(const Bytes bytes, readFile(path, std::uint64_t{16} << 20));
    ASMEVO_TRY(KernelResult result, parseResult(json::parse(bytes.begin(), bytes.end(), nullptr, false), path));
    results.push_back(std::move(result));
  }
  return results;
}

namespace {

std::string tableOf(const std::string& suite, std::span<const KernelResult> results) {
  const Summary summary = summarise(results);
  const bool modelled = std::ranges::any_of(results, &KernelResult::modelled);
  const char* how = modelled ? "modelled" : "measured";
  const auto unconfirmed =
      std::ranges::count_if(results, [](const KernelResult& r) { return r.improved() && r.finalVerdict.empty(); });
  std::string page = fmt::format("## {} on {}\n\n", suite, results.front().device);
  page += fmt::format("{} kernels: {} verified ({} of them are K0 as it is), {} faster, {} failed; geometric mean "
                      "{:.3f}x, maximum {:.3f}x ({}).\n\n",
                      summary.kernels, summary.verified, summary.verified - summary.improved, summary.improved,
                      summary.failed, summary.geometricMean, summary.maximum, how);
  std::vector<std::string> atRoof;
  for (const KernelResult& r : results)
    if (r.atRoof())
      atRoof.push_back(r.kernel);
  page += fmt::format("{} K0 are within 5 % of their bound as they are{}{}.\n\n", atRoof.size(),
                      atRoof.empty() ? "" : ": ", fmt::join(atRoof, ", "));
  if (unconfirmed != 0)
    page += fmt::format("Of the faster ones {} were not verified on final cases.\n\n", unconfirmed);
  page += fmt::format("| kernel | K0 | K0 us ({0}) | K1 us ({0}) | speed-up | on chips near it | slower on | verdict | "
                      "on the final cases | busiest unit of K0 | K0 / bound | waves/SIMD | moves |\n"
                      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                      how);
  for (const KernelResult& r : results) {
    if (!r.error.empty()) {
      page +=
          fmt::format("| {} | `{}` | | | | | | failed: {} | | | | | |\n", r.kernel, r.k0Sha256.substr(0, 12), r.error);
      continue;
    }
    std::map<std::string, double> byMove;
    for (const auto& edit : r.edits)
      byMove.emplace(edit.move, 1).first->second *= edit.speedup;
    std::vector<std::string> moves;
    for (const auto& [move, speedup] : byMove)
      moves.push_back(fmt::format("{} {:.3f}", move, speedup));
    std::string near, slower;
    if (!r.perturbedSpeedups.empty()) {
      const auto [least, most] = std::ranges::minmax(r.perturbedSpeedups);
      near = fmt::format("{:.3f} to {:.3f}", least, most);
      slower = fmt::format("{} of {}", r.signChanges(), r.perturbedSpeedups.size());
    }
    const std::string final = r.verdict.empty()        ? "K0 itself"
                              : r.finalVerdict.empty() ? "not verified"
                              : r.finalOnTimed         ? r.finalVerdict + ", as timed"
                                                       : r.finalVerdict + ", fewer workgroups";
    const std::string overBound = r.bound.cycles > 0 ? fmt::format("{:.2f}", r.baselineCycles / r.bound.cycles) : "";
    page += fmt::format(
        "| {} | `{}` | {:.2f} | {:.2f} | {:.3f} | {} | {} | {} | {} | {} {:.0f} % | {}{} | {} to {} | {} "
        "|\n",
        r.kernel, r.k0Sha256.substr(0, 12), r.baselineMicroseconds, r.finalMicroseconds, r.speedup(), near, slower,
        r.verdict.empty() ? "K0 itself" : r.verdict, final, r.before.resource, 100 * r.before.share, overBound,
        r.atRoof() ? ", at its roof" : "", r.before.wavesPerSimd, r.after.wavesPerSimd, fmt::join(moves, ", "));
  }
  return page + '\n';
}

} // namespace

std::string resultsPage(std::span<const KernelResult> results) {
  std::map<std::string, std::vector<KernelResult>> bySuite;
  for (const KernelResult& r : results)
    bySuite[r.suite].push_back(r);
  std::string page = "# Results\n\nWritten by `asmevo report`; do not edit. What `modelled` stands by comes from the "
                     "timing model ([timing.md](timing.md)), not from a GPU. A row counts with its verdict; \"slower "
                     "on\" says on how many chips with every latency and bandwidth changed by up to 25 % K1 loses. "
                     "\"K0 / bound\": K0's cycles over what its memory accesses alone take, in its order or as "
                     "early as data allow, or its busiest unit alone, whichever is longer (src/timing/bound.h): what "
                     "changes of anything else could gain at most. Final cases are those that K1 is verified on once "
                     "more at the end: the timed ones, or as long ones with fewer workgroups.\n\n";
  for (auto& [suite, list] : bySuite) {
    std::ranges::sort(list, {}, &KernelResult::kernel);
    page += tableOf(suite, list);
  }
  return page;
}

} // namespace asmevo::report
