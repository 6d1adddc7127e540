#include "listing.h"

#include <fmt/format.h>

#include <algorithm>

namespace asmevo::bench {
namespace {

/// Bytes per lane of a memory instruction, by its mnemonic's ending.
unsigned bytesOf(const std::string& base) {
  constexpr std::pair<const char*, unsigned> endings[] = {
      {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"_b128", 16}, {"_b96", 12},
      {"_b64", 8},     {"_b32", 4},     {"_b16", 2},    {"short", 2}, {"ushort", 2}, {"ubyte", 1},
      {"byte", 1},     {"_b8", 1},      {"_tr_b16", 8}, {"_tr_b8", 8}};
  for (const auto& [ending, bytes] : endings)
    if (base.ends_with(ending))
      return bytes * (base.starts_with("ds_write2") || base.starts_with("ds_read2") ? 2 : 1);
  return 4;
}

/// One wave's trace from its path.
class WaveTracer {
 public:
  explicit WaveTracer(std::uint64_t firstAddress) : next(firstAddress) {}
  void step(const ListedInstruction& at) {
    trace.path.push_back(at.offset);
    using enum isa::InstClass;
    const isa::Instruction& inst = *at.inst;
    const bool store = inst.base.find("store") != std::string::npos || inst.base.starts_with("ds_write");
    switch (inst.cls) {
    case vmem:
    case flat:
    case global:
    case scratch: {
      const unsigned bytes = bytesOf(inst.base);
      emulator::MemoryAccess& access = add(emulator::Space::global, bytes, store);
      access.returns = !store;
      for (std::uint64_t line = next / 64; line < (next + 64 * bytes + 63) / 64; ++line)
        trace.lines.push_back(line);
      access.lineCount = static_cast<std::uint16_t>(trace.lines.size() - access.firstLine);
      next += 64 * std::uint64_t{std::max(bytes, 4U)};
      break;
    }
    case smem: {
      emulator::MemoryAccess& access = add(emulator::Space::scalar, 4, false);
      trace.lines.push_back(1);
      access.lineCount = 1;
      break;
    }
    case lds: {
      const unsigned bytes = bytesOf(inst.base);
      add(emulator::Space::lds, std::min(bytes, 16U), store);
      for (unsigned lane = 0; lane < 64; ++lane)
        trace.ldsAddresses.push_back(lane * std::min(bytes, 16U));
      break;
    }
    default:
      break;
    }
  }
  emulator::WaveTrace trace;

