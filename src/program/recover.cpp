/// Recovery: from the bytes of the code sections to basic blocks. Code is found by descending from the entries; what
/// no entry reaches is decoded linearly in between and kept as code if all of it decodes, as opaque data otherwise.
#include "program/pc_reference.h"
#include "program/program.h"

#include "isa/codec.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace asmevo::program {

namespace {

namespace elf = llvm::ELF;

constexpr std::uint64_t preloadPrologueBytes = 256; ///< LLVM AMDGPUUsage, "Preloaded Kernel Arguments"

// Limits that real code stays far below, so that hostile code costs no more than linear time.
constexpr std::size_t traceLimit = 512;       ///< instructions a program counter is followed for
constexpr std::size_t codeProbe = 4096;       ///< instructions that settle whether something is code
constexpr std::size_t maxLiveCounters = 1000; ///< program counters followed across blocks

/// What is known of a dword of a code section.
enum class Mark : std::uint8_t { unknown, start, interior, opaque };

/// Why a place is an entry.
struct Root {
  std::string name;
  bool isFunction = false;       ///< starts a function of its own
  bool entersByRegister = false; ///< its address is taken
  std::uint32_t alignment = 0;
};

/// A code section while it is decoded; positions are dword indices.
struct Scan {
  std::size_t section = 0;
  std::uint64_t address = 0;
  std::span<const std::uint8_t> bytes;
  std::vector<isa::InstRef> code;
  std::vector<Mark> marks;
  std::vector<std::uint8_t> leaders; ///< 1: a block starts here, 2: and it is an entry
  std::vector<std::uint8_t> reached;
  std::map<std::size_t, Root> roots;
  std::set<std::size_t> dataStarts; ///< referred to, but not as code
  std::vector<std::size_t> getpcs;

  std::size_t count() const { return marks.size(); }
  std::uint64_t at(std::size_t position) const { return address + position * 4; }
  std::optional<std::size_t> position(std::uint64_t virtualAddress) const {
    if (virtualAddress < address || virtualAddress - address >= bytes.size() || (virtualAddress - address) % 4 != 0)
      return std::nullopt;
    return (virtualAddress - address) / 4;
  }
  std::size_t length(std::size_t position) const { return (code[position]->size + std::size_t{3}) / 4; }
};

class Recovery {
 public:
  Recovery(const object::CodeObject& object, isa::Codec& codec) : object(object), codec(codec) {}

  Result<Program> run() {
    ASMEVO_CHECK(openSections());
    findRoots();
    descendAll();
    fillGaps();
    for (Scan& scan : scans)
      formBlocks(scan);
    resolve();
    formFunctions();
    program.relink();
    checkLiveProgramCounters();
    return std::move(program);
  }

 private:
  const object::CodeObject& object;
  isa::Codec& codec;
  std::vector<Scan> scans;
  Program program;

  struct Work {
    std::size_t scan, position;
  };
  std::vector<Work> work;

  struct Reference {
    std::size_t scan = 0, getpc = 0;
    PcTrace trace;
    std::vector<std::size_t> positions; ///< of the instructions the trace's indices mean
  };

  struct CodePlace {
    std::size_t scan, position;
  };
  std::optional<CodePlace> placeOf(std::uint64_t address) const {
    for (std::size_t i = 0; i < scans.size(); ++i)
      if (const auto position = scans[i].position(address))
        return CodePlace{i, *position};
    return std::nullopt;
  }

  void pin(std::string reason) {
    if (program.pinned.empty())
      program.pinned = std::move(reason);
  }

