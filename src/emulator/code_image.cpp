#include "emulator/code_image.h"

#include "emulator/guest_memory.h"
#include "emulator/observe/watch.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace asmevo::emulator {

namespace {

namespace elf = llvm::ELF;

constexpr std::uint64_t imageLimit = std::uint64_t{1} << 30;
constexpr std::uint64_t codeLimit = std::uint64_t{64} << 20;
constexpr std::uint64_t page = 4096;
/// Bounds what hostile code can make of straight pieces: ops of one, and their number.
constexpr std::size_t pieceLength = 64, pieceLimit = 65536;

bool isVector(isa::InstClass c) {
  using enum isa::InstClass;
  return c == valu || c == mfma || c == vmem || c == flat || c == global || c == scratch || c == lds;
}

/// First register operand beyond the `vgprs` that the descriptor allocates, as text, or "".
std::string beyondAllocation(const isa::Instruction& inst, unsigned accumOffset, unsigned vgprs) {
  for (const isa::Operand& operand : inst.operands) {
    const bool agpr = operand.kind == isa::OperandKind::agpr;
    if (!agpr && operand.kind != isa::OperandKind::vgpr)
      continue;
    const unsigned first = operand.index + (agpr ? accumOffset : 0);
    if (first + operand.dwords > vgprs)
      return fmt::format("uses {}{}, but the descriptor allocates {} vector registers{}", agpr ? "a" : "v",
                         operand.index + operand.dwords - 1u, vgprs,
                         agpr ? fmt::format(" of which AGPRs begin at {}", accumOffset) : "");
  }
  return "";
}

/// Reached an instruction that no binder took. extra: the reason, a std::string.
void refuseOp(Wave& wave, const Op* op) {
  wave.fail(op, ErrorKind::refused, *static_cast<const std::string*>(op->extra));
}

void record(Wave& wave, const Op* op) {
  const std::uint64_t offset = op->pc - wave.codeAddress;
  if (WaveTrace* const trace = wave.trace) {
    const auto lanes = static_cast<std::uint8_t>(std::popcount(wave.exec()));
    if (lanes != (trace->lanes.empty() ? 64 : trace->lanes.back().lanes))
      trace->lanes.push_back({static_cast<std::uint32_t>(trace->path.size()), lanes});
    trace->path.push_back(static_cast<std::uint32_t>(offset));
  }
  if (wave.coverage)
    ++wave.coverage[offset / 4];
}

void recordOp(Wave& wave, const Op* op) {
  record(wave, op);
  [[clang::musttail]] return op->plain(wave, op);
}

void observeOp(Wave& wave, const Op* op) {
  record(wave, op);
  wave.watch->step(wave, op);
  [[clang::musttail]] return op->plain(wave, op);
}

void skippedOp(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

void ranOffOp(Wave& wave, const Op* op) {
  wave.fail(op, ErrorKind::fault, "execution runs past the end of the code section");
}

/// A straight piece meets the main array again: not an instruction, so it is not counted.
void joinOp(Wave& wave, const Op* op) {
  wave.account(op - 1);
  wave.runStart = op->target;
  ASMEVO_GOTO(wave, op->target);
}

/// A straight piece ends before it meets the main array: continue at aux. Not an instruction either.
void continueOp(Wave& wave, const Op* op) {
  const Op* target = wave.code->opAt(op->aux, wave.stream);
  if (!target)
    return wave.fail(op, ErrorKind::refused, "too many jumps into the middle of instructions");
  wave.account(op - 1);
  wave.runStart = target;
  ASMEVO_GOTO(wave, target);
}

bool isPseudo(const Op& op) {
  return op.fn == ranOffOp || op.fn == joinOp || op.fn == continueOp;
}

/// Where a branch leads that has no op in the main array. aux: guest address.
void strayOp(Wave& wave, const Op* op) {
  const Op* target = wave.code->opAt(op->aux, wave.stream);
  if (!target)
    return wave.fail(op, ErrorKind::fault,
                     fmt::format("jumps to {:#x}, which is outside the code", wave.code->objectAddress(op->aux)));
  wave.runStart = target;
  ASMEVO_GOTO(wave, target);
}

} // namespace

Status bindInstruction(const isa::Instruction& inst, const BindContext& context, Op& op) {
  using enum isa::InstClass;
  switch (inst.cls) {
  case unknown:
    return refused("these bytes are not an instruction of this target");
  case salu:
    if (inst.base == "s_getpc_b64" || inst.base == "s_setvskip")
      return bindControl(inst, context, op);
    return bindAlu(inst, context, op);
  case valu:
    return bindAlu(inst, context, op);
  case mfma:
    return bindMfma(inst, context, op);
  case smem:
  case vmem:
  case flat:
  case global:
  case scratch:
  case lds:
    return bindMemory(inst, context, op);
  default:
    return bindControl(inst, context, op);
  }
}

Result<std::shared_ptr<const CodeImage>> CodeImage::load(const object::CodeObject& object, const object::Kernel& kernel,
                                                         SimdLevel simd, std::shared_ptr<isa::SharedCodec> codec) {
  std::shared_ptr<CodeImage> result(new CodeImage);
  result->kernel = kernel.name;
  result->vgprs = kernel.descriptor.allocatedVgprs(object.target());
  result->context.accumOffset = kernel.descriptor.accumOffset(object.target());
  result->context.simd = simd;
  result->context.arena = &result->arena;
  result->codec = codec ? std::move(codec) : std::make_shared<isa::SharedCodec>();
  ASMEVO_CHECK(result->codec->prepare(object));
  ASMEVO_CHECK(result->loadSegments(object));
  ASMEVO_CHECK(result->relocate(object));
  ASMEVO_CHECK(result->bindCode(object));
  return std::shared_ptr<const CodeImage>(std::move(result));
}

Status CodeImage::loadSegments(const object::CodeObject& object) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0, firstWritable = ~std::uint64_t{0};
  for (const object::Segment& segment : object.segments()) {
    if (segment.type != elf::PT_LOAD || segment.memorySize == 0)
      continue;
    if (segment.fileSize > segment.memorySize || segment.memorySize > imageLimit ||
        segment.address > ~std::uint64_t{0} - segment.memorySize)
      return badInput("{}: loadable segment at {:#x} has an impossible size", object.name(), segment.address);
    if (segment.offset > object.bytes().size() || segment.fileSize > object.bytes().size() - segment.offset)
      return badInput("{}: loadable segment at {:#x} lies outside the file", object.name(), segment.address);
    low = std::min(low, segment.address / page * page);
    high = std::max(high, segment.address + segment.memorySize);
    if (segment.flags & elf::PF_W)
      firstWritable = std::min(firstWritable, segment.address);
  }
  if (high == 0)
    return badInput("{}: no loadable segment, nothing to run", object.name());
  if (high - low > imageLimit)
    return refused("{}: the loaded image would span {} bytes", object.name(), high - low);
  bias = GuestMemory::firstRegionAddress - low;
  image.assign(high - low, 0);
  for (const object::Segment& segment : object.segments())
    if (segment.type == elf::PT_LOAD && segment.fileSize != 0)
      std::memcpy(image.data() + (segment.address - low), object.bytes().data() + segment.offset, segment.fileSize);
  readOnly = std::min(firstWritable, high) - low;
  return {};
}

