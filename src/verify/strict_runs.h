/// Strict runs of one object on one case, under every delivery of memory operations.
#pragma once

#include "device/device.h"
#include "emulator/debug/exec_coverage.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace asmevo::verify {

struct StrictRun {
  emulator::Delivery delivery = emulator::Delivery::late;
  std::optional<Error> failure;
  std::vector<Bytes> buffers;
  std::vector<emulator::StrictFinding> findings;
  std::vector<std::string> notes;
  std::vector<emulator::GuardViolation> guardViolations;
};

struct StrictCase {
  std::vector<std::uint64_t> workgroups; ///< those that ran; empty: all
  std::uint64_t workgroupsInAll = 0;
  std::vector<Bytes> inOrder; ///< of K0: buffers that the same workgroups leave without strict delivery
  std::vector<StrictRun> runs;
  std::map<std::uint64_t, emulator::ExecPatterns> exec;    ///< of the first run that did not fail
  std::set<std::pair<std::uint64_t, std::uint64_t>> edges; ///< that it took (ExecCoverage::edges)

  /// "all 16 workgroups", "64 of 4096 workgroups"
  std::string extent() const;
};

/// Which workgroups fit into `budget` wave-instructions when the whole dispatch takes `instructions`: all (an empty
/// list), or a sample by `seed` that has the first and the last.
std::vector<std::uint64_t> strictSample(std::uint64_t workgroups, std::uint64_t instructions, std::uint64_t budget,
                                        std::uint64_t seed);

/// Every delivery, the latest first.
std::span<const emulator::Delivery> everyDelivery();

/// Runs `launch` under each of `deliveries`. `run`: seed, poison and limit of every run. `sample` as from strictSample.
/// The late run also looks for reads of stale caches (emulator/coherence).
StrictCase runStrictly(device::LoadedKernel& kernel, const dispatch::Case& launch, const emulator::RunOptions& run,
                       std::vector<std::uint64_t> sample,
                       std::span<const emulator::Delivery> deliveries = everyDelivery());

/// Workgroups of a launch.
std::uint64_t workgroupsOf(const dispatch::Case& launch);

} // namespace asmevo::verify