  Status openSections() {
    std::uint64_t total = 0;
    for (const object::Section* section : object.codeSections()) {
      const auto index = static_cast<std::size_t>(section - object.sections().data());
      if (section->type == elf::SHT_NOBITS || section->size == 0)
        continue;
      Scan scan;
      scan.section = index;
      scan.address = section->address;
      scan.bytes = object.contents(*section);
      if (scan.bytes.size() != section->size)
        return badInput("{}: code section {} lies outside the file", object.name(), section->name);
      if (scan.address + scan.bytes.size() < scan.address || scan.address % 4 != 0)
        return badInput("{}: code section {} has the impossible address 0x{:x}", object.name(), section->name,
                        section->address);
      total += scan.bytes.size();
      if (total > object.bytes().size())
        return badInput("{}: its code sections overlap", object.name());
      const std::size_t dwords = (scan.bytes.size() + 3) / 4;
      scan.code.resize(dwords);
      scan.marks.resize(dwords);
      scan.leaders.resize(dwords);
      scan.reached.resize(dwords);
      scan.leaders[0] = 1;
      scans.push_back(std::move(scan));
    }
    if (object.elfType() == elf::ET_REL)
      pin("the file is relocatable (ET_REL): link it first");
    return {};
  }

  void addRoot(CodePlace place, const Root& root) {
    Scan& scan = scans[place.scan];
    const auto [it, fresh] = scan.roots.try_emplace(place.position, root);
    if (!fresh) {
      it->second.isFunction |= root.isFunction;
      it->second.entersByRegister |= root.entersByRegister;
      it->second.alignment = std::max(it->second.alignment, root.alignment);
      if (it->second.name.empty())
        it->second.name = root.name;
    }
    scan.leaders[place.position] = 2;
    work.push_back({place.scan, place.position});
  }

  static std::uint32_t alignmentOf(std::uint64_t address, std::uint32_t limit) {
    const std::uint64_t lowest = address == 0 ? limit : address & (~address + 1);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(lowest, limit));
  }

  void findRoots() {
    for (const object::Kernel& kernel : object.kernels()) {
      const auto place = placeOf(kernel.entryAddress);
      if (!place) {
        pin(fmt::format("kernel {} has its entry outside of all code (0x{:x})", kernel.name, kernel.entryAddress));
        continue;
      }
      addRoot(*place, {kernel.name, true, true, alignmentOf(kernel.entryAddress, 256)});
      if ((kernel.descriptor.kernargPreload() & 0x7f) != 0)
        if (const auto second = placeOf(kernel.entryAddress + preloadPrologueBytes))
          addRoot(*second, {"", false, true, 0});
    }
    for (const object::Symbol& symbol : object.symbols()) {
      if (symbol.sectionIndex == elf::SHN_UNDEF)
        continue;
      for (std::size_t i = 0; i < scans.size(); ++i) {
        if (scans[i].section != symbol.sectionIndex)
          continue;
        const auto position = scans[i].position(symbol.value);
        if (!position)
          continue;
        if (symbol.type == elf::STT_FUNC)
          addRoot({i, *position}, {symbol.name, true, true, alignmentOf(symbol.value, 64)});
        else if (symbol.type == elf::STT_OBJECT)
          scans[i].dataStarts.insert(*position);
        else if (symbol.type == elf::STT_NOTYPE && symbol.binding != elf::STB_LOCAL)
          addRoot({i, *position}, {symbol.name, false, true, 0});
      }
    }
    for (const object::Relocation& relocation : object.relocations())
      if (relocation.type == elf::R_AMDGPU_RELATIVE64)
        if (const auto place = placeOf(static_cast<std::uint64_t>(relocation.addend)))
          addRoot(*place, {"", true, true, 0});
    for (std::size_t i = 0; i < scans.size(); ++i)
      if (scans[i].roots.empty() && !scans[i].dataStarts.contains(0))
        addRoot({i, 0}, {"", false, true, 0});
  }

  /// Decodes until there is nothing new; program counter references found on the way may bring new entries.
  void descendAll() {
    std::vector<std::size_t> followed(scans.size(), 0);
    for (;;) {
      while (!work.empty()) {
        const Work next = work.back();
        work.pop_back();
        descend(next);
      }
      for (std::size_t i = 0; i < scans.size(); ++i)
        while (followed[i] < scans[i].getpcs.size())
          rootsOf(traceOf(i, scans[i].getpcs[followed[i]++]));
      if (work.empty())
        return;
    }
  }

  isa::InstRef decodeAt(const Scan& scan, std::size_t position) {
    return codec.decodeShallow(scan.bytes.subspan(position * 4));
  }