Status CodeImage::relocate(const object::CodeObject& object) {
  std::vector<const object::Symbol*> dynamic;
  for (const object::Symbol& symbol : object.symbols()) {
    if (!symbol.dynamic)
      continue;
    dynamic.push_back(&symbol);
    if (symbol.sectionIndex == elf::SHN_UNDEF && !symbol.name.empty() && symbol.binding != elf::STB_WEAK)
      return refused("{}: undefined symbol '{}': the loader will refuse it", object.name(), symbol.name);
  }
  // The null symbol of .dynsym is index 0 whether or not the parser lists it.
  const std::size_t shift = !dynamic.empty() && !dynamic.front()->name.empty() ? 1 : 0;
  const std::uint64_t low = GuestMemory::firstRegionAddress - bias;
  for (const object::Relocation& relocation : object.relocations()) {
    std::uint64_t value = static_cast<std::uint64_t>(relocation.addend);
    if (relocation.type == elf::R_AMDGPU_NONE)
      continue;
    if (relocation.type != elf::R_AMDGPU_RELATIVE64) {
      const std::size_t index = relocation.symbol - shift;
      if (relocation.symbol != 0 && index >= dynamic.size())
        return badInput("{}: relocation at {:#x} names symbol {}, which does not exist", object.name(),
                        relocation.offset, relocation.symbol);
      if (relocation.symbol != 0 && dynamic[index]->sectionIndex != elf::SHN_UNDEF)
        value += dynamic[index]->value + (dynamic[index]->sectionIndex == elf::SHN_ABS ? 0 : bias);
    } else {
      value += bias;
    }
    unsigned width = 8;
    const std::uint64_t place = relocation.offset + bias;
    switch (relocation.type) {
    case elf::R_AMDGPU_RELATIVE64:
    case elf::R_AMDGPU_ABS64:
      break;
    case elf::R_AMDGPU_REL64:
      value -= place;
      break;
    case elf::R_AMDGPU_ABS32:
    case elf::R_AMDGPU_ABS32_LO:
      width = 4;
      break;
    case elf::R_AMDGPU_ABS32_HI:
      value >>= 32;
      width = 4;
      break;
    case elf::R_AMDGPU_REL32:
    case elf::R_AMDGPU_REL32_LO:
      value -= place;
      width = 4;
      break;
    case elf::R_AMDGPU_REL32_HI:
      value = (value - place) >> 32;
      width = 4;
      break;
    default:
      return refused("{}: dynamic relocation of type {} at {:#x} is not known", object.name(), relocation.type,
                     relocation.offset);
    }
    if (relocation.offset < low || relocation.offset - low > image.size() ||
        width > image.size() - (relocation.offset - low))
      return badInput("{}: relocation at {:#x} lies outside the loaded image", object.name(), relocation.offset);
    std::memcpy(image.data() + (relocation.offset - low), &value, width);
  }
  return {};
}

