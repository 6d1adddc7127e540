/// Lint results as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), for code scanning of CI systems.
#pragma once

#include "verify/lint/lint.h"

#include <nlohmann/json.hpp>

namespace asmevo::verify {

/// One file that was looked at: its findings, or why it could not be read.
struct LintedFile {
  std::string path;
  std::optional<object::Target> target;
  LintReport report;
  std::optional<Error> error;
};

/// A log with one run. Levels: error; warning (below the documented distance); note. A result's region is the byte
/// range from its address on, as offset from the file's start where `fileOffset` knows it; paths are code flows.
nlohmann::json sarifLog(const std::vector<LintedFile>& files);

} // namespace asmevo::verify