  /// SOP1 with s_getpc's shape, whatever its opcode number on this target.
  bool maybeGetpc(isa::InstRef inst) {
    if (inst->cls != isa::InstClass::salu || inst->size != 4 || inst->encoding[3] != 0xbe)
      return false;
    return isGetpc(*codec.complete(inst));
  }

  void descend(Work from) {
    Scan& scan = scans[from.scan];
    for (std::size_t position = from.position; position < scan.count();) {
      if (scan.marks[position] == Mark::start)
        return;
      if (scan.marks[position] == Mark::interior) {
        pin(fmt::format("code reaches 0x{:x}, the middle of an instruction", scan.at(position)));
        return;
      }
      const isa::InstRef inst = decodeAt(scan, position);
      scan.code[position] = inst;
      const std::size_t length = scan.length(position);
      bool overlaps = false;
      for (std::size_t i = 1; i < length; ++i)
        overlaps |= position + i >= scan.count() || scan.marks[position + i] != Mark::unknown ||
                    scan.leaders[position + i] == 2;
      if (inst->cls == isa::InstClass::unknown || overlaps) {
        if (overlaps)
          pin(fmt::format("the instruction at 0x{:x} overlaps another", scan.at(position)));
        else
          pin(fmt::format("the undecodable dword at 0x{:x} is reached", scan.at(position)));
        scan.marks[position] = Mark::opaque;
        scan.reached[position] = 1;
        ++position;
        continue;
      }
      take(scan, position, inst);
      scan.reached[position] = 1;
      if (inst->branchOffset)
        if (const auto target = branchTarget(scan, position)) {
          scan.leaders[*target] = std::max<std::uint8_t>(scan.leaders[*target], 1);
          if (flowOf(inst) == Flow::call)
            addRoot({from.scan, *target}, {"", true, false, 0});
          else
            work.push_back({from.scan, *target});
        }
      if (maybeGetpc(inst))
        scan.getpcs.push_back(position);
      if (inst->cls == isa::InstClass::jump && inst->base.starts_with("s_cbranch_"))
        pin(fmt::format("the fork or join at 0x{:x} keeps addresses on a hardware stack", scan.at(position)));
      if (neverFallsThrough(flowOf(inst)))
        return;
      position += length;
    }
  }

  /// Marks an instruction; branches and jumps are completed, as flowOf needs them.
  void take(Scan& scan, std::size_t position, isa::InstRef inst) {
    if (inst->cls == isa::InstClass::jump || inst->cls == isa::InstClass::branch)
      codec.complete(inst);
    scan.marks[position] = Mark::start;
    for (std::size_t i = 1; i < scan.length(position); ++i)
      scan.marks[position + i] = Mark::interior;
  }

  /// Position that the branch at `position` goes to, whatever is there.
  std::optional<std::size_t> branchTarget(const Scan& scan, std::size_t position) const {
    const auto target =
        static_cast<std::int64_t>(position + scan.length(position)) + *scan.code[position]->branchOffset;
    if (target < 0 || target >= static_cast<std::int64_t>(scan.count()))
      return std::nullopt;
    return static_cast<std::size_t>(target);
  }

  /// Follows the s_getpc_b64 at `getpc` to the end of the straight-line code after it.
  Reference traceOf(std::size_t scanIndex, std::size_t getpc) {
    const Scan& scan = scans[scanIndex];
    Reference reference{scanIndex, getpc, {}, {}};
    std::vector<isa::InstRef> code;
    bool cut = false;
    for (std::size_t position = getpc; position < scan.count() && scan.marks[position] == Mark::start;
         position += scan.length(position)) {
      if (position != getpc && scan.leaders[position])
        break;
      cut = code.size() == traceLimit;
      if (cut)
        break;
      code.push_back(codec.complete(scan.code[position]));
      reference.positions.push_back(position);
      const Flow flow = flowOf(scan.code[position]);
      if (flow != Flow::next && flow != Flow::call)
        break;
    }
    reference.trace = followPc(code, scan.at(getpc) + code.front()->size);
    if (cut && reference.trace.liveAtEnd)
      reference.trace.escapes = true;
    return reference;
  }