Op CodeImage::bind(std::uint64_t guestAddress, isa::InstRef inst) const {
  Op op;
  op.inst = inst;
  op.pc = guestAddress;
  std::string reason = beyondAllocation(*inst, context.accumOffset, vgprs);
  if (reason.empty()) {
    Status status = bindInstruction(*inst, context, op);
    if (status && op.fn)
      return op;
    reason = status ? "the binder gave no handler" : status.error().message;
  }
  const std::string*& shared = reasons[reason];
  if (!shared)
    shared = arena.make(reason);
  Op refusing;
  refusing.fn = refuseOp;
  refusing.inst = inst;
  refusing.pc = guestAddress;
  refusing.extra = shared;
  return refusing;
}

Status CodeImage::bindCode(const object::CodeObject& object) {
  std::uint64_t total = 0, last = 0;
  for (const object::Section* section : object.codeSections()) {
    const std::uint64_t begin = guestAddress(section->address);
    const std::uint64_t offset = begin - GuestMemory::firstRegionAddress;
    if (section->size < 4)
      continue;
    if (section->address % 4 != 0)
      return badInput("{}: code section '{}' is not aligned to instructions", object.name(), section->name);
    if (offset > image.size() || section->size > image.size() - offset)
      return badInput("{}: code section '{}' is not in a loadable segment", object.name(), section->name);
    if (begin < last)
      return badInput("{}: code section '{}' overlaps another", object.name(), section->name);
    last = begin + section->size;
    total += section->size;
    if (total > codeLimit)
      return refused("{}: more than {} bytes of code", object.name(), codeLimit);
    Section entry;
    entry.begin = begin;
    entry.end = begin + section->size / 4 * 4;
    entry.opIndex.assign(section->size / 4, noOp);
    sections.push_back(std::move(entry));
  }
  if (sections.empty())
    return badInput("{}: no code", object.name());
  firstCode = sections.front().begin;
  codeSpanDwords = (sections.back().end - firstCode) / 4;

  // s_set_gpr_idx_on makes vector operands depend on M0; a literal that looks like it costs speed only.
  for (const Section& section : sections)
    for (std::uint64_t at = section.begin; at < section.end && !context.gprIndexing; at += 4) {
      std::uint32_t word;
      std::memcpy(&word, image.data() + (at - GuestMemory::firstRegionAddress), sizeof word);
      context.gprIndexing = (word & 0xffff0000) == 0xbf110000;
    }

  std::vector<Op>& ops = main[plainStream];
  ops.reserve(total / 6 + 64);
  const isa::SharedCodec::Use decoder(*codec);
  for (Section& section : sections) {
    const std::span<const std::uint8_t> code(image.data() + (section.begin - GuestMemory::firstRegionAddress),
                                             section.end - section.begin);
    for (std::size_t at = 0; at < code.size();) {
      const isa::InstRef inst = decoder.decode(code.subspan(at));
      section.opIndex[at / 4] = static_cast<std::uint32_t>(ops.size());
      ops.push_back(bind(section.begin + at, inst));
      usesSkip |= inst->base == "s_setvskip";
      clock |= inst->base == "s_memtime" || inst->base == "s_memrealtime";
      at += std::max<std::size_t>(4, (inst->size + 3u) / 4 * 4);
    }
    Op end;
    end.fn = ranOffOp;
    end.inst = ops.back().inst;
    end.pc = ops.back().pc;
    ops.push_back(end);
  }
  ops.shrink_to_fit();
  if (usesSkip)
    derive(main, skipStream);
  link(main[plainStream], plainStream);
  if (usesSkip)
    link(main[skipStream], skipStream);
  return {};
}

