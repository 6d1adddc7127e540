/// Kernels written in assembly inside a test, launched on the emulator.
#pragma once

#include "emulator/emulator.h"

#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::emulator::test {

struct KernelText {
  std::string body;            ///< after the label k; s[0:1] is the kernarg pointer, s2 the workgroup id x
  std::string descriptor = ""; ///< more .amdhsa_ directives, or ones that replace the defaults below
  std::string data = "";       ///< in .rodata
  std::string more = "";       ///< after everything else
  std::string userSgprs = ".amdhsa_user_sgpr_kernarg_segment_ptr 1";
  unsigned ldsBytes = 0;
  unsigned vgprs = 32;
  unsigned accumOffset = 32;
  unsigned sgprs = 96;
  std::string cpu = "gfx942";
  std::string linkOptions = "";
};

/// Builds the kernel with stock clang and lld; throws with the diagnostics, which fails the test.
object::CodeObject build(const KernelText& text);

/// One launch with u32 buffers passed as pointers in order: "out" first.
struct Launch {
  std::array<std::uint32_t, 3> workgroup{64, 1, 1};
  std::array<std::uint32_t, 3> grid{64, 1, 1};
  std::uint32_t dynamicLds = 0;
  std::vector<std::vector<std::uint32_t>> buffers;
};
dispatch::Case caseOf(const Launch& launch);

/// What a run gave, with the first buffer as dwords.
struct Outcome {
  RunResult result;
  std::vector<std::uint32_t> out;
  std::vector<std::uint32_t> buffer(std::size_t index) const;
};

/// Prepares and runs, at every level of vector instructions that the host has; throws on an error or a difference
/// between them, which fails the test.
Outcome run(const KernelText& text, const Launch& launch, const RunOptions& options = {});
/// Prepares and runs something that must not succeed; gives the error.
Error runError(const KernelText& text, const Launch& launch, const RunOptions& options = {});

/// n dwords of a value.
std::vector<std::uint32_t> filled(std::size_t count, std::uint32_t value = 0xcccccccc);
/// 0, 1, 2 ... times step, from start.
std::vector<std::uint32_t> iota(std::size_t count, std::uint32_t start = 0, std::uint32_t step = 1);

/// Loads the pointer of buffer `index` into s[4:5] (out), s[6:7] (second), ... and waits.
std::string loadPointers(unsigned count);
/// Stores v1 to out[lane of the grid]: needs loadPointers and v0 = lane; clobbers v30, s3.
extern const std::string storeV1;

} // namespace asmevo::emulator::test
