#include "cli/run_debug.h"

#include "cli/run_strict.h"
#include "emulator/coherence/coherence_checker.h"
#include "emulator/debug/bounds_checker.h"
#include "emulator/debug/breakpoint.h"
#include "emulator/debug/register_file.h"
#include "emulator/debug/tracer.h"
#include "emulator/race/race_detector.h"

#include <charconv>
#include <cstdio>

namespace asmevo::cli {

namespace {

using emulator::TracedAccess;
using emulator::TracedInstruction;
using emulator::TracedRegister;
using nlohmann::ordered_json;

/// A whole number, decimal or 0x...
std::optional<std::uint64_t> parseNumber(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// "A..B", "A-B" or "A": both ends included.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parseRange(std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const auto first = parseNumber(text.substr(0, at));
  const auto last = at == std::string_view::npos ? first : parseNumber(text.substr(at + separator.size()));
  if (!first || !last || *first > *last)
    return std::nullopt;
  return std::pair(*first, *last);
}

/// "0-3,17": a set of numbers below `limit`.
Result<std::vector<std::uint64_t>> parseSet(const std::string& option, std::string_view text, std::uint64_t limit) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto range = parseRange(text.substr(0, comma), "-");
    if (!range || range->second >= limit)
      return usageError("{}: '{}' is not a number or range below {}", option, text.substr(0, comma), limit);
    for (std::uint64_t n = range->first; n <= range->second; ++n)
      numbers.push_back(n);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return numbers;
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

ordered_json lanesJson(const std::vector<std::uint32_t>& values, std::uint64_t lanes) {
  if (values.size() == 1)
    return values[0];
  ordered_json json = ordered_json::object();
  for (std::size_t lane = 0; lane < values.size(); ++lane)
    if (lanes >> lane & 1)
      json[std::to_string(lane)] = values[lane];
  return json;
}

/// One line of json.
void printJsonLine(const TracedInstruction& line, std::uint64_t lanes) {
  ordered_json registers = ordered_json::object(), accesses = ordered_json::array();
  for (const TracedRegister& entry : line.registers)
    registers[entry.name] = {{"before", lanesJson(entry.before, lanes & line.exec)},
                             {"after", lanesJson(entry.after, lanes & line.exec)}};
  for (const TracedAccess& access : line.accesses) {
    ordered_json addresses = ordered_json::object();
    for (std::size_t lane = 0; lane < access.addresses.size(); ++lane)
      if (access.lanes >> lane & 1 && (lanes >> lane & 1 || access.addresses.size() == 1))
        addresses[std::to_string(lane)] = access.addresses[lane];
    accesses.push_back({{"space", access.space == emulator::Space::lds       ? "lds"
                                  : access.space == emulator::Space::scratch ? "scratch"
                                                                             : "global"},
                        {"kind", access.kind},
                        {"bytes", access.bytes},
                        {"where", access.where},
                        {"addresses", std::move(addresses)}});
  }
  fmt::print("{}\n", ordered_json{{"trace", line.number},
                                  {"workgroup", line.workgroup},
                                  {"wave", line.wave},
                                  {"address", line.address},
                                  {"text", line.text},
                                  {"exec", hex(line.exec)},
                                  {"registers", std::move(registers)},
                                  {"accesses", std::move(accesses)}}
                         .dump());
}

} // namespace

struct DebugSession::State {
  std::vector<std::unique_ptr<emulator::FindingObserver>> checks;
  std::unique_ptr<emulator::Observer> tracer;
  std::unique_ptr<emulator::BreakObserver> breakpoint;
  std::vector<std::uint64_t> vgprs; ///< to show of the breakpoint's dump
  unsigned accumOffset = 0;

