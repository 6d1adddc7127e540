/// The fit: a derivative-free search over few parameters, the same on every run.
#pragma once

#include "model.h"

#include <functional>
#include <string>
#include <vector>

namespace asmevo::calibrate {

struct FitResult {
  timing::Chip chip; ///< with the fitted values
  HostCosts host;
  double before = 0, after = 0; ///< objective at the start and at the end
  unsigned evaluations = 0;     ///< of the model over all fit rows
  std::size_t rows = 0;
};

/// The rows that a fit evaluates: of each calibrated program at most Dataset::fitRowsPerProgram, evenly chosen.
std::vector<Row> fitRows(Dataset& dataset, const std::vector<Row>& rows);

/// Minimises the mean over programs of the mean over rows of |ln(modelled / measured)|, each at most 1, on fitRows.
/// Host costs and the launch floor need no simulation and are searched anew for each set of the other parameters.
/// Every search starts in the middle of the ranges: the result depends on the chip's other numbers only, not on an
/// earlier fit. Values come out with four significant digits. `progress` gets a line now and then.
Result<FitResult> fit(Dataset& dataset, const timing::Chip& start, const std::vector<Row>& rows,
                      const std::function<void(const std::string&)>& progress);

/// The text of a chip file with the values of `keys` replaced, their sources naming the fit. Errors: a key that is not
/// there on one line.
Result<std::string> rewriteChip(const std::string& text, const timing::Chip& chip, const std::vector<std::string>& keys,
                                const std::string& source);

} // namespace asmevo::calibrate