 private:
  emulator::MemoryAccess& add(emulator::Space space, unsigned bytes, bool store) {
    emulator::MemoryAccess& access = trace.accesses.emplace_back();
    access.step = static_cast<std::uint32_t>(trace.path.size() - 1);
    access.space = space;
    access.store = store;
    access.bytesPerLane = static_cast<std::uint8_t>(bytes);
    access.activeLanes = 64;
    access.firstLine = static_cast<std::uint32_t>(trace.lines.size());
    access.firstLane = static_cast<std::uint32_t>(trace.ldsAddresses.size());
    return access;
  }
  std::uint64_t next;
};

Status readCode(isa::Codec& codec, const std::string& folder, ListedKernel& kernel) {
  ASMEVO_TRY(const Table table, Table::read(fmt::format("{}/att_gfx950_{}_code.csv", folder, kernel.name)));
  ASMEVO_TRY(const std::size_t pc, table.column("pc_off"));
  ASMEVO_TRY(const std::size_t text, table.column("instruction"));
  constexpr std::int64_t codeLimit = 1 << 24;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::int64_t offset = table.number(row, pc);
    if (offset < 0 || offset % 4 || offset >= codeLimit)
      return badInput("{}: offset {} is no place for an instruction", kernel.name, offset);
    auto assembled = codec.assemble(table.text(row, text));
    if (!assembled)
      return badInput("{} at {}: {}: {}", kernel.name, offset, table.text(row, text), assembled.error().message);
    kernel.instructions.push_back({static_cast<std::uint32_t>(offset), table.text(row, text), *assembled});
    const auto dword = static_cast<std::size_t>(offset) / 4;
    kernel.code.resize(std::max(kernel.code.size(), dword + (*assembled)->size / 4U));
    kernel.code[dword] = *assembled;
  }
  return {};
}

Status readWaves(const std::string& folder, ListedKernel& kernel) {
  ASMEVO_TRY(const Table places, Table::read(folder + "/att_gfx950_waves.csv"));
  ASMEVO_TRY(const std::size_t name, places.column("kernel"));
  ASMEVO_TRY(const std::size_t variant, places.column("var"));
  ASMEVO_TRY(const std::size_t number, places.column("wave"));
  ASMEVO_TRY(const std::size_t engine, places.column("se"));
  ASMEVO_TRY(const std::size_t cu, places.column("cu"));
  ASMEVO_TRY(const std::size_t simd, places.column("simd"));
  ASMEVO_TRY(const std::size_t begin, places.column("begin_clk"));
  ASMEVO_TRY(const std::size_t end, places.column("end_clk"));
  std::map<std::int64_t, MeasuredWave> waves;
  for (std::size_t row = 0; row < places.rows(); ++row)
    if (places.text(row, name) + "_" + places.text(row, variant) == kernel.name) {
      MeasuredWave& wave = waves[places.number(row, number)];
      wave.begin = places.number(row, begin);
      wave.end = places.number(row, end);
      wave.engine = static_cast<unsigned>(places.number(row, engine));
      wave.cu = static_cast<unsigned>(places.number(row, cu));
      wave.simd = static_cast<unsigned>(places.number(row, simd));
    }
  ASMEVO_TRY(const Table steps, Table::read(fmt::format("{}/att_gfx950_{}_inst.csv.gz", folder, kernel.name)));
  ASMEVO_TRY(const std::size_t wave, steps.column("wave"));
  ASMEVO_TRY(const std::size_t clk, steps.column("issue_clk"));
  ASMEVO_TRY(const std::size_t index, steps.column("idx"));
  ASMEVO_TRY(const std::size_t duration, steps.column("dur_clk"));
  for (std::size_t row = 0; row < steps.rows(); ++row) {
    const std::int64_t instruction = steps.number(row, index) - 1; // numbered from 1
    if (instruction < 0 || static_cast<std::size_t>(instruction) >= kernel.instructions.size())
      return badInput("{}: a wave runs instruction {}, which is not listed", kernel.name, instruction + 1);
    waves[steps.number(row, wave)].steps.push_back(
        {steps.number(row, clk), static_cast<std::uint32_t>(instruction), steps.number(row, duration)});
  }
  for (auto& [id, each] : waves)
    if (!each.steps.empty())
      kernel.waves.push_back(std::move(each));
  return {};
}

} // namespace

Result<ListedKernel> ListedKernel::read(isa::Codec& codec, const std::string& folder, const std::string& name) {
  ListedKernel kernel;
  kernel.name = name;
  ASMEVO_CHECK(readCode(codec, folder, kernel));
  ASMEVO_CHECK(readWaves(folder, kernel));
  return kernel;
}

std::vector<std::vector<unsigned>> ListedKernel::members(unsigned wavesPerGroup) const {
  std::map<std::pair<unsigned, unsigned>, std::vector<unsigned>> byCu;
  for (unsigned i = 0; i < waves.size(); ++i)
    byCu[{waves[i].engine, waves[i].cu}].push_back(i);
  std::vector<std::vector<unsigned>> groups;
  for (auto& [cu, list] : byCu) {
    std::sort(list.begin(), list.end(), [&](unsigned a, unsigned b) {
      return waves[a].begin != waves[b].begin ? waves[a].begin < waves[b].begin : a < b;
    });
    for (std::size_t first = 0; first + wavesPerGroup <= list.size(); first += wavesPerGroup)
      groups.emplace_back(list.begin() + static_cast<std::ptrdiff_t>(first),
                          list.begin() + static_cast<std::ptrdiff_t>(first + wavesPerGroup));
  }
  return groups;
}

std::vector<emulator::WorkgroupTrace> ListedKernel::workgroups(unsigned wavesPerGroup) const {
  std::vector<emulator::WorkgroupTrace> groups;
  std::uint64_t address = 1 << 20;
  for (const std::vector<unsigned>& list : members(wavesPerGroup)) {
    emulator::WorkgroupTrace& group = groups.emplace_back();
    group.index = groups.size() - 1;
    for (const unsigned wave : list) {
      WaveTracer tracer(address);
      address += 1 << 20;
      for (const MeasuredStep& step : waves[wave].steps)
        tracer.step(instructions[step.instruction]);
      group.waves.push_back(std::move(tracer.trace));
    }
  }
  return groups;
}

} // namespace asmevo::bench
