#include "cli/command.h"
#include "cli/hidden_debug.h"

#include "isa/codec.h"
#include "object/container.h"
#include "program/program.h"
#include "program/shift.h"
#include "support/file_io.h"

#include <llvm/BinaryFormat/ELF.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace asmevo::cli {

namespace {

namespace fs = std::filesystem;

/// What came of one file.
struct Outcome {
  enum class State { same, different, bad } state = State::bad;
  std::string message; ///< why not the same
  std::string target;
  std::size_t instructions = 0, blocks = 0;
  std::vector<std::string> hiddenDebug; ///< sections that the written file no longer shows
};

/// One code object: a file, or an entry of a bundle in it.
struct Item {
  std::string name;
  std::shared_ptr<const object::Container> container; ///< empty: it could not be opened,
  object::DeviceObject entry;
  std::optional<Error> problem; ///< which is why
};

/// What a folder is searched for: files that say they are code objects or bundles, and ELF files.
bool maybeHoldsCode(const fs::path& path) {
  const fs::path extension = path.extension();
  if (extension == ".co" || extension == ".hsaco" || extension == ".hipfb" || extension == ".hip_fatbin")
    return true;
  std::array<char, 4> magic{};
  std::ifstream file(path, std::ios::binary);
  file.read(magic.data(), magic.size());
  return file && magic == std::array<char, 4>{0x7f, 'E', 'L', 'F'};
}

/// Every such file below a folder, sorted, so that the report does not depend on the file system's order.
std::vector<std::string> filesBelow(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && maybeHoldsCode(it->path()))
      found.push_back(it->path().string());
  }
  std::ranges::sort(found);
  return found;
}

/// All code objects of a file. A host program without any is only worth a word if it was named.
void addObjects(const std::string& path, bool isNamed, std::vector<Item>& items) {
  const object::ObjectPath chosen = object::parseObjectPath(path);
  auto container = object::Container::open(chosen.file);
  if (!container) {
    std::array<char, 20> header{};
    std::ifstream(chosen.file, std::ios::binary).read(header.data(), header.size());
    const bool isHost = header[1] == 'E' && static_cast<unsigned char>(header[18]) != llvm::ELF::EM_AMDGPU;
    if (isNamed || !isHost)
      items.push_back({path, nullptr, {}, container.error()});
    return;
  }
  const auto shared = std::make_shared<const object::Container>(*std::move(container));
  const auto objects = object::selectObjects(*shared, chosen.selection);
  if (!objects)
    return items.push_back({path, nullptr, {}, objects.error()});
  for (const object::DeviceObject& entry : *objects)
    items.push_back({path, shared, entry, std::nullopt});
}

/// Names the first byte that differs: its section and the instruction it belongs to.
std::string firstDifference(const object::CodeObject& object, const program::Program& program, const Bytes& rebuilt,
                            isa::Codec& codec) {
  const auto old = object.bytes();
  const std::size_t common = std::min(old.size(), rebuilt.size());
  const auto at = static_cast<std::size_t>(
      std::mismatch(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(common), rebuilt.begin()).first -
      old.begin());
  std::string where = fmt::format("offset 0x{:x} of {} bytes ({} rebuilt)", at, old.size(), rebuilt.size());
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const object::Section& section = object.sections()[i];
    if (at < section.offset || at - section.offset >= object.contents(section).size())
      continue;
    where += fmt::format(", section {}", section.name);
    const std::uint64_t address = section.address + (at - section.offset);
    for (const program::Block& block : program.blocks)
      for (const program::Instr& instr : block.instrs)
        if (block.section == i && address >= instr.address && address - instr.address < instr.inst->size)
          return where + fmt::format(", instruction 0x{:x}: {}", instr.address, codec.complete(instr.inst)->text);
  }
  return where;
}

/// What is done to a program before it is rebuilt.
struct Edit {
  bool shift = false;
  program::RandomNops random{.nops = 0}; ///< none: one at the start of every block
  std::string output;                    ///< file for what was rebuilt, if it is wanted
};

