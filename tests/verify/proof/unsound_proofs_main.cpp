// Plants seeded wrong edits in windows of real kernels and looks for one that the proof engine calls proved and that
// runs show to be wrong. A register that differs behind the window may be of no consequence (lanes that are never
// active again, a value that is overwritten): where the kernel has a dispatch, whole runs of it decide then, and an
// edit that none of them tells apart is listed as absorbed. With --legal, counts how many edits that change nothing it
// proves, by kind.
#include "verify/differential.h"
#include "verify/proof/window_edits.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>

namespace {

using namespace asmevo;

struct Counts {
  std::size_t edits = 0, proved = 0, differs = 0, unknown = 0, timeout = 0, refused = 0;
  std::size_t live = 0;      ///< told apart by concrete runs
  std::size_t usedFacts = 0; ///< proofs that rest on the code around the window
  std::size_t absorbed = 0;  ///< told apart behind the window, and by no run of the whole kernel
  std::size_t unsound = 0;
};

std::size_t& of(Counts& counts, verify::ProofStatus status) {
  switch (status) {
  case verify::ProofStatus::proved:
    return counts.proved;
  case verify::ProofStatus::differs:
    return counts.differs;
  case verify::ProofStatus::unknown:
    return counts.unknown;
  case verify::ProofStatus::timeout:
    return counts.timeout;
  case verify::ProofStatus::refused:
    return counts.refused;
  }
  return counts.unknown;
}

/// Whole runs of edited kernels on the dispatches in `folder`.
class WholeRuns {
 public:
  explicit WholeRuns(std::string folder) : folder(std::move(folder)) {}

  /// Does none of the runs tell the edited program from the kernel? False where it cannot be run.
  bool absorb(const tests::EditSubject& subject, const verify::Side& edited) {
    const std::string path = folder + "/" + subject.name + ".dispatch.json";
    if (!std::filesystem::exists(path))
      return false;
    const auto launches = dispatch::loadDispatch(path);
    auto device = device::makeSimulator("mi300x");
    auto bytes = program::rebuild(*subject.object, *edited.program, *edited.codec);
    if (!launches || !device || !bytes)
      return false;
    const auto k1 = object::CodeObject::parse(*std::move(bytes), "K1");
    verify::Options options;
    options.seeds = {0, 1, 2, 3};
    options.strict = false;
    options.dataVariants = 3;
    auto& baseline = baselines[subject.name];
    if (!baseline)
      if (auto measured = verify::measureBaseline(*subject.object, *launches, **device, options))
        baseline = *std::move(measured);
    if (!k1 || !baseline)
      return false;
    verify::DifferentialRun runs(*baseline, *k1, **device, options, std::numeric_limits<double>::infinity());
    runs.runInOrder();
    return verify::accepted(runs.result.level);
  }

 private:
  std::string folder;
  std::map<std::string, std::shared_ptr<const verify::Baseline>> baselines;
};

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  std::size_t count = 1000;
  std::uint64_t seed = 1;
  unsigned trials = 64;
  double seconds = 1e9;
  bool legal = false, verbose = false, noFacts = false;
  std::string only, dispatches = ASMEVO_SOURCE_DIR "/kernels";
  CLI::App app("Self-test of the proof engine");
  app.add_option("objects", paths, "code objects to edit")->required();
  app.add_option("--count", count, "edits");
  app.add_option("--seed", seed, "of the edits and of the runs");
  app.add_option("--trials", trials, "concrete runs per edit");
  app.add_option("--kind", only, "of legal edits");
  app.add_option("--seconds", seconds, "stop after so long");
  app.add_option("--dispatches", dispatches, "folder of <kernel>.dispatch.json");
  app.add_flag("--legal", legal, "edits that change nothing");
  app.add_flag("--no-facts", noFacts, "prove from the windows alone");
  app.add_flag("-v", verbose, "every edit that is not as expected");
  CLI11_PARSE(app, argc, argv);

