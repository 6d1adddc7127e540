/// Options of `run` that look into execution: races, coherence, bounds, instruction trace, breakpoint.
#pragma once

#include "cli/command.h"
#include "emulator/emulator.h"
#include "emulator/observe/finding_observer.h"
#include "object/code_object.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::cli {

struct DebugOptions {
  bool races = false, bounds = false, trace = false;
  std::string coherence; ///< "" or "strict"
  std::vector<std::uint64_t> traceWorkgroups;
  std::vector<unsigned> traceWaves;
  std::string traceRange, traceLanes;
  std::uint64_t traceLimit = 0;
  std::string breakAt, breakVgprs;
  std::uint64_t breakCount = 1;
};

void addDebugOptions(CLI::App& command, DebugOptions& options);

/// The observers of one launch, and what they have to say afterwards.
class DebugSession {
 public:
  DebugSession();
  DebugSession(DebugSession&&) noexcept;
  ~DebugSession();
  /// Errors: option texts that cannot be read. `json`: the trace goes out as json lines.
  static Result<DebugSession> create(const DebugOptions& options, const object::CodeObject& object,
                                     const object::Kernel& kernel, bool json);
  /// Adds the observers. The session outlives the run.
  void attach(emulator::RunOptions& run);
  /// Of all checks, in the order of the options.
  std::vector<emulator::StrictFinding> findings() const;
  /// Findings, notes, the breakpoint's dump, and whether the run was broken off.
  void print() const;
  nlohmann::ordered_json toJson() const;

 private:
  struct State;
  static void printBreak(const State& state);
  static nlohmann::ordered_json breakJson(const State& state);
  std::unique_ptr<State> state;
};

} // namespace asmevo::cli
