// Soak of the gate: random edits, most of them wrong, and whether it accepts a wrong one.
//   soak [--count N] [--seed S] [--minutes M] [--list FILE] [K.co dispatch.json]...
// Edits are distinct. Each goes through verify with every gate. What it accepts is then run on data, sizes and grids
// that the gate has not seen; any difference from K0 there is a wrong accept. Lines of the list: K.co dispatch.json.
// Exit code 1: a wrong accept, or nothing judged.
#include "dispatch/random.h"
#include "verify/differential.h"
#include "verify/mutation/score.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace asmevo::verify {
namespace {

struct Settings {
  std::size_t count = 1000;
  std::uint64_t seed = 1;
  double minutes = 0; ///< 0: no limit
  std::vector<std::pair<std::string, std::string>> inputs;
};

template <class T> T value(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

Settings parse(int count, char** values) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = values[i], text = values[i + 1];
    if (name == "--count")
      settings.count = std::stoul(text);
    else if (name == "--seed")
      settings.seed = std::stoull(text);
    else if (name == "--minutes")
      settings.minutes = std::stod(text);
    else if (name == "--list") {
      std::ifstream list(text);
      for (std::string object, dispatch; list >> object >> dispatch;)
        settings.inputs.emplace_back(object, dispatch);
    } else
      settings.inputs.emplace_back(name, text);
  }
  if (settings.inputs.empty())
    throw std::runtime_error("soak [--count N] [--seed S] [--minutes M] [--list FILE] [K.co dispatch.json]...");
  return settings;
}

struct Tally {
  std::size_t edits = 0, refused = 0, proved = 0, accepted = 0, unbuilt = 0, wrong = 0;
  std::map<std::string, std::size_t> gates;      ///< of the refused
  double setUp = 0, refusing = 0, accepting = 0; ///< seconds

  Tally& operator+=(const Tally& other) {
    edits += other.edits;
    refused += other.refused;
    proved += other.proved;
    accepted += other.accepted;
    unbuilt += other.unbuilt;
    wrong += other.wrong;
    for (const auto& [gate, count] : other.gates)
      gates[gate] += count;
    setUp += other.setUp;
    refusing += other.refusing;
    accepting += other.accepting;
    return *this;
  }

  std::string text() const {
    std::string by;
    for (const auto& [gate, count] : gates)
      by += fmt::format("{}{} {}", by.empty() ? "" : ", ", gate, count);
    return fmt::format(
        "{} edits, {} refused ({}), {} proved, {} accepted otherwise, {} not built, {} wrong; seconds: {:.0f} "
        "for K0, {:.0f} for the refused, {:.0f} for the accepted",
        edits, refused, by, proved, accepted, unbuilt, wrong, setUp, refusing, accepting);
  }
};

/// An edited program and what was done to it. Half of the edits are one mutant, some two of them; the others exchange
/// neighbours or put a no-operation in, which often changes nothing.
struct Edit {
  Mutant mutant;
  program::Program program;
};

class Editor {
 public:
  Editor(MutantJudge& judge, std::uint64_t seed) : judge(judge), all(judge.mutants()), random(seed) {
    for (program::BlockId id = 0; id < judge.program().blocks.size(); ++id) {
      const program::Block& block = judge.program().blocks[id];
      if (block.reachable && !block.opaque && block.instrs.size() > 2)
        blocks.push_back(id);
    }
  }

  Edit next() {
    Edit edit{{}, judge.program()};
    const std::uint64_t kind = random.next() % 10;
    if (kind < 7 && !all.empty()) {
      plant(edit, all[random.next() % all.size()]);
      if (kind > 4)
        plant(edit, all[random.next() % all.size()]);
      return edit;
    }
    auto& instrs = edit.program.blocks[blocks[random.next() % blocks.size()]].instrs;
    // The last instruction may be a branch.
    const std::size_t at = random.next() % (instrs.size() - 2);
    edit.mutant.address = instrs[at].address;
    if (kind == 7) {
      program::Instr nop;
      nop.inst = judge.codec().complete(value(judge.codec().assemble("s_nop 0")));
      edit.mutant.description = fmt::format("{:#x}: s_nop 0 in front", instrs[at].address);
      instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(at), nop);
    } else {
      edit.mutant.description =
          fmt::format("{:#x}: '{}' behind '{}'", instrs[at].address, instrs[at].inst->text, instrs[at + 1].inst->text);
      std::swap(instrs[at], instrs[at + 1]);
    }
    return edit;
  }

 private:
  void plant(Edit& edit, const Mutant& mutant) {
    auto& instrs = edit.program.blocks[mutant.block].instrs;
    // A first one in the same block may have moved it.
    const auto found = std::ranges::find(instrs, mutant.address, &program::Instr::address);
    if (found == instrs.end())
      return;
    if (mutant.replacement.empty())
      instrs.erase(found);
    else
      found->inst = judge.codec().complete(value(judge.codec().assemble(mutant.replacement)));
    edit.mutant.kind = mutant.kind;
    edit.mutant.address = mutant.address;
    edit.mutant.description += (edit.mutant.description.empty() ? "" : "; ") + mutant.description;
  }

  MutantJudge& judge;
  std::vector<Mutant> all;
  std::vector<program::BlockId> blocks;
  dispatch::SplitMix64 random;
};

