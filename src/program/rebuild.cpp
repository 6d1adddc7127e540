#include "object/metadata.h"
#include "program/debug_sections.h"
#include "program/layout.h"
#include "program/pc_reference.h"
#include "program/program.h"
#include "program/resources.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>

namespace asmevo::program {

namespace {

constexpr std::uint32_t sNop0 = 0xbf800000; ///< s_nop 0 on every GCN and RDNA target

/// Carries one program through layout, address planning and emission.
class Rebuild {
 public:
  Rebuild(const object::CodeObject& object, const Program& original, isa::Codec& codec, Policy policy)
      : object(object), program(original), codec(codec), policy(policy) {}

  Result<Bytes> run() {
    ASMEVO_CHECK(checkInstructions());
    ASMEVO_CHECK(raiseResources());
    for (;;) {
      Layout layout(object, program, codec, policy);
      ASMEVO_CHECK(layout.place());
      if (layout.movesAnything() && !program.pinned.empty())
        return refused("{}: code has to stay where it is: {}", object.name(), program.pinned);
      ASMEVO_TRY(object::Rewrite rewrite, resourceEdits());
      for (const auto& [section, size] : layout.sectionSizes())
        rewrite.code.push_back({section, Bytes(size)});
      ASMEVO_CHECK(dataEdits(layout, rewrite));
      rewrite.moved = [&layout, this](std::uint64_t old) {
        return policy == Policy::inPlace ? old : layout.moved(old);
      };
      bool widened = false;
      if (staysInPlace(layout)) {
        ASMEVO_CHECK(emit(layout, object::AddressPlan(), rewrite, widened));
        return spliced(rewrite);
      }
      ASMEVO_TRY(const object::AddressPlan plan, object::planAddresses(object, rewrite));
      ASMEVO_CHECK(emit(layout, plan, rewrite, widened));
      if (widened)
        continue;
      ASMEVO_CHECK(writeTables(layout, plan, rewrite));
      ASMEVO_TRY(Bytes file, object::rewriteObject(object, rewrite));
      if (layout.movesAnything())
        hideDebugSections(object, file);
      return file;
    }
  }

 private:
  const object::CodeObject& object;
  Program program;
  isa::Codec& codec;
  Policy policy;

  Status checkInstructions() const {
    for (const CodeTable& table : program.codeTables)
      for (const BlockId target : table.targets)
        if (target >= program.blocks.size())
          return usageError("the table at 0x{:x} leads to no block", table.address);
    for (const Block& block : program.blocks)
      for (const Instr& instr : block.instrs)
        if (!instr.inst)
          return usageError("a block holds an empty instruction");
    return {};
  }

  /// Edited code may name more registers than its kernels are given.
  Status raiseResources() {
    ASMEVO_TRY(const auto derived, deriveResources(object, program, ResourceDetail::registers));
    applyResources(object, derived, program);
    return {};
  }

  /// Containers that cannot be rewritten still take code of the same size at the same place.
  bool staysInPlace(const Layout& layout) const {
    const bool fixed =
        object.elfType() == llvm::ELF::ET_REL || object.abiVersion() == llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V2;
    return fixed && !layout.movesAnything() && program.resources.empty() && program.data.empty();
  }

  Bytes spliced(const object::Rewrite& rewrite) const {
    Bytes out(object.bytes().begin(), object.bytes().end());
    for (const object::SectionEdit& edit : rewrite.code)
      put(out, object.sections()[edit.section].offset, edit.contents);
    return out;
  }

  Result<object::Rewrite> resourceEdits() const {
    object::Rewrite rewrite;
    for (const auto& [index, edit] : program.resources) {
      if (index >= object.kernels().size())
        return usageError("a resource edit names kernel {} of {}", index, object.kernels().size());
      object::KernelDescriptor descriptor = edit.descriptor.value_or(object.kernels()[index].descriptor);
      const object::Target& target = object.target();
      if (edit.vgprs || edit.accumOffset) {
        const unsigned total = edit.vgprs.value_or(descriptor.allocatedVgprs(target));
        const unsigned accum = edit.accumOffset.value_or(descriptor.accumOffset(target));
        descriptor.setVgprs(target, total, accum);
        rewrite.metadata.push_back({index, ".vgpr_count", total});
        if (target.hasUnifiedRegisterFile())
          rewrite.metadata.push_back({index, ".agpr_count", total > accum ? total - accum : 0});
      }
      if (edit.ldsBytes) {
        descriptor.setGroupSegmentSize(*edit.ldsBytes);
        rewrite.metadata.push_back({index, ".group_segment_fixed_size", *edit.ldsBytes});
      }
      if (edit.descriptor)
        noteDescriptor(index, descriptor, rewrite);
      rewrite.descriptors.emplace_back(index, descriptor);
    }
    std::erase_if(rewrite.metadata, [this](const object::Rewrite::Field& field) { return isHintWithoutRoom(field); });
    return rewrite;
  }