  void rootsOf(const Reference& reference) {
    for (const PcUse& use : reference.trace.uses) {
      const auto place = placeOf(use.target);
      if (!place)
        continue;
      const isa::InstRef jump =
          use.jump ? scans[reference.scan].code[reference.positions[*use.jump]] : isa::InstRef{nullptr};
      if (jump)
        addRoot(*place, {"", flowOf(jump) == Flow::call, false, 0});
      else if (looksLikeCode(scans[place->scan], place->position))
        addRoot(*place, {"", true, true, 0});
      else
        scans[place->scan].dataStarts.insert(place->position);
    }
  }

  /// An address that is taken but not seen jumped to is code if it is known to be, or if everything from there decodes
  /// up to an instruction that ends or leaves, before known code begins.
  bool looksLikeCode(const Scan& scan, std::size_t position) {
    if (scan.marks[position] == Mark::start)
      return true;
    for (std::size_t steps = 0;
         position < scan.count() && scan.marks[position] == Mark::unknown && !scan.dataStarts.contains(position);
         ++steps) {
      if (steps == codeProbe)
        return true; // no data decodes for that long
      const isa::InstRef inst = decodeAt(scan, position);
      if (inst->cls == isa::InstClass::unknown)
        return false;
      if (inst->cls == isa::InstClass::jump || inst->cls == isa::InstClass::branch)
        codec.complete(inst);
      if (neverFallsThrough(flowOf(inst)))
        return true;
      position += (inst->size + std::size_t{3}) / 4;
    }
    return false;
  }

  void fillGaps() {
    for (Scan& scan : scans)
      for (std::size_t begin = 0; begin < scan.count();) {
        if (scan.marks[begin] != Mark::unknown) {
          ++begin;
          continue;
        }
        std::size_t end = begin;
        while (end < scan.count() && scan.marks[end] == Mark::unknown)
          ++end;
        fillGap(scan, begin, end);
        begin = end;
      }
  }

  /// What no entry reaches: code if all of it decodes, else opaque; from a data reference on it is opaque anyway.
  void fillGap(Scan& scan, std::size_t begin, std::size_t end) {
    const auto data = scan.dataStarts.lower_bound(begin);
    const std::size_t codeEnd = data != scan.dataStarts.end() && *data < end ? *data : end;
    bool allDecodes = true;
    std::size_t position = begin;
    while (position < codeEnd && allDecodes) {
      const isa::InstRef inst = decodeAt(scan, position);
      scan.code[position] = inst;
      allDecodes = inst->cls != isa::InstClass::unknown && position + scan.length(position) <= codeEnd;
      position += scan.length(position);
    }
    scan.leaders[begin] = 1;
    if (codeEnd < end)
      scan.leaders[codeEnd] = 1;
    for (position = allDecodes ? codeEnd : begin; position < end; ++position)
      scan.marks[position] = Mark::opaque;
    if (!allDecodes)
      return;
    for (position = begin; position < codeEnd; position += scan.length(position)) {
      take(scan, position, scan.code[position]);
      if (maybeGetpc(scan.code[position]))
        scan.getpcs.push_back(position);
      if (scan.code[position]->branchOffset)
        if (const auto target = branchTarget(scan, position))
          scan.leaders[*target] = std::max<std::uint8_t>(scan.leaders[*target], 1);
    }
  }

