/// Counterexamples kept as tests: states of windows of one K0 that told an earlier K1 from it. Every later comparison
/// of the same window runs them before any state of its own.
#pragma once

#include "isa/registers.h"
#include "support/result.h"
#include "verify/proof/value_proof.h"

#include <nlohmann/json.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// May be shared by threads.
class KeptCounterexamples {
 public:
  /// Of the window at that K0 address, oldest first.
  std::vector<Counterexample> at(std::uint64_t address) const;
  /// False where it is there already or the window has enough of them.
  bool add(const Counterexample& example);
  std::size_t size() const;

  /// As written by json(), of the K0 with that hash. Errors: another K0, damaged entries.
  Status read(const nlohmann::json& file, const std::string& k0Sha256);
  nlohmann::json json(const std::string& k0Sha256) const;

  /// Reads a file that need not exist.
  Status load(const std::string& path, const std::string& k0Sha256);
  Status save(const std::string& path, const std::string& k0Sha256) const;

 private:
  mutable std::mutex guard;
  std::map<std::uint64_t, std::vector<Counterexample>> byWindow;
};

/// A test of the window alone: registers by name (one value, or one a lane), and the seed that all other registers and
/// memory come from.
nlohmann::json counterexampleJson(const Counterexample& example);

/// The register that isa::regUnitName() calls so.
std::optional<isa::RegUnit> registerUnit(const std::string& name);

} // namespace asmevo::verify
