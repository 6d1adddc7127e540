#include "isa/codec.h"
#include "program/program.h"
#include "verify/asmpatch.h"
#include "verify/asmpatch_delta.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

namespace asmevo::verify {

namespace {

using nlohmann::json;
using program::Block;
using program::BlockId;
using program::Instr;
using program::Program;

constexpr std::uint64_t largestPatch = 256u << 20;
constexpr std::size_t largestText = 512;

const json* member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? &*found : nullptr;
}

Result<std::string> text(const json& object, const char* name) {
  const json* value = member(object, name);
  if (!value || !value->is_string())
    return badInput("patch: '{}' must be a string", name);
  return value->get<std::string>();
}

Result<std::uint64_t> address(const json& value) {
  std::uint64_t result = 0;
  if (value.is_string()) {
    const std::string digits = value.get<std::string>();
    const char* end = digits.data() + digits.size();
    if (digits.starts_with("0x") && digits.size() > 2) {
      const auto parsed = std::from_chars(digits.data() + 2, end, result, 16);
      if (parsed.ec == std::errc() && parsed.ptr == end)
        return result;
    }
  }
  return badInput("patch: an address must be a string like \"0x1900\"");
}

Result<const json*> list(const json& object, const char* name) {
  const json* value = member(object, name);
  if (!value || !value->is_array())
    return badInput("patch: '{}' must be a list", name);
  return value;
}

/// Turns hunks into an edited program.
class Patcher {
 public:
  Patcher(const object::CodeObject& object, isa::Codec& codec, Program& program)
      : object(object), codec(codec), program(program) {}

  Status apply(const json& hunks) {
    for (const json& hunk : hunks)
      if (member(hunk, "new"))
        ASMEVO_CHECK(insertBlock(hunk));
    indexBlocks();
    const Program unedited = program; // instructions are kept from here, whatever was replaced before
    indexInstructions(unedited);
    std::map<BlockId, bool> done;
    for (const json& hunk : hunks) {
      ASMEVO_TRY(const BlockId id, blockOf(hunk, unedited));
      if (!done.emplace(id, true).second)
        return badInput("patch: two hunks for one block");
      ASMEVO_TRY(const json* entries, list(hunk, "replacement"));
      std::vector<Instr> instrs;
      for (const json& entry : *entries)
        ASMEVO_CHECK(addEntry(entry, instrs));
      program.blocks[id].instrs = std::move(instrs);
    }
    program.relink();
    return {};
  }

