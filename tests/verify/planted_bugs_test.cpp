// Bugs planted into the kernels of kernels/: the gate must refuse every one of them.
#include "verify/planted_bugs.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include "support/file_io.h"
#include "verify/baseline.h"

#include <cstring>
#include <optional>

namespace asmevo::verify {
namespace {

using namespace tests;

/// The kernel's dispatch with its sizes as they are and smaller, on the same buffers: loops run once, not at all and
/// several times, tails fall inside a wave, and what lies behind the smaller size must stay as it was.
dispatch::Dispatch withSizes(const dispatch::Dispatch& base, const std::vector<std::int32_t>& divisors) {
  dispatch::Dispatch result = base;
  for (const std::int32_t divisor : divisors)
    for (dispatch::Case launch : base.cases) {
      launch.name += fmt::format(", sizes / {}", divisor);
      for (auto& argument : launch.arguments)
        if (argument.buffer.empty() && argument.bytes.size() == 4) {
          std::int32_t value = 0;
          std::memcpy(&value, argument.bytes.data(), 4);
          // Sizes are the small integers among the scalars; floats have larger bit patterns.
          if (value > 1 && value < 1'000'000)
            value = value / divisor + 1;
          std::memcpy(argument.bytes.data(), &value, 4);
        }
      result.cases.push_back(std::move(launch));
    }
  return result;
}

/// The same launches on other data.
dispatch::Dispatch reseeded(const std::string& kernel, int shift) {
  const std::string path = kernelDispatchPath(kernel);
  auto bytes = readFile(path);
  std::string text(bytes->begin(), bytes->end());
  std::string shifted;
  const std::string key = "\"seed\": ";
  for (std::size_t at = 0;;) {
    const std::size_t next = text.find(key, at);
    shifted += text.substr(at, next == std::string::npos ? next : next - at + key.size());
    if (next == std::string::npos)
      break;
    at = text.find_first_not_of("0123456789", next + key.size());
    shifted += std::to_string(std::stoi(text.substr(next + key.size())) + shift);
  }
  return *dispatch::parseDispatch(shifted, path.substr(0, path.rfind('/')), "reseeded");
}

/// Everything a launch leaves behind; an empty list stands for a fault.
std::vector<Bytes> outcome(const object::CodeObject& object, const dispatch::Case& launch) {
  auto loaded = simulator().load(object, launch.kernel);
  if (!loaded)
    return {};
  emulator::RunOptions run;
  run.maxInstructions = 50'000'000;
  auto result = (*loaded)->launch(launch, run);
  if (!result)
    return {};
  if (!result->guardViolations.empty())
    result->buffers.push_back({1});
  return result->buffers;
}

/// A wide set of launches that the gate does not see decides whether an edit is a bug at all: swapping the terms of a
/// difference that is then squared, for one, is none.
class Reference {
 public:
  Reference(const object::CodeObject& k0, const std::string& kernel) {
    for (const int shift : {0, 1000, 2000})
      for (const auto& launch : withSizes(reseeded(kernel, shift), {2, 3, 7, 11, 40}).cases) {
        launches.push_back(launch);
        expected.push_back(outcome(k0, launch));
      }
  }
  bool observable(const object::CodeObject& k1) const {
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (outcome(k1, launches[i]) != expected[i])
        return true;
    return false;
  }

 private:
  std::vector<dispatch::Case> launches;
  std::vector<std::vector<Bytes>> expected;
};

struct Tally {
  std::size_t planted = 0, harmless = 0;
};

void rejectAll(const std::string& name, Tally& tally) {
  SCOPED_TRACE(name);
  Editable k0(kernelObject(name));
  const dispatch::Dispatch dispatch = kernelDispatch(name);
  Options options;
  options.stopAtFirst = true;
  auto baseline = measureBaseline(k0.object, dispatch, simulator(), options);
  ASSERT_TRUE(baseline) << baseline.error().message;
  options.baseline = *baseline;
  std::optional<Reference> reference;
  const auto& executed = (*baseline)->executed;
  for (const auto& bug : plantBugs(k0.program, *k0.codec, {executed.begin(), executed.end()})) {
    auto bytes = program::rebuild(k0.object, bug.program, *k0.codec);
    ASSERT_TRUE(bytes) << bug.description << ": " << bytes.error().message;
    auto k1 = object::CodeObject::parse(*std::move(bytes), "planted");
    ASSERT_TRUE(k1) << k1.error().message;
    const auto verdict = verify(k0.object, *k1, dispatch, simulator(), options);
    ASSERT_TRUE(verdict) << verdict.error().message;
    if (!accepted(verdict->level)) {
      ++tally.planted;
      continue;
    }
    if (!reference)
      reference.emplace(k0.object, name);
    // Immediate memory hides a missing wait from every run; it is a bug all the same.
    EXPECT_FALSE(bug.kind == BugKind::droppedWait || reference->observable(*k1))
        << bugName(bug.kind) << " at " << bug.description << " passed as " << levelName(verdict->level);
    ++tally.harmless;
  }
}

TEST(PlantedBugs, AllRejected) {
  Tally tally;
  for (const char* name : {"vector_add", "saxpy", "relu", "softmax", "layernorm", "matmul_tiled", "matmul_mfma",
                           "reduce_dpp", "histogram", "transpose", "device_call", "table_lookup"})
    rejectAll(name, tally);
  RecordProperty("planted", static_cast<int>(tally.planted));
  RecordProperty("harmless", static_cast<int>(tally.harmless));
  EXPECT_GE(tally.planted, 200u) << tally.harmless << " harmless";
  // What no launch can tell from K0 must be the exception, or the planting is not planting bugs.
  EXPECT_LT(tally.harmless, tally.planted / 2) << tally.planted << " planted";
}

} // namespace
} // namespace asmevo::verify