  void formBlocks(Scan& scan) {
    bool open = false;
    for (std::size_t position = 0; position < scan.count();) {
      const bool opaque = scan.marks[position] == Mark::opaque;
      if (opaque) {
        const std::size_t bytes = std::min<std::size_t>(4, scan.bytes.size() - position * 4);
        scan.code[position] = codec.decodeShallow(scan.bytes.subspan(position * 4, bytes));
      }
      const isa::InstRef inst = scan.code[position];
      if (!open || scan.leaders[position] || opaque != program.blocks.back().opaque) {
        Block block;
        block.address = scan.at(position);
        block.section = scan.section;
        block.opaque = opaque;
        if (const auto root = scan.roots.find(position); root != scan.roots.end()) {
          block.entersByRegister = root->second.entersByRegister;
          block.alignment = root->second.alignment > 4 ? root->second.alignment : 0;
        }
        program.blocks.push_back(std::move(block));
        open = true;
      }
      Block& block = program.blocks.back();
      block.instrs.push_back({inst, scan.at(position), {}, {}, 0});
      block.size += inst->size;
      position += opaque ? 1 : scan.length(position);
      if (!opaque) {
        const Flow flow = flowOf(inst);
        open = flow == Flow::next || flow == Flow::call;
      }
    }
  }

  Instr* instrAt(std::uint64_t address) {
    auto block = std::ranges::upper_bound(program.blocks, address, {}, &Block::address);
    if (block == program.blocks.begin())
      return nullptr;
    --block;
    const auto instr = std::ranges::lower_bound(block->instrs, address, {}, &Instr::address);
    return instr != block->instrs.end() && instr->address == address ? &*instr : nullptr;
  }

