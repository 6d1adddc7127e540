#include "optimize/alias_evidence.h"

#include "emulator/debug/buffer_touches.h"
#include "emulator/emulator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// Wave-instructions of a case; longer ones show nothing.
constexpr std::uint64_t mostInstructions = 40'000'000;

using Touches = std::map<std::uint64_t, emulator::BufferTouch>;

/// "argument 3 ('y')" of a buffer; by its name where no argument points to it.
std::string wordsFor(const std::string& buffer, const dispatch::Case& launch) {
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    if (launch.arguments[i].buffer == buffer)
      return fmt::format("{} ('{}')", i, buffer);
  return fmt::format("'{}'", buffer);
}

std::string list(const std::set<std::string>& buffers, const dispatch::Case& launch) {
  std::vector<std::string> words;
  for (const std::string& buffer : buffers)
    words.push_back(wordsFor(buffer, launch));
  return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace

/// By case; empty where a case could not be run to its end.
struct AliasEvidence::Runs {
  std::vector<Touches> cases;
};

AliasEvidence::AliasEvidence(const object::CodeObject& o, const object::Kernel& k, const dispatch::Dispatch& d)
    : object(o), kernel(k), launches(d) {}
AliasEvidence::~AliasEvidence() = default;
AliasEvidence::AliasEvidence(AliasEvidence&&) noexcept = default;

const AliasEvidence::Runs& AliasEvidence::runs() const {
  if (known)
    return *known;
  known = std::make_unique<Runs>();
  auto prepared = emulator::Kernel::prepare(object, kernel.name);
  if (!prepared)
    return *known;
  for (const dispatch::Case& launch : launches.cases) {
    const auto recorder = emulator::makeBufferTouches();
    emulator::RunOptions options;
    options.maxInstructions = mostInstructions;
    options.onlyTraces = true;
    options.observers = {recorder.get()};
    if (const auto result = (*prepared)->run(launch, options); !result) {
      known->cases.clear();
      return *known;
    }
    known->cases.push_back(recorder->touches());
  }
  return *known;
}

std::optional<std::string> AliasEvidence::mayCross(std::uint64_t store, std::uint64_t load) const {
  std::optional<std::string> sentence;
  const auto& cases = runs().cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto a = cases[i].find(store), b = cases[i].find(load);
    // Where one of them touches nothing, the case says nothing about them.
    if (a == cases[i].end() || b == cases[i].end())
      continue;
    if (a->second.outside || b->second.outside)
      return std::nullopt;
    const auto& x = a->second.buffers;
    const auto& y = b->second.buffers;
    if (std::ranges::any_of(x, [&](const std::string& buffer) { return y.contains(buffer); }))
      return std::nullopt;
    if (!sentence)
      sentence = fmt::format("the buffers of arguments {} and {} do not overlap, and no access leaves its buffer",
                             list(x, launches.cases[i]), list(y, launches.cases[i]));
  }
  return sentence;
}

std::optional<std::string> AliasEvidence::isNeverWritten(std::uint64_t load) const {
  std::optional<std::string> sentence;
  const auto& cases = runs().cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto found = cases[i].find(load);
    if (found == cases[i].end())
      continue;
    const auto& read = found->second;
    if (read.outside)
      return std::nullopt;
    for (const auto& [address, touch] : cases[i])
      if (touch.writes && (touch.outside ||
                           std::ranges::any_of(read.buffers, [&](const auto& b) { return touch.buffers.contains(b); })))
        return std::nullopt;
    if (!sentence)
      sentence =
          fmt::format("the kernel writes nothing to the buffers of arguments {}, and no access leaves its buffer",
                      list(read.buffers, launches.cases[i]));
  }
  return sentence;
}

} // namespace asmevo::optimize
