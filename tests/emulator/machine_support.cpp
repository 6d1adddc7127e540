#include "emulator/machine_support.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ranges>
#include <sstream>
#include <stdexcept>

namespace asmevo::emulator::test {

namespace {

std::string readText(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string source(const KernelText& k) {
  return fmt::format(R"(  .amdgcn_target "amdgcn-amd-amdhsa--{cpu}"
  .amdhsa_code_object_version {version}
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
{body}
  s_endpgm
.Lend_k:
  .size k, .Lend_k-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_group_segment_fixed_size {lds}
    .amdhsa_kernarg_size 64
    {user}
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr {vgprs}
    .amdhsa_next_free_sgpr {sgprs}
    .amdhsa_accum_offset {accum}
    {descriptor}
  .end_amdhsa_kernel
{data}
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 64
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: {sgprs}
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
  .end_amdgpu_metadata
{more}
)",
                     fmt::arg("cpu", k.cpu), fmt::arg("version", k.cpu == "gfx942" ? 5 : 6), fmt::arg("body", k.body),
                     fmt::arg("lds", k.ldsBytes), fmt::arg("user", k.userSgprs), fmt::arg("vgprs", k.vgprs),
                     fmt::arg("accum", k.accumOffset), fmt::arg("sgprs", k.sgprs), fmt::arg("descriptor", k.descriptor),
                     fmt::arg("data", k.data), fmt::arg("more", k.more));
}

} // namespace

object::CodeObject build(const KernelText& text) {
  std::string pattern = (std::filesystem::temp_directory_path() / "asmevo_machine_XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw std::runtime_error("no temporary folder");
  const std::filesystem::path folder = pattern;
  std::ofstream(folder / "k.s") << source(text);
  const std::string command =
      fmt::format("clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu={0} {2} '{1}/k.s' -o '{1}/k.co' 2> '{1}/log'",
                  text.cpu, folder.string(), text.linkOptions);
  const bool built = std::system(command.c_str()) == 0;
  const std::string log = readText(folder / "log");
  Result<object::CodeObject> object =
      built ? object::CodeObject::load((folder / "k.co").string()) : Result<object::CodeObject>(badInput("{}", log));
  std::filesystem::remove_all(folder);
  if (!object)
    throw std::runtime_error(object.error().message);
  return *std::move(object);
}

dispatch::Case caseOf(const Launch& launch) {
  dispatch::Case result;
  result.name = "case 0";
  result.kernel = "k";
  result.workgroupSize = launch.workgroup;
  result.gridSize = launch.grid;
  result.dynamicLdsBytes = launch.dynamicLds;
  result.explicitKernarg = true;
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    dispatch::Buffer buffer;
    buffer.name = i == 0 ? "out" : fmt::format("b{}", i);
    buffer.dtype = dispatch::DType::u32;
    buffer.shape = {launch.buffers[i].size()};
    buffer.initial.resize(launch.buffers[i].size() * 4);
    std::memcpy(buffer.initial.data(), launch.buffers[i].data(), buffer.initial.size());
    dispatch::Argument argument;
    argument.at = static_cast<std::uint32_t>(8 * i);
    argument.buffer = buffer.name;
    result.arguments.push_back(std::move(argument));
    result.buffers.push_back(std::move(buffer));
  }
  return result;
}

std::vector<std::uint32_t> Outcome::buffer(std::size_t index) const {
  std::vector<std::uint32_t> dwords(result.buffers.at(index).size() / 4);
  std::memcpy(dwords.data(), result.buffers[index].data(), dwords.size() * 4);
  return dwords;
}

namespace {

/// One run on the best handlers. The others must give the same: bits, counts, or message. Observers see one run only.
Result<RunResult> runAtEveryLevel(const KernelText& text, const Launch& launch, const RunOptions& options) {
  const object::CodeObject object = build(text);
  std::vector<SimdLevel> levels = hostSimdLevels();
  if (!options.observers.empty())
    levels = {bestSimdLevel()};
  std::optional<Result<RunResult>> best;
  for (const SimdLevel level : std::views::reverse(levels)) {
    const auto kernel = Kernel::prepare(object, "k", level);
    Result<RunResult> result = kernel ? (*kernel)->run(caseOf(launch), options) : Result<RunResult>(kernel.error());
    if (!best) {
      best = std::move(result);
      continue;
    }
    const bool same = *best && result
                          ? (*best)->buffers == result->buffers && (*best)->waveInstructions == result->waveInstructions
                          : !*best && !result && best->error().message == result.error().message;
    if (!same)
      throw std::runtime_error(fmt::format("handlers of level {} give another result", static_cast<int>(level)));
  }
  return *std::move(best);
}

} // namespace

Outcome run(const KernelText& text, const Launch& launch, const RunOptions& options) {
  Result<RunResult> result = runAtEveryLevel(text, launch, options);
  if (!result)
    throw std::runtime_error(result.error().message);
  Outcome outcome{*std::move(result), {}};
  outcome.out = outcome.buffer(0);
  return outcome;
}

Error runError(const KernelText& text, const Launch& launch, const RunOptions& options) {
  const Result<RunResult> result = runAtEveryLevel(text, launch, options);
  if (result)
    throw std::runtime_error("the run succeeded");
  return result.error();
}

std::vector<std::uint32_t> filled(std::size_t count, std::uint32_t value) {
  return std::vector(count, value);
}

std::vector<std::uint32_t> iota(std::size_t count, std::uint32_t start, std::uint32_t step) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = start + static_cast<std::uint32_t>(i) * step;
  return values;
}

std::string loadPointers(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("  s_load_dwordx2 s[{}:{}], s[0:1], {}\n", 4 + 2 * i, 5 + 2 * i, 8 * i);
  return text + "  s_waitcnt lgkmcnt(0)\n";
}

const std::string storeV1 = R"(
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_lshlrev_b32_e32 v30, 2, v0
  s_lshl_b32 s3, s2, 8
  v_add_u32_e32 v30, s3, v30
  global_store_dword v30, v1, s[4:5]
)";

} // namespace asmevo::emulator::test