  /// Branch targets to block ids, and the final word on program counter references now that all leaders are known.
  void resolve() {
    std::map<std::pair<std::size_t, std::uint64_t>, BlockId> starts;
    for (std::size_t i = 0; i < program.blocks.size(); ++i)
      starts[{program.blocks[i].section, program.blocks[i].address}] = static_cast<BlockId>(i);
    for (Block& block : program.blocks) {
      if (block.opaque)
        continue;
      for (Instr& instr : block.instrs)
        if (instr.inst->branchOffset)
          resolveBranch(instr, block.section, starts);
    }
    if (object.elfType() == elf::ET_REL)
      return; // section addresses are all zero: only the linker knows what the program counter refers to
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < scans.size(); ++i)
      std::ranges::sort(scans[i].getpcs);
    for (std::size_t i = 0; i < scans.size(); ++i)
      for (const std::size_t getpc : scans[i].getpcs)
        resolveReference(traceOf(i, getpc), ++id, starts);
  }

  void resolveBranch(Instr& instr, std::size_t section,
                     const std::map<std::pair<std::size_t, std::uint64_t>, BlockId>& starts) {
    const std::uint64_t after = instr.address + instr.inst->size;
    const std::uint64_t target = after + static_cast<std::uint64_t>(std::int64_t{*instr.inst->branchOffset} * 4);
    const auto found = starts.find({section, target});
    if (found != starts.end()) {
      instr.target = found->second;
      if (flowOf(instr.inst) == Flow::call && target == after)
        pin(fmt::format("the call at 0x{:x} reads its own program counter", instr.address));
    } else if (isReached(instr.address)) {
      pin(fmt::format("the branch at 0x{:x} goes to 0x{:x}, which is no instruction of its section", instr.address,
                      target));
    }
  }

  bool isReached(std::uint64_t address) const {
    const auto place = placeOf(address);
    return place && scans[place->scan].reached[place->position];
  }

  void resolveReference(const Reference& reference, std::uint32_t id,
                        const std::map<std::pair<std::size_t, std::uint64_t>, BlockId>& starts) {
    const Scan& scan = scans[reference.scan];
    Instr* anchor = instrAt(scan.at(reference.getpc));
    if (!anchor)
      return;
    anchor->getpcId = id;
    if (reference.trace.escapes && scan.reached[reference.getpc])
      pin(fmt::format("the program counter read at 0x{:x} is used in a way that is not followed", anchor->address));
    for (const PcUse& use : reference.trace.uses) {
      Instr* low = instrAt(scan.at(reference.positions[use.low]));
      Instr* high = instrAt(scan.at(reference.positions[use.high]));
      if (!low || !high)
        continue;
      low->pcRef = PcReference{use.target, id, false, use.negated};
      high->pcRef = PcReference{use.target, id, true, use.negated};
      if (!use.jump)
        continue;
      if (const auto place = placeOf(use.target))
        if (const auto block = starts.find({scans[place->scan].section, use.target}); block != starts.end())
          if (Instr* jump = instrAt(scan.at(reference.positions[*use.jump])))
            jump->target = block->second;
    }
    if (reference.trace.liveAtEnd && scan.reached[reference.getpc])
      liveCounters.push_back({anchor->address, scan.at(reference.positions.back()), *reference.trace.liveAtEnd});
  }

  /// A raw program counter that is still in its registers where its block ends.
  struct LiveCounter {
    std::uint64_t getpc, lastInstruction;
    unsigned reg;
  };
  std::vector<LiveCounter> liveCounters;

  void checkLiveProgramCounters() {
    if (liveCounters.size() > maxLiveCounters)
      pin("more program counters stay in registers than are worth following");
    if (!program.pinned.empty())
      return;
    for (const LiveCounter& counter : liveCounters) {
      const auto block = std::ranges::upper_bound(program.blocks, counter.lastInstruction, {}, &Block::address);
      if (block == program.blocks.begin())
        continue;
      const auto start = static_cast<BlockId>(block - program.blocks.begin() - 1);
      if (isReadBeforeWritten(program.blocks[start].successors, counter.reg) ||
          isReadBeforeWritten(program.blocks[start].successors, counter.reg + 1))
        pin(fmt::format("the program counter read at 0x{:x} is used in a way that is not followed", counter.getpc));
    }
  }

  bool isReadBeforeWritten(std::vector<BlockId> todo, unsigned reg) {
    std::vector<bool> seen(program.blocks.size());
    while (!todo.empty()) {
      const BlockId id = todo.back();
      todo.pop_back();
      if (seen[id])
        continue;
      seen[id] = true;
      const Block& block = program.blocks[id];
      bool written = false;
      for (std::size_t i = 0; i < block.instrs.size() && !written; ++i) {
        const isa::InstRef inst = codec.complete(block.instrs[i].inst);
        for (const isa::Operand& operand : inst->operands) {
          if (operand.kind != isa::OperandKind::sgpr || reg < operand.index ||
              reg >= operand.index + unsigned{operand.dwords})
            continue;
          if (!operand.isDef)
            return true;
          written = true;
        }
      }
      if (!written)
        todo.insert(todo.end(), block.successors.begin(), block.successors.end());
    }
    return false;
  }

  void formFunctions() {
    const auto blockAt = [&](std::uint64_t address) -> std::optional<BlockId> {
      const auto block = std::ranges::lower_bound(program.blocks, address, {}, &Block::address);
      if (block == program.blocks.end() || block->address != address)
        return std::nullopt;
      return static_cast<BlockId>(block - program.blocks.begin());
    };
    std::set<std::uint64_t> kernelEntries;
    for (std::size_t i = 0; i < object.kernels().size(); ++i) {
      const object::Kernel& kernel = object.kernels()[i];
      const auto entry = placeOf(kernel.entryAddress) ? blockAt(kernel.entryAddress) : std::nullopt;
      if (!entry)
        continue;
      Function function{kernel.name, kernel.entryAddress, *entry, {}, i, {}};
      if ((kernel.descriptor.kernargPreload() & 0x7f) != 0)
        function.preloadEntry = blockAt(kernel.entryAddress + preloadPrologueBytes);
      kernelEntries.insert(kernel.entryAddress);
      program.functions.push_back(std::move(function));
    }
    for (const Scan& scan : scans)
      for (const auto& [position, root] : scan.roots) {
        const std::uint64_t address = scan.at(position);
        if (!root.isFunction || kernelEntries.contains(address))
          continue;
        if (const auto entry = blockAt(address))
          program.functions.push_back(
              {root.name.empty() ? fmt::format("func_{:x}", address) : root.name, address, *entry, {}, {}, {}});
      }
  }
};

} // namespace

Result<Program> Program::recover(const object::CodeObject& object, isa::Codec& codec, Detail detail) {
  ASMEVO_TRY(Program program, Recovery(object, codec).run());
  if (detail == Detail::full)
    for (Block& block : program.blocks)
      for (Instr& instr : block.instrs)
        codec.complete(instr.inst);
  return program;
}

} // namespace asmevo::program
