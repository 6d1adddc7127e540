#include "cli/command.h"
#include "cli/hidden_debug.h"

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/reassemble.h"
#include "support/file_io.h"

#include <nlohmann/json.hpp>

#include <memory>

namespace asmevo::cli {

namespace {

constexpr std::uint64_t largestText = std::uint64_t{512} << 20;

struct Options {
  std::string text, original, output;
  bool growRegisters = false, json = false;
};

struct Outcome {
  Bytes bytes;
  program::Reassembly reassembly;
  std::vector<std::string> occupancy;
  std::vector<std::string> hiddenDebug;
  bool same = false;
};

/// One line per kernel whose waves per SIMD changed.
std::vector<std::string> occupancyChanges(const object::CodeObject& before, const object::CodeObject& after) {
  std::vector<std::string> lines;
  const auto of = [](const object::CodeObject& object, const object::Kernel& kernel) {
    const object::Target& target = object.target();
    const unsigned lanes = kernel.descriptor.isWave32() ? 32 : 64;
    const auto& note = kernel.metadata;
    const std::uint32_t size = note && note->maxFlatWorkgroupSize > 0 ? note->maxFlatWorkgroupSize : lanes;
    return object::occupancyOf(target, kernel.descriptor.allocatedVgprs(target),
                               kernel.descriptor.allocatedSgprs(target), kernel.descriptor.groupSegmentSize(), size,
                               lanes)
        .wavesPerSimd;
  };
  for (std::size_t i = 0; i < before.kernels().size() && i < after.kernels().size(); ++i) {
    const unsigned then = of(before, before.kernels()[i]), now = of(after, after.kernels()[i]);
    if (then != now)
      lines.push_back(fmt::format("kernel {}: {} -> {} waves per SIMD", before.kernels()[i].name, then, now));
  }
  return lines;
}

Result<Outcome> assemble(const Options& options) {
  ASMEVO_TRY(const object::CodeObject original, object::CodeObject::load(options.original));
  ASMEVO_TRY(const Bytes text, readFile(options.text, largestText));
  ASMEVO_TRY(const std::unique_ptr<isa::Codec> codec, isa::Codec::create(original));
  ASMEVO_TRY(const program::Program program, program::Program::recover(original, *codec));
  program::ReassembleOptions how;
  how.fileName = options.text;
  how.growRegisters = options.growRegisters;
  Outcome outcome;
  ASMEVO_TRY(outcome.reassembly, program::reassemble(original, program, *codec,
                                                     {reinterpret_cast<const char*>(text.data()), text.size()}, how));
  ASMEVO_TRY(outcome.bytes, program::rebuild(original, outcome.reassembly.program, *codec));
  ASMEVO_TRY(const object::CodeObject result, object::CodeObject::parse(outcome.bytes, options.output));
  outcome.occupancy = occupancyChanges(original, result);
  outcome.same = std::ranges::equal(outcome.bytes, original.bytes());
  ASMEVO_CHECK(writeFileAtomic(options.output, outcome.bytes));
  outcome.hiddenDebug = warnOfHiddenDebug(original, result, options.output);
  return outcome;
}

int run(const Options& options) {
  const auto outcome = assemble(options);
  if (!outcome)
    return fail(outcome.error());
  const program::Reassembly& done = outcome->reassembly;
  const std::string sha256 = sha256Hex(outcome->bytes);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"output", options.output},
                                      {"sha256", sha256},
                                      {"bytes", outcome->bytes.size()},
                                      {"identical", outcome->same},
                                      {"kept", done.kept},
                                      {"assembled", done.assembled},
                                      {"gone", done.gone},
                                      {"notes", done.notes},
                                      {"occupancy", outcome->occupancy},
                                      {"hidden_debug_sections", outcome->hiddenDebug}}
                           .dump(2));
    return Exit::ok;
  }
  for (const std::string& note : done.notes)
    fmt::print("{}\n", note);
  for (const std::string& line : outcome->occupancy)
    fmt::print("{}\n", line);
  fmt::print("{}: {}{} instructions kept, {} assembled, {} gone, {} bytes, SHA-256 {}\n", options.output,
             outcome->same ? "identical to the original, " : "", done.kept, done.assembled, done.gone,
             outcome->bytes.size(), sha256);
  return Exit::ok;
}

} // namespace

void addAsm(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("asm", "Put edited disassembly back into the object it came from");
  command->add_option("text", options->text, "Assembly as 'asmevo disasm' prints it, with edits")->required();
  command->add_option("--original", options->original, "The code object it was printed from")->required();
  command->add_option("-o,--output", options->output, "File to write")->required();
  command->add_flag("--grow-registers", options->growRegisters,
                    "Raise the descriptor's VGPRs and AGPRs to what new instructions use");
  command->add_flag("--json", options->json, "Machine-readable report");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
