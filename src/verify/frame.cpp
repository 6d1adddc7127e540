#include "verify/frame.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <set>

namespace asmevo::verify {

namespace {

namespace elf = llvm::ELF;
using object::CodeObject;
using object::Kernel;
using object::KernelDescriptor;
using object::Relocation;
using object::Section;

constexpr std::size_t descriptorSize = sizeof(KernelDescriptor::raw);

class FrameComparison {
 public:
  FrameComparison(const CodeObject& k0, const CodeObject& k1, const ProgramPair& pair, const Alignment& alignment)
      : k0(k0), k1(k1), pair(pair), alignment(alignment) {}

  FrameDifferences run() {
    if (k0.elfType() != k1.elfType() || k0.abiVersion() != k1.abiVersion() || k0.flags() != k1.flags())
      violation("the ELF header says another type, ABI or target");
    compareKernels();
    compareSections();
    compareRelocations();
    compareMetadata();
    return std::move(result);
  }

 private:
  const CodeObject& k0;
  const CodeObject& k1;
  const ProgramPair& pair;
  const Alignment& alignment;
  FrameDifferences result;

  void violation(std::string text) { result.violations.push_back(std::move(text)); }

  void compareKernels() {
    if (!std::ranges::equal(k0.kernels(), k1.kernels(), {}, &Kernel::name, &Kernel::name))
      return violation("the kernels are not the same");
    for (std::size_t i = 0; i < k0.kernels().size(); ++i)
      compareKernel(i);
  }

  void compareKernel(std::size_t index) {
    const Kernel &a = k0.kernels()[index], &b = k1.kernels()[index];
    const object::Target& target = k0.target();
    KernelDescriptor x = a.descriptor, y = b.descriptor;
    const auto resource = [&](std::string_view what, std::uint64_t before, std::uint64_t after) {
      if (before != after)
        result.resources.push_back(fmt::format("{}: {} {} -> {}", a.name, what, before, after));
      return before != after;
    };
    resource("VGPRs", x.allocatedVgprs(target), y.allocatedVgprs(target));
    const bool moreSgprs = y.allocatedSgprs(target) > x.allocatedSgprs(target);
    resource("SGPRs", x.allocatedSgprs(target), y.allocatedSgprs(target));
    resource("first AGPR", x.accumOffset(target), y.accumOffset(target));
    result.ldsChanged |= resource("LDS bytes", x.groupSegmentSize(), y.groupSegmentSize());
    for (KernelDescriptor* d : {&x, &y}) {
      d->setEntryOffset(0);
      d->setGroupSegmentSize(0);
      d->setVgprs(target, a.descriptor.allocatedVgprs(target), a.descriptor.accumOffset(target));
    }
    // More of them than before is harmless; fewer is for nobody to ask.
    if (moreSgprs)
      for (KernelDescriptor* d : {&x, &y})
        d->setSgprs(target, a.descriptor.allocatedSgprs(target));
    if (x.raw != y.raw)
      violation(fmt::format("{}: the kernel descriptor changes in more than registers and LDS", a.name));
    if (correspondingAddress(k0, pair.k0, k1, pair.k1, alignment, a.entryAddress) != b.entryAddress)
      violation(fmt::format("{}: the entry point is another block", a.name));
    if (b.descriptor.allocatedVgprs(target) < a.descriptor.allocatedVgprs(target))
      checkRegisters(b, index);
  }

  /// A kernel that declares fewer registers must use no others. Code that other functions share counts as its own.
  void checkRegisters(const Kernel& kernel, std::size_t index) {
    const unsigned allocated = kernel.descriptor.allocatedVgprs(k1.target());
    const unsigned accumOffset = kernel.descriptor.accumOffset(k1.target());
    std::set<program::BlockId> blocks;
    for (const program::Function& function : pair.k1.functions)
      if (!function.kernel || *function.kernel == index)
        blocks.insert(function.blocks.begin(), function.blocks.end());
    unsigned highest = 0;
    for (const program::BlockId id : blocks)
      for (const program::Instr& instr : pair.k1.blocks[id].instrs)
        (instr.inst->reads(accumOffset) | instr.inst->writes(accumOffset)).forEach([&](isa::RegUnit unit) {
          if (unit >= isa::vgprBase)
            highest = std::max(highest, unit - isa::vgprBase + 1u);
        });
    if (highest > allocated)
      violation(fmt::format("{}: declares {} VGPRs but uses {}", kernel.name, allocated, highest));
  }