/// One worker's decoders, kept from file to file as most encodings recur.
class Worker {
 public:
  Outcome check(Item& item, const Edit& edit) {
    Outcome outcome;
    if (!item.container)
      return bad(outcome, *item.problem);
    auto chosen = object::readObject(*item.container, item.entry);
    if (!chosen)
      return bad(outcome, chosen.error());
    item.name = chosen->name;
    limitMemory(chosen->bytes.size());
    const auto object = object::CodeObject::parse(std::move(chosen->bytes), item.name);
    if (!object)
      return bad(outcome, object.error());
    outcome.target = object->target().id();
    const auto codec = codecFor(object->target());
    if (!codec)
      return bad(outcome, codec.error());
    const auto program = program::Program::recover(*object, **codec, program::Detail::controlFlow);
    if (!program)
      return bad(outcome, program.error());
    outcome.instructions = program->instructionCount();
    outcome.blocks = program->blocks.size();
    if (edit.shift)
      return checkShift(outcome, *object, *program, **codec, edit);
    const auto rebuilt = program::rebuild(*object, *program, **codec);
    if (!rebuilt)
      return differs(outcome, rebuilt.error().message);
    if (!std::ranges::equal(object->bytes(), *rebuilt))
      return differs(outcome, firstDifference(*object, *program, *rebuilt, **codec));
    if (const Status written = write(edit, *rebuilt); !written)
      return bad(outcome, written.error());
    outcome.state = Outcome::State::same;
    return outcome;
  }

 private:
  std::map<std::string, std::unique_ptr<isa::Codec>> codecs;
  std::size_t seen = 0; ///< bytes of objects since they were made

  /// Decoders remember every encoding they have seen, which over a large library is more than it is worth.
  void limitMemory(std::size_t next) {
    constexpr std::size_t enough = std::size_t{256} << 20;
    if (seen > enough) {
      codecs.clear();
      seen = 0;
    }
    seen += next;
  }

  static Outcome bad(Outcome& outcome, const Error& error) {
    outcome.state = Outcome::State::bad;
    outcome.message = error.message;
    return outcome;
  }
  static Outcome differs(Outcome& outcome, const std::string& message) {
    outcome.state = Outcome::State::different;
    outcome.message = message;
    return outcome;
  }

  Result<isa::Codec*> codecFor(const object::Target& target) {
    auto& codec = codecs[target.id()];
    if (!codec) {
      ASMEVO_TRY(auto created, isa::Codec::create(target));
      codec = std::move(created);
    }
    return codec.get();
  }

  static Status write(const Edit& edit, std::span<const std::uint8_t> bytes) {
    return edit.output.empty() ? Status() : writeFileAtomic(edit.output, bytes);
  }

  static Outcome checkShift(Outcome& outcome, const object::CodeObject& object, const program::Program& program,
                            isa::Codec& codec, const Edit& edit) {
    const auto edited =
        edit.random.nops > 0 ? program::scattered(program, codec, edit.random) : program::shifted(program, codec);
    if (!edited)
      return differs(outcome, edited.error().message);
    auto rebuilt = program::rebuild(object, *edited, codec);
    if (!rebuilt)
      return differs(outcome, rebuilt.error().message);
    const auto again = object::CodeObject::parse(*std::move(rebuilt), object.name());
    if (!again)
      return differs(outcome, "the rebuilt file does not parse: " + again.error().message);
    const auto recovered = program::Program::recover(*again, codec, program::Detail::controlFlow);
    if (!recovered)
      return differs(outcome, "the rebuilt file is not recovered: " + recovered.error().message);
    const Status same = program::checkShifted(object, *edited, *again, *recovered, codec);
    if (!same)
      return differs(outcome, same.error().message);
    if (const Status written = write(edit, again->bytes()); !written)
      return bad(outcome, written.error());
    if (!edit.output.empty())
      outcome.hiddenDebug = warnOfHiddenDebug(object, *again, edit.output);
    outcome.state = Outcome::State::same;
    return outcome;
  }
};

/// Most messages name their file already.
std::string withFile(const std::string& file, const std::string& message) {
  return message.starts_with(file) ? message : file + ": " + message;
}

struct Options {
  std::vector<std::string> paths;
  Edit edit;
  bool json = false;
  unsigned jobs = 0;
};