  bool brokeOff() const { return (tracer && tracer->stopRun) || (breakpoint && breakpoint->stopRun); }
};

DebugSession::DebugSession() = default;
DebugSession::DebugSession(DebugSession&&) noexcept = default;
DebugSession::~DebugSession() = default;

void addDebugOptions(CLI::App& command, DebugOptions& options) {
  const auto group = "Debugging";
  command.add_flag("--races", options.races, "Report data races in LDS and global memory")->group(group);
  command.add_flag("--bounds", options.bounds, "Report accesses outside every buffer")->group(group);
  command
      .add_option("--coherence", options.coherence, "strict: report reads that may see stale caches of an 8-XCD chip")
      ->check(CLI::IsMember({"strict"}))
      ->group(group);
  command.add_flag("--trace", options.trace, "Print what every instruction does (with --json as lines of json)")
      ->group(group);
  command.add_option("--trace-workgroup", options.traceWorkgroups, "Only these workgroups (dispatch indices)")
      ->delimiter(',')
      ->group(group);
  command.add_option("--trace-wave", options.traceWaves, "Only these waves of a workgroup")
      ->delimiter(',')
      ->group(group);
  command.add_option("--trace-range", options.traceRange, "Only instructions at PC..PC (addresses as in disasm)")
      ->group(group);
  command.add_option("--trace-lanes", options.traceLanes, "Show only these lanes, such as 0-3,63")->group(group);
  command.add_option("--trace-limit", options.traceLimit, "Stop after that many instructions")->group(group);
  command
      .add_option("--break", options.breakAt, "Stop before the instruction at this PC and show the wave's registers")
      ->group(group);
  command.add_option("--break-count", options.breakCount, "Stop the n-th time a wave gets there")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("--break-vgprs", options.breakVgprs, "Vector registers to show, such as 0-7,16 (default: 0-7)")
      ->group(group);
}

Result<DebugSession> DebugSession::create(const DebugOptions& options, const object::CodeObject& object,
                                          const object::Kernel& kernel, bool json) {
  DebugSession session;
  session.state = std::make_unique<State>();
  State& state = *session.state;
  state.accumOffset = kernel.descriptor.accumOffset(object.target());
  if (options.races)
    state.checks.push_back(emulator::makeRaceDetector());
  if (options.coherence == "strict")
    state.checks.push_back(emulator::makeCoherenceChecker());
  if (options.bounds)
    state.checks.push_back(emulator::makeBoundsChecker());
  if (options.trace) {
    emulator::TraceFilter filter;
    filter.workgroups.insert(options.traceWorkgroups.begin(), options.traceWorkgroups.end());
    filter.waves.insert(options.traceWaves.begin(), options.traceWaves.end());
    filter.limit = options.traceLimit;
    if (!options.traceRange.empty()) {
      const auto range = parseRange(options.traceRange, "..");
      if (!range)
        return usageError("--trace-range '{}': write it as 0x1500..0x1580", options.traceRange);
      filter.firstAddress = range->first;
      filter.lastAddress = range->second;
    }
    std::uint64_t lanes = 0;
    ASMEVO_TRY(const auto chosen, parseSet("--trace-lanes", options.traceLanes, 64));
    for (const std::uint64_t lane : chosen)
      lanes |= std::uint64_t{1} << lane;
    if (options.traceLanes.empty())
      lanes = ~std::uint64_t{0};
    state.tracer = emulator::makeTracer(filter, state.accumOffset, [json, lanes](const TracedInstruction& line) {
      if (json)
        printJsonLine(line, lanes);
      else
        fmt::print("{}", emulator::formatTraced(line, lanes));
    });
  }
  if (!options.breakAt.empty()) {
    const auto address = parseNumber(options.breakAt);
    if (!address)
      return usageError("--break '{}' is not an address", options.breakAt);
    emulator::Breakpoint breakpoint;
    breakpoint.address = *address;
    breakpoint.count = options.breakCount;
    breakpoint.workgroups.insert(options.traceWorkgroups.begin(), options.traceWorkgroups.end());
    breakpoint.waves.insert(options.traceWaves.begin(), options.traceWaves.end());
    state.breakpoint = emulator::makeBreakpoint(breakpoint);
    ASMEVO_TRY(state.vgprs, parseSet("--break-vgprs", options.breakVgprs.empty() ? "0-7" : options.breakVgprs, 512));
  }
  return session;
}

void DebugSession::attach(emulator::RunOptions& run) {
  for (const auto& check : state->checks)
    run.observers.push_back(check.get());
  if (state->tracer)
    run.observers.push_back(state->tracer.get());
  if (state->breakpoint)
    run.observers.push_back(state->breakpoint.get());
}

std::vector<emulator::StrictFinding> DebugSession::findings() const {
  std::vector<emulator::StrictFinding> all;
  for (const auto& check : state->checks)
    for (emulator::StrictFinding& finding : check->findings())
      all.push_back(std::move(finding));
  return all;
}

void DebugSession::print() const {
  printFindings(findings());
  for (const auto& check : state->checks)
    for (const std::string& note : check->notes())
      fmt::print("  note: {}\n", note);
  if (state->brokeOff())
    fmt::print("  the run was broken off: its buffers are not complete\n");
  if (state->breakpoint)
    printBreak(*state);
}

void DebugSession::printBreak(const State& state) {
  const auto& dump = state.breakpoint->dump();
  if (!dump) {
    fmt::print("  breakpoint: reached {} times\n", state.breakpoint->hits());
    return;
  }
  fmt::print("  breakpoint: '{}' at {:#x}, wave {} of workgroup {}, time {}\n", dump->text, dump->address, dump->wave,
             dump->workgroup, dump->hits);
  fmt::print("  exec={:#018x} vcc={:#018x} scc={} m0={:#x} mode={:#x}\n", dump->exec, dump->vcc, dump->scc, dump->m0,
             dump->mode);
  for (std::size_t s = 0; s < dump->sgprs.size(); ++s)
    fmt::print("{}s{}={:#x}{}", s % 8 == 0 ? "  " : " ", s, dump->sgprs[s],
               s % 8 == 7 || s + 1 == dump->sgprs.size() ? "\n" : "");
  for (const std::uint64_t v : state.vgprs)
    if (v < dump->vgprs.size())
      fmt::print("  {}: {}\n", emulator::registerName(static_cast<isa::RegUnit>(isa::vgprBase + v), state.accumOffset),
                 emulator::formatLanes(dump->vgprs[v], ~std::uint64_t{0}));
  fmt::print("{}", dump->others);
}

ordered_json DebugSession::breakJson(const State& state) {
  ordered_json json{{"hits", state.breakpoint->hits()}};
  const auto& dump = state.breakpoint->dump();
  if (!dump)
    return json;
  ordered_json vgprs = ordered_json::object();
  for (const std::uint64_t v : state.vgprs)
    if (v < dump->vgprs.size())
      vgprs[emulator::registerName(static_cast<isa::RegUnit>(isa::vgprBase + v), state.accumOffset)] = dump->vgprs[v];
  json.update({{"workgroup", dump->workgroup},
               {"wave", dump->wave},
               {"address", dump->address},
               {"text", dump->text},
               {"exec", hex(dump->exec)},
               {"vcc", hex(dump->vcc)},
               {"scc", dump->scc},
               {"m0", dump->m0},
               {"mode", dump->mode},
               {"sgprs", dump->sgprs},
               {"vgprs", std::move(vgprs)}});
  return json;
}

ordered_json DebugSession::toJson() const {
  ordered_json json = ordered_json::object();
  if (!state->checks.empty()) {
    json["findings"] = cli::toJson(findings());
    json["notes"] = ordered_json::array();
    for (const auto& check : state->checks)
      for (const std::string& note : check->notes())
        json["notes"].push_back(note);
  }
  if (state->brokeOff())
    json["broken_off"] = true;
  if (state->breakpoint)
    json["breakpoint"] = breakJson(*state);
  return json;
}

} // namespace asmevo::cli
