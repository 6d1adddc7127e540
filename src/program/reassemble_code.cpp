#include "program/reassemble_code.h"

#include "program/pc_reference.h"
#include "program/print_data.h"
#include "program/reassemble_data.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <bit>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

/// How far a line without an address may be from where the last unchanged one was.
constexpr std::size_t lookAhead = 64;
/// Stands for an address while an instruction is assembled: no inline constant.
constexpr std::string_view literalPlaceholder = "0x12345678";

bool takesBlock(std::string_view mnemonic) {
  return mnemonic.starts_with("s_branch") || mnemonic.starts_with("s_cbranch") || mnemonic.starts_with("s_call") ||
         mnemonic.starts_with("s_subvector_loop");
}

/// Labels for the program counter and for literals, which are no places to branch to.
bool isAnchorName(std::string_view name) {
  return name.starts_with(".Lpc") || name.starts_with(".Lliteral");
}

Instr instrOf(isa::InstRef inst) {
  Instr instr;
  instr.inst = inst;
  return instr;
}

bool startsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '$' || c == '"';
}

} // namespace

CodeReader::CodeReader(const object::CodeObject& object, const Program& original, isa::Codec& codec,
                       Statements& statements, TextDiagnostics& diagnostics)
    : object(object), original(original), codec(codec), statements(statements), diagnostics(diagnostics),
      nextAnchor(original.freshGetpcId()) {
  for (BlockId id = 0; id < original.blocks.size(); ++id)
    for (std::size_t i = 0; i < original.blocks[id].instrs.size(); ++i)
      byAddress.try_emplace(original.blocks[id].instrs[i].address, OriginalPlace{id, i});
  collectPlaces();
}

void CodeReader::collectPlaces() {
  const Labels& places = statements.labels();
  for (const object::Section& section : object.sections()) {
    if ((section.flags & elf::SHF_ALLOC) == 0 || isMadeByLinker(section))
      continue;
    for (const std::uint64_t address : places.placesIn(section.address, section.address + section.size + 1)) {
      for (const object::Symbol* symbol : places.symbolsAt(address)) {
        knownLabels.try_emplace(symbol->name, address);
        fixedPlaces.insert(address);
      }
      if (places.needsLabel(address))
        knownLabels.try_emplace(places.local(address), address);
    }
  }
  for (const object::Relocation& relocation : object.relocations())
    fixedPlaces.insert(static_cast<std::uint64_t>(relocation.addend));
  for (const Function& function : original.functions)
    fixedPlaces.insert(function.entry);
  for (const Block& block : original.blocks) {
    if (block.entersByRegister)
      fixedPlaces.insert(block.address);
    for (const Instr& instr : block.instrs)
      if (instr.pcRef)
        fixedPlaces.insert(instr.pcRef->target);
  }
}

void CodeReader::section(std::size_t index, BlockId first, BlockId last, const std::vector<Statement>& text) {
  current = index;
  labelledHere.clear();
  startedHere.clear();
  lastBlockAddress = lastAddress = 0;
  pendingAlignment = 0;
  begun = false;
  expected.reset();
  list();
  for (BlockId id = 0; id < first; ++id)
    if (original.blocks[id].section == index)
      takeOver(id);
  for (const Statement& statement : text)
    if (statement.kind == Statement::Kind::label)
      if (const auto known = knownLabels.find(unquoted(statement.text)); known != knownLabels.end())
        labelledHere.insert(known->second);
  if (first < last && !original.blocks[first].instrs.empty())
    expected = OriginalPlace{first, 0};
  const std::size_t keptBefore = kept;
  for (const Statement& statement : text) {
    if (diagnostics.full())
      return;
    begun |= statement.kind != Statement::Kind::directive || elementBytes(firstWord(statement.text)) > 0;
    switch (statement.kind) {
    case Statement::Kind::label:
      label(statement);
      break;
    case Statement::Kind::directive:
      directive(statement);
      break;
    case Statement::Kind::instruction:
      instruction(statement);
      break;
    case Statement::Kind::metadata:
      break;
    }
  }
  std::size_t there = 0;
  for (BlockId id = first; id < last; ++id)
    there += original.blocks[id].instrs.size();
  gone += there - std::min(there, kept - keptBefore);
  for (BlockId id = last; id < original.blocks.size(); ++id)
    if (original.blocks[id].section == index)
      takeOver(id);
}

