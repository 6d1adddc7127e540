/// Inputs and independent oracles of the object tests: objects assembled by clang-22, answers of LLVM's own tools, the
/// production corpus.
#pragma once

#include "object/rewrite.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace asmevo::object::testing {

/// Output of a command: standard output and standard error, separately. A missing tool or a non-zero exit fails the
/// test.
struct ToolOutput {
  std::string out;
  std::string err;
};
ToolOutput runTool(const std::vector<std::string>& command);

/// A path for a temporary file that no other test process uses.
std::string scratchFile(const std::string& suffix);

/// Assembles and links gfx942 (or `cpu`) assembly text with clang-22; `link` false gives the relocatable.
Bytes assemble(const std::string& source, const std::string& cpu = "gfx942", bool link = true);

CodeObject parsed(Bytes bytes, const std::string& name = "test.co");

/// The production objects, sorted by path; scripts/corpus brings them.
std::vector<std::string> corpusFiles();

/// A loadable object with two kernels, a second code section, data that holds addresses of all of them, and metadata.
/// Kernel `first` has unusual descriptor values.
std::string twoKernelSource();

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state;
};

} // namespace asmevo::object::testing
