// Recovery and rebuild over production objects: MB of code object a second on one core.
#include "object/code_object.h"
#include "program/program.h"
#include "support/file_io.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace asmevo;

/// Every eighth object of the corpus, so that a run takes seconds: all families, all sizes.
std::vector<Bytes> sample() {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa", error), end;
       !error && it != end; it.increment(error))
    if (it->path().extension() == ".co")
      paths.push_back(it->path().string());
  std::ranges::sort(paths);
  std::vector<Bytes> files;
  for (std::size_t i = 0; i < paths.size(); i += 8)
    if (auto bytes = readFile(paths[i]))
      files.push_back(*std::move(bytes));
  return files;
}

/// What `asmevo roundtrip` does with each file; false if one does not come back as it was.
bool roundTrip(const std::vector<Bytes>& files, program::Detail detail) {
  std::vector<std::pair<std::string, std::unique_ptr<isa::Codec>>> codecs; // kept, as most encodings recur
  for (const Bytes& file : files) {
    const auto object = object::CodeObject::parse(file, "sample");
    if (!object)
      return false;
    const std::string target = object->target().id();
    auto known = std::ranges::find(codecs, target, &decltype(codecs)::value_type::first);
    if (known == codecs.end()) {
      auto codec = isa::Codec::create(object->target());
      if (!codec)
        return false;
      codecs.emplace_back(target, *std::move(codec));
      known = codecs.end() - 1;
    }
    const auto recovered = program::Program::recover(*object, *known->second, detail);
    const auto rebuilt =
        recovered ? program::rebuild(*object, *recovered, *known->second) : Result<Bytes>(recovered.error());
    if (!rebuilt || *rebuilt != file)
      return false;
  }
  return true;
}

void recoverAndRebuild(benchmark::State& state) {
  const std::vector<Bytes> files = sample();
  std::size_t bytes = 0;
  for (const Bytes& file : files)
    bytes += file.size();
  if (files.empty())
    return state.SkipWithError("no corpus: run scripts/corpus");
  const auto detail = state.range(0) ? program::Detail::full : program::Detail::controlFlow;
  for (auto unused : state)
    if (!roundTrip(files, detail))
      return state.SkipWithError("a file did not come back as it was");
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["files"] = static_cast<double>(files.size());
}

} // namespace

// 0: control flow only, as asmevo roundtrip; 1: every instruction with operands, effects and text.
BENCHMARK(recoverAndRebuild)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