void CodeReader::takeOver(BlockId id) {
  Draft copy{original.blocks[id], {}, {}};
  copy.origins.assign(copy.block.instrs.size(), nullptr);
  copy.isNew.assign(copy.block.instrs.size(), false);
  for (const Instr& instr : copy.block.instrs)
    if (instr.getpcId != 0) {
      anchors.try_emplace(fmt::format(".Lpc{}", instr.getpcId), instr.getpcId);
      usedAnchors.insert(instr.getpcId);
    }
  const std::uint64_t address = copy.block.address;
  list().push_back(std::move(copy));
  if (address == noAddress)
    return;
  const Labels& places = statements.labels();
  for (const object::Symbol* symbol : places.symbolsAt(address))
    labels.try_emplace(symbol->name, Label{current, list().size() - 1});
  labels.try_emplace(places.local(address), Label{current, list().size() - 1});
  startedHere.insert(address);
  lastBlockAddress = lastAddress = address;
}

/// Opens a block that stands for the place `address` of the original, or for none.
void CodeReader::startBlock(std::uint64_t address) {
  if (list().empty() || !draft().block.instrs.empty() || draft().block.address != noAddress) {
    list().emplace_back();
    draft().block.section = current;
  }
  Block& block = draft().block;
  block.alignment = std::max(block.alignment, std::exchange(pendingAlignment, 0));
  if (address == noAddress)
    return;
  block.address = address;
  startedHere.insert(address);
  lastBlockAddress = address;
  const auto place = byAddress.find(address);
  if (place == byAddress.end())
    return;
  const Block& before = original.blocks[place->second.block];
  if (before.address != address)
    return;
  block.size = before.size;
  block.opaque = before.opaque;
  block.entersByRegister = before.entersByRegister;
  block.alignment = std::max(block.alignment, before.alignment);
}

void CodeReader::label(const Statement& statement) {
  const std::string name = unquoted(statement.text);
  if (isAnchorName(name)) {
    const bool behindGetpc = !list().empty() && !draft().block.instrs.empty() && draft().block.instrs.back().getpcId;
    if (name.starts_with(".Lliteral"))
      return;
    if (!behindGetpc)
      return diagnostics.error(statement, 0, fmt::format("'{}' stands behind no s_getpc_b64", name));
    if (!anchors.emplace(name, draft().block.instrs.back().getpcId).second)
      diagnostics.error(statement, 0, fmt::format("'{}' is defined twice", name));
    return;
  }
  if (labels.contains(name))
    return diagnostics.error(statement, 0, fmt::format("'{}' is defined twice", name));
  std::uint64_t address = noAddress;
  if (const auto known = knownLabels.find(name); known != knownLabels.end()) {
    const object::Section& section = object.sections()[current];
    const bool here = known->second >= section.address && known->second - section.address <= section.size;
    const bool inOrder = known->second >= lastBlockAddress;
    if (here && inOrder)
      address = known->second;
    else if (!here || fixedPlaces.contains(known->second))
      return diagnostics.error(statement, 0,
                               fmt::format("'{}' is a place that symbols, data or the program counter "
                                           "refer to: such places keep their order",
                                           name));
  }
  const bool atThisPlace =
      address != noAddress && !list().empty() && draft().block.instrs.empty() && draft().block.address == address;
  if (!atThisPlace)
    startBlock(startedHere.contains(address) ? noAddress : address);
  labels.emplace(name, Label{current, list().size() - 1});
  if (const auto place = byAddress.find(address); address != noAddress && place != byAddress.end())
    expected = place->second;
}

