#include "dataset.h"

namespace asmevo::calibrate {

std::vector<std::string> datasetNames() {
  return {"mi300a", "mi308x"};
}

Result<std::unique_ptr<Dataset>> makeDataset(const std::string& name, const std::string& objects) {
  if (name == "mi300a")
    return makeMi300a();
  if (name == "mi308x")
    return makeMi308x(objects);
  return usageError("no dataset '{}': there are mi300a and mi308x", name);
}

} // namespace asmevo::calibrate
