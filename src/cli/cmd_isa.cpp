#include "cli/command.h"

#include "emulator/coverage.h"
#include "emulator/vectors.h"
#include "support/file_io.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>

namespace asmevo::cli {

namespace {

using nlohmann::json;

struct CheckArguments {
  std::string file, processor = "gfx942", simd = "best", mfma;
  bool asJson = false;
};

int check(const CheckArguments& arguments) {
  const auto bytes = readFile(arguments.file);
  if (!bytes)
    return fail(bytes.error());
  emulator::VectorOptions options;
  options.simd = arguments.simd == "scalar"   ? emulator::SimdLevel::scalar
                 : arguments.simd == "avx2"   ? emulator::SimdLevel::avx2
                 : arguments.simd == "avx512" ? emulator::SimdLevel::avx512
                                              : emulator::bestSimdLevel();
  if (options.simd > emulator::bestSimdLevel())
    return fail(usageError("this machine has no {}", arguments.simd));
  object::Target target;
  target.processor = arguments.processor;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const auto report = arguments.mfma.empty() ? emulator::checkVectors(text, target, options)
                                             : emulator::checkMfmaVectors(text, arguments.mfma, target, options);
  if (!report)
    return fail({report.error().kind, arguments.file + ": " + report.error().message});
  const auto& total = report->total;
  if (arguments.asJson) {
    json opcodes = json::object();
    for (const auto& [name, counts] : report->byOpcode)
      opcodes[name] = {{"passed", counts.passed},
                       {"failed", counts.failed},
                       {"inexact", counts.inexact},
                       {"unmodelled", counts.unmodelled}};
    const json out = {{"passed", total.passed},        {"failed", total.failed},
                      {"inexact", total.inexact},      {"unmodelled", total.unmodelled},
                      {"opcodes", std::move(opcodes)}, {"differences", report->differences},
                      {"refusals", report->refusals}};
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const std::string& line : report->differences)
      fmt::print("{}\n", line);
    for (const std::string& line : report->refusals)
      fmt::print("refused: {}\n", line);
    fmt::print("{} vectors of {} opcodes: {} passed ({} within tolerance only), {} failed, {} refused\n",
               total.passed + total.failed + total.unmodelled, report->byOpcode.size(), total.passed, total.inexact,
               total.failed, total.unmodelled);
  }
  return total.failed == 0 && total.unmodelled == 0 ? ok : negative;
}

int coverage(const std::vector<std::string>& files, bool asJson) {
  emulator::Coverage total;
  std::map<std::string, std::unique_ptr<isa::Codec>> codecs;
  for (const std::string& file : files) {
    const auto object = object::CodeObject::load(file);
    if (!object)
      return fail(object.error());
    auto& codec = codecs[object->target().id()];
    if (!codec) {
      auto created = isa::Codec::create(object->target());
      if (!created)
        return fail(created.error());
      codec = std::move(*created);
    }
    const auto one = emulator::coverageOf(*object, *codec);
    if (!one)
      return fail(one.error());
    total.add(*one);
  }
  std::size_t refusedCount = 0;
  for (const auto& [mnemonic, refusal] : total.refused)
    refusedCount += refusal.count;
  if (asJson) {
    json refusedList = json::object();
    for (const auto& [mnemonic, refusal] : total.refused)
      refusedList[mnemonic] = {{"count", refusal.count}, {"reason", refusal.reason}};
    const json out = {{"files", files.size()},
                      {"instructions", total.instructions},
                      {"refused", refusedCount},
                      {"modelled", total.modelled},
                      {"mnemonics", std::move(refusedList)}};
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& [mnemonic, count] : total.modelled)
      fmt::print("{:>10} {}\n", count, mnemonic);
    for (const auto& [mnemonic, refusal] : total.refused)
      fmt::print("{:>10} {}: refused: {}\n", refusal.count, mnemonic, refusal.reason);
    fmt::print("{} files, {} instructions of {} mnemonics modelled, {} refused\n", files.size(),
               total.instructions - refusedCount, total.modelled.size(), refusedCount);
  }
  return refusedCount == 0 ? ok : negative;
}

} // namespace

void addIsa(CLI::App& app, int& exit) {
  CLI::App* command = app.add_subcommand("isa", "Check the instruction semantics, or what of an object they cover");
  command->require_subcommand(1);

  CLI::App* checkCommand = command->add_subcommand("check", "Run instruction test vectors through the emulator");
  auto arguments = std::make_shared<CheckArguments>();
  checkCommand->add_option("file", arguments->file, "Vector file, one JSON object a line")->required();
  checkCommand->add_option("--mfma", arguments->mfma, "The vectors are output elements of this matrix instruction");
  checkCommand->add_option("--mcpu", arguments->processor, "Target processor")->capture_default_str();
  checkCommand->add_option("--simd", arguments->simd, "Host vector level")
      ->check(CLI::IsMember({"best", "scalar", "avx2", "avx512"}))
      ->capture_default_str();
  checkCommand->add_flag("--json", arguments->asJson, "JSON output");
  checkCommand->callback([arguments, &exit] { exit = check(*arguments); });

  CLI::App* coverageCommand = command->add_subcommand("coverage", "Name the instructions the emulator refuses");
  auto files = std::make_shared<std::vector<std::string>>();
  auto asJson = std::make_shared<bool>(false);
  coverageCommand->add_option("files", *files, "Code objects")->required();
  coverageCommand->add_flag("--json", *asJson, "JSON output");
  coverageCommand->callback([files, asJson, &exit] { exit = coverage(*files, *asJson); });
}

} // namespace asmevo::cli
