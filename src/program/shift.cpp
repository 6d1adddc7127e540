#include "program/shift.h"

#include "program/insertion.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <set>

namespace asmevo::program {

namespace {

namespace elf = llvm::ELF;

constexpr std::uint64_t preloadPrologueBytes = 256;

bool isPlainNop(const isa::Instruction& inst) {
  return inst.cls == isa::InstClass::nop && inst.simm16 == 0;
}

/// An instruction of the new file in address order.
struct Flat {
  const Instr* instr;
  std::size_t section;
};

class Comparison {
 public:
  Comparison(const object::CodeObject& before, const Program& old, const object::CodeObject& after, const Program& now,
             isa::Codec& codec)
      : before(before), old(old), after(after), now(now), codec(codec) {}

  Status run() {
    for (const CodeTable& table : old.codeTables)
      if (table.isRelative)
        for (std::size_t i = 0; i < table.targets.size() * table.entryBytes; i += 4)
          tableWords.insert(table.address + i);
    for (const Block& block : now.blocks)
      for (const Instr& instr : block.instrs)
        flat.push_back({&instr, block.section});
    for (BlockId id = 0; id < old.blocks.size(); ++id)
      ASMEVO_CHECK(matchBlock(id));
    while (cursor < flat.size())
      ASMEVO_CHECK(skipExtra());
    for (const Skipped& jump : skipped)
      ASMEVO_CHECK(checkIsland(jump));
    for (const Pair& pair : pairs)
      ASMEVO_CHECK(checkPair(pair));
    ASMEVO_CHECK(checkTables());
    ASMEVO_CHECK(checkSymbols());
    ASMEVO_CHECK(checkDescriptors());
    return checkData();
  }

 private:
  const object::CodeObject& before;
  const Program& old;
  const object::CodeObject& after;
  const Program& now;
  isa::Codec& codec;

  std::vector<Flat> flat;
  std::size_t cursor = 0;
  struct Pair {
    const Instr* old;
    const Instr* now;
  };
  /// An s_branch of the new file that is an island or leads around one.
  struct Skipped {
    std::uint64_t address;
    BlockId target;
  };
  std::vector<Pair> pairs;
  std::map<std::uint64_t, std::uint64_t> blockStarts; ///< old block address to new
  std::map<std::uint64_t, std::uint64_t> places;      ///< old instruction address to new
  std::vector<Skipped> skipped;
  std::set<std::uint64_t> tableWords; ///< old addresses of dwords in relative tables
  std::set<std::uint64_t> matched;    ///< new addresses of instructions that correspond to something

  std::uint64_t hereNow() const { return cursor < flat.size() ? flat[cursor].instr->address : noAddress; }

  Status differs(std::uint64_t oldAddress, const std::string& what) const {
    return badInput("shifted program differs at 0x{:x} (0x{:x} in the new file): {}", oldAddress, hereNow(), what);
  }

  Status skipExtra() {
    const Instr& instr = *flat[cursor].instr;
    if (flowOf(instr.inst) != Flow::always || !instr.target)
      return differs(noAddress, "an extra instruction: " + codec.complete(instr.inst)->text);
    skipped.push_back({instr.address, *instr.target});
    ++cursor;
    return {};
  }

  /// Padding in front of an aligned entry or a second entry; islands may come before it.
  Status skipPadding(const Block& block, std::size_t section) {
    if (block.alignment <= 1)
      return {};
    while (cursor < flat.size() && flat[cursor].section == section && hereNow() % block.alignment != 0) {
      if (isPlainNop(*flat[cursor].instr->inst))
        ++cursor;
      else
        ASMEVO_CHECK(skipExtra());
    }
    return {};
  }

  /// The old and new end of the prologue that a block lies in, if any.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> prologueEnd(const Block& block) const {
    for (const Function& function : old.functions)
      if (function.preloadEntry && block.address >= function.entry &&
          block.address < function.entry + preloadPrologueBytes)
        if (const auto start = blockStarts.find(function.entry); start != blockStarts.end())
          return std::pair{function.entry + preloadPrologueBytes, start->second + preloadPrologueBytes};
    return std::nullopt;
  }

