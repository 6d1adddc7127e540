#include "optimize/moves/arithmetic/copies.h"

#include <algorithm>
#include <map>

namespace asmevo::optimize {

namespace {

bool overlaps(const RegisterTuple& a, const RegisterTuple& b) {
  return a.file == b.file && a.first < b.first + b.count && b.first < a.first + a.count;
}

/// Readers of the units, all before any of them is written again; nothing if they are not all known.
std::optional<std::vector<std::size_t>> readersOf(const StraightCode& code, const isa::RegSet& units, std::size_t at) {
  std::vector<std::size_t> readers;
  bool known = true;
  units.forEach([&](isa::RegUnit unit) {
    const auto uses = known ? code.usesOf(unit, at) : std::nullopt;
    known = known && uses.has_value();
    if (known)
      readers.insert(readers.end(), uses->begin(), uses->end());
  });
  if (!known)
    return std::nullopt;
  std::ranges::sort(readers);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool scalarMayDiffer(const isa::Instruction& inst) {
  return inst.cls != isa::InstClass::valu && inst.cls != isa::InstClass::mfma && inst.cls != isa::InstClass::lds &&
         !inst.isVectorMemory();
}

} // namespace

bool readFrom(StraightCode& code, std::size_t copy, const RegisterTuple& target, const RegisterTuple& source) {
  const isa::RegSet targets = unitsOf(target, code.accumOffset()), sources = unitsOf(source, code.accumOffset());
  if (targets.intersects(sources))
    return false;
  const auto readers = readersOf(code, targets, copy);
  if (!readers)
    return false;
  std::map<std::size_t, isa::InstRef> renamed;
  for (const std::size_t reader : *readers) {
    if (!code.isEditable(reader) || !code.unchangedBetween(sources, copy, reader))
      return false;
    const isa::Instruction& inst = code.at(reader);
    // A tied operand is the destination too; a destination of the same name stays.
    std::vector<OperandRename> renames;
    for (std::size_t i = 0; i < inst.operands.size(); ++i) {
      const auto named = tupleOf(inst.operands[i]);
      if (!named || !overlaps(*named, target))
        continue;
      if (inst.operands[i].isDef) {
        if (inst.tiedDest)
          return false;
        continue;
      }
      if (named->first < target.first || named->first + named->count > target.first + target.count)
        return false;
      const unsigned first = source.first + (named->first - target.first);
      if (first % alignmentOf(source.file, named->count, code.codec().target()) != 0)
        return false;
      renames.push_back({i, first, source.file});
    }
    if (renames.empty())
      return false;
    auto made = renameOperands(inst, renames, code.codec());
    if (!made || (*made)->reads(code.accumOffset()).intersects(targets))
      return false;
    renamed[reader] = *made;
  }
  for (const auto& [reader, inst] : renamed)
    code.replace(reader, inst);
  code.remove(copy);
  return true;
}

bool writeTo(StraightCode& code, std::size_t copy, const RegisterTuple& target, const RegisterTuple& source) {
  if (source.count != 1 || target.count != 1 || source.file != target.file)
    return false;
  const isa::RegSet targets = unitsOf(target, code.accumOffset()), sources = unitsOf(source, code.accumOffset());
  isa::RegUnit unit = 0, aim = 0;
  sources.forEach([&](isa::RegUnit u) { unit = u; });
  targets.forEach([&](isa::RegUnit u) { aim = u; });
  const std::size_t maker = code.definition(unit, copy);
  if (maker == StraightCode::npos || unit == aim || !code.isEditable(maker) || !code.sameLanes(maker, copy) ||
      !code.deadAfter(unit, copy))
    return false;
  const isa::Instruction& inst = code.at(maker);
  if (inst.tiedDest || inst.operands.empty() || !inst.operands[0].isDef || tupleOf(inst.operands[0]) != source ||
      (inst.cls != isa::InstClass::valu && inst.cls != isa::InstClass::salu))
    return false;
  // A scalar result that is made by a vector instruction needs wait states of another kind: leave it.
  if (source.file == RegisterFile::sgpr && inst.cls != isa::InstClass::salu)
    return false;
  for (std::size_t i = 1; i < inst.operands.size(); ++i)
    if (const auto named = tupleOf(inst.operands[i]); named && inst.operands[i].isDef && overlaps(*named, target))
      return false;
  std::map<std::size_t, isa::InstRef> renamed;
  const OperandRename destination{0, target.first, target.file};
  auto made = renameOperands(inst, std::span(&destination, 1), code.codec());
  if (!made || (*made)->writes(code.accumOffset()).test(unit))
    return false;
  renamed[maker] = *made;
  for (std::size_t i = maker + 1; i < copy; ++i) {
    if (!code.has(i))
      continue;
    if (code.reads(i).test(aim) || code.writes(i).test(aim) || code.writes(i).test(unit) ||
        code.at(i).cls == isa::InstClass::waitcnt)
      return false;
    if (!code.reads(i).test(unit))
      continue;
    if (!code.isEditable(i) || scalarMayDiffer(code.at(i)) != (source.file == RegisterFile::sgpr))
      return false;
    auto reader = replaceRegisters(code.at(i), source, target, code.codec());
    if (!reader || (*reader)->reads(code.accumOffset()).test(unit))
      return false;
    renamed[i] = *reader;
  }
  for (const auto& [at, changed] : renamed)
    code.replace(at, changed);
  code.remove(copy);
  return true;
}

bool readConstant(StraightCode& code, std::size_t copy, const RegisterTuple& target, const std::string& constant) {
  if (target.count != 1)
    return false;
  const isa::RegSet targets = unitsOf(target, code.accumOffset());
  const auto readers = readersOf(code, targets, copy);
  if (!readers)
    return false;
  std::map<std::size_t, isa::InstRef> changed;
  for (const std::size_t reader : *readers) {
    const isa::Instruction& inst = code.at(reader);
    if (!code.isEditable(reader) || (inst.cls != isa::InstClass::valu && inst.cls != isa::InstClass::salu) ||
        inst.tiedDest || !isPlain(inst))
      return false;
    std::string text = inst.text;
    std::size_t place = 0, found = 0;
    for (std::size_t i = inst.operands.size(); i-- > 0;)
      if (!inst.operands[i].isDef && tupleOf(inst.operands[i]) == target) {
        text.replace(inst.operands[i].textBegin, inst.operands[i].textEnd - inst.operands[i].textBegin, constant);
        place = i;
        ++found;
      }
    if (found != 1)
      return false;
    auto made = code.codec().assemble(text);
    if (!made)
      return false;
    const isa::InstRef complete = code.codec().complete(*made);
    // Where the constant makes the instruction longer, nothing is gained in fetch but an issue slot.
    if (complete->mnemonic != inst.mnemonic || complete->operands.size() != inst.operands.size() ||
        complete->reads(code.accumOffset()).intersects(targets) ||
        (complete->operands[place].kind != isa::OperandKind::imm &&
         complete->operands[place].kind != isa::OperandKind::fpImm))
      return false;
    changed[reader] = complete;
  }
  for (const auto& [reader, inst] : changed)
    code.replace(reader, inst);
  code.remove(copy);
  return true;
}

} // namespace asmevo::optimize
