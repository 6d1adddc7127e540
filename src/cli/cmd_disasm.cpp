#include "cli/command.h"

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/program.h"
#include "support/file_io.h"

#include <nlohmann/json.hpp>

#include <memory>

namespace asmevo::cli {

namespace {

struct Options {
  std::string path, output;
  bool json = false;
};

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
  ASMEVO_TRY(const std::unique_ptr<isa::Codec> codec, isa::Codec::create(object.target()));
  ASMEVO_TRY(const program::Program program, program::Program::recover(object, *codec));
  if (options.json)
    return programJson(object, program, *codec).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return program::printAssembly(object, program, *codec);
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
  command->add_flag("--json", options->json, "Print functions, blocks and instructions as JSON");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
