#include "cli/command.h"

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/print_assembly.h"
#include "support/file_io.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace asmevo::cli {

namespace {

struct Options {
  std::string path, output, kernel, blocks, range;
  bool json = false, patchable = false;
};

/// "A-B" or "A" as two numbers, of base 16 where they start with 0x.
std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers(const std::string& text, char separator) {
  const auto number = [](std::string_view part) -> std::optional<std::uint64_t> {
    const bool isHex = part.starts_with("0x");
    if (isHex)
      part.remove_prefix(2);
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value, isHex ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size())
      return std::nullopt;
    return value;
  };
  const std::size_t cut = text.find(separator);
  const auto first = number(std::string_view(text).substr(0, cut));
  const auto last = cut == std::string::npos ? first : number(std::string_view(text).substr(cut + 1));
  if (!first || !last)
    return std::nullopt;
  return std::pair(*first, *last);
}

Result<std::optional<program::BlockRange>> chosenPart(const Options& options, const object::CodeObject& object,
                                                      const program::Program& program) {
  const auto chosen = [](Result<program::BlockRange> range) -> Result<std::optional<program::BlockRange>> {
    if (!range)
      return std::move(range).error();
    return std::optional(*range);
  };
  if (!options.kernel.empty())
    return chosen(program::blocksOfKernel(object, program, options.kernel));
  if (!options.blocks.empty()) {
    const auto range = numbers(options.blocks, '-');
    if (!range)
      return usageError("--blocks takes block numbers like 3 or 3-7, not '{}'", options.blocks);
    return chosen(program::blocksByNumber(program, range->first, range->second));
  }
  if (!options.range.empty()) {
    const auto range = numbers(options.range, ':');
    if (!range)
      return usageError("--range takes addresses like 0x1900:0x1a00, not '{}'", options.range);
    return chosen(program::blocksOfAddresses(program, range->first, std::max(range->second, range->first + 1)));
  }
  return std::optional<program::BlockRange>();
}

/// The control flow graph, for tools; the text form is the assembly itself.
nlohmann::json programJson(const object::CodeObject& object, const program::Program& program, isa::Codec& codec) {
  nlohmann::json functions = nlohmann::json::array();
  for (const program::Function& function : program.functions)
    functions.push_back({{"name", function.name},
                         {"entry", function.entry},
                         {"kernel", function.kernel.has_value()},
                         {"entry_block", function.entryBlock},
                         {"blocks", function.blocks}});
  nlohmann::json blocks = nlohmann::json::array();
  for (const program::Block& block : program.blocks) {
    nlohmann::json instructions = nlohmann::json::array();
    for (const program::Instr& instr : block.instrs) {
      std::string bytes;
      for (const std::uint8_t byte : instr.inst->bytes())
        bytes += fmt::format("{:02x}", byte);
      instructions.push_back(
          {{"address", instr.address}, {"bytes", bytes}, {"text", codec.complete(instr.inst)->text}});
    }
    blocks.push_back({{"address", block.address},
                      {"section", object.sections()[block.section].name},
                      {"opaque", block.opaque},
                      {"reachable", block.reachable},
                      {"successors", block.successors},
                      {"predecessors", block.predecessors},
                      {"instructions", std::move(instructions)}});
  }
  return {{"target", object.target().id()},
          {"pinned", program.pinned},
          {"functions", std::move(functions)},
          {"blocks", std::move(blocks)}};
}

Result<std::string> render(const Options& options) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(options.path));
  ASMEVO_TRY(const std::unique_ptr<isa::Codec> codec, isa::Codec::create(object));
  ASMEVO_TRY(const program::Program program, program::Program::recover(object, *codec));
  if (options.json)
    return programJson(object, program, *codec).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  program::PrintOptions print;
  print.patchable = options.patchable;
  ASMEVO_TRY(print.part, chosenPart(options, object, program));
  return program::printAssembly(object, program, *codec, print);
}

int run(const Options& options) {
  const auto text = render(options);
  if (!text)
    return fail(text.error());
  if (options.output.empty() || options.output == "-") {
    fmt::print("{}", *text);
    return Exit::ok;
  }
  if (const Status written = writeFileAtomic(options.output, *text); !written)
    return fail(written.error());
  return Exit::ok;
}

} // namespace

void addDisasm(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("disasm", "Print assembly that clang and lld turn back into the same object");
  command->add_option("object", options->path, "Code object")->required();
  command->add_option("-o,--output", options->output, "File to write (default: standard output)");
  command->add_flag(
      "--patchable", options->patchable,
      "Every instruction as text, for 'asmevo asm', which keeps the bytes of lines that stay as they are");
  CLI::Option* kernel = command->add_option("--kernel", options->kernel, "Only this kernel's blocks");
  CLI::Option* blocks = command->add_option("--blocks", options->blocks, "Only these blocks: 3 or 3-7");
  CLI::Option* range = command->add_option("--range", options->range, "Only blocks at these addresses: 0x1900:0x1a00");
  kernel->excludes(blocks)->excludes(range);
  blocks->excludes(range);
  command->add_flag("--json", options->json, "Print functions, blocks and instructions as JSON");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