void CodeReader::directive(const Statement& statement) {
  const std::string_view word = firstWord(statement.text), rest = afterFirstWord(statement.text);
  if (const std::size_t element = elementBytes(word); element > 0)
    return words(statement, element);
  if (word == ".p2align" || word == ".balign") {
    const auto value = integerConstant(rest);
    if (!value || (word == ".p2align" ? *value > 16 : !std::has_single_bit(*value) || *value > 65536))
      return diagnostics.error(statement, 0, "an alignment is expected, a power of two");
    const std::uint64_t alignment = word == ".p2align" ? std::uint64_t{1} << *value : *value;
    const object::Section& section = object.sections()[current];
    if (!begun || alignment <= 4)
      return; // what the text starts with is where it is
    if (alignment > section.alignment)
      return diagnostics.error(statement, 0,
                               fmt::format("section {} is aligned to {} bytes only", section.name, section.alignment));
    pendingAlignment = static_cast<std::uint32_t>(alignment);
    return;
  }
  if (isSymbolDirective(word)) {
    const auto names = commaSeparated(rest);
    const std::string name = names.empty() ? std::string() : unquoted(names.front());
    if (!knownLabels.contains(name))
      diagnostics.error(statement, 0, fmt::format("'{}' is no symbol of the original: symbols cannot be added", name));
    return;
  }
  diagnostics.error(statement, 0, fmt::format("the directive '{}' is not accepted in code", word),
                    "accepted: .long .byte .p2align and those that declare symbols of the original");
}

/// Words in code: instructions where they decode, else opaque.
void CodeReader::words(const Statement& statement, std::size_t element) {
  if (const auto place = unchanged(statement))
    return keep(statement, *place);
  std::vector<std::uint8_t> bytes;
  for (const std::string_view value : commaSeparated(afterFirstWord(statement.text))) {
    const auto number = integerConstant(value);
    if (!number || bytes.size() > 4096)
      return diagnostics.error(statement, 0, "integer constants are expected in code");
    for (std::size_t i = 0; i < element; ++i)
      bytes.push_back(static_cast<std::uint8_t>(*number >> (8 * i)));
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const isa::InstRef inst = codec.decode(std::span(bytes).subspan(at));
    const bool opaque = inst->cls == isa::InstClass::unknown;
    if (inst->branchOffset)
      return diagnostics.error(statement, 0, "a branch in words has no target: write it as an instruction",
                               fmt::format("for example '{} LABEL'", inst->mnemonic));
    if (list().empty() || draft().block.opaque != opaque) {
      startBlock(noAddress);
      draft().block.opaque = opaque;
    }
    append(statement, instrOf(inst), true);
    at += std::max<std::size_t>(inst->size, 1);
  }
}

bool CodeReader::says(const Statement& statement, const std::string& canonical, OriginalPlace place) {
  const Block& block = original.blocks[place.block];
  const Instr& instr = block.instrs[place.index];
  if (statement.kind == Statement::Kind::directive) {
    const auto [words, isFresh] = canonicalWords.try_emplace(instr.inst);
    if (isFresh)
      words->second = canonicalStatement(asWords(*instr.inst));
    return canonical == words->second;
  }
  const auto text = statements.text(block, instr);
  return text && canonicalStatement(*text) == canonical;
}

std::optional<CodeReader::OriginalPlace> CodeReader::after(OriginalPlace place) const {
  if (++place.index < original.blocks[place.block].instrs.size())
    return place;
  for (place = {place.block + 1, 0}; place.block < original.blocks.size(); ++place.block)
    if (!original.blocks[place.block].instrs.empty())
      return place;
  return std::nullopt;
}

/// The instruction of the original that this line still is.
std::optional<CodeReader::OriginalPlace> CodeReader::unchanged(const Statement& statement) {
  const std::string canonical = canonicalStatement(statement.text);
  if (const auto address = commentAddress(statement.comment)) {
    const auto place = byAddress.find(*address);
    if (place == byAddress.end() || !says(statement, canonical, place->second))
      return std::nullopt;
    return place->second;
  }
  auto place = expected;
  for (std::size_t steps = 0; place && steps < lookAhead; ++steps) {
    if (says(statement, canonical, *place))
      return place;
    place = after(*place);
  }
  return std::nullopt;
}