int run(const Options& options) {
  std::vector<Item> files;
  for (const std::string& path : options.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error))
      addObjects(path, true, files);
    else
      for (const std::string& file : filesBelow(path))
        addObjects(file, false, files);
  }
  if (files.empty())
    return fail(asmevo::badInput("no code objects in {}", options.paths.front()));

  if (!options.edit.output.empty() && files.size() != 1)
    return fail(usageError("-o takes one code object, {} has {}", options.paths.front(), files.size()));

  const unsigned wanted = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  const auto jobs = static_cast<unsigned>(std::min<std::size_t>(wanted, files.size()));
  std::vector<Outcome> outcomes(files.size());
  std::atomic<std::size_t> next{0}, finished{0};
  Progress progress;
  std::mutex progressLock;
  const auto started = std::chrono::steady_clock::now();
  const auto work = [&] {
    Worker worker;
    for (std::size_t i = next++; i < files.size(); i = next++) {
      outcomes[i] = worker.check(files[i], options.edit);
      const std::size_t count = ++finished;
      const std::lock_guard guard(progressLock);
      progress.show(fmt::format("{} of {} files", count, files.size()));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  progress.done();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  std::size_t same = 0, different = 0, bad = 0, instructions = 0, blocks = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> byTarget; // same, all
  nlohmann::json failures = nlohmann::json::array();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    same += outcome.state == Outcome::State::same;
    different += outcome.state == Outcome::State::different;
    bad += outcome.state == Outcome::State::bad;
    instructions += outcome.instructions;
    blocks += outcome.blocks;
    if (!outcome.target.empty()) {
      byTarget[outcome.target].first += outcome.state == Outcome::State::same;
      ++byTarget[outcome.target].second;
    }
    if (outcome.state == Outcome::State::same)
      continue;
    failures.push_back({{"file", files[i].name},
                        {"kind", outcome.state == Outcome::State::bad ? "bad_input" : "different"},
                        {"message", outcome.message}});
  }
  if (options.json) {
    nlohmann::json targets = nlohmann::json::object();
    for (const auto& [target, counts] : byTarget)
      targets[target] = {{"same", counts.first}, {"files", counts.second}};
    nlohmann::json report = {{"mode", options.edit.shift ? "shift" : "identity"},
                             {"files", files.size()},
                             {"same", same},
                             {"different", different},
                             {"bad_input", bad},
                             {"instructions", instructions},
                             {"blocks", blocks},
                             {"seconds", seconds},
                             {"targets", targets},
                             {"failures", failures}};
    if (!options.edit.output.empty()) {
      report["output"] = options.edit.output;
      report["hidden_debug_sections"] = outcomes.front().hiddenDebug;
    }
    fmt::print("{}\n", report.dump(2));
  } else {
    const char* const verdict = options.edit.shift ? "same program after the shift" : "byte-identical";
    for (const auto& failure : failures)
      fmt::print("{}: {}\n", failure["kind"] == "bad_input" ? "bad input" : "DIFFERENT",
                 withFile(failure["file"].get<std::string>(), failure["message"].get<std::string>()));
    for (const auto& [target, counts] : byTarget)
      fmt::print("{:<24} {} of {} {}\n", target, counts.first, counts.second, verdict);
    fmt::print("{} of {} files {}; {} instructions in {} blocks, {:.1f} s on {} thread{}\n", same, files.size(),
               verdict, instructions, blocks, seconds, jobs, jobs == 1 ? "" : "s");
  }
  return bad ? Exit::badInput : different ? Exit::negative : Exit::ok;
}

} // namespace

void addRoundtrip(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("roundtrip", "Recover every kernel, lay it out again, and compare the files");
  command
      ->add_option("path", options->paths,
                   "Code objects, whatever holds any (bundles, host programs, FILE#BUNDLE:TARGET), or folders")
      ->required();
  CLI::Option* const shift = command->add_flag(
      "--shift", options->edit.shift, "Insert one s_nop 0 at the start of every basic block, and compare the programs");
  command
      ->add_option("--nops", options->edit.random.nops,
                   "With --shift: insert so many s_nop 0 in random places instead (512: 2 KiB in each)")
      ->check(CLI::Range(1u, 65536u))
      ->needs(shift);
  command->add_option("--places", options->edit.random.places, "How many random places")
      ->check(CLI::Range(1u, 65536u))
      ->needs(shift)
      ->capture_default_str();
  command->add_option("--seed", options->edit.random.seed, "Seed of the random places")
      ->needs(shift)
      ->capture_default_str();
  command->add_option("-o,--output", options->edit.output, "Write what was rebuilt (one code object only)");
  command->add_flag("--json", options->json, "Print the result as JSON");
  command->add_option("-j,--jobs", options->jobs, "Threads (default: all)")->check(CLI::Range(1u, 1024u));
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