  /// Register counts in metadata are hints, what counts is the descriptor: one whose encoding has no room for the new
  /// value stays as it is where the note cannot grow.
  bool isHintWithoutRoom(const object::Rewrite::Field& field) const {
    if (!field.field.ends_with("gpr_count") || !object.metadataNote())
      return false;
    const auto [offset, size] = *object.metadataNote();
    const auto note = object.bytes().subspan(offset, size);
    Bytes copy(note.begin(), note.end());
    const std::string symbol = object.kernels()[field.kernel].name + ".kd";
    if (!object::hasMetadataField(copy, symbol, field.field) ||
        object::patchMetadataField(copy, symbol, field.field, field.value))
      return false;
    return policy == Policy::inPlace || !object::checkMetadata(object, {field});
  }

  /// The metadata fields that repeat what a replaced descriptor says.
  void noteDescriptor(std::size_t index, const object::KernelDescriptor& now, object::Rewrite& rewrite) const {
    const object::KernelDescriptor& before = object.kernels()[index].descriptor;
    const auto note = [&](const char* field, std::uint32_t old, std::uint32_t value) {
      if (old != value)
        rewrite.metadata.push_back({index, field, value});
    };
    const object::Target& target = object.target();
    const auto agprs = [&](const object::KernelDescriptor& descriptor) {
      const unsigned total = descriptor.allocatedVgprs(target), accum = descriptor.accumOffset(target);
      return target.hasUnifiedRegisterFile() && total > accum ? total - accum : 0;
    };
    note(".vgpr_count", before.allocatedVgprs(target), now.allocatedVgprs(target));
    note(".agpr_count", agprs(before), agprs(now));
    note(".sgpr_count", before.allocatedSgprs(target), now.allocatedSgprs(target));
    note(".group_segment_fixed_size", before.groupSegmentSize(), now.groupSegmentSize());
    note(".private_segment_fixed_size", before.privateSegmentSize(), now.privateSegmentSize());
  }

  Status dataEdits(const Layout& layout, object::Rewrite& rewrite) const {
    for (const auto& [section, contents] : program.data) {
      if (section >= object.sections().size() || layout.sectionSizes().contains(section) ||
          contents.size() != object.contents(object.sections()[section]).size())
        return usageError("new contents for section {} are not as long as the old ones, or it holds code", section);
      rewrite.code.push_back({section, contents});
    }
    return {};
  }

  static void put(Bytes& contents, std::uint64_t at, std::span<const std::uint8_t> bytes) {
    std::ranges::copy(bytes, contents.begin() + static_cast<std::ptrdiff_t>(at));
  }

  /// How far the section of a code address is moved as a whole.
  std::uint64_t shiftOf(const Layout& layout, const object::AddressPlan& plan, std::size_t section) const {
    const std::uint64_t start = object.sections()[section].address;
    return plan.map(start) - (policy == Policy::inPlace ? start : layout.moved(start));
  }

  Status emit(const Layout& layout, const object::AddressPlan& plan, object::Rewrite& rewrite, bool& widened) {
    std::map<std::size_t, Bytes*> contents;
    std::map<std::size_t, std::uint64_t> shifts;
    for (object::SectionEdit& edit : rewrite.code) {
      contents[edit.section] = &edit.contents;
      shifts[edit.section] = shiftOf(layout, plan, edit.section);
    }
    struct Wide {
      Instr* instr;
      std::vector<std::uint8_t> bytes;
    };
    std::vector<Wide> wide;
    Status status;
    const auto visit = [&](const Block& block, Instr& instr, std::uint64_t address) {
      if (!status)
        return;
      Bytes& out = *contents[block.section];
      const std::uint64_t at = address - object.sections()[block.section].address;
      isa::InstRef inst = instr.inst;
      if (instr.target && inst->branchOffset) {
        const std::uint64_t target = layout.blockAddress(*instr.target);
        const auto offset = static_cast<std::int64_t>(target - (address + inst->size)) / 4;
        if (offset != *inst->branchOffset) {
          auto moved = codec.withBranchOffset(inst, static_cast<std::int32_t>(offset));
          if (!moved) {
            status = moved.error();
            return;
          }
          inst = *moved;
        }
      }
      if (!instr.pcRef) {
        put(out, at, inst->bytes());
        return;
      }
      auto bytes = referenceBytes(layout, plan, instr, shifts[block.section]);
      if (!bytes)
        status = bytes.error();
      else if (bytes->size() != inst->size)
        wide.push_back({&instr, *std::move(bytes)});
      else
        put(out, at, *bytes);
    };
    const auto pad = [&](std::size_t section, std::uint64_t address, std::uint64_t bytes) {
      const std::uint64_t at = address - object.sections()[section].address;
      for (std::uint64_t i = 0; i + 4 <= bytes; i += 4)
        std::memcpy(contents[section]->data() + at + i, &sNop0, sizeof sNop0);
    };
    layout.walk(visit, pad);
    if (!status)
      return status;
    // An inline constant that cannot hold the new distance becomes a literal; then everything is laid out again.
    for (const Wide& each : wide) {
      if (policy == Policy::inPlace)
        return refused("the reference at 0x{:x} needs a literal, which does not fit an in-place patch",
                       each.instr->address);
      each.instr->inst = codec.decode(each.bytes);
      widened = true;
    }
    return {};
  }

