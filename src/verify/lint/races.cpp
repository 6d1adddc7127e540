#include "verify/lint/parts.h"
#include "verify/lint/thread_values.h"

#include <algorithm>
#include <unordered_map>

namespace asmevo::verify {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using program::Place;

constexpr unsigned waveSize = 64;
constexpr unsigned sizeNotChosen = 1024; ///< what compilers write when the source does not say

/// What v0 holds in each work-item of the largest workgroup the kernel may be launched with, one dimension unless the
/// metadata asks for more. Empty: not known, or one wave.
ThreadValues itemIds(const object::Kernel& kernel) {
  if (!kernel.metadata)
    return {};
  std::array<std::uint32_t, 3> size{kernel.metadata->maxFlatWorkgroupSize, 1, 1};
  if (kernel.metadata->requiredWorkgroupSize)
    size = *kernel.metadata->requiredWorkgroupSize;
  else if (size[0] >= sizeNotChosen)
    return {};
  const std::uint64_t items = std::uint64_t{size[0]} * size[1] * size[2];
  if (items <= waveSize || items > sizeNotChosen)
    return {};
  ThreadValues ids;
  for (std::uint32_t z = 0; z < size[2]; ++z)
    for (std::uint32_t y = 0; y < size[1]; ++y)
      for (std::uint32_t x = 0; x < size[0]; ++x)
        ids.push_back(x | y << 10 | z << 20);
  return ids;
}

/// A load or store whose address is known in every work-item, up to a base.
struct Access {
  Place place;
  bool lds = false, write = false;
  unsigned epoch = 0;                  ///< barriers before it
  std::array<std::uint32_t, 3> base{}; ///< register and its versions; LDS: zeros
  unsigned bytes = 0;
  ThreadValues address;
};

unsigned accessBytes(const Instruction& inst, const Operand& data) {
  const std::string_view base = inst.base;
  for (const std::string_view part : {"byte", "_b8", "_u8", "_i8"})
    if (base.find(part) != std::string_view::npos)
      return 1;
  for (const std::string_view part : {"short", "_b16", "_u16", "_i16"})
    if (base.find(part) != std::string_view::npos)
      return 2;
  return 4u * data.dwords;
}

class RaceLint {
 public:
  RaceLint(LintContext& c, const program::Function& k, ThreadValues ids)
      : context(c), kernel(k), state(std::move(ids), c.accumOffsetOf(k)) {}

  void run() {
    collect();
    for (const Access& store : accesses)
      if (store.write)
        for (const Access& load : accesses)
          if (!load.write && load.lds == store.lds && load.base == store.base && load.epoch == store.epoch)
            compare(store, load);
  }

 private:
  /// From the entry on as far as all waves go the same way.
  void collect() {
    const program::Program& code = context.code;
    program::BlockId id = kernel.entryBlock;
    std::vector<bool> visited(code.blocks.size());
    while (!visited[id] && !code.blocks[id].opaque && code.blocks[id].predecessors.size() <= 1) {
      visited[id] = true;
      const program::Block& block = code.blocks[id];
      for (std::uint32_t i = 0; i < block.instrs.size(); ++i) {
        const Instruction& inst = *block.instrs[i].inst;
        if (inst.leavesFunction() || inst.entersGprIdxMode() || !inst.isComplete)
          return;
        if (inst.cls == InstClass::barrier)
          ++epoch;
        else if (state.execFull())
          note({id, i}, inst);
        state.step(inst);
      }
      // Past a branch it is not known that every wave is there.
      if (block.successors.size() != 1)
        return;
      id = block.successors[0];
    }
  }

  void note(Place place, const Instruction& inst) {
    const bool lds = inst.cls == InstClass::lds && !inst.mods.gds &&
                     (inst.base.starts_with("ds_read_") || inst.base.starts_with("ds_write_"));
    const bool global = inst.cls == InstClass::global &&
                        (inst.base.starts_with("global_load_") || inst.base.starts_with("global_store_"));
    if ((!lds && !global) || inst.isLdsDma() || inst.isAtomic() || inst.mayLoad == inst.mayStore)
      return;
    Access access{place, lds, inst.mayStore, epoch, {}, 0, {}};
    const Operand* address = nullptr;
    const Operand* data = nullptr;
    for (const Operand& operand : inst.operands) {
      if (operand.kind == OperandKind::sgpr && operand.dwords == 2)
        access.base = {operand.index + 1u, state.versionOf(operand.index), state.versionOf(operand.index + 1u)};
      if (operand.kind != OperandKind::vgpr)
        continue;
      if (operand.isDef || (address && access.write))
        data = &operand;
      else if (!address)
        address = &operand;
    }
    if (!address || !data || address->dwords != 1 || (global && access.base[0] == 0))
      return;
    const auto values = state.valueOf(*address);
    if (!values)
      return;
    access.address = *values;
    for (std::uint32_t& a : access.address)
      a += static_cast<std::uint32_t>(inst.mods.offset);
    access.bytes = accessBytes(inst, *data);
    accesses.push_back(std::move(access));
  }

  void compare(const Access& store, const Access& load) {
    std::unordered_map<std::uint32_t, std::uint32_t> writers; ///< byte: work-item
    for (std::uint32_t t = 0; t < store.address.size(); ++t)
      for (unsigned k = 0; k < store.bytes; ++k)
        writers[store.address[t] + k] = t;
    for (std::uint32_t t = 0; t < load.address.size(); ++t)
      for (unsigned k = 0; k < load.bytes; ++k)
        if (const auto found = writers.find(load.address[t] + k);
            found != writers.end() && found->second / waveSize != t / waveSize)
          return report(store, load, found->second, t);
  }

  void report(const Access& store, const Access& load, std::uint32_t writer, std::uint32_t reader) {
    const char* space = load.lds ? "lds" : "global";
    const auto [first, second] = std::minmax(store.place, load.place);
    LintFinding finding = context.start(fmt::format("{}_race", space), fmt::format("race.{}", space), Severity::error,
                                        store.place, load.place, kernel);
    finding.message =
        fmt::format("work-item {} of wave {} reads what work-item {} of wave {} stores by \"{}\" at {:#x}, "
                    "without a barrier between them",
                    reader, reader / waveSize, writer, writer / waveSize, finding.producerText, finding.producer);
    if (context.options.paths) {
      const auto step = [](const program::Instr&, unsigned value) { return std::optional(value); };
      finding.path = context.addressesOf(program::shortestPath(context.code, context.sites, first, second, step));
    }
    context.add(std::move(finding));
  }

  LintContext& context;
  const program::Function& kernel;
  ThreadState state;
  unsigned epoch = 0;
  std::vector<Access> accesses;
};

} // namespace

void lintRaces(LintContext& context, const program::Function& kernel) {
  if (!kernel.kernel || !context.object.target().isGfx9())
    return;
  ThreadValues ids = itemIds(context.object.kernels()[*kernel.kernel]);
  if (!ids.empty())
    RaceLint(context, kernel, std::move(ids)).run();
}

} // namespace asmevo::verify
