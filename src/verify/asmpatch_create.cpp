#include "verify/alignment.h"
#include "verify/asmpatch.h"
#include "verify/asmpatch_delta.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace asmevo::verify {

namespace {

using nlohmann::json;
using program::Block;
using program::BlockId;
using program::Instr;

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

/// Writes the hunks of one pair of programs.
class PatchWriter {
 public:
  /// `withPadding`: alignment padding that K1 holds as instructions is written too, instead of left to the layout.
  PatchWriter(const object::CodeObject& k0, const object::CodeObject& k1, const ProgramPair& pair,
              const Alignment& alignment, bool withPadding)
      : k0(k0), k1(k1), pair(pair), alignment(alignment), withPadding(withPadding) {}

  Result<json> hunks() {
    indexOriginals();
    json list = json::array();
    // New blocks are named by the next block of K0 behind them, so they are written in K1's order; blocks that are gone
    // become empty.
    for (BlockId y = 0; y < pair.k1.blocks.size(); ++y)
      if (!alignment.toK0[y] && !leftOut(pair.k1.blocks[y])) {
        ASMEVO_TRY(json hunk, newBlock(y));
        list.push_back(std::move(hunk));
      } else if (alignment.toK0[y] && isEdited(*alignment.toK0[y])) {
        ASMEVO_TRY(json hunk, editedBlock(*alignment.toK0[y], y));
        list.push_back(std::move(hunk));
      }
    for (BlockId x = 0; x < pair.k0.blocks.size(); ++x)
      if (!alignment.toK1[x] && alignment.edited[x])
        list.push_back({{"block", hex(pair.k0.blocks[x].address)},
                        {"original", original(pair.k0.blocks[x])},
                        {"replacement", json::array()}});
    return list;
  }

 private:
  const object::CodeObject& k0;
  const object::CodeObject& k1;
  const ProgramPair& pair;
  const Alignment& alignment;
  const bool withPadding;
  std::unordered_map<isa::InstRef, std::vector<const Instr*>> byEncoding; ///< of K0, ascending
  std::vector<const Instr*> layoutDependent;                              ///< of edited K0 blocks
  std::set<const Instr*> used;

  bool leftOut(const Block& block) const { return block.instrs.empty() || (isPadding(block) && !withPadding); }

  bool isEdited(BlockId x) const {
    if (alignment.edited[x] || !withPadding)
      return alignment.edited[x];
    // Padding that only grew or shrank is no edit, but has to be written where layout would not make the same.
    const Block &a = pair.k0.blocks[x], &b = pair.k1.blocks[*alignment.toK1[x]];
    return isPadding(a) && a.instrs.size() != b.instrs.size();
  }

  void indexOriginals() {
    for (BlockId x = 0; x < pair.k0.blocks.size(); ++x)
      for (const Instr& instr : pair.k0.blocks[x].instrs) {
        byEncoding[instr.inst].push_back(&instr);
        if (alignment.edited[x] && (instr.pcRef || instr.target))
          layoutDependent.push_back(&instr);
      }
  }

  json original(const Block& block) const {
    json list = json::array();
    for (const Instr& instr : block.instrs)
      list.push_back({{"at", hex(instr.address)}, {"bytes", hexText(instr.inst->bytes())}, {"text", instr.inst->text}});
    return list;
  }

  std::string nameOf(BlockId y) const {
    return alignment.toK0[y] ? hex(pair.k0.blocks[*alignment.toK0[y]].address) : fmt::format("n{}", y);
  }

  Result<json> editedBlock(BlockId x, BlockId y) {
    const Block& before = pair.k0.blocks[x];
    ASMEVO_TRY(json entries, replacement(pair.k1.blocks[y], &before));
    return json{{"block", hex(before.address)}, {"original", original(before)}, {"replacement", std::move(entries)}};
  }

  Result<json> newBlock(BlockId y) {
    const Block& block = pair.k1.blocks[y];
    ASMEVO_TRY(json entries, replacement(block, nullptr));
    json hunk{{"new", nameOf(y)}, {"replacement", std::move(entries)}};
    BlockId next = y + 1;
    while (next < pair.k1.blocks.size() && !alignment.toK0[next])
      ++next;
    if (next < pair.k1.blocks.size() && pair.k1.blocks[next].section == block.section)
      hunk["before"] = nameOf(next);
    else
      hunk["end_of"] = block.section;
    return hunk;
  }

  /// The instruction of K0 that `wanted` is, not used yet: in its own block first, in order.
  const Instr* keptOriginal(const Instr& wanted, const Block* own, std::size_t& cursor) {
    const auto fits = [&](const Instr& candidate) {
      return !used.contains(&candidate) && sameInstruction(k0, pair.k0, k1, pair.k1, alignment, candidate, wanted);
    };
    const bool known = wanted.pcRef || wanted.target || byEncoding.contains(wanted.inst);
    if (own && known) {
      for (std::size_t n = 0; n < own->instrs.size(); ++n) {
        const std::size_t at = (cursor + n) % own->instrs.size();
        if (fits(own->instrs[at])) {
          cursor = at + 1;
          return &own->instrs[at];
        }
      }
    }
    if (wanted.pcRef || wanted.target) {
      for (const Instr* candidate : layoutDependent)
        if (fits(*candidate))
          return candidate;
      return nullptr;
    }
    if (const auto equal = byEncoding.find(wanted.inst); equal != byEncoding.end() && wanted.getpcId != 0)
      for (const Instr* candidate : equal->second)
        if (fits(*candidate))
          return candidate;
    return nullptr;
  }

