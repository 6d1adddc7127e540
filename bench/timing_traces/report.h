/// What the timing_traces program prints: measured beside modelled numbers, by part.
#pragma once

#include "support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace asmevo::bench {

/// One comparison.
struct Row {
  std::string what;
  std::optional<double> measured;
  double modelled = 0;
  std::string unit = "clk";
  std::string demand;        ///< what issue and facts ask for, as text; empty: informative
  std::optional<bool> holds; ///< set where `demand` is
};

struct Section {
  std::string title;
  std::string chip;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};

/// A row whose modelled value must lie within `tolerance` (a share, 0.15 = 15 %) of the measured one.
Row within(std::string what, double measured, double modelled, double tolerance, std::string unit = "clk");
/// A row whose modelled value, a share, must be at least `least`.
Row atLeast(std::string what, double share, double least);

/// Where the measured data lies: a folder with sqtt/, att/, hw_counters_vcopy.csv, gfx942_gemm_att_measured.csv.
struct Data {
  std::string folder;
  std::string path(const std::string& name) const { return folder + "/" + name; }
};

// The parts, one file each.
Result<std::vector<Section>> sqttSections(const Data& data);     ///< six tinygrad kernels on mi350x
Result<std::vector<Section>> attTimesSections(const Data& data); ///< barriers, starts, ends, dispatch, co-issue
Result<std::vector<Section>> attSections(const Data& data); ///< pair classes, co-issue, latencies, dispatch on mi350x
Result<std::vector<Section>> vecAddSections(const Data& data); ///< the ATT vec_add kernel on mi350x
Result<std::vector<Section>> vcopySections(const Data& data);  ///< rocprofiler-compute's vcopy on mi300x and mi300a
Result<std::vector<Section>> gemmSections(const Data& data);   ///< AMD's gfx942 GEMM loop on mi300x

} // namespace asmevo::bench
