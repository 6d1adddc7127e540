/// Recovery: from the bytes of the code sections to basic blocks. Code is found by descending from the entries; what
/// no entry reaches is decoded linearly in between and kept as code if all of it decodes, as opaque data otherwise.
#include "program/address_flow.h"
#include "program/address_region.h"
#include "program/pc_reference.h"
#include "program/program.h"
#include "program/unknown_encoding.h"

#include "isa/codec.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace asmevo::program {

namespace {

namespace elf = llvm::ELF;

constexpr std::uint64_t preloadPrologueBytes = 256; ///< LLVM AMDGPUUsage, "Preloaded Kernel Arguments"

// Limits that real code stays far below, so that hostile code costs no more than linear time.
constexpr std::size_t codeProbe = 4096;       ///< instructions that settle whether something is code
constexpr std::size_t maxRounds = 64;         ///< of decoding what the last round's addresses led to
constexpr std::size_t maxPassed = 1000;       ///< program counters passed to functions
constexpr std::size_t maxTableEntries = 4096; ///< of a table of code addresses

/// What is known of a dword of a code section.
enum class Mark : std::uint8_t { unknown, start, interior, opaque };

/// Why a place is an entry.
struct Root {
  std::string name;
  bool isFunction = false;       ///< starts a function of its own
  bool entersByRegister = false; ///< its address is taken
  std::uint32_t alignment = 0;
  bool fromSlot = false; ///< relocated data points to it; a function, if that is no jump table
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
    // In a relocatable file section addresses are all zero: only the linker knows what program counters refer to.
    const bool isLinked = object.elfType() != elf::ET_REL;
    if (readsCounter && isLinked)
      exploreAddresses();
    fillGaps();
    build();
    if (readsCounter && isLinked)
      settleAddresses();
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

  bool readsCounter = false; ///< any instruction so far takes the program counter as a value