void CodeReader::keep(const Statement& statement, OriginalPlace place) {
  const Block& before = original.blocks[place.block];
  Instr instr = before.instrs[place.index];
  const bool isStart = place.index == 0 && before.address == instr.address;
  const bool startsHere = isStart && before.section == current && !labelledHere.contains(before.address) &&
                          !startedHere.contains(before.address) && before.address > lastBlockAddress;
  if (startsHere)
    startBlock(before.address);
  if (list().empty() || (draft().block.opaque != before.opaque && !draft().block.instrs.empty()))
    startBlock(noAddress);
  draft().block.opaque = before.opaque;

  // Places of the original stay in order; an instruction that moved or was copied is at a new one.
  const bool first = instr.address >= lastAddress && before.section == current;
  if (first)
    lastAddress = instr.address + 1;
  else
    instr.address = noAddress;
  if (instr.getpcId != 0 && !usedAnchors.insert(instr.getpcId).second)
    instr.getpcId = nextAnchor++;
  expected = after(place);
  ++kept;
  if (instr.target && instr.inst->branchOffset) {
    const auto operands = commaSeparated(afterFirstWord(statement.text));
    if (statement.kind == Statement::Kind::instruction && !operands.empty()) {
      const std::string_view name = operands.back();
      instr.target.reset();
      append(statement, instr, false);
      labelUses.push_back({current, list().size() - 1, draft().block.instrs.size() - 1, &statement,
                           static_cast<std::size_t>(name.data() - statement.text.data()), unquoted(name)});
      return;
    }
  }
  append(statement, instr, false);
}

void CodeReader::append(const Statement& statement, Instr instr, bool isNew) {
  const bool closed = !list().empty() && !draft().block.instrs.empty() && !draft().block.opaque &&
                      (neverFallsThrough(flowOf(draft().block.instrs.back().inst)) ||
                       flowOf(draft().block.instrs.back().inst) == Flow::conditional);
  if (list().empty() || closed || pendingAlignment != 0) {
    const bool opaque = !list().empty() && draft().block.opaque;
    startBlock(noAddress);
    draft().block.opaque = opaque;
  }
  if (isNew && instr.getpcId == 0 && isGetpc(*instr.inst))
    instr.getpcId = nextAnchor++;
  assembled += isNew;
  draft().block.instrs.push_back(instr);
  draft().origins.push_back(&statement);
  draft().isNew.push_back(isNew);
}

void CodeReader::instruction(const Statement& statement) {
  if (const auto place = unchanged(statement))
    return keep(statement, *place);
  if (list().empty() || (draft().block.opaque && !draft().block.instrs.empty()))
    startBlock(noAddress);
  draft().block.opaque = false;
  const auto operands = commaSeparated(afterFirstWord(statement.text));
  if (takesBlock(firstWord(statement.text)) && !operands.empty() && !operands.back().empty()) {
    if (startsName(operands.back().front()))
      return appendBranch(statement, operands.back());
    if (integerConstant(operands.back()))
      return diagnostics.error(statement, static_cast<std::size_t>(operands.back().data() - statement.text.data()),
                               "a branch goes to a label, not to a distance that changes with every edit");
  }
  if (const auto reference = referenceIn(statement))
    return appendReference(statement, *reference);
  if (const auto inst = assemble(statement, std::string(statement.text)))
    append(statement, instrOf(*inst), true);
}

void CodeReader::appendBranch(const Statement& statement, std::string_view target) {
  const auto offset = static_cast<std::size_t>(target.data() - statement.text.data());
  const auto inst = assemble(statement, std::string(statement.text.substr(0, offset)) + "0");
  if (!inst)
    return;
  if (!(*inst)->branchOffset)
    return diagnostics.error(statement, 0, fmt::format("'{}' does not go to a label", firstWord(statement.text)));
  append(statement, instrOf(*inst), true);
  labelUses.push_back(
      {current, list().size() - 1, draft().block.instrs.size() - 1, &statement, offset, unquoted(target)});
}