Tally soak(const std::string& path, const std::string& dispatchPath, std::size_t count, std::uint64_t seed,
           double deadline, device::Device& device) {
  constexpr unsigned widerRounds = 3;
  constexpr std::size_t mostRepeats = 100; ///< in a row: then the object has no edit left
  const double start = steadySeconds();
  const auto object = value(object::CodeObject::load(path));
  const auto dispatch = value(dispatch::loadDispatch(dispatchPath));
  Options gate;
  // Less than a user's verify does: a gate that has to find more with less.
  gate.strictBudget = 30'000;
  gate.variantBudget = 100'000;
  gate.variantStrictBudget = 2'000;
  gate.baseline = value(measureBaseline(object, dispatch, device, gate));
  const auto wider = value(measureWider(object, dispatch, device, gate, widerRounds));
  MutantJudge judge(object, dispatch, device, gate, wider);
  if (const Status ready = judge.prepare(); !ready)
    throw std::runtime_error(ready.error().message);
  Editor editor(judge, seed);
  Tally tally;
  tally.setUp = steadySeconds() - start;
  std::set<std::string> seen; ///< sha256 of every K1 judged
  for (std::size_t repeats = 0; tally.edits < count && repeats < mostRepeats && steadySeconds() < deadline;) {
    const double began = steadySeconds();
    const Edit edit = editor.next();
    auto bytes = program::rebuild(object, edit.program, judge.codec());
    if (bytes && !seen.insert(sha256Hex(*bytes)).second) {
      ++repeats;
      continue;
    }
    repeats = 0;
    ++tally.edits;
    auto k1 = bytes ? object::CodeObject::parse(*std::move(bytes), "K1") : Result<object::CodeObject>(bytes.error());
    if (!k1) {
      ++tally.unbuilt;
      continue;
    }
    const MutantFate fate = judge.judge(edit.mutant, *k1);
    const bool killed = fate.outcome == MutantOutcome::killed;
    tally.refused += killed;
    if (killed)
      ++tally.gates[fate.gate];
    (killed ? tally.refusing : tally.accepting) += steadySeconds() - began;
    tally.proved += fate.outcome == MutantOutcome::equivalent;
    tally.accepted += fate.outcome == MutantOutcome::undecided;
    tally.unbuilt += fate.outcome == MutantOutcome::unbuilt;
    if (fate.outcome == MutantOutcome::blindSpot) {
      ++tally.wrong;
      fmt::print("WRONG ACCEPT {} {}: {}\n  {}\n", path, dispatchPath, edit.mutant.description, fate.reason);
    }
  }
  return tally;
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const double start = steadySeconds();
  const double deadline = settings.minutes > 0 ? start + settings.minutes * 60 : start + 1e9;
  const auto device = value(device::makeSimulator("mi300x"));
  Tally all;
  for (std::size_t i = 0; i < settings.inputs.size() && steadySeconds() < deadline; ++i) {
    const auto& [object, dispatch] = settings.inputs[i];
    const std::size_t left = settings.inputs.size() - i;
    const std::size_t quota = (settings.count - std::min(settings.count, all.edits) + left - 1) / left;
    const double share = steadySeconds() + (deadline - steadySeconds()) / static_cast<double>(left) * 2;
    try {
      const Tally tally =
          soak(object, dispatch, quota, settings.seed * 1'000'003 + i, std::min(deadline, share), *device);
      all += tally;
      fmt::print("{} {}: {}\n", object, dispatch, tally.text());
    } catch (const std::exception& error) {
      fmt::print("{} {}: left out: {}\n", object, dispatch, error.what());
    }
    std::fflush(stdout);
  }
  fmt::print("seed {}, {:.0f} s: {}\n", settings.seed, steadySeconds() - start, all.text());
  return all.wrong == 0 && all.edits > all.unbuilt ? 0 : 1;
}

} // namespace
} // namespace asmevo::verify

int main(int argc, char** argv) {
  try {
    return asmevo::verify::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