  /// Where a table of code addresses leads.
  struct KnownTable {
    AddressFlow::TableJump use;
    std::vector<std::uint64_t> targets;
    bool isCall = false;
  };
  /// By address of the jump or call.
  std::map<std::uint64_t, std::uint64_t> knownJumps;
  std::map<std::uint64_t, KnownTable> knownTables;

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
      it->second.fromSlot |= root.fromSlot;
      it->second.alignment = std::max(it->second.alignment, root.alignment);
      if (it->second.name.empty())
        it->second.name = root.name;
    }
    scan.leaders[place.position] = 2;
    work.push_back({place.scan, place.position});
  }

  /// The address that a dynamic relocation puts into 8 bytes of data, if it is one of this object.
  std::optional<std::uint64_t> relocatedAddress(const object::Relocation& relocation) const {
    const auto addend = static_cast<std::uint64_t>(relocation.addend);
    if (relocation.section != 0 && object.elfType() == elf::ET_REL)
      return std::nullopt;
    if (relocation.type == elf::R_AMDGPU_RELATIVE64)
      return addend;
    if (relocation.type != elf::R_AMDGPU_ABS64)
      return std::nullopt;
    if (relocation.symbol == 0)
      return addend;
    const object::Symbol* symbol = object.relocationSymbol(relocation);
    if (!symbol || symbol->sectionIndex == elf::SHN_UNDEF)
      return std::nullopt;
    return symbol->value + addend;
  }
  std::map<std::uint64_t, std::uint64_t> slots; ///< relocated data: address to what it points to

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
      if (const auto address = relocatedAddress(relocation)) {
        slots[relocation.offset] = *address;
        if (const auto place = placeOf(*address))
          addRoot(*place, {"", false, false, 0, true});
      }
    for (std::size_t i = 0; i < scans.size(); ++i)
      if (scans[i].roots.empty() && !scans[i].dataStarts.contains(0))
        addRoot({i, 0}, {"", false, true, 0});
  }

  void descendAll() {
    while (!work.empty()) {
      const Work next = work.back();
      work.pop_back();
      descend(next);
    }
  }

  isa::InstRef decodeAt(const Scan& scan, std::size_t position) {
    return codec.decodeShallow(scan.bytes.subspan(position * 4));
  }

  /// s_getpc and s_add_pc are SOP1, whatever their opcode number on this target.
  void noteCounter(isa::InstRef inst) {
    if (readsCounter || !isSop1(*inst))
      return;
    if (inst->cls == isa::InstClass::jump)
      readsCounter = codec.complete(inst)->base.starts_with("s_add_pc_");
    else
      readsCounter = inst->cls == isa::InstClass::salu && inst->size == 4 && isGetpc(*codec.complete(inst));
  }

  void descend(Work from) {
    Scan& scan = scans[from.scan];
    for (std::size_t position = from.position; position < scan.count();) {
      if (scan.marks[position] == Mark::start)
        return;
      const isa::InstRef inst = decodeAt(scan, position);
      const bool isOpaque = scan.marks[position] == Mark::opaque;
      if (scan.marks[position] == Mark::interior || (isOpaque && inst->cls != isa::InstClass::unknown))
        pin(fmt::format("code reaches 0x{:x}, the middle of an instruction", scan.at(position)));
      if (scan.marks[position] == Mark::interior || isOpaque)
        return;
      scan.code[position] = inst;
      const std::size_t length = scan.length(position);
      bool overlaps = false;
      for (std::size_t i = 1; i < length; ++i)
        overlaps |= position + i >= scan.count() || scan.marks[position + i] != Mark::unknown ||
                    scan.leaders[position + i] == 2;
      if (inst->cls == isa::InstClass::unknown || overlaps) {
        if (overlaps)
          pin(fmt::format("the instruction at 0x{:x} overlaps another", scan.at(position)));
        position += passUnknown(scan, position, overlaps);
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
      noteCounter(inst);
      if (inst->cls == isa::InstClass::jump && inst->base.starts_with("s_cbranch_"))
        pin(fmt::format("the fork or join at 0x{:x} keeps addresses on a hardware stack", scan.at(position)));
      if (neverFallsThrough(flowOf(inst)))
        return;
      position += length;
    }
  }

  /// Makes what cannot be decoded opaque, as far as it belongs together; gives its dwords.
  std::size_t passUnknown(Scan& scan, std::size_t position, bool overlaps) {
    const UnknownEncoding encoding =
        overlaps ? UnknownEncoding() : unknownEncoding(scan.bytes.subspan(position * 4), object.target());
    if (!overlaps && !encoding.isVector)
      pin(fmt::format("the undecodable dword at 0x{:x} is reached", scan.at(position)));
    const std::size_t length = encoding.bytes / 4;
    for (std::size_t i = 0; i < length; ++i) {
      if (i > 0 && (scan.marks[position + i] != Mark::unknown || scan.leaders[position + i] == 2)) {
        pin(fmt::format("the undecodable instruction at 0x{:x} overlaps another", scan.at(position)));
        return i;
      }
      scan.marks[position + i] = Mark::opaque;
      scan.reached[position + i] = 1;
    }
    return length;
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
      noteCounter(scan.code[position]);
      if (scan.code[position]->branchOffset)
        if (const auto target = branchTarget(scan, position))
          scan.leaders[*target] = std::max<std::uint8_t>(scan.leaders[*target], 1);
    }
  }

  void formBlocks(Scan& scan) {
    bool open = false;
    for (std::size_t position = 0; position < scan.count();) {
      if (scan.marks[position] == Mark::unknown) { // not looked at yet
        open = false;
        ++position;
        continue;
      }
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
          block.entersByRegister =
              root->second.entersByRegister || (root->second.fromSlot && pointedTo.contains(block.address));
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

  /// Blocks, edges and functions of what is decoded and known so far.
  void build() {
    program.blocks.clear();
    program.functions.clear();
    program.codeTables.clear();
    findPointedTo();
    for (Scan& scan : scans)
      formBlocks(scan);
    std::map<std::pair<std::size_t, std::uint64_t>, BlockId> starts;
    for (std::size_t i = 0; i < program.blocks.size(); ++i)
      starts[{program.blocks[i].section, program.blocks[i].address}] = static_cast<BlockId>(i);
    for (Block& block : program.blocks)
      if (!block.opaque)
        for (Instr& instr : block.instrs)
          if (instr.inst->branchOffset)
            resolveBranch(instr, block.section, starts);
    applyJumps();
    formFunctions();
    program.relink();
  }

  std::set<std::uint64_t> pointedTo; ///< by relocated data other than jump tables
  void findPointedTo() {
    std::set<std::uint64_t> inJumpTables;
    for (const auto& [jump, table] : knownTables)
      if (!table.use.isRelative && !table.isCall)
        for (std::size_t i = 0; i < table.targets.size(); ++i)
          inJumpTables.insert(table.use.table + i * table.use.entryBytes);
    pointedTo.clear();
    for (const auto& [slot, target] : slots)
      if (!inJumpTables.contains(slot))
        pointedTo.insert(target);
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

  std::optional<BlockId> blockAt(std::uint64_t address) const {
    const auto block = std::ranges::lower_bound(program.blocks, address, {}, &Block::address);
    if (block == program.blocks.end() || block->address != address)
      return std::nullopt;
    return static_cast<BlockId>(block - program.blocks.begin());
  }

  void applyJumps() {
    for (const auto& [jump, target] : knownJumps)
      if (Instr* instr = instrAt(jump))
        instr->target = blockAt(target);
    for (const auto& [jump, known] : knownTables) {
      Instr* instr = instrAt(jump);
      if (!instr)
        continue;
      CodeTable table{
          known.use.table, known.use.entryBytes, known.use.isRelative, known.use.isSigned, known.use.base, 0, {}};
      for (const std::uint64_t target : known.targets)
        if (const auto block = blockAt(target))
          table.targets.push_back(*block);
      if (table.targets.size() != known.targets.size())
        continue;
      program.codeTables.push_back(std::move(table));
      instr->codeTable = static_cast<std::uint32_t>(program.codeTables.size());
    }
  }

  const Instr& instrOf(InstrPlace place) const { return program.blocks[place.block].instrs[place.index]; }
  bool isReached(InstrPlace place) const { return program.blocks[place.block].reachable; }

  /// Decodes what code addresses lead to until they lead to nothing new.
  void exploreAddresses() {
    for (std::size_t round = 0; round < maxRounds; ++round) {
      build();
      const AddressFlow flow = followAddresses(program, codec);
      if (!learn(flow))
        return;
      descendAll();
    }
    pin("code addresses lead to ever more code addresses");
  }

  bool learn(const AddressFlow& flow) {
    bool isNew = false;
    std::set<std::uint64_t> jumpedTo;
    for (const AddressFlow::Jump& jump : flow.jumps) {
      const Instr& instr = instrOf(jump.at);
      jumpedTo.insert(jump.target);
      if (!isReached(jump.at))
        continue;
      if (!placeOf(jump.target)) {
        pin(fmt::format("the jump at 0x{:x} goes to 0x{:x}, which is no code", instr.address, jump.target));
        continue;
      }
      isNew |= knownJumps.insert_or_assign(instr.address, jump.target).second;
      isNew |= addTarget(jump.target, flowOf(instr.inst) == Flow::call, false);
    }
    for (const AddressFlow::Address& address : flow.addresses)
      if (address.isLoaded)
        if (const auto place = placeOf(address.target))
          scans[place->scan].dataStarts.insert(place->position);
    for (const AddressFlow::TableJump& use : flow.tableJumps) {
      if (isReached(use.at))
        isNew |= learnTable(flow, use);
      jumpedTo.insert(use.base);
    }
    for (const AddressFlow::Address& address : flow.addresses) {
      const auto place = placeOf(address.target);
      if (!place || address.isLoaded || address.isPrefetched || jumpedTo.contains(address.target))
        continue;
      if (looksLikeCode(scans[place->scan], place->position))
        isNew |= addTarget(address.target, true, true);
      else
        scans[place->scan].dataStarts.insert(place->position);
    }
    return isNew;
  }

  bool addTarget(std::uint64_t address, bool isFunction, bool isTaken) {
    const auto place = placeOf(address);
    if (!place)
      return false;
    const auto& roots = scans[place->scan].roots;
    const auto root = roots.find(place->position);
    if (root != roots.end() && root->second.isFunction >= isFunction && root->second.entersByRegister >= isTaken)
      return false;
    addRoot(*place, {"", isFunction, isTaken, 0});
    return true;
  }

  std::optional<std::uint64_t> dataAt(std::uint64_t address, unsigned bytes) const {
    const auto offset = object.fileOffset(address);
    if (!offset || object.bytes().size() < bytes || *offset > object.bytes().size() - bytes)
      return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, object.bytes().data() + *offset, bytes);
    return value;
  }

  /// First address behind `start` where something else begins, as far as symbols and references tell.
  std::uint64_t boundaryAfter(const AddressFlow& flow, std::uint64_t start) const {
    std::uint64_t boundary = noAddress;
    const auto consider = [&](std::uint64_t address) {
      if (address > start)
        boundary = std::min(boundary, address);
    };
    for (const object::Section& section : object.sections())
      if (section.contains(start) && (section.flags & elf::SHF_ALLOC) != 0)
        consider(section.address + section.size);
    for (const object::Symbol& symbol : object.symbols()) {
      if (symbol.sectionIndex == elf::SHN_UNDEF || symbol.type == elf::STT_SECTION)
        continue;
      consider(symbol.value);
      if (symbol.type == elf::STT_OBJECT && symbol.value <= start && start - symbol.value < symbol.size)
        consider(symbol.value + symbol.size);
    }
    for (const AddressFlow::Address& address : flow.addresses)
      consider(address.target);
    return boundary;
  }

  bool isCodeTarget(std::uint64_t address) {
    const auto place = placeOf(address);
    if (!place || scans[place->scan].dataStarts.contains(place->position))
      return false;
    const Scan& scan = scans[place->scan];
    const Mark mark = scan.marks[place->position];
    return mark == Mark::start ||
           (mark == Mark::unknown && decodeAt(scan, place->position)->cls != isa::InstClass::unknown);
  }

  bool learnTable(const AddressFlow& flow, const AddressFlow::TableJump& use) {
    const Instr& jump = instrOf(use.at);
    const std::uint64_t base =
        use.counter ? instrOf(*use.counter).address + instrOf(*use.counter).inst->size : use.base;
    const std::uint64_t boundary = boundaryAfter(flow, use.table);
    std::uint64_t end = use.isIndexed ? boundary : use.table + use.entryBytes;
    KnownTable table{use, {}, flowOf(jump.inst) == Flow::call};
    std::uint64_t at = use.table;
    bool isSure = true;
    for (; at + use.entryBytes <= end && table.targets.size() < maxTableEntries; at += use.entryBytes) {
      const auto raw = dataAt(at, use.entryBytes);
      const auto slot = slots.find(at);
      if (use.isRelative ? slot != slots.end() || !raw : slot == slots.end())
        break;
      std::uint64_t target = use.isRelative ? *raw : slot->second;
      if (use.isRelative) {
        if (use.entryBytes == 4 && use.isSigned)
          target = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(target)});
        target += base;
      }
      if (!isCodeTarget(target)) {
        isSure = !use.isRelative || isZero(at, end);
        break;
      }
      table.targets.push_back(target);
      if (target > use.table) // the code behind a table that stands between code
        end = std::min(end, target);
    }
    if (table.targets.empty() || table.targets.size() == maxTableEntries || (use.isRelative && !isSure)) {
      pin(fmt::format("the end of the table at 0x{:x} that the jump at 0x{:x} goes by is not certain", use.table,
                      jump.address));
      return false;
    }
    bool isNew = false;
    for (const std::uint64_t target : table.targets)
      isNew |= addTarget(target, table.isCall, false);
    const auto known = knownTables.find(jump.address);
    isNew |= known == knownTables.end() || known->second.targets != table.targets;
    knownTables.insert_or_assign(jump.address, std::move(table));
    return isNew;
  }

  bool isZero(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t at = begin; at < end; ++at)
      if (dataAt(at, 1) != 0)
        return false;
    return true;
  }

  /// The final word on program counter references, now that all blocks are known.
  void settleAddresses() {
    const AddressFlow flow = followAddresses(program, codec);
    if (!flow.pin.empty())
      pin(flow.pin);
    std::uint32_t id = 0;
    for (Block& block : program.blocks)
      if (!block.opaque)
        for (Instr& instr : block.instrs)
          if (isSop1(*instr.inst) &&
              (isGetpc(*codec.complete(instr.inst)) || instr.inst->base.starts_with("s_add_pc_")))
            instr.getpcId = ++id;
    for (const AddressFlow::Reference& found : flow.references) {
      Instr& instr = program.blocks[found.at.block].instrs[found.at.index];
      instr.pcRef = found.reference;
      instr.pcRef->getpcId = instrOf(found.counter).getpcId;
    }
    confirmJumps(flow);
    for (const AddressFlow::Address& address : flow.addresses) {
      const auto place = placeOf(address.target);
      if (!place)
        continue;
      const bool isCode = scans[place->scan].reached[place->position];
      if (isCode && (address.isLoaded || address.isArithmetic))
        pin(fmt::format("the code at 0x{:x} is {}", address.target,
                        address.isLoaded ? "read as data" : "addressed by computation"));
    }
    checkPassed(flow);
  }

  /// A jump that was known while less code was must still be when all is.
  void confirmJumps(const AddressFlow& flow) {
    std::map<std::uint64_t, std::uint64_t> jumps;
    for (const AddressFlow::Jump& jump : flow.jumps)
      jumps.emplace(instrOf(jump.at).address, jump.target);
    std::map<std::uint64_t, const AddressFlow::TableJump*> tables;
    for (const AddressFlow::TableJump& use : flow.tableJumps)
      tables.emplace(instrOf(use.at).address, &use);
    for (const auto& [jump, target] : knownJumps)
      if (const auto found = jumps.find(jump); found == jumps.end() || found->second != target)
        pin(fmt::format("the jump at 0x{:x} has more than one target", jump));
    for (const auto& [jump, known] : knownTables) {
      const auto found = tables.find(jump);
      const Instr* instr = instrAt(jump);
      if (found == tables.end() || found->second->table != known.use.table || !instr || instr->codeTable == 0) {
        pin(fmt::format("the jump at 0x{:x} has more than one table", jump));
        continue;
      }
      if (found->second->counter)
        program.codeTables[instr->codeTable - 1].getpcId = instrOf(*found->second->counter).getpcId;
    }
    for (const AddressFlow::TableJump& use : flow.tableJumps)
      if (isReached(use.at) && !knownTables.contains(instrOf(use.at).address))
        pin(fmt::format("the jump at 0x{:x} goes by a table that is not followed", instrOf(use.at).address));
  }

  void checkPassed(const AddressFlow& flow) {
    if (flow.passed.size() > maxPassed)
      return pin("more program counters are passed to functions than are worth following");
    for (const AddressFlow::Passed& each : flow.passed) {
      const auto callee = blockAt(each.callee);
      if (!callee || isReadBeforeWritten(program, codec, {*callee}, each.reg))
        pin(fmt::format("the program counter read at 0x{:x} is used in a way that is not followed", each.counter));
    }
  }

  void formFunctions() {
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
        const bool isFunction = root.isFunction || (root.fromSlot && pointedTo.contains(address));
        if (!isFunction || kernelEntries.contains(address))
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
