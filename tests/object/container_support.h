/// Containers made by other tools: bundles of clang-offload-bundler, host programs that clang links around them and
/// that say at run time what device code they see.
#pragma once

#include "object/container.h"
#include "object/object_support.h"

#include <filesystem>
#include <string>
#include <vector>

namespace asmevo::object::testing {

inline const std::string caseFolder = ASMEVO_SOURCE_DIR "/tests/data/object/";

/// A folder of the test's own.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  std::string at(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const Bytes& bytes) const;

 private:
  std::filesystem::path path;
};

/// A device object with one kernel and `nops` instructions in it.
Bytes deviceObject(const std::string& target, unsigned nops, const std::string& kernel = "k", bool link = true);

/// What clang-offload-bundler makes of objects for targets: a host entry, then these. `options` go to the bundler.
struct Slot {
  std::string target;
  Bytes object;
};
Bytes bundleOf(const std::vector<Slot>& slots, const std::vector<std::string>& options = {});
/// The entry for a target as clang-offload-bundler takes it out of the file.
Bytes unbundled(const std::string& file, const std::string& target);

/// A host program or library with these files in its .hip_fatbin section, each page-aligned and with a registered
/// wrapper. `options` go to clang++-22.
std::string buildHost(const TestFolder& folder, const std::string& name, const std::vector<std::string>& bundles,
                      const std::vector<std::string>& options);
/// What the program prints: per device entry of every wrapper its id, size and hash, then that an exception was caught.
std::string runHost(const std::string& program);
/// The same of a library, loaded by a program.
std::string runLibrary(const std::string& library);
/// The line it prints for an entry.
std::string reportLine(const std::string& target, const Bytes& object);

Container opened(const std::string& path);
/// The bytes of the one object that a selection means.
Bytes chosen(const Container& container, const ObjectSelection& selection = {});

} // namespace asmevo::object::testing