  Result<json> replacement(const Block& block, const Block* own) {
    json list = json::array();
    std::size_t cursor = 0;
    const Instr* previous = nullptr; // last kept, to join runs
    for (const Instr& instr : block.instrs) {
      if (const Instr* kept = keptOriginal(instr, own, cursor)) {
        used.insert(kept);
        const bool joins = previous && previous->address + previous->inst->size == kept->address && !list.empty();
        if (!joins)
          list.push_back({{"keep", hex(kept->address)}});
        else if (json& keep = list.back()["keep"]; keep.is_array())
          keep[1] = hex(kept->address);
        else
          keep = json::array({keep, hex(kept->address)});
        previous = kept;
        continue;
      }
      previous = nullptr;
      ASMEVO_TRY(json entry, assembled(instr));
      list.push_back(std::move(entry));
    }
    return list;
  }

  Result<json> assembled(const Instr& instr) {
    if (instr.pcRef)
      return refused("the pc-relative reference '{}' at {:#x} of K1 has no counterpart in K0: a patch cannot state it",
                     instr.inst->text, instr.address);
    if (instr.target && instr.inst->branchOffset) {
      // Everything but the offset, which is the last operand.
      std::string text = instr.inst->text;
      const std::size_t offset = text.find_last_of(" ,");
      text.resize(offset == std::string::npos ? text.size() : offset);
      while (!text.empty() && (text.back() == ' ' || text.back() == ','))
        text.pop_back();
      return json{{"asm", text}, {"to", nameOf(*instr.target)}};
    }
    const auto again = pair.codec->assemble(instr.inst->text);
    if (again && *again == instr.inst)
      return json{{"asm", instr.inst->text}};
    // An encoding that the assembler does not choose: copied from wherever K0 has it.
    if (const auto equal = byEncoding.find(instr.inst); equal != byEncoding.end())
      return json{{"keep", hex(equal->second.front()->address)}};
    return refused("'{}' at {:#x} of K1 has an encoding that the assembler does not produce", instr.inst->text,
                   instr.address);
  }
};

json resourcesOf(const object::CodeObject& k0, const object::CodeObject& k1) {
  json list = json::array();
  for (std::size_t i = 0; i < k0.kernels().size() && i < k1.kernels().size(); ++i) {
    const object::KernelDescriptor &a = k0.kernels()[i].descriptor, &b = k1.kernels()[i].descriptor;
    const object::Target& target = k0.target();
    json entry{{"kernel", k0.kernels()[i].name}};
    const auto& noteA = k0.kernels()[i].metadata;
    const auto& noteB = k1.kernels()[i].metadata;
    // The note counts registers one by one, the descriptor in granules: the finer one says what was asked for.
    const bool registers =
        a.allocatedVgprs(target) != b.allocatedVgprs(target) || a.accumOffset(target) != b.accumOffset(target) ||
        (noteA && noteB && (noteA->vgprCount != noteB->vgprCount || noteA->agprCount != noteB->agprCount));
    if (registers) {
      entry["vgprs"] = noteB && noteB->vgprCount != 0 ? noteB->vgprCount : b.allocatedVgprs(target);
      entry["accum_offset"] = b.accumOffset(target);
    }
    if (a.allocatedSgprs(target) != b.allocatedSgprs(target))
      entry["sgprs"] = b.allocatedSgprs(target);
    if (a.groupSegmentSize() != b.groupSegmentSize())
      entry["lds_bytes"] = b.groupSegmentSize();
    if (entry.size() > 1)
      list.push_back(std::move(entry));
  }
  return list;
}

json editedKernels(const object::CodeObject& k0, const ProgramPair& pair, const Alignment& alignment) {
  std::set<std::string> names;
  for (const program::Function& function : pair.k0.functions)
    if (function.kernel && std::ranges::any_of(function.blocks, [&](BlockId id) { return alignment.edited[id]; }))
      names.insert(k0.kernels()[*function.kernel].name);
  return names;
}

/// Bytes of data sections in which `made`, K0 with all other edits, is not yet K1; by K0's addresses.
json dataChanges(const object::CodeObject& k0, const object::CodeObject& made, const object::CodeObject& k1) {
  json list = json::array();
  if (made.sections().size() != k0.sections().size() || k1.sections().size() != k0.sections().size())
    return list;
  constexpr std::size_t joinedGap = 8; // equal bytes between two changes that are one entry
  for (std::size_t i = 0; i < k0.sections().size(); ++i) {
    const object::Section& section = k0.sections()[i];
    const auto original = k0.contents(section), now = made.contents(made.sections()[i]),
               wanted = k1.contents(k1.sections()[i]);
    if (section.address == 0 || section.isCode() || now.size() != original.size() || wanted.size() != original.size())
      continue;
    for (std::size_t at = 0; at < original.size(); ++at) {
      if (now[at] == wanted[at])
        continue;
      std::size_t end = at + 1;
      for (std::size_t next = end; next < original.size() && next < end + joinedGap; ++next)
        if (now[next] != wanted[next])
          end = next + 1;
      list.push_back({{"at", hex(section.address + at)},
                      {"original", hexText(original.subspan(at, end - at))},
                      {"replacement", hexText(wanted.subspan(at, end - at))}});
      at = end;
    }
  }
  return list;
}

/// Adds whole descriptors where the numbers of `resourcesOf` do not make K1's of K0's.
void addDescriptors(json& resources, const object::CodeObject& made, const object::CodeObject& k1) {
  for (std::size_t i = 0; i < made.kernels().size() && i < k1.kernels().size(); ++i) {
    object::KernelDescriptor a = made.kernels()[i].descriptor, b = k1.kernels()[i].descriptor;
    a.setEntryOffset(0);
    b.setEntryOffset(0);
    if (a.raw == b.raw)
      continue;
    const std::string& name = k1.kernels()[i].name;
    for (std::size_t k = resources.size(); k-- > 0;)
      if (resources[k]["kernel"] == name)
        resources.erase(k);
    resources.push_back({{"kernel", name}, {"descriptor", hexText(b.raw)}});
  }
}

/// Completes a patch whose hunks and numbers are there; its result is K1, or an error says why it cannot be.
Result<json> completed(const object::CodeObject& k0, const object::CodeObject& k1, json patch) {
  const auto isK1 = [&](const Bytes& bytes) { return std::ranges::equal(bytes, k1.bytes()); };
  ASMEVO_TRY(Bytes made, applyEdits(k0, patch));
  if (isK1(made))
    return patch;
  for (const bool data : {false, true}) {
    ASMEVO_TRY(const object::CodeObject now, object::CodeObject::parse(std::move(made), k0.name()));
    if (data)
      patch["data"] = dataChanges(k0, now, k1);
    else
      addDescriptors(patch["resources"], now, k1);
    ASMEVO_TRY(made, applyEdits(k0, patch));
    if (isK1(made))
      return patch;
  }
  return refused("rebuilding the edits gives an object with SHA-256 {}, not {}", sha256Hex(made),
                 sha256Hex(k1.bytes()));
}

/// A patch that ends in K1 whatever the edits give.
Result<json> withDelta(const object::CodeObject& k0, const object::CodeObject& k1, json patch) {
  auto made = applyEdits(k0, patch);
  if (!made) {
    patch["hunks"] = json::array();
    patch["resources"] = json::array();
    ASMEVO_TRY(made, applyEdits(k0, patch));
  }
  patch["delta"] = makeDelta(*made, k1.bytes());
  return patch;
}

} // namespace

