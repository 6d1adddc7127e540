/// Benchmark suites: which objects are optimized, verified and timed on what.
#pragma once

#include "dispatch/dispatch.h"
#include "support/result.h"

#include <map>
#include <string>
#include <vector>

namespace asmevo::report {

/// A kernel of a suite. Paths are absolute once a suite is loaded.
struct SuiteKernel {
  std::string name, title;
  std::string object;
  std::vector<std::string> verify; ///< dispatches that every candidate is verified on
  std::string time;                ///< the dispatch that is timed
  /// What K1 is verified on once, at the end: the timed dispatch itself, unless the suite names others because its
  /// emulation would take hours. Those are to be launches of the same depth with fewer workgroups.
  std::vector<std::string> final;
  bool timesFinal = true; ///< `final` is the timed dispatch
};

struct Suite {
  std::string name, title, chip;
  std::vector<SuiteKernel> kernels;
};

/// Reads suite.json (or the folder that holds one):
///   {"asmevo_suite": 1, "name": ..., "title": ..., "chip": "mi300x", "roots": {"objects": "what has to be there"},
///    "kernels": [{"name": ..., "title": ..., "object": "{objects}/a.co", "verify": ["a.json"], "time": "b.json",
///                 "final": ["c.json"]}]}
/// "final" may be left out. Paths start with a root in braces, whose folder `roots` gives, or lie beside the suite.
/// Errors name the root that is not given, with what the suite says of it; unknown keys and repeated names are errors.
Result<Suite> loadSuite(const std::string& path, const std::map<std::string, std::string>& roots);

/// The cases of several files as one dispatch; names get their file in front where there are several.
Result<dispatch::Dispatch> loadDispatches(const std::vector<std::string>& paths);

} // namespace asmevo::report