  std::vector<tests::EditSubject> subjects;
  for (const std::string& path : paths)
    for (auto& subject : tests::editSubjects(path))
      subjects.push_back(std::move(subject));
  if (subjects.empty()) {
    fmt::print("no window to edit\n");
    return 2;
  }
  verify::ProofOptions options;
  options.useFacts = !noFacts;
  WholeRuns whole(dispatches);
  std::map<std::string, Counts> byKind;
  std::vector<double> times;
  std::size_t made = 0, inconclusive = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t draw = 0; made < count && draw < 200 * count; ++draw) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds)
      break;
    const std::uint64_t h = (seed << 32) + draw;
    const auto& subject = subjects[(h * 0x9e3779b97f4a7c15 >> 33) % subjects.size()];
    tests::WindowEditor editor(subject, h);
    const auto& kinds = tests::WindowEditor::legalKinds();
    const std::string kind = only.empty() ? kinds[draw % kinds.size()] : only;
    auto edit = legal ? editor.legal(kind) : editor.wrong();
    if (!edit)
      continue;
    ++made;
    verify::Side edited = verify::sideOf(subject.side, std::move(edit->program));
    auto& original = const_cast<verify::Side&>(subject.side);
    const auto start = std::chrono::steady_clock::now();
    const verify::ProofResult proof = verify::proveSides(original, edited, options);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    Counts& counts = byKind[edit->kind];
    ++counts.edits;
    ++of(counts, proof.status);
    const bool facts = std::ranges::any_of(proof.windows, [](const auto& w) { return w.usedFacts; });
    const bool proved = proof.status == verify::ProofStatus::proved;
    counts.usedFacts += proved && facts;
    unsigned conclusive = 0;
    const auto difference = tests::concreteDifference(subject, edited, edit->block, h * 31 + 7, trials, conclusive);
    inconclusive += conclusive == 0;
    counts.live += difference.has_value();
    const bool absorbed = proved && difference && whole.absorb(subject, edited);
    const bool unsound = proved && difference && !absorbed;
    counts.absorbed += absorbed;
    counts.unsound += unsound;
    if (unsound || absorbed || (verbose && (legal ? !proved : proved)))
      fmt::print("{}{} {} {:#x}: {}\n  {}\n  {}{}\n",
                 unsound    ? "UNSOUND "
                 : absorbed ? "absorbed "
                            : "",
                 edit->kind, subject.name, subject.side.program->blocks[edit->block].address, edit->what, proof.reason,
                 difference ? "\n  runs: " + difference->difference : "", facts ? " (facts)" : "");
    std::fflush(stdout);
  }
  Counts all;
  fmt::print("{:14} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>8} {:>7}\n", "kind", "edits", "proved",
             "differs", "unknown", "timeout", "refused", "live", "facts", "absorbed", "unsound");
  const auto line = [](const std::string& name, const Counts& c) {
    fmt::print("{:14} {:6} {:6} {:7} {:7} {:7} {:7} {:6} {:6} {:8} {:7}\n", name, c.edits, c.proved, c.differs,
               c.unknown, c.timeout, c.refused, c.live, c.usedFacts, c.absorbed, c.unsound);
  };
  for (const auto& [name, c] : byKind) {
    line(name, c);
    all.edits += c.edits;
    all.proved += c.proved;
    all.differs += c.differs;
    all.unknown += c.unknown;
    all.timeout += c.timeout;
    all.refused += c.refused;
    all.live += c.live;
    all.usedFacts += c.usedFacts;
    all.absorbed += c.absorbed;
    all.unsound += c.unsound;
  }
  line("all", all);
  std::ranges::sort(times);
  if (!times.empty())
    fmt::print("proof time: median {:.3f} s, 95 % {:.3f} s, most {:.3f} s; no conclusive run for {} edits\n",
               times[times.size() / 2], times[times.size() * 95 / 100], times.back(), inconclusive);
  return all.unsound == 0 ? 0 : 1;
}
