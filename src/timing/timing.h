/// Modelled cycles of a dispatch on a described chip, with stalls attributed to instructions. Every number is modelled.
#pragma once

#include "emulator/trace.h"
#include "isa/codec.h"
#include "object/code_object.h"
#include "support/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::timing {

/// A chip description (chips/<name>.json; every number there carries its source).
struct Chip {
  std::string name;
  std::string processor; ///< "gfx942"
  unsigned xcds = 8, cusPerXcd = 38, simdsPerCu = 4, maxWavesPerSimd = 8;
  double clockMhz = 2100;
  std::uint32_t ldsBytes = 65536;
  /// Everything else by name ("valu.issue", "lds.latency", "l2.latency", "hbm.bytesPerClk" ...); see chips/README.md.
  std::vector<std::pair<std::string, double>> parameters;
  /// Value of a parameter; loadChip guarantees that every parameter the model reads is there.
  double parameter(std::string_view key) const;
};

/// A built-in chip by name (data compiled in from chips/*.json) or a path to a json file.
Result<Chip> loadChip(const std::string& nameOrPath);
std::vector<std::string> chipNames();

enum class Stall : std::uint8_t {
  none,
  noInstruction,
  aluDependency,
  waitVm,
  waitLgkm,
  barrier,
  arbitration,
  ldsConflict,
  memoryThrottle,
  mfmaBusy,
  sleep
};
inline constexpr std::size_t stallCount = 11;
std::string_view stallName(Stall s);

/// Per instruction (by byte offset from the code base), over all waves of the modelled sample, scaled to the grid.
struct InstructionProfile {
  std::uint32_t offset = 0;
  std::uint64_t issued = 0; ///< wave-instructions
  double stallCycles = 0;   ///< sum over reasons
  std::array<double, stallCount> byReason{};
  double activeLanes = 0; ///< mean ones in EXEC
  double requests = 0;    ///< memory accesses: of lanes at all
  double sectors = 0;     ///< 64-byte sectors that its vector or scalar memory accesses touch
  double bytesUsed = 0;   ///< that its active lanes ask for (LDS too)
  double conflictClk = 0; ///< LDS bank clk beyond the conflict-free ones
};

/// A unit's work during the dispatch against what it could do: where the kernel stands under its roofs.
struct ResourceUse {
  std::string name; ///< as in Estimate::utilisation
  double share = 0; ///< of its time that it is busy, 0..1
  double achieved = 0, peak = 0;
  std::string unit; ///< of both: "B/clk/CU", "TB/s", "TFLOP/s" ...
};

struct Estimate {
  double cycles = 0; ///< whole dispatch, engine clocks, launch floor excluded
  /// Where `cycles` would lie if every workgroup had been simulated: what sampling and extrapolation leave open. How
  /// far the model itself is from hardware is not in it.
  double cyclesLow = 0, cyclesHigh = 0;
  double microseconds = 0; ///< cycles / clock + launch floor
  double cuCycles = 0;     ///< the sampled CU's busy time
  unsigned workgroupsPerCu = 0, wavesPerSimd = 0;
  std::string occupancyLimiter;
  std::string bound;                   ///< "MFMA", "VALU", "LDS", "VMEM", "HBM", "latency"
  double hbmBytes = 0, l2Bytes = 0;    ///< estimated traffic of the dispatch
  double mallBytes = 0, l1Bytes = 0;   ///< served by the Infinity Cache; moved through vector L1s
  double usedBytes = 0;                ///< asked for by active lanes of vector memory instructions
  double l1HitRate = 0, l2HitRate = 0; ///< 0..1
  double clockMhz = 0;                 ///< engine clock that `microseconds` assumes
  double waveInstructions = 0;         ///< of the dispatch
  std::uint64_t workgroups = 0, simulatedWorkgroups = 0;
  std::uint64_t tracedWorkgroups = 0; ///< run by the emulator; the others are taken to be like one of these
  unsigned behaviours = 1;            ///< groups of alike workgroups among those
  /// Busy share of each unit while the sampled CU runs, 0..1 (VALU up to 2 where two may share a slot).
  std::vector<std::pair<std::string, double>> utilisation;
  std::vector<InstructionProfile> instructions; ///< ascending offset
  std::vector<ResourceUse> resources;           ///< busiest first
  double flops = 0;                             ///< floating-point operations of active lanes and matrix instructions
  double mallHitRate = 0, scalarHitRate = 0, fetchHitRate = 0; ///< 0..1, of what reaches each; 1 where nothing does
  double vectorRequests = 0, vectorSectors = 0; ///< vector memory instructions with lanes; 64-byte sectors they touch
  /// Events of the dispatch by the hardware counters' names (hardware_counters.h).
  std::vector<std::pair<std::string, double>> counters;
  std::uint64_t codeAddress = 0; ///< virtual address in the object that offsets count from; the device fills it in
};

struct Timeline;

/// What the model needs of the launch besides traces.
struct Launch {
  std::uint64_t workgroups = 1;
  unsigned wavesPerWorkgroup = 1;
  unsigned vgprs = 0, sgprs = 0; ///< allocated per wave
  std::uint32_t ldsBytes = 0;    ///< per workgroup, static + dynamic
  bool warmData = true;          ///< earlier launches may have left the data in the Infinity Cache
  double kernargClk = 0;     ///< first read of the kernel arguments where they lie in host memory; 0: like other data
  double footprintBytes = 0; ///< memory that the dispatch touches, where known; 0: judged from the traces
  double clockMhz = 0;       ///< a first guess of the clock that the load sets; 0: judged from the matrix instructions
  /// Workgroups per dimension, dispatched over x first; {0, 0, 0}: one dimension.
  std::array<std::uint64_t, 3> grid{};
};

/// Which workgroups to trace for an estimate, ascending: some of one CU's, neighbours of the first that tell which data
/// is shared, the grid's corners. About `most` at most.
std::vector<std::uint64_t> sampleWorkgroups(const Chip& chip, const object::Target& target, const Launch& launch,
                                            unsigned most = 16);
/// More of them where the traced ones differ: along the grid's dimensions and scattered. Empty when they are alike.
std::vector<std::uint64_t> widerSample(const Launch& launch, const std::vector<emulator::WorkgroupTrace>& traces);

/// Replays the traces of those workgroups on one CU. `code` holds the instructions by byte offset from the code base
/// (entry i covers offset 4*i; null inside an instruction). `timeline`, where given, gets the run of the CU that the
/// estimate stands on. Deterministic.
Result<Estimate> estimate(const Chip& chip, const object::Target& target, const Launch& launch,
                          const std::vector<isa::InstRef>& code, unsigned accumOffset,
                          const std::vector<emulator::WorkgroupTrace>& traces, Timeline* timeline = nullptr);

} // namespace asmevo::timing
