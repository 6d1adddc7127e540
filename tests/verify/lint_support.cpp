#include "verify/lint_support.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace asmevo::tests {

namespace fs = std::filesystem;

object::CodeObject build(const std::string& body, const std::string& cpu, const std::string& more,
                         const LintKernel& kernel) {
  static unsigned number = 0;
  const fs::path folder = fs::temp_directory_path() / fmt::format("asmevo_lint_{}_{}", ::getpid(), number++);
  fs::create_directories(folder);
  const fs::path source = folder / "k.s", output = folder / "k.co";
  const bool unified = cpu == "gfx90a" || cpu.starts_with("gfx94") || cpu == "gfx950";
  std::ofstream text(source);
  text << "  .amdgcn_target \"amdgcn-amd-amdhsa--" << cpu << R"("
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
)" << body
       << more << R"(
.Lend:
  .size k, .Lend-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
)" << fmt::format("    .amdhsa_next_free_vgpr {}\n    .amdhsa_next_free_sgpr {}\n", kernel.vgprs, kernel.sgprs)
       << fmt::format("    .amdhsa_group_segment_fixed_size {}\n", kernel.ldsBytes)
       << (unified ? fmt::format("    .amdhsa_accum_offset {}\n", kernel.accumOffset) : "") << "  .end_amdhsa_kernel\n";
  if (kernel.workgroupSize != 0)
    text << fmt::format(R"(
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: {}
    .vgpr_count: {}
    .max_flat_workgroup_size: {}
...
  .end_amdgpu_metadata
)",
                        cpu, kernel.ldsBytes, kernel.sgprs, kernel.vgprs, kernel.workgroupSize);
  text.close();
  const std::string command = fmt::format("clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu={} {} -o {}", cpu,
                                          source.string(), output.string());
  const int status = std::system(command.c_str());
  auto bytes = readFile(output.string());
  fs::remove_all(folder);
  if (status != 0 || !bytes)
    throw std::runtime_error(command);
  auto object = object::CodeObject::parse(*std::move(bytes), "k.co");
  if (!object)
    throw std::runtime_error(object.error().message);
  return *std::move(object);
}

std::string lintText(const object::CodeObject& object) {
  const auto report = verify::lint(object, verify::LintOptions());
  if (!report)
    return report.error().message;
  std::string all;
  for (const verify::LintFinding& finding : report->findings)
    if (finding.severity != verify::Severity::note)
      all += fmt::format("{} {} {}: {}\n", finding.kind, finding.need ? std::to_string(*finding.need) : "-",
                         finding.have ? std::to_string(*finding.have) : "-", finding.text);
  return all;
}

std::string lintText(const std::string& body, const std::string& cpu, const std::string& more) {
  return lintText(build(body, cpu, more));
}

} // namespace asmevo::tests