Result<json> createPatch(const object::CodeObject& k0, const object::CodeObject& k1, const json& receipt,
                         PatchForm form) {
  ASMEVO_TRY(const ProgramPair pair, recoverPair(k0, k1));
  const Alignment alignment = alignBlocks(k0, pair.k0, k1, pair.k1);
  json patch{{"asmevo_patch", 1},
             {"target", k0.target().id()},
             {"kernels", editedKernels(k0, pair, alignment)},
             {"k0_sha256", sha256Hex(k0.bytes())},
             {"k1_sha256", sha256Hex(k1.bytes())},
             {"hunks", json::array()},
             {"resources", resourcesOf(k0, k1)},
             {"receipt", receipt}};
  Error failure;
  json best = patch;
  for (const bool withPadding : {false, true}) {
    auto hunks = PatchWriter(k0, k1, pair, alignment, withPadding).hunks();
    if (!hunks) {
      failure = hunks.error();
      continue;
    }
    patch["hunks"] = *std::move(hunks);
    if (!withPadding)
      best = patch;
    auto whole = completed(k0, k1, patch);
    if (whole)
      return whole;
    failure = whole.error();
  }
  if (form == PatchForm::anyBytes) {
    ASMEVO_TRY(best, withDelta(k0, k1, std::move(best)));
    ASMEVO_TRY(const Bytes again, applyPatch(k0, best));
    return best;
  }
  return refused("{} cannot be stated as a patch of {}: {}", k1.name(), k0.name(), failure.message);
}

Result<json> reversePatch(const object::CodeObject& k0, const json& patch) {
  ASMEVO_TRY(Bytes bytes, applyPatch(k0, patch));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::parse(std::move(bytes), k0.name() + " (patched)"));
  return createPatch(k1, k0, json{{"reverses", patch["k1_sha256"]}}, PatchForm::anyBytes);
}

} // namespace asmevo::verify