/// An operand that is an expression of labels, as Statements writes it or as compilers do ("table@rel32@lo+4").
std::optional<CodeReader::ReferenceText> CodeReader::referenceIn(const Statement& statement) const {
  for (const std::string_view operand : commaSeparated(afterFirstWord(statement.text))) {
    ReferenceText reference;
    reference.begin = static_cast<std::size_t>(operand.data() - statement.text.data());
    reference.size = operand.size();
    if (operand.starts_with('(')) {
      const std::size_t minus = operand.find('-'), end = operand.find(')');
      if (minus == std::string_view::npos || end == std::string_view::npos || minus > end)
        continue;
      const std::string left = unquoted(operand.substr(1, minus - 1));
      const std::string right = unquoted(operand.substr(minus + 1, end - minus - 1));
      const std::string half = canonicalStatement(operand.substr(end + 1));
      reference.high = half == ">>32";
      if (!reference.high && half != "&4294967295")
        continue;
      reference.negated = left.starts_with(".Lpc");
      reference.anchor = reference.negated ? left : right;
      reference.target = reference.negated ? right : left;
      return reference;
    }
    const std::size_t at = operand.find('@');
    if (at == std::string_view::npos)
      continue;
    reference.target = unquoted(operand.substr(0, at));
    std::string_view rest = operand.substr(at);
    const auto take = [&](std::string_view word) {
      const bool fits = rest.starts_with(word);
      rest.remove_prefix(fits ? word.size() : 0);
      return fits;
    };
    if (take("@gotpcrel32"))
      reference.isGot = true;
    else if (!take("@rel32"))
      continue;
    reference.high = take("@hi");
    if (!reference.high && !take("@lo"))
      continue;
    if (const auto number = integerConstant(rest); number && !rest.empty()) {
      reference.addend = static_cast<std::int64_t>(*number);
      return reference;
    }
    if (rest.empty())
      return reference;
    const std::size_t pc = rest.find("-4-");
    if (rest.starts_with("+(.Lliteral") && pc != std::string_view::npos && rest.ends_with(')')) {
      reference.anchor = std::string(rest.substr(pc + 3, rest.size() - pc - 4));
      return reference;
    }
  }
  return std::nullopt;
}

void CodeReader::appendReference(const Statement& statement, const ReferenceText& reference) {
  std::string text(statement.text);
  text.replace(reference.begin, reference.size, literalPlaceholder);
  const auto inst = assemble(statement, text);
  if (!inst)
    return;
  const auto constant = sop2Constant(**inst);
  if (!constant || !constant->isLiteral)
    return diagnostics.error(statement, reference.begin,
                             "only scalar additions and subtractions take addresses of labels");
  std::uint64_t target = 0;
  if (reference.isGot) {
    for (const object::Section& section : object.sections())
      for (std::uint64_t slot = section.address; section.name == ".got" && slot < section.address + section.size;
           slot += 8)
        if (unquoted(gotSymbol(object, slot)) == reference.target)
          target = slot;
    if (target == 0)
      return diagnostics.error(statement, reference.begin,
                               fmt::format("the original has no slot for '{}' in its .got", reference.target));
  } else if (const auto known = knownLabels.find(reference.target); known != knownLabels.end()) {
    target = known->second;
  } else {
    return diagnostics.error(statement, reference.begin,
                             fmt::format("'{}' is no label or symbol of the original", reference.target),
                             unknownLabelHint(reference.target));
  }
  append(statement, instrOf(*inst), true);
  std::vector<Instr>& instrs = draft().block.instrs;
  PcReference pc;
  pc.high = reference.high;
  pc.negated = reference.negated;
  if (!reference.anchor.empty()) {
    anchorUses.push_back({current, list().size() - 1, instrs.size() - 1, &statement, reference.anchor});
  } else {
    // As compilers write it: what is added makes up for the distance between the program counter and the literal.
    std::int64_t distance = (*inst)->size - 4;
    std::size_t i = instrs.size() - 1;
    while (i > 0 && instrs[i - 1].getpcId == 0)
      distance += instrs[--i].inst->size;
    if (i == 0)
      return diagnostics.error(statement, reference.begin, "no s_getpc_b64 stands in front of this in its block");
    pc.getpcId = instrs[i - 1].getpcId;
    target += static_cast<std::uint64_t>(reference.addend - distance);
  }
  pc.target = target;
  instrs.back().pcRef = pc;
}

