#include "object/review.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>

namespace asmevo::object {

namespace elf = llvm::ELF;

unsigned workgroupSizeOf(const Kernel& kernel) {
  constexpr unsigned usual = 256;
  if (!kernel.metadata)
    return usual;
  if (const auto& required = kernel.metadata->requiredWorkgroupSize) {
    const std::uint64_t items = std::uint64_t{(*required)[0]} * (*required)[1];
    if (items != 0 && items <= 1024 && (*required)[2] != 0 && items * (*required)[2] <= 1024)
      return static_cast<unsigned>(items * (*required)[2]);
  }
  const unsigned bound = kernel.metadata->maxFlatWorkgroupSize;
  return bound == 0 || bound > 1024 ? usual : bound;
}

Occupancy occupancyOf(const Target& target, const Kernel& kernel) {
  const KernelDescriptor& descriptor = kernel.descriptor;
  return occupancyOf(target, descriptor.allocatedVgprs(target), descriptor.allocatedSgprs(target),
                     descriptor.groupSegmentSize(), workgroupSizeOf(kernel), descriptor.isWave32() ? 32 : 64);
}

namespace {

class Review {
 public:
  explicit Review(const CodeObject& source) : object(source) {}

  std::vector<Remark> run() {
    file();
    for (const Kernel& kernel : object.kernels()) {
      current = &kernel;
      resources(kernel);
      if (kernel.metadata)
        metadata(kernel, *kernel.metadata);
      else if (object.metadataNote())
        say("the metadata note does not mention this kernel");
    }
    return std::move(remarks);
  }

 private:
  template <class... Args> void say(fmt::format_string<Args...> f, Args&&... args) {
    remarks.push_back({current ? current->name : std::string(), fmt::format(f, std::forward<Args>(args)...)});
  }

  void file() {
    if (object.elfType() == elf::ET_REL)
      say("relocatable: link it first (asmevo extract FILE --link -o OUT)");
    if (object.abiVersion() == elf::ELFABIVERSION_AMDGPU_HSA_V2)
      say("code object v2: a legacy format, read-only here");
    if (object.elfType() != elf::ET_REL)
      for (const Symbol& symbol : object.symbols())
        if (symbol.dynamic && symbol.sectionIndex == elf::SHN_UNDEF && symbol.binding != elf::STB_WEAK &&
            !symbol.name.empty())
          say("undefined symbol {}: the loader will refuse it", symbol.name);
    if (object.kernels().empty() && object.abiVersion() != elf::ELFABIVERSION_AMDGPU_HSA_V2)
      say("no kernel: there is no descriptor symbol (name.kd, 64 bytes)");
    const std::string& stated = object.metadataTargetId();
    if (!stated.empty() && stated != object.target().isaName())
      say("metadata says target {}, the ELF header says {}: the header counts", stated, object.target().isaName());
    if (!object.metadataNote() && object.abiVersion() != elf::ELFABIVERSION_AMDGPU_HSA_V2 && !object.kernels().empty())
      say("no NT_AMDGPU_METADATA note: the HIP runtime will not find the kernels");
  }

  void resources(const Kernel& kernel) {
    const unsigned size = workgroupSizeOf(kernel);
    if (kernel.metadata && occupancyOf(object.target(), kernel).workgroupsPerCu == 0)
      say("a workgroup of {} work-items does not fit on a compute unit with these registers and LDS", size);
  }

  void metadata(const Kernel& kernel, const KernelMetadata& stated) {
    const Target& target = object.target();
    const KernelDescriptor& descriptor = kernel.descriptor;
    const unsigned allocated = descriptor.allocatedVgprs(target);
    if (stated.vgprCount > allocated || stated.vgprCount + granuleSlack < allocated)
      say("metadata says {} VGPRs, the descriptor allocates {}: the descriptor counts", stated.vgprCount, allocated);
    if (stated.groupSegmentFixedSize != descriptor.groupSegmentSize())
      say("metadata says {} bytes of LDS, the descriptor {}: the descriptor counts", stated.groupSegmentFixedSize,
          descriptor.groupSegmentSize());
    if (stated.privateSegmentFixedSize != descriptor.privateSegmentSize())
      say("metadata says {} bytes of scratch, the descriptor {}: the descriptor counts", stated.privateSegmentFixedSize,
          descriptor.privateSegmentSize());
    if (descriptor.kernargSize() != stated.kernargSegmentSize) {
      if (descriptor.kernargSize() == 0)
        say("descriptor kernarg size is 0 although metadata says {}: metadata counts", stated.kernargSegmentSize);
      else
        say("descriptor kernarg size is {}, metadata says {}", descriptor.kernargSize(), stated.kernargSegmentSize);
    }
    std::uint64_t reach = 0;
    for (const KernelArgument& argument : stated.arguments)
      reach = std::max(reach, std::uint64_t{argument.offset} + argument.size);
    if (reach > stated.kernargSegmentSize)
      say("arguments reach to byte {}, past the kernarg segment of {}", reach, stated.kernargSegmentSize);
    spills(descriptor, stated, allocated);
  }

  void spills(const KernelDescriptor& descriptor, const KernelMetadata& stated, unsigned allocated) {
    if (stated.vgprSpillCount == 0 && stated.sgprSpillCount == 0)
      return;
    say("{} VGPR and {} SGPR spills, {} bytes of scratch per work-item", stated.vgprSpillCount, stated.sgprSpillCount,
        descriptor.privateSegmentSize());
    constexpr unsigned defaultBound = 1024;
    if (stated.vgprSpillCount != 0 && stated.maxFlatWorkgroupSize == defaultBound)
      say("the spills come with the default bound of {} work-items, which leaves {} VGPRs to a wave: if workgroups are "
          "smaller, say so in the source (__launch_bounds__, reqd_work_group_size)",
          defaultBound, allocated);
  }

  /// Metadata counts registers, the descriptor granules of 4 to 24.
  static constexpr unsigned granuleSlack = 23;

  const CodeObject& object;
  const Kernel* current = nullptr;
  std::vector<Remark> remarks;
};

} // namespace

std::vector<Remark> review(const CodeObject& object) {
  return Review(object).run();
}

} // namespace asmevo::object