  Status matchBlock(BlockId id) {
    const Block& block = old.blocks[id];
    ASMEVO_CHECK(skipPadding(block, block.section));
    while (cursor < flat.size() && !block.opaque && !block.instrs.empty() &&
           !sameButForAddress(block.instrs.front(), *flat[cursor].instr)) {
      ASMEVO_CHECK(skipExtra());
      ASMEVO_CHECK(skipPadding(block, block.section));
    }
    if (cursor >= flat.size() || flat[cursor].section != block.section)
      return differs(block.address, "the new file ends here");
    blockStarts[block.address] = hereNow();
    const auto prologue = prologueEnd(block);
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      const Instr& instr = block.instrs[i];
      if (prologue && hereNow() >= prologue->second && isPlainNop(*instr.inst) && instr.address != noAddress) {
        places[instr.address] = prologue->second; // padding the prologue gave up
        continue;
      }
      while (cursor < flat.size() && !sameButForAddress(instr, *flat[cursor].instr) && !block.opaque)
        ASMEVO_CHECK(skipExtra());
      if (cursor >= flat.size() || !sameButForAddress(instr, *flat[cursor].instr))
        return differs(instr.address, "expected " + codec.complete(instr.inst)->text);
      if (instr.address != noAddress)
        places[instr.address] = hereNow();
      matched.insert(hereNow());
      pairs.push_back({&instr, flat[cursor].instr});
      ++cursor;
    }
    return {};
  }

  bool sameButForAddress(const Instr& a, const Instr& b) const {
    if (a.inst->size == b.inst->size && std::ranges::equal(a.inst->bytes(), b.inst->bytes()))
      return true;
    if (tableWords.contains(a.address))
      return true; // compared by where it leads
    if (a.target && b.target && a.inst->branchOffset && b.inst->branchOffset)
      return a.inst->size == b.inst->size && a.inst->encoding[2] == b.inst->encoding[2] &&
             a.inst->encoding[3] == b.inst->encoding[3];
    return a.pcRef && b.pcRef && a.inst->opcode == b.inst->opcode;
  }

  const Instr* flatAt(std::uint64_t address) const {
    const auto found = std::ranges::lower_bound(flat, address, {}, [](const Flat& f) { return f.instr->address; });
    return found != flat.end() && found->instr->address == address ? found->instr : nullptr;
  }

  /// Where a branch of the new file goes in the end, over islands.
  std::uint64_t finalTarget(BlockId target) const {
    std::uint64_t address = now.blocks[target].address;
    for (std::size_t hops = 0; hops < skipped.size() + 1; ++hops) {
      if (matched.contains(address))
        return address;
      const Instr* island = flatAt(address);
      if (!island || !island->target)
        return address;
      address = now.blocks[*island->target].address;
    }
    return address;
  }

  /// An island must not be fallen into; a branch around one must come out just behind it.
  Status checkIsland(const Skipped& jump) const {
    const auto found = std::ranges::lower_bound(flat, jump.address, {}, [](const Flat& f) { return f.instr->address; });
    if (found != flat.begin() && neverFallsThrough(flowOf((found - 1)->instr->inst)))
      return {};
    auto next = found;
    while (next != flat.end() && !matched.contains(next->instr->address))
      ++next;
    const std::uint64_t target = now.blocks[jump.target].address;
    if (next == flat.end() || target != next->instr->address)
      return badInput("control falls into the island at 0x{:x}", jump.address);
    return {};
  }

  Status checkPair(const Pair& pair) const {
    if (pair.old->target && pair.old->inst->branchOffset) {
      const auto expected = blockStarts.find(old.blocks[*pair.old->target].address);
      if (!pair.now->target || expected == blockStarts.end() || finalTarget(*pair.now->target) != expected->second)
        return badInput("the branch at 0x{:x} (0x{:x} in the new file) goes elsewhere", pair.old->address,
                        pair.now->address);
    }
    if (pair.old->pcRef) {
      if (!pair.now->pcRef || pair.old->pcRef->high != pair.now->pcRef->high ||
          !sameAddress(pair.old->pcRef->target, pair.now->pcRef->target))
        return badInput("the pc-relative reference at 0x{:x} (0x{:x} in the new file) is to another place",
                        pair.old->address, pair.now->address);
    }
    return {};
  }