  /// Where the entry's bytes go: in a code section that is written anyway, or in new contents of a data section.
  std::span<std::uint8_t> tableBytes(const Layout& layout, object::Rewrite& rewrite, std::uint64_t entry,
                                     unsigned bytes) const {
    for (std::size_t index = 0; index < object.sections().size(); ++index) {
      const object::Section& section = object.sections()[index];
      if ((section.flags & llvm::ELF::SHF_ALLOC) == 0 || section.type == llvm::ELF::SHT_NOBITS ||
          !section.contains(entry))
        continue;
      auto edit = std::ranges::find(rewrite.code, index, &object::SectionEdit::section);
      if (edit == rewrite.code.end()) {
        const auto contents = object.contents(section);
        rewrite.code.push_back({index, Bytes(contents.begin(), contents.end())});
        edit = rewrite.code.end() - 1;
      }
      const std::uint64_t now = layout.sectionSizes().contains(index) ? rewrite.moved(entry) : entry;
      const std::uint64_t at = now - section.address;
      if (at > edit->contents.size() || bytes > edit->contents.size() - at)
        return {};
      return std::span(edit->contents).subspan(at, bytes);
    }
    return {};
  }

  /// Distances in tables of code addresses.
  Status writeTables(const Layout& layout, const object::AddressPlan& plan, object::Rewrite& rewrite) const {
    for (const CodeTable& table : program.codeTables) {
      if (!table.isRelative)
        continue;
      std::uint64_t base = plan.map(table.base);
      if (table.getpcId != 0) {
        const auto anchor = layout.anchor(table.getpcId);
        const auto home = std::ranges::find_if(program.blocks, [&](const Block& block) {
          return std::ranges::find(block.instrs, table.getpcId, &Instr::getpcId) != block.instrs.end();
        });
        if (!anchor || home == program.blocks.end())
          return refused("the table at 0x{:x} needs exactly one s_getpc_b64 that it counts from", table.address);
        base = *anchor + shiftOf(layout, plan, home->section);
      }
      for (std::size_t i = 0; i < table.targets.size(); ++i) {
        const std::uint64_t at = table.address + i * table.entryBytes;
        const Block& target = program.blocks[table.targets[i]];
        const std::uint64_t address = layout.blockAddress(table.targets[i]) + shiftOf(layout, plan, target.section);
        const std::uint64_t distance = address - base;
        const bool fits = table.entryBytes == 8 ||
                          (table.isSigned ? static_cast<std::int64_t>(distance) == static_cast<std::int32_t>(distance)
                                          : distance >> 32 == 0);
        const std::span<std::uint8_t> bytes = tableBytes(layout, rewrite, at, table.entryBytes);
        if (!fits || bytes.empty())
          return refused("the table entry at 0x{:x} cannot hold the distance to 0x{:x}", at, address);
        std::memcpy(bytes.data(), &distance, table.entryBytes);
      }
    }
    return {};
  }

  /// New bytes of one half of a pc-relative address.
  Result<std::vector<std::uint8_t>> referenceBytes(const Layout& layout, const object::AddressPlan& plan,
                                                   const Instr& instr, std::uint64_t shift) const {
    const PcReference& reference = *instr.pcRef;
    const auto anchor = layout.anchor(reference.getpcId);
    if (!anchor)
      return refused("the pc-relative reference at 0x{:x} needs exactly one s_getpc_b64 that it counts from",
                     instr.address);
    const auto constant = scalarConstant(*instr.inst);
    if (!constant)
      return refused("the pc-relative reference at 0x{:x} is no longer an addition of a constant: {}", instr.address,
                     instr.inst->text);
    const std::uint64_t from = *anchor + shift;
    const std::uint64_t to = plan.map(reference.target);
    const auto bias = static_cast<std::uint64_t>(std::int64_t{reference.bias});
    const std::uint64_t distance = (reference.negated ? from - to : to - from) - bias;
    std::uint64_t value = distance;
    if (!reference.wide) {
      const auto half = static_cast<std::uint32_t>(reference.high ? distance >> 32 : distance);
      value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(half)});
    }
    if (reference.keepsSign) {
      const auto before = static_cast<std::int64_t>(constant->value + bias), now = static_cast<std::int64_t>(to - from);
      if ((before < 0) != (now < 0) || now > INT32_MAX || now < INT32_MIN)
        return refused("the distance at 0x{:x} may not become {}: the code around it takes its sign for granted",
                       instr.address, now);
    }
    if (value == constant->value) {
      const auto bytes = instr.inst->bytes();
      return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
    }
    return withLiteral(*instr.inst, *constant, value, reference.wide);
  }
};

} // namespace

Result<Bytes> rebuild(const object::CodeObject& object, const Program& program, isa::Codec& codec) {
  return Rebuild(object, program, codec, Policy::relayout).run();
}

Result<Bytes> patchInPlace(const object::CodeObject& object, const Program& program, isa::Codec& codec) {
  return Rebuild(object, program, codec, Policy::inPlace).run();
}

} // namespace asmevo::program
