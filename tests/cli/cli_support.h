/// Runs commands in this process and prepares their inputs: our own kernels, and copies of them with one instruction
/// replaced.
#pragma once

#include "cli/command.h"
#include "support/file_io.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace asmevo::cli {

struct CommandResult {
  int exit = -1;
  std::string out, err;
  /// Standard output as JSON; a failure of the test if it is none.
  nlohmann::json json() const;
};

/// Runs "asmevo ARGUMENTS".
CommandResult runCommand(std::vector<std::string> arguments);

/// The gfx942 object of kernels/NAME.hip, and its dispatch.
std::string kernelObject(const std::string& name);
std::string kernelDispatch(const std::string& name);

/// A test with a folder of its own, removed afterwards.
class CommandTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// A file of the folder.
  std::string at(const std::string& name) const { return (folder / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;
  /// A file of the folder assembled by clang-22 for a target, and linked unless `link` is false. Returns its path.
  std::string assemble(const std::string& name, const std::string& source, const std::string& target,
                       bool link = true) const;
  /// kernels/NAME.hip with the only occurrence of one 4-byte instruction replaced by another. The encodings are the
  /// test's own, so that no code of ours is both the editor and the subject.
  std::string edited(const std::string& name, std::uint32_t instruction, std::uint32_t replacement) const;
  /// Names of the folder's files, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder;
};

/// A file's bytes; a failure of the test if it cannot be read.
Bytes contents(const std::string& path);

/// What the two instructions of kernels/vector_add.hip that the tests edit are encoded as (llvm-objdump-22 -d).
namespace vector_add {
inline constexpr std::uint32_t add = 0x02040f06;      ///< v_add_f32_e32 v2, v6, v7
inline constexpr std::uint32_t swapped = 0x02040d07;  ///< v_add_f32_e32 v2, v7, v6
inline constexpr std::uint32_t subtract = 0x04040f06; ///< v_sub_f32_e32 v2, v6, v7
inline constexpr std::uint32_t wait = 0xbf8c0f70;     ///< s_waitcnt vmcnt(0)
inline constexpr std::uint32_t nop = 0xbf800000;      ///< s_nop 0
} // namespace vector_add

} // namespace asmevo::cli