  std::optional<std::uint64_t> codeAddress(std::uint64_t oldAddress) const {
    if (const auto start = blockStarts.find(oldAddress); start != blockStarts.end())
      return start->second;
    if (const auto place = places.find(oldAddress); place != places.end())
      return place->second;
    return std::nullopt;
  }

  /// Code addresses correspond by instruction, all others by section and offset.
  bool sameAddress(std::uint64_t oldAddress, std::uint64_t newAddress) const {
    if (const auto mapped = codeAddress(oldAddress))
      return *mapped == newAddress;
    for (std::size_t i = 0; i < before.sections().size() && i < after.sections().size(); ++i) {
      const object::Section& a = before.sections()[i];
      const object::Section& b = after.sections()[i];
      if ((a.flags & elf::SHF_ALLOC) == 0 || oldAddress < a.address || oldAddress > a.address + a.size)
        continue;
      const bool atEnd = oldAddress == a.address + a.size;
      if (atEnd ? newAddress == b.address + b.size : newAddress - b.address == oldAddress - a.address)
        return true;
    }
    return oldAddress == newAddress;
  }

  Status checkSymbols() const {
    if (before.symbols().size() != after.symbols().size())
      return badInput("{} symbols became {}", before.symbols().size(), after.symbols().size());
    for (std::size_t i = 0; i < before.symbols().size(); ++i) {
      const object::Symbol& a = before.symbols()[i];
      const object::Symbol& b = after.symbols()[i];
      if (a.name != b.name || a.type != b.type || a.binding != b.binding || a.other != b.other ||
          a.sectionIndex != b.sectionIndex || a.dynamic != b.dynamic)
        return badInput("symbol {} became {}", a.name, b.name);
      const bool inSection = a.sectionIndex != elf::SHN_UNDEF && a.sectionIndex < before.sections().size();
      if (inSection ? !sameAddress(a.value, b.value) : a.value != b.value)
        return badInput("symbol {} at 0x{:x} was carried to 0x{:x}", a.name, a.value, b.value);
      const bool inCode = inSection && before.sections()[a.sectionIndex].isCode();
      const bool sizeKept =
          inCode && a.size > 0 ? sameAddress(a.value + a.size, b.value + b.size) || b.size > a.size : a.size == b.size;
      if (!sizeKept)
        return badInput("the size of symbol {} went from {} to {}", a.name, a.size, b.size);
    }
    return {};
  }

  Status checkDescriptors() const {
    if (before.kernels().size() != after.kernels().size())
      return badInput("{} kernels became {}", before.kernels().size(), after.kernels().size());
    for (std::size_t i = 0; i < before.kernels().size(); ++i) {
      const object::Kernel& a = before.kernels()[i];
      const object::Kernel& b = after.kernels()[i];
      auto rawA = a.descriptor.raw, rawB = b.descriptor.raw;
      std::fill_n(rawA.begin() + 16, 8, std::uint8_t{0}); // kernel_code_entry_byte_offset
      std::fill_n(rawB.begin() + 16, 8, std::uint8_t{0});
      if (a.name != b.name || rawA != rawB || !sameAddress(a.descriptorAddress, b.descriptorAddress) ||
          !sameAddress(a.entryAddress, b.entryAddress) || a.entryAddress % 256 != b.entryAddress % 256)
        return badInput("the descriptor of kernel {} changed", a.name);
    }
    return {};
  }

  Status checkTables() const {
    if (old.codeTables.size() != now.codeTables.size())
      return badInput("{} tables of code addresses became {}", old.codeTables.size(), now.codeTables.size());
    for (std::size_t i = 0; i < old.codeTables.size(); ++i) {
      const CodeTable& a = old.codeTables[i];
      const CodeTable& b = now.codeTables[i];
      bool same = sameAddress(a.address, b.address) && a.targets.size() == b.targets.size();
      for (std::size_t k = 0; same && k < a.targets.size(); ++k)
        same = sameAddress(old.blocks[a.targets[k]].address, now.blocks[b.targets[k]].address);
      if (!same)
        return badInput("the table of code addresses at 0x{:x} (0x{:x} in the new file) leads elsewhere", a.address,
                        b.address);
    }
    return {};
  }

