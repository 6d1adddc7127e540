#include "object/link.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

namespace asmevo::object {

namespace {

namespace fs = std::filesystem;

constexpr unsigned timeLimitSeconds = 300;
constexpr unsigned memoryLimitMegabytes = 8192;
constexpr std::uint64_t longestLog = 1U << 20;

/// A folder of our own that goes away with us.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create() {
    llvm::SmallString<128> path;
    if (const std::error_code ec = llvm::sys::fs::createUniqueDirectory("asmevo-link", path))
      return internalError("no temporary folder: {}", ec.message());
    return TemporaryFolder(path.str().str());
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path(std::exchange(other.path, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  std::string file(const char* name) const { return path + "/" + name; }

 private:
  explicit TemporaryFolder(std::string created) : path(std::move(created)) {}
  std::string path;
};

std::optional<std::string> findLinker() {
  const std::array<llvm::StringRef, 4> folders = {"/usr/lib/llvm-22/bin", "/opt/rocm/llvm/bin",
                                                  "/opt/rocm/lib/llvm/bin", "/usr/local/bin"};
  for (const llvm::StringRef name : {"ld.lld-22", "ld.lld"}) {
    if (const auto found = llvm::sys::findProgramByName(name))
      return *found;
    if (const auto found = llvm::sys::findProgramByName(name, folders))
      return *found;
  }
  return std::nullopt;
}

/// The linker's complaints, without its name and our file's, one line each.
std::string complaints(const std::string& log, const std::string& input) {
  std::string text;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < log.size() && lines < 20;) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    std::string line = log.substr(at, end - at);
    at = end + 1;
    if (const std::size_t error = line.find("error: "); error != std::string::npos)
      line.erase(0, error + 7);
    for (std::size_t found = line.find(input); found != std::string::npos; found = line.find(input))
      line.replace(found, input.size(), "the object");
    if (line.empty())
      continue;
    text += (lines++ == 0 ? "" : "\n  ") + line;
  }
  return text;
}

} // namespace

Result<Bytes> linkRelocatable(const CodeObject& object) {
  if (object.elfType() != llvm::ELF::ET_REL)
    return usageError("{}: not a relocatable, there is nothing to link", object.name());
  const auto linker = findLinker();
  if (!linker)
    return internalError("{}: relocatable, and no ld.lld-22 or ld.lld is installed to link it", object.name());
  ASMEVO_TRY(const TemporaryFolder folder, TemporaryFolder::create());
  const std::string input = folder.file("in.o"), output = folder.file("out.co"), log = folder.file("log");
  ASMEVO_CHECK(writeFileAtomic(input, object.bytes()));

  const std::array<llvm::StringRef, 7> arguments = {
      *linker, "-shared", "--no-undefined", "--color-diagnostics=never", input, "-o", output};
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef("/dev/null"), llvm::StringRef(log),
                                                      llvm::StringRef(log)};
  std::string failure;
  const int code = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, timeLimitSeconds,
                                             memoryLimitMegabytes, &failure);
  if (code == 0)
    return readFile(output);
  const auto said = readFile(log, longestLog);
  const std::string text = said ? complaints(std::string(said->begin(), said->end()), input) : std::string();
  if (code < 0)
    return refused("{}: {} broke off: {}", object.name(), *linker, failure.empty() ? text : failure);
  return refused("{}: cannot be linked: {}", object.name(), text.empty() ? fmt::format("exit code {}", code) : text);
}

} // namespace asmevo::object