  Status setResources(const json& entries) {
    for (const json& entry : entries) {
      ASMEVO_TRY(const std::string name, text(entry, "kernel"));
      ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(name));
      program::ResourceEdit& edit = program.resources[static_cast<std::size_t>(kernel - object.kernels().data())];
      const auto number = [&](const char* field, std::uint64_t limit) -> Result<std::optional<std::uint32_t>> {
        const json* value = member(entry, field);
        if (!value)
          return std::optional<std::uint32_t>{};
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > limit)
          return badInput("patch: resource '{}' of {} is no number up to {}", field, name, limit);
        return std::optional(value->get<std::uint32_t>());
      };
      ASMEVO_TRY(edit.vgprs, number("vgprs", 512));
      ASMEVO_TRY(edit.accumOffset, number("accum_offset", 256));
      ASMEVO_TRY(edit.ldsBytes, number("lds_bytes", 160 * 1024));
      ASMEVO_TRY(const auto sgprs, number("sgprs", 112));
      if (sgprs) {
        edit.descriptor = kernel->descriptor;
        edit.descriptor->setSgprs(object.target(), *sgprs);
      }
      if (member(entry, "descriptor")) {
        ASMEVO_TRY(const std::string digits, text(entry, "descriptor"));
        ASMEVO_TRY(const Bytes bytes, bytesOfHex(digits));
        object::KernelDescriptor descriptor;
        if (bytes.size() != descriptor.raw.size())
          return badInput("patch: the descriptor of {} has {} bytes", name, bytes.size());
        std::ranges::copy(bytes, descriptor.raw.begin());
        edit.descriptor = descriptor;
      }
    }
    return {};
  }

  Status setData(const json& entries) {
    for (const json& entry : entries) {
      const json* place = member(entry, "at");
      if (!place)
        return badInput("patch: a data entry has no address");
      ASMEVO_TRY(const std::uint64_t at, address(*place));
      ASMEVO_TRY(const std::string before, text(entry, "original"));
      ASMEVO_TRY(const std::string after, text(entry, "replacement"));
      ASMEVO_TRY(const Bytes original, bytesOfHex(before));
      ASMEVO_TRY(const Bytes replacement, bytesOfHex(after));
      ASMEVO_CHECK(setBytes(at, original, replacement));
    }
    return {};
  }

 private:
  const object::CodeObject& object;
  isa::Codec& codec;
  Program& program;
  std::map<std::string, BlockId> labels; ///< of new blocks
  std::unordered_map<std::uint64_t, BlockId> blocksByAddress;
  std::map<std::uint64_t, const Instr*> instrsByAddress;

  Status setBytes(std::uint64_t at, const Bytes& original, const Bytes& replacement) {
    for (std::size_t i = 0; i < object.sections().size(); ++i) {
      const object::Section& section = object.sections()[i];
      const auto contents = object.contents(section);
      if (section.address == 0 || section.isCode() || !section.contains(at) ||
          contents.size() - (at - section.address) < original.size())
        continue;
      const std::uint64_t offset = at - section.address;
      if (original.size() != replacement.size() ||
          !std::ranges::equal(contents.subspan(offset, original.size()), original))
        return badInput("patch: K0 has other data at {:#x}", at);
      const auto [edit, isNew] = program.data.try_emplace(i, contents.begin(), contents.end());
      std::ranges::copy(replacement, edit->second.begin() + static_cast<std::ptrdiff_t>(offset));
      return {};
    }
    return badInput("patch: K0 has no {} bytes of data at {:#x}", original.size(), at);
  }

  Status insertBlock(const json& hunk) {
    ASMEVO_TRY(const std::string label, text(hunk, "new"));
    if (label.starts_with("0x") || labels.contains(label))
      return badInput("patch: '{}' is no name for a new block", label);
    BlockId position = 0;
    std::size_t section = 0;
    if (const json* before = member(hunk, "before")) {
      ASMEVO_TRY(const std::uint64_t at, address(*before));
      const auto next = program.blockAt(at);
      if (!next)
        return badInput("patch: no block of K0 starts at {:#x}", at);
      position = *next;
      section = program.blocks[position].section;
    } else {
      const json* end = member(hunk, "end_of");
      if (!end || !end->is_number_unsigned())
        return badInput("patch: the new block '{}' has no place", label);
      section = end->get<std::size_t>();
      bool known = false;
      for (BlockId id = 0; id < program.blocks.size(); ++id)
        if (program.blocks[id].section == section) {
          position = id + 1;
          known = true;
        }
      if (!known)
        return badInput("patch: section {} holds no code", section);
    }
    program.insertBlock(position, section);
    for (auto& [name, id] : labels)
      id += id >= position;
    labels.emplace(label, position);
    return {};
  }

  void indexBlocks() {
    for (BlockId id = 0; id < program.blocks.size(); ++id)
      if (program.blocks[id].address != program::noAddress)
        blocksByAddress.emplace(program.blocks[id].address, id);
  }
  void indexInstructions(const Program& unedited) {
    for (const Block& block : unedited.blocks)
      for (const Instr& instr : block.instrs)
        instrsByAddress.emplace(instr.address, &instr);
  }

  /// The block a hunk is about; what it says K0 has there must be there.
  Result<BlockId> blockOf(const json& hunk, const Program& unedited) {
    if (member(hunk, "new")) {
      ASMEVO_TRY(const std::string label, text(hunk, "new"));
      return labels.at(label);
    }
    const json* where = member(hunk, "block");
    if (!where)
      return badInput("patch: a hunk names no block");
    ASMEVO_TRY(const std::uint64_t at, address(*where));
    const auto found = blocksByAddress.find(at);
    if (found == blocksByAddress.end())
      return badInput("patch: no block of K0 starts at {:#x}", at);
    const Block& block = unedited.blocks[found->second];
    ASMEVO_TRY(const json* original, list(hunk, "original"));
    if (original->size() != block.instrs.size())
      return badInput("patch: the block at {:#x} has {} instructions, not {}", at, block.instrs.size(),
                      original->size());
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      const json* place = member((*original)[i], "at");
      if (!place)
        return badInput("patch: an original instruction has no address");
      ASMEVO_TRY(const std::uint64_t instrAt, address(*place));
      ASMEVO_TRY(const std::string bytes, text((*original)[i], "bytes"));
      std::string actual;
      for (const std::uint8_t byte : block.instrs[i].inst->bytes())
        actual += fmt::format("{:02x}", byte);
      if (instrAt != block.instrs[i].address || bytes != actual)
        return badInput("patch: K0 has {} at {:#x}", actual, block.instrs[i].address);
    }
    return found->second;
  }

  Status addEntry(const json& entry, std::vector<Instr>& instrs) {
    if (const json* keep = member(entry, "keep"))
      return addKept(*keep, instrs);
    ASMEVO_TRY(std::string source, text(entry, "asm"));
    if (source.size() > largestText)
      return badInput("patch: an instruction of {} characters", source.size());
    Instr instr;
    const json* to = member(entry, "to");
    if (to) {
      ASMEVO_TRY(instr.target, targetOf(*to));
      // The offset is worked out by the layout.
      source += source.find(' ') == std::string::npos ? " 0" : ", 0";
    }
    ASMEVO_TRY(instr.inst, codec.assemble(source));
    if (instr.inst->branchOffset.has_value() != (to != nullptr))
      return badInput("patch: '{}': a branch, and nothing else, goes to a block", source);
    instrs.push_back(instr);
    return {};
  }

  Status addKept(const json& keep, std::vector<Instr>& instrs) {
    const bool isRange = keep.is_array() && keep.size() == 2;
    ASMEVO_TRY(const std::uint64_t first, address(isRange ? keep[0] : keep));
    ASMEVO_TRY(const std::uint64_t last, address(isRange ? keep[1] : keep));
    auto it = instrsByAddress.find(first);
    const auto end = instrsByAddress.find(last);
    if (it == instrsByAddress.end() || end == instrsByAddress.end() || first > last)
      return badInput("patch: K0 has no instructions from {:#x} to {:#x}", first, last);
    for (const auto stop = std::next(end); it != stop; ++it)
      instrs.push_back(*it->second);
    if (instrs.size() > largestPatch / 4)
      return badInput("patch: a replacement of more than {} instructions", largestPatch / 4);
    return {};
  }

  Result<std::optional<BlockId>> targetOf(const json& to) {
    if (to.is_string())
      if (const auto label = labels.find(to.get<std::string>()); label != labels.end())
        return std::optional(label->second);
    ASMEVO_TRY(const std::uint64_t at, address(to));
    const auto found = blocksByAddress.find(at);
    if (found == blocksByAddress.end())
      return badInput("patch: a branch to {:#x}, where no block of K0 starts", at);
    return std::optional(found->second);
  }
};

} // namespace