  /// Bytes of data that hold addresses, or distances to code: by old address.
  std::set<std::uint64_t> addressBytes() const {
    std::set<std::uint64_t> bytes;
    const auto add = [&](std::uint64_t at, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i)
        bytes.insert(at + i);
    };
    for (const object::Relocation& relocation : before.relocations())
      add(relocation.offset, 8);
    for (const object::Kernel& kernel : before.kernels())
      add(kernel.descriptorAddress + 16, 8); // kernel_code_entry_byte_offset
    for (const std::uint64_t word : tableWords)
      add(word, 4);
    return bytes;
  }

  Status checkData() const {
    if (before.sections().size() != after.sections().size())
      return badInput("{} sections became {}", before.sections().size(), after.sections().size());
    const std::set<std::uint64_t> changing = addressBytes();
    for (std::size_t i = 0; i < before.sections().size(); ++i) {
      const object::Section& a = before.sections()[i];
      const bool isPlain = a.type == elf::SHT_NOTE || (a.type == elf::SHT_PROGBITS && !a.isCode() && a.name != ".got");
      if (!isPlain || a.type == elf::SHT_NOBITS || (a.flags & elf::SHF_ALLOC) == 0)
        continue;
      const auto oldBytes = before.contents(a), newBytes = after.contents(after.sections()[i]);
      if (oldBytes.size() != newBytes.size())
        return badInput("section {} was {} bytes long and is {}", a.name, oldBytes.size(), newBytes.size());
      for (std::size_t at = 0; at < oldBytes.size(); ++at)
        if (oldBytes[at] != newBytes[at] && !changing.contains(a.address + at))
          return badInput("section {} changed at 0x{:x}", a.name, a.address + at);
    }
    return {};
  }
};

} // namespace

Result<Program> shifted(const Program& program, isa::Codec& codec) {
  ASMEVO_TRY(const isa::InstRef nop, codec.assemble("s_nop 0"));
  Program result = program;
  for (Block& block : result.blocks)
    if (!block.opaque)
      block.instrs.insert(block.instrs.begin(), Instr{nop, noAddress, {}, {}, 0});
  return result;
}

namespace {

/// SplitMix64, as design.md has it for every random choice.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  std::uint64_t state;
};

bool inPrologue(const Program& program, std::uint64_t address) {
  return std::ranges::any_of(program.functions, [&](const Function& function) {
    return function.preloadEntry && address >= function.entry && address < function.entry + preloadPrologueBytes;
  });
}

} // namespace

Result<Program> scattered(const Program& program, isa::Codec& codec, const RandomNops& random) {
  ASMEVO_TRY(const isa::InstRef nop, codec.assemble("s_nop 0"));
  std::vector<std::pair<BlockId, std::size_t>> free;
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const std::vector<bool> points = insertionPoints(program.blocks[id], codec);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i] && !inPrologue(program, program.blocks[id].instrs[i].address))
        free.emplace_back(id, i);
  }
  Random draw(random.seed);
  const std::size_t places = std::min(random.places, free.size());
  for (std::size_t i = 0; i < places; ++i)
    std::swap(free[i], free[i + draw.below(free.size() - i)]);
  free.resize(places);
  std::ranges::sort(free, std::greater());
  Program result = program;
  for (const auto& [id, index] : free) {
    std::vector<Instr>& instrs = result.blocks[id].instrs;
    instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(index), random.nops, Instr{nop, noAddress, {}, {}, 0});
  }
  return result;
}

Status checkShifted(const object::CodeObject& before, const Program& edited, const object::CodeObject& after,
                    const Program& now, isa::Codec& codec) {
  return Comparison(before, edited, after, now, codec).run();
}

} // namespace asmevo::program
