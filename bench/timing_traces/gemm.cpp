#include "csv.h"
#include "report.h"

#include "timing/synthetic_gemm.h"

namespace asmevo::bench {
namespace {

/// The number in `column` of the row whose metric begins with `metric`.
Result<double> measured(const Table& table, const std::string& metric) {
  ASMEVO_TRY(const std::size_t metricColumn, table.column("metric"));
  ASMEVO_TRY(const std::size_t valueColumn, table.column("value"));
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (table.text(row, metricColumn).starts_with(metric))
      return std::strtod(table.text(row, valueColumn).c_str(), nullptr);
  return badInput("measured GEMM loops: no row '{}'", metric);
}

} // namespace

Result<std::vector<Section>> gemmSections(const Data& data) {
  using namespace timing;
  ASMEVO_TRY(const Table table, Table::read(data.path("gfx942_gemm_att_measured.csv")));
  ASMEVO_TRY(const Chip chip, loadChip("mi300x"));
  ASMEVO_TRY(const object::Target target, object::parseTargetId("gfx942"));
  ASMEVO_TRY(const auto codec, isa::Codec::create(target));
  Section section{"AMD's gfx942 GEMM loop, clk per iteration", "mi300x", {}, {}};
  const struct {
    const char* metric;
    GemmLoop loop;
  } variants[] = {
      {"baseline: loop iteration", gemmBaseline()},
      {"opt1 (memory ops spread: 2 MFMA per ds_read, 4 per buffer_load): loop iteration", gemmSpread()},
      {"opt2 (surplus MFMA between last ds_read and first ds_write of a region): loop iteration", gemmParked()},
      {"opt3 (2 barriers, fine lgkmcnt, 357 instr): loop iteration", gemmDrained()},
      {"opt5 (vmcnt 15/13/12) captures", gemmPartial()},
      {"opt5 with the 16 ds_write_b128 removed: loop iteration", without(gemmPartial(), "W")}};
  bool ordered = true;
  double before = 0;
  for (const auto& variant : variants) {
    ASMEVO_TRY(const double want, measured(table, variant.metric));
    ASMEVO_TRY(const double clk, gemmClkPerIteration(chip, *codec, variant.loop));
    section.rows.push_back(within(std::string(variant.metric).substr(0, 58), want, clk, 0.08));
    // opt5 was measured as fast as opt3: equal counts as in order.
    ordered &= before == 0 || clk <= before;
    before = clk;
  }
  section.rows.push_back({"in the measured order", std::nullopt, ordered ? 1.0 : 0.0, "", "yes", ordered});

  const GemmLoop all = gemmBaseline();
  ASMEVO_TRY(const double mfmaOnly, gemmClkPerIteration(chip, *codec, without(all, "RWGBlv")));
  ASMEVO_TRY(const double mfmaOnlyMs, measured(table, "mfma only"));
  Section ablation{"What each kind of operation adds to the baseline, over MFMA alone", "mi300x", {}, {}};
  ablation.notes.push_back("Measured in ms at a clock that falls with power, so with the load: no demand.");
  const struct {
    const char* metric;
    const char* left;
  } parts[] = {{"+ds_read", "WGBlv"},
               {"+buffer_load", "RWBlv"},
               {"+ds_write", "RGBlv"},
               {"ds_read+ds_write", "Gv"},
               {"all", ""}};
  for (const auto& part : parts) {
    ASMEVO_TRY(const double ms, measured(table, part.metric));
    ASMEVO_TRY(const double clk, gemmClkPerIteration(chip, *codec, without(all, part.left)));
    ablation.rows.push_back({part.metric, ms / mfmaOnlyMs, clk / mfmaOnly, "x", "", std::nullopt});
  }
  return std::vector{std::move(section), std::move(ablation)};
}

} // namespace asmevo::bench