Result<Bytes> applyEdits(const object::CodeObject& k0, const json& patch) {
  ASMEVO_TRY(const json* hunks, list(patch, "hunks"));
  ASMEVO_TRY(const auto codec, isa::Codec::create(k0));
  ASMEVO_TRY(Program program, Program::recover(k0, *codec));
  Patcher patcher(k0, *codec, program);
  ASMEVO_CHECK(patcher.apply(*hunks));
  if (member(patch, "resources")) {
    ASMEVO_TRY(const json* resources, list(patch, "resources"));
    ASMEVO_CHECK(patcher.setResources(*resources));
  }
  if (member(patch, "data")) {
    ASMEVO_TRY(const json* data, list(patch, "data"));
    ASMEVO_CHECK(patcher.setData(*data));
  }
  return program::rebuild(k0, program, *codec);
}

Result<Bytes> applyPatch(const object::CodeObject& k0, const json& patch) {
  const json* version = member(patch, "asmevo_patch");
  if (!version || *version != 1)
    return badInput("this is no asmevo patch of version 1");
  ASMEVO_TRY(const std::string from, text(patch, "k0_sha256"));
  ASMEVO_TRY(const std::string to, text(patch, "k1_sha256"));
  if (const std::string actual = sha256Hex(k0.bytes()); actual != from)
    return refused("{}: this patch is for the object with SHA-256 {}, not for this one ({})", k0.name(), from, actual);
  ASMEVO_TRY(Bytes k1, applyEdits(k0, patch));
  if (const json* delta = member(patch, "delta")) {
    ASMEVO_TRY(k1, applyDelta(k1, *delta));
  }
  if (const std::string actual = sha256Hex(k1); actual != to)
    return refused("{}: the patch gives an object with SHA-256 {}, not {}: nothing written", k0.name(), actual, to);
  return k1;
}

Result<json> loadPatch(const std::string& path) {
  ASMEVO_TRY(const Bytes bytes, readFile(path, largestPatch));
  json patch = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (patch.is_discarded())
    return badInput("{}: not json", path);
  return patch;
}

} // namespace asmevo::verify