std::string CodeReader::exampleOf(std::string_view mnemonic) {
  for (const Block& block : original.blocks)
    for (const Instr& instr : block.instrs)
      if (const isa::InstRef inst = codec.complete(instr.inst);
          !block.opaque && (inst->mnemonic == mnemonic || inst->base == mnemonic))
        return fmt::format("this file has '{}' at {:#x}", inst->text, instr.address);
  return {};
}

std::optional<isa::InstRef> CodeReader::assemble(const Statement& statement, const std::string& text) {
  isa::AssemblerDiagnostic diagnostic;
  const auto inst = codec.assemble(text, diagnostic);
  if (inst)
    return *inst;
  const std::string_view mnemonic = firstWord(statement.text);
  std::string message = diagnostic.message, hint;
  if (const std::size_t guess = message.find(", did you mean"); guess != std::string::npos)
    message.resize(guess);
  const bool unknown = message.find("invalid instruction") != std::string::npos;
  const bool foreign = message.find("not supported on this GPU") != std::string::npos;
  if (unknown || foreign) {
    message = fmt::format("'{}' is {} {}", mnemonic, unknown ? "no instruction of" : "not supported on",
                          object.target().processor);
    for (const std::string& near : nearestMnemonics(mnemonic, codec))
      hint += (hint.empty() ? "did you mean " : ", ") + near;
    if (!hint.empty())
      hint += '?';
  } else if (message.find("register index is out of range") != std::string::npos ||
             message.find("not a register") != std::string::npos) {
    hint = object.target().isGfx9() ? "registers are v0 to v255, a0 to a255 and s0 to s101, in tuples like v[0:1]"
                                    : "registers are v0 to v255 and s0 to s105, in tuples like v[0:1]";
  } else {
    hint = exampleOf(mnemonic);
  }
  const std::size_t column = diagnostic.column > 0 ? diagnostic.column - 1 : 0;
  diagnostics.error(statement, std::min(column, statement.text.size()), message, hint);
  return std::nullopt;
}

std::string CodeReader::unknownLabelHint(const std::string& name) const {
  std::vector<std::string> all;
  all.reserve(labels.size() + knownLabels.size());
  for (const auto& [label, place] : labels)
    all.push_back(label);
  for (const auto& [label, address] : knownLabels)
    all.push_back(label);
  std::ranges::sort(all);
  const std::string near = nearest(name, all);
  return near.empty() ? std::string() : fmt::format("did you mean {}?", near);
}

Program CodeReader::finish() {
  Program program = original;
  program.blocks.clear();
  std::map<std::pair<std::size_t, std::size_t>, BlockId> ids; ///< section and draft to block
  std::set<std::size_t> written;
  for (const Block& block : original.blocks) {
    const auto found = drafts.find(block.section);
    if (found == drafts.end()) {
      program.blocks.push_back(block);
      continue;
    }
    if (!written.insert(block.section).second)
      continue;
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      Draft& each = found->second[i];
      const auto id = static_cast<BlockId>(program.blocks.size());
      ids[{block.section, i}] = id;
      for (std::size_t k = 0; k < each.isNew.size(); ++k)
        if (each.isNew[k])
          fresh.push_back({id, k, each.origins[k]});
      program.blocks.push_back(each.block);
    }
  }
  linkOriginals(program, ids);
  linkLabels(program, ids);
  program.relink();
  return program;
}