void CodeImage::derive(Ops& ops, Stream to) const {
  ops[to] = ops[plainStream];
  for (Op& op : ops[to]) {
    const bool pseudo = isPseudo(op);
    const bool skipped = isSkip(to) && isVector(op.inst->cls) && !pseudo;
    if (skipped)
      op.fn = skippedOp;
    if (to >= instrumentedStream && !pseudo) {
      op.plain = op.fn;
      op.fn = to >= observedStream && !skipped ? observeOp : recordOp;
    }
  }
}

void CodeImage::link(std::vector<Op>& ops, unsigned stream) const {
  for (Op& op : ops) {
    if (isPseudo(op) || !op.inst->branchOffset)
      continue;
    const std::uint64_t target =
        op.pc + op.inst->size + static_cast<std::uint64_t>(std::int64_t{*op.inst->branchOffset} * 4);
    const Section* section = sectionOf(target);
    const std::uint32_t index = section && target % 4 == 0 ? section->opIndex[(target - section->begin) / 4] : noOp;
    if (index != noOp) {
      op.target = &main[stream][index];
      continue;
    }
    Op stray;
    stray.fn = strayOp;
    stray.inst = op.inst;
    stray.pc = op.pc;
    stray.aux = target;
    const std::lock_guard guard(lock);
    strays.push_back(stray);
    op.target = &strays.back();
  }
}

void CodeImage::deriveMain(Stream to) const {
  derive(main, to);
  link(main[to], to);
  if (usesSkip && !isSkip(to))
    deriveMain(withSkip(to, true));
}

void CodeImage::instrument() const {
  std::call_once(instrumentedOnce, [this] { deriveMain(instrumentedStream); });
}

void CodeImage::observe() const {
  std::call_once(observedOnce, [this] { deriveMain(observedStream); });
}

const CodeImage::Section* CodeImage::sectionOf(std::uint64_t guestAddress) const {
  for (const Section& section : sections)
    if (guestAddress >= section.begin && guestAddress < section.end)
      return &section;
  return nullptr;
}

const Op* CodeImage::opAt(std::uint64_t guestAddress, unsigned stream) const {
  const Section* section = sectionOf(guestAddress);
  if (!section || guestAddress % 4 != 0)
    return nullptr;
  const std::uint32_t index = section->opIndex[(guestAddress - section->begin) / 4];
  return index != noOp ? &main[stream][index] : straightPiece(*section, guestAddress, stream);
}

const Op* CodeImage::straightPiece(const Section& section, std::uint64_t guestAddress, unsigned stream) const {
  const std::lock_guard guard(lock);
  const auto seal = [&](std::vector<Op>& piece, unsigned s) {
    link(piece, s);
    if (piece.back().fn == joinOp)
      piece.back().target = &main[s][section.opIndex[(piece.back().aux - section.begin) / 4]];
  };
  if (pieces.size() >= pieceLimit && !pieces.contains(guestAddress))
    return nullptr;
  std::unique_ptr<Ops>& piece = pieces[guestAddress];
  if (!piece) {
    piece = std::make_unique<Ops>();
    std::vector<Op>& ops = (*piece)[plainStream];
    const isa::SharedCodec::Use decoder(*codec);
    std::uint64_t at = guestAddress;
    while (at < section.end && section.opIndex[(at - section.begin) / 4] == noOp && ops.size() < pieceLength) {
      const isa::InstRef inst = decoder.decode(
          std::span<const std::uint8_t>(image.data() + (at - GuestMemory::firstRegionAddress), section.end - at));
      ops.push_back(bind(at, inst));
      at += std::max<std::size_t>(4, (inst->size + 3u) / 4 * 4);
    }
    Op end;
    if (at >= section.end)
      end.fn = ranOffOp;
    else
      end.fn = section.opIndex[(at - section.begin) / 4] != noOp ? joinOp : continueOp;
    end.inst = ops.back().inst;
    end.pc = ops.back().pc;
    end.aux = at;
    ops.push_back(end);
    seal(ops, plainStream);
  }
  std::vector<Op>& ops = (*piece)[stream];
  if (ops.empty()) {
    derive(*piece, static_cast<Stream>(stream));
    seal(ops, stream);
  }
  return ops.data();
}

} // namespace asmevo::emulator