  /// Bytes of a section that follow from where things lie: descriptors and what relocations fill in.
  std::vector<bool> derivedBytes(const CodeObject& object, const Section& section) const {
    std::vector<bool> derived(section.size);
    const auto mark = [&](std::uint64_t address, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i)
        if (section.contains(address + i))
          derived[address + i - section.address] = true;
    };
    for (const Kernel& kernel : object.kernels())
      mark(kernel.descriptorAddress, descriptorSize);
    for (const Relocation& relocation : object.relocations())
      if (relocation.section == 0)
        mark(relocation.offset, sizeof(std::uint64_t));
    return derived;
  }

  void compareSections() {
    const auto &a = k0.sections(), &b = k1.sections();
    if (!std::ranges::equal(a, b, {}, &Section::name, &Section::name))
      return violation("the sections are not the same");
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Tables that describe the file itself hold addresses; what they say is compared where it is parsed.
      const bool plain = a[i].type == elf::SHT_PROGBITS || a[i].type == elf::SHT_NOBITS;
      if (a[i].type != b[i].type || a[i].flags != b[i].flags)
        violation(fmt::format("section {} changes its type", a[i].name));
      else if (plain && (a[i].flags & elf::SHF_ALLOC) != 0 && !a[i].isCode())
        compareData(a[i], b[i]);
    }
  }

  void compareData(const Section& a, const Section& b) {
    if (a.size != b.size)
      return violation(fmt::format("data section {} changes its size", a.name));
    const auto x = k0.contents(a), y = k1.contents(b);
    const std::vector<bool> derived = derivedBytes(k0, a);
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i)
      if (x[i] != y[i] && !derived[i])
        return violation(fmt::format("data section {} changes at offset {:#x}", a.name, i));
  }

  void compareRelocations() {
    const auto &a = k0.relocations(), &b = k1.relocations();
    if (a.size() != b.size())
      return violation("the relocations are not the same");
    const auto moved = [&](std::uint64_t address) {
      return correspondingAddress(k0, pair.k0, k1, pair.k1, alignment, address);
    };
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool dynamic = a[i].section == 0;
      const auto *p = k0.relocationSymbol(a[i]), *q = k1.relocationSymbol(b[i]);
      bool same = a[i].type == b[i].type && a[i].section == b[i].section && !p == !q && (!p || p->name == q->name);
      if (dynamic && same)
        same = moved(a[i].offset) == b[i].offset;
      // What a dynamic relocation refers to is an address, wherever symbol and addend put its parts.
      const auto base = [](const object::Symbol* symbol) { return symbol ? symbol->value : 0; };
      const bool undefined = p && p->sectionIndex == elf::SHN_UNDEF;
      if (same && dynamic && !undefined)
        same = moved(base(p) + static_cast<std::uint64_t>(a[i].addend)) ==
               base(q) + static_cast<std::uint64_t>(b[i].addend);
      else if (same)
        same = a[i].addend == b[i].addend;
      if (!same)
        return violation(fmt::format("relocation {} differs", i));
    }
  }

  /// The note's text without the resources it repeats from descriptors.
  static std::string metadataFrame(const std::string& yaml) {
    std::string frame;
    for (std::size_t at = 0; at < yaml.size();) {
      const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
      std::string line = yaml.substr(at, end - at);
      for (const char* field : {".vgpr_count:", ".agpr_count:", ".sgpr_count:", ".group_segment_fixed_size:"})
        if (const std::size_t found = line.find(field); found != std::string::npos)
          line.resize(found);
      frame += line + '\n';
      at = end + 1;
    }
    return frame;
  }

  void compareMetadata() {
    if (metadataFrame(k0.metadataText()) != metadataFrame(k1.metadataText()))
      violation("the metadata note changes in more than registers and LDS");
  }
};

} // namespace

FrameDifferences compareFrames(const CodeObject& k0, const CodeObject& k1, const ProgramPair& pair,
                               const Alignment& alignment) {
  return FrameComparison(k0, k1, pair, alignment).run();
}

} // namespace asmevo::verify