/// Block numbers of the original to the new ones, by place.
void CodeReader::linkOriginals(Program& program, const std::map<std::pair<std::size_t, std::size_t>, BlockId>& ids) {
  std::map<std::pair<std::size_t, std::uint64_t>, BlockId> byPlace;
  for (BlockId id = 0; id < program.blocks.size(); ++id)
    if (program.blocks[id].address != noAddress)
      byPlace.emplace(std::pair{program.blocks[id].section, program.blocks[id].address}, id);
  const auto renumbered = [&](BlockId old) -> std::optional<BlockId> {
    if (old >= original.blocks.size())
      return std::nullopt;
    const Block& block = original.blocks[old];
    const auto found = byPlace.find({block.section, block.address});
    return found == byPlace.end() ? std::nullopt : std::optional(found->second);
  };
  const auto complain = [&](const Statement* statement, const std::string& message) {
    if (statement)
      diagnostics.error(*statement, 0, message);
    else
      diagnostics.error(message);
  };
  std::map<BlockId, const Draft*> origins;
  for (const auto& [key, id] : ids)
    if (const auto section = drafts.find(key.first); section != drafts.end() && key.second < section->second.size())
      origins[id] = &section->second[key.second];
  for (BlockId id = 0; id < program.blocks.size(); ++id) {
    const auto draftOf = origins.find(id);
    for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      Instr& instr = program.blocks[id].instrs[i];
      const Statement* statement = draftOf == origins.end() ? nullptr : draftOf->second->origins[i];
      if (instr.target) {
        const std::uint64_t place = original.blocks[*instr.target].address;
        instr.target = renumbered(*instr.target);
        if (!instr.target)
          complain(statement, fmt::format("'{}' goes to {:#x}, whose label is gone", instr.inst->text, place));
      }
      if (instr.pcRef && byAddress.contains(instr.pcRef->target)) {
        const Block& block = original.blocks[byAddress.at(instr.pcRef->target).block];
        if (block.address == instr.pcRef->target && !byPlace.contains({block.section, block.address}))
          complain(statement,
                   fmt::format("'{}' refers to {:#x}, whose label is gone", instr.inst->text, instr.pcRef->target));
      }
    }
  }
  for (CodeTable& table : program.codeTables)
    for (BlockId& target : table.targets) {
      const auto now = renumbered(target);
      if (!now)
        diagnostics.error(fmt::format("the table of code addresses at {:#x} refers to {}, which is gone", table.address,
                                      statements.blockLabel(target)));
      target = now.value_or(0);
    }
  std::erase_if(program.functions, [&](Function& function) {
    const auto entry = renumbered(function.entryBlock);
    const auto preload = function.preloadEntry ? renumbered(*function.preloadEntry) : std::nullopt;
    if (function.kernel && (!entry || (function.preloadEntry && !preload)))
      diagnostics.error(fmt::format("the label {} of the entry of kernel '{}' is gone",
                                    statements.blockLabel(entry ? *function.preloadEntry : function.entryBlock),
                                    function.name));
    function.entryBlock = entry.value_or(0);
    function.preloadEntry = preload;
    return !entry;
  });
}

void CodeReader::linkLabels(Program& program, const std::map<std::pair<std::size_t, std::size_t>, BlockId>& ids) {
  for (const LabelUse& use : labelUses) {
    Instr& instr = program.blocks[ids.at({use.section, use.draft})].instrs[use.index];
    const auto found = labels.find(use.name);
    if (found == labels.end())
      diagnostics.error(*use.statement, use.offset, fmt::format("the label '{}' is not defined", use.name),
                        unknownLabelHint(use.name));
    else if (found->second.section != use.section)
      diagnostics.error(*use.statement, use.offset, fmt::format("'{}' is in another section", use.name));
    else
      instr.target = ids.at({found->second.section, found->second.draft});
  }
  for (const AnchorUse& use : anchorUses) {
    Instr& instr = program.blocks[ids.at({use.section, use.draft})].instrs[use.index];
    const auto found = anchors.find(use.name);
    if (found == anchors.end())
      diagnostics.error(*use.statement, 0, fmt::format("no s_getpc_b64 is followed by the label '{}'", use.name));
    else if (instr.pcRef)
      instr.pcRef->getpcId = found->second;
  }
}

} // namespace asmevo::program
