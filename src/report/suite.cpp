#include "report/suite.h"

#include "support/file_io.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace asmevo::report {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Reader {
 public:
  Reader(std::string path, const std::map<std::string, std::string>& given) : file(std::move(path)), roots(given) {}

  Result<Suite> run() {
    ASMEVO_TRY(const Bytes bytes, readFile(file, std::uint64_t{16} << 20));
    const json root = json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!root.is_object() || root.value("asmevo_suite", json()) != 1)
      return badInput("{}: no suite: it has to be a JSON object with \"asmevo_suite\": 1", file);
    ASMEVO_CHECK(onlyKeys(root, {"asmevo_suite", "name", "title", "chip", "roots", "kernels"}, "the suite"));
    if (root.contains("roots"))
      wanted = root["roots"];
    Suite suite;
    ASMEVO_TRY(suite.name, text(root, "name", "the suite"));
    ASMEVO_TRY(suite.title, text(root, "title", "the suite"));
    ASMEVO_TRY(suite.chip, text(root, "chip", "the suite"));
    if (!root.contains("kernels") || !root["kernels"].is_array() || root["kernels"].empty())
      return badInput("{}: no list \"kernels\"", file);
    std::set<std::string> names;
    for (const json& entry : root["kernels"]) {
      ASMEVO_TRY(SuiteKernel kernel, kernelOf(entry));
      if (!names.insert(kernel.name).second)
        return badInput("{}: two kernels are called '{}'", file, kernel.name);
      suite.kernels.push_back(std::move(kernel));
    }
    return suite;
  }

 private:
  Status onlyKeys(const json& object, const std::set<std::string>& known, const std::string& where) const {
    for (const auto& item : object.items())
      if (!known.contains(item.key()))
        return badInput("{}: {}: unknown key '{}'", file, where, item.key());
    return {};
  }

  Result<std::string> text(const json& object, const char* key, const std::string& where) const {
    if (!object.contains(key) || !object[key].is_string() || object[key].get_ref<const std::string&>().empty())
      return badInput("{}: {}: \"{}\" is missing or no text", file, where, key);
    return object[key].get<std::string>();
  }

  Result<SuiteKernel> kernelOf(const json& entry) const {
    if (!entry.is_object())
      return badInput("{}: a kernel is no JSON object", file);
    SuiteKernel kernel;
    ASMEVO_TRY(kernel.name, text(entry, "name", "a kernel"));
    if (kernel.name.find_first_of("/\\") != std::string::npos || kernel.name.starts_with('.'))
      return badInput("{}: kernel name '{}' is no file name", file, kernel.name);
    ASMEVO_CHECK(onlyKeys(entry, {"name", "title", "object", "verify", "time", "final"}, kernel.name));
    kernel.title = entry.value("title", kernel.name);
    ASMEVO_TRY(const std::string object, text(entry, "object", kernel.name));
    ASMEVO_TRY(kernel.object, placed(object));
    ASMEVO_TRY(const std::string time, text(entry, "time", kernel.name));
    ASMEVO_TRY(kernel.time, placed(time));
    ASMEVO_TRY(kernel.verify, paths(entry, "verify", kernel.name));
    kernel.timesFinal = !entry.contains("final");
    if (kernel.timesFinal) {
      kernel.final = {kernel.time};
    } else {
      ASMEVO_TRY(kernel.final, paths(entry, "final", kernel.name));
    }
    return kernel;
  }

  Result<std::vector<std::string>> paths(const json& object, const char* key, const std::string& where) const {
    if (!object.contains(key) || !object[key].is_array() || object[key].empty())
      return badInput("{}: {}: no list \"{}\"", file, where, key);
    std::vector<std::string> all;
    for (const json& path : object[key]) {
      if (!path.is_string())
        return badInput("{}: {}: \"{}\" holds something that is no path", file, where, key);
      ASMEVO_TRY(all.emplace_back(), placed(path.get<std::string>()));
    }
    return all;
  }

  Result<std::string> placed(const std::string& path) const {
    if (!path.starts_with('{'))
      return (fs::path(file).parent_path() / path).lexically_normal().string();
    const auto end = path.find('}');
    if (end == std::string::npos)
      return badInput("{}: path '{}' has no closing brace", file, path);
    const std::string name = path.substr(1, end - 1);
    const auto folder = roots.find(name);
    if (folder == roots.end())
      return usageError("{} needs --root {}=DIR{}", file, name,
                        wanted.is_object() && wanted.contains(name) && wanted[name].is_string()
                            ? ": " + wanted[name].get<std::string>()
                            : "");
    return folder->second + path.substr(end + 1);
  }

  std::string file;
  const std::map<std::string, std::string>& roots;
  json wanted;
};

} // namespace

Result<Suite> loadSuite(const std::string& path, const std::map<std::string, std::string>& roots) {
  return Reader(fs::is_directory(path) ? path + "/suite.json" : path, roots).run();
}

Result<dispatch::Dispatch> loadDispatches(const std::vector<std::string>& paths) {
  dispatch::Dispatch all;
  for (const std::string& path : paths) {
    ASMEVO_TRY(dispatch::Dispatch one, dispatch::loadDispatch(path));
    const fs::path file = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
    for (dispatch::Case& launch : one.cases) {
      if (paths.size() > 1)
        launch.name = fmt::format("{}, {}", file.filename().string(), launch.name);
      all.cases.push_back(std::move(launch));
    }
    all.path = all.path.empty() ? one.path : all.path;
  }
  return all;
}

} // namespace asmevo::report
