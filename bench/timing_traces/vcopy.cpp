#include "csv.h"
#include "report.h"

#include "device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace asmevo::bench {
namespace {

using Counters = std::vector<std::pair<std::string, double>>;

/// Mean over the warm dispatches (all but the first) of each counter of a device.
Result<Counters> warmCounters(const Table& table, const std::string& device) {
  ASMEVO_TRY(const std::size_t deviceColumn, table.column("device"));
  ASMEVO_TRY(const std::size_t dispatchColumn, table.column("dispatch"));
  ASMEVO_TRY(const std::size_t counterColumn, table.column("counter"));
  ASMEVO_TRY(const std::size_t medianColumn, table.column("median"));
  Counters sums;
  std::vector<unsigned> counts;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, deviceColumn) != device || table.text(row, dispatchColumn) == "0")
      continue;
    const std::string& name = table.text(row, counterColumn);
    const auto at = std::ranges::find(sums, name, &std::pair<std::string, double>::first);
    const auto index = static_cast<std::size_t>(at - sums.begin());
    if (at == sums.end()) {
      sums.emplace_back(name, 0.0);
      counts.push_back(0);
    }
    sums[index].second += std::strtod(table.text(row, medianColumn).c_str(), nullptr);
    ++counts[index];
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i].second /= counts[i];
  return sums;
}

Result<double> value(const Counters& counters, const std::string& name) {
  const auto found = std::ranges::find(counters, name, &std::pair<std::string, double>::first);
  if (found == counters.end())
    return badInput("vcopy counters: no '{}'", name);
  return found->second;
}

struct Subject {
  const char* chip;
  const char* device;   ///< in the counter file
  double shaderEngines; ///< instances summed up in SQ_BUSY_CYCLES
};

/// The profiler's dispatches find nothing cached outside the chip's memory: the kernel arguments' first read takes what
/// the ATT traces show for cold accesses (1724-1844 clk), data comes from HBM (TCC_EA0_RDREQ_LEVEL: 1400 clk a read).
constexpr double coldKernargClk = 1784;

Result<timing::Estimate> estimate(const timing::Chip& chip) {
  ASMEVO_TRY(const object::CodeObject object,
             object::CodeObject::load(std::string(ASMEVO_BINARY_DIR) + "/kernels/vcopy.co"));
  ASMEVO_TRY(const dispatch::Dispatch dispatch,
             dispatch::loadDispatch(std::string(ASMEVO_SOURCE_DIR) + "/tests/data/device/vcopy.dispatch.json"));
  ASMEVO_TRY(const auto device, device::makeSimulator(chip.name));
  ASMEVO_TRY(const auto kernel, device->load(object, "vcopy"));
  const dispatch::Case& launch = dispatch.cases.front();
  ASMEVO_TRY(device::TracedCase traced,
             kernel->trace(launch, timing::sampleWorkgroups(chip, kernel->target(), kernel->shapeOf(launch))));
  traced.shape.kernargClk = coldKernargClk;
  traced.shape.warmData = false;
  return traced.estimate(chip);
}

Result<Section> compare(const Table& table, const Subject& subject) {
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip(subject.chip));
  ASMEVO_TRY(const Counters measured, warmCounters(table, subject.device));
  ASMEVO_TRY(const timing::Estimate modelled, estimate(chip));
  Section section{fmt::format("vcopy, counters of {}", subject.device), subject.chip, {}, {}};
  ASMEVO_TRY(const double busy, value(measured, "SQ_BUSY_CYCLES"));
  section.rows.push_back(within("busy cycles of a shader engine", busy / subject.shaderEngines, modelled.cycles, 0.1));
  // The hardware's include what command processor, scalar and instruction caches ask for.
  constexpr std::string_view withOthers[] = {"TCC_RW_REQ_sum",    "TCC_HIT_sum",       "TCC_MISS_sum",
                                             "TCC_EA0_RDREQ_sum", "TCC_WRITEBACK_sum", "TCC_EA0_WRREQ_sum"};
  for (const auto& [name, count] : modelled.counters) {
    const auto found = std::ranges::find(measured, name, &std::pair<std::string, double>::first);
    if (found == measured.end())
      continue;
    if (std::ranges::find(withOthers, name) != std::end(withOthers)) {
      section.rows.push_back({name, found->second, count, "", "", std::nullopt});
      continue;
    }
    Row row{name, found->second, count, "", "equal", std::abs(count - found->second) < 0.5};
    section.rows.push_back(std::move(row));
  }
  section.notes.push_back(fmt::format("kernel arguments cold ({:.0f} clk), data in HBM", coldKernargClk));
  return section;
}

} // namespace

Result<std::vector<Section>> vcopySections(const Data& data) {
  constexpr Subject subjects[] = {{"mi300x", "MI300X_rocpd", 32}, {"mi300a", "MI300A", 24}};
  ASMEVO_TRY(const Table table, Table::read(data.path("hw_counters_vcopy.csv")));
  std::vector<Section> sections;
  for (const Subject& subject : subjects) {
    ASMEVO_TRY(Section section, compare(table, subject));
    sections.push_back(std::move(section));
  }
  return sections;
}

} // namespace asmevo::bench
