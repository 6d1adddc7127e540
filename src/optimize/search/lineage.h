/// The programs a search accepted, each with the edits that made it of its parent.
#pragma once

#include "optimize/optimize.h"

#include <vector>

namespace asmevo::optimize {

struct Accepted {
  Bytes bytes;
  std::string hash; ///< sha256 of bytes
  double cycles = 0;
  std::vector<double> perturbed; ///< cycles on each perturbed chip
  std::vector<Edit> edits;       ///< of this step
  std::size_t parent = 0;        ///< index in the lineage
};

/// Starts with K0 alone. Every program but it is faster than its parent.
class Lineage {
 public:
  explicit Lineage(Accepted k0) { programs.push_back(std::move(k0)); }
  std::size_t add(Accepted program) {
    programs.push_back(std::move(program));
    return programs.size() - 1;
  }
  const Accepted& operator[](std::size_t i) const { return programs[i]; }
  Accepted& operator[](std::size_t i) { return programs[i]; }
  std::size_t size() const { return programs.size(); }
  /// The fastest; the earlier of equals.
  std::size_t best() const;
  /// All edits from K0 to it.
  std::vector<Edit> editsOf(std::size_t program) const;

 private:
  std::vector<Accepted> programs;
};

/// For the ledger.
nlohmann::json editsJson(const std::vector<Edit>& edits);

} // namespace asmevo::optimize
