#include "object/object_support.h"
#include "object/rewrite.h"

#include <gtest/gtest.h>
#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace asmevo::object {
namespace {

namespace elf = llvm::ELF;
using testing::assemble;
using testing::corpusFiles;
using testing::parsed;
using testing::runTool;
using testing::scratchFile;
using testing::twoKernelSource;

constexpr std::uint8_t nop[4] = {0x00, 0x00, 0x80, 0xbf}; // s_nop 0

/// Inserts `count` bytes of s_nop before offset `at` of every code section.
Rewrite insertion(const CodeObject& object, std::uint64_t at, std::uint64_t count) {
  Rewrite rewrite;
  std::vector<std::uint64_t> points;
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const Section& section = object.sections()[i];
    if (!section.isCode())
      continue;
    const auto old = object.contents(section);
    const std::size_t split = std::min<std::size_t>(at, old.size());
    Bytes contents(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(split));
    for (std::uint64_t k = 0; k < count; ++k)
      contents.push_back(nop[k % 4]);
    contents.insert(contents.end(), old.begin() + static_cast<std::ptrdiff_t>(split), old.end());
    rewrite.code.push_back({i, std::move(contents)});
    points.push_back(section.address);
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const SectionEdit& edit : rewrite.code) {
    const Section& section = object.sections()[edit.section];
    ranges.emplace_back(section.address + std::min(at, section.size), section.address + section.size);
  }
  rewrite.moved = [ranges, count](std::uint64_t address) {
    for (const auto& [begin, end] : ranges)
      if (address >= begin && address < end)
        return address + count;
    return address;
  };
  return rewrite;
}

/// The file must load in LLVM's own tools without a word of complaint.
void expectAcceptedByTools(const Bytes& bytes) {
  const std::string file = scratchFile(".co");
  ASSERT_TRUE(writeFileAtomic(file, bytes));
  EXPECT_EQ(runTool({"llvm-readelf-22", "-a", file}).err, "");
  EXPECT_EQ(runTool({"llvm-objdump-22", "-d", file}).err, "");
  std::remove(file.c_str());
}

void expectSoundSegments(const CodeObject& object) {
  std::uint64_t lastEnd = 0;
  for (const Segment& segment : object.segments()) {
    if (segment.type != elf::PT_LOAD)
      continue;
    EXPECT_EQ(segment.offset % segment.alignment, segment.address % segment.alignment);
    EXPECT_GE(segment.address, lastEnd) << "loaded segments overlap or are out of order";
    lastEnd = segment.address + segment.memorySize;
  }
  for (const Section& section : object.sections()) {
    if ((section.flags & elf::SHF_ALLOC) == 0)
      continue;
    if (section.alignment != 0)
      EXPECT_EQ(section.address % section.alignment, 0U) << section.name;
    const bool loaded = std::any_of(object.segments().begin(), object.segments().end(), [&](const Segment& segment) {
      return segment.type == elf::PT_LOAD && section.address >= segment.address &&
             section.address + section.size <= segment.address + segment.memorySize &&
             (section.type == elf::SHT_NOBITS || section.offset - segment.offset == section.address - segment.address);
    });
    EXPECT_TRUE(loaded) << section.name;
  }
}

std::map<std::string, Symbol> symbolsOf(const CodeObject& object, bool dynamic) {
  std::map<std::string, Symbol> symbols;
  for (const Symbol& symbol : object.symbols())
    if (symbol.dynamic == dynamic && !symbol.name.empty())
      symbols[symbol.name] = symbol;
  return symbols;
}

std::uint64_t wordAt(const CodeObject& object, std::uint64_t address) {
  const auto offset = object.fileOffset(address);
  EXPECT_TRUE(offset.has_value());
  std::uint64_t value = 0;
  if (offset)
    std::memcpy(&value, object.bytes().data() + *offset, sizeof value);
  return value;
}

TEST(Rewrite, UnchangedIsByteIdenticalOnTheCorpus) {
  for (const std::string& file : corpusFiles()) {
    const auto object = CodeObject::load(file);
    ASSERT_TRUE(object);
    // The long way round: every code section and descriptor given anew with what it already holds.
    Rewrite rewrite = insertion(*object, 0, 0);
    rewrite.descriptors.emplace_back(0, object->kernels().front().descriptor);
    rewrite.metadata.push_back({0, ".vgpr_count", object->kernels().front().metadata->vgprCount});
    const auto bytes = rewriteObject(*object, rewrite);
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_TRUE(std::ranges::equal(*bytes, object->bytes())) << file;
  }
}

TEST(Rewrite, GrowthKeepsEverythingElseOnProductionObjects) {
  const auto files = corpusFiles();
  for (std::size_t i = 7; i < files.size(); i += 250)
    for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{100000}}) {
      SCOPED_TRACE(files[i]);
      const auto before = CodeObject::load(files[i]);
      ASSERT_TRUE(before);
      const Section& text = *before->codeSections().front();
      const std::uint64_t half = text.size / 8 * 4;
      const auto bytes = rewriteObject(*before, insertion(*before, half, count));
      ASSERT_TRUE(bytes) << bytes.error().message;
      const CodeObject after = parsed(*bytes);
      expectAcceptedByTools(*bytes);
      expectSoundSegments(after);

      const auto oldSymbols = symbolsOf(*before, false);
      const auto newSymbols = symbolsOf(after, false);
      ASSERT_EQ(oldSymbols.size(), newSymbols.size());
      for (const auto& [name, symbol] : oldSymbols) {
        if (!text.contains(symbol.value))
          continue;
        const bool behind = symbol.value >= text.address + half;
        EXPECT_EQ(newSymbols.at(name).value, symbol.value + (behind ? count : 0)) << name;
      }
      EXPECT_EQ(after.metadataText(), before->metadataText());
      EXPECT_EQ(after.kernels().front().entryAddress, before->kernels().front().entryAddress);
      // Same descriptor but for the distance to the code.
      KernelDescriptor descriptor = after.kernels().front().descriptor;
      descriptor.setEntryOffset(before->kernels().front().descriptor.entryOffset());
      EXPECT_EQ(descriptor.raw, before->kernels().front().descriptor.raw);
      // The code is the old code with the insertion.
      const auto newText = after.contents(*after.codeSections().front());
      const auto oldText = before->contents(text);
      ASSERT_EQ(newText.size(), oldText.size() + count);
      EXPECT_TRUE(std::ranges::equal(newText.first(half), oldText.first(half)));
      EXPECT_TRUE(std::ranges::equal(newText.subspan(half + count), oldText.subspan(half)));
    }
}

TEST(Rewrite, GrowthMovesEveryAddress) {
  const CodeObject before = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  for (const std::uint64_t count : {std::uint64_t{256}, std::uint64_t{3584}, std::uint64_t{102400}}) {
    SCOPED_TRACE(count);
    // Behind `first`'s first instruction, so `inner` and `second` move inside .text; the same in .cold.
    const Rewrite rewrite = insertion(before, 8, count);
    const auto bytes = rewriteObject(before, rewrite);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const CodeObject after = parsed(*bytes);
    expectAcceptedByTools(*bytes);
    expectSoundSegments(after);
    const auto plan = planAddresses(before, rewrite);
    ASSERT_TRUE(plan);

    for (const bool dynamic : {false, true}) {
      const auto old = symbolsOf(before, dynamic);
      const auto now = symbolsOf(after, dynamic);
      ASSERT_EQ(old.size(), now.size());
      EXPECT_EQ(now.at("first").value, old.at("first").value);
      EXPECT_EQ(now.at("first").size, old.at("first").size + count) << "a function grows with its code";
      EXPECT_EQ(now.at("second").value, old.at("second").value + count);
      EXPECT_EQ(now.at("second").size, old.at("second").size) << "up to the end of the section";
      EXPECT_EQ(now.at("helper").value, after.sections()[now.at("helper").sectionIndex].address);
      EXPECT_EQ(now.at("helper").size, old.at("helper").size + count);
      EXPECT_EQ(now.at("table").size, old.at("table").size);
      for (const auto& [name, symbol] : old) {
        EXPECT_EQ(plan->mapInSection(symbol.value, symbol.sectionIndex), now.at(name).value) << name;
        const Section& home = after.sections()[symbol.sectionIndex];
        EXPECT_TRUE(home.contains(now.at(name).value)) << name;
      }
    }
    // Addresses in data, by relocation.
    const auto symbols = symbolsOf(after, false);
    const std::uint64_t table = symbols.at("table").value;
    std::map<std::uint64_t, std::uint64_t> targets;
    for (const Relocation& relocation : after.relocations()) {
      const Symbol* symbol = after.relocationSymbol(relocation);
      targets[relocation.offset] = (symbol ? symbol->value : 0) + static_cast<std::uint64_t>(relocation.addend);
    }
    EXPECT_EQ(targets, (std::map<std::uint64_t, std::uint64_t>{{table, symbols.at("inner").value},
                                                               {table + 8, symbols.at("table_local").value + 8},
                                                               {table + 16, symbols.at("helper").value},
                                                               {table + 24, symbols.at("second").value + 4}}));
    EXPECT_EQ(wordAt(after, symbols.at("table_local").value), 7U);
    EXPECT_EQ(wordAt(after, symbols.at("table_local").value + 8), 9U);

    for (const std::string name : {"first", "second"}) {
      const auto kernel = after.findKernel(name);
      ASSERT_TRUE(kernel);
      EXPECT_EQ((*kernel)->entryAddress, symbols.at(name).value);
      EXPECT_EQ((*kernel)->descriptorAddress, symbols.at(name + ".kd").value);
    }
    EXPECT_EQ(after.metadataText(), before.metadataText());
    // .dynamic: what llvm-readelf prints must point at the sections of these names.
    std::map<std::int64_t, std::uint64_t> dynamic;
    std::map<std::string, std::uint64_t> address;
    for (const Section& section : after.sections()) {
      address[section.name] = section.address;
      if (section.type == elf::SHT_DYNAMIC)
        for (std::uint64_t at = section.address; at < section.address + section.size; at += 16)
          dynamic[static_cast<std::int64_t>(wordAt(after, at))] = wordAt(after, at + 8);
    }
    EXPECT_EQ(dynamic.at(elf::DT_SYMTAB), address.at(".dynsym"));
    EXPECT_EQ(dynamic.at(elf::DT_STRTAB), address.at(".dynstr"));
    EXPECT_EQ(dynamic.at(elf::DT_HASH), address.at(".hash"));
    EXPECT_EQ(dynamic.at(elf::DT_GNU_HASH), address.at(".gnu.hash"));
    EXPECT_EQ(dynamic.at(elf::DT_RELA), address.at(".rela.dyn"));
  }
}

// Code linked before its data, in one segment with it, and a code section in the middle of the file.
TEST(Rewrite, OtherSectionOrders) {
  const std::string script = scratchFile(".ld");
  ASSERT_TRUE(writeFileAtomic(script, std::string("SECTIONS { . = 0x2000; .text : { *(.text) } .data : { *(.data) } "
                                                  ".rodata : { *(.rodata) } . = ALIGN(0x1000); .cold : { *(.cold) } "
                                                  ". = ALIGN(0x1000); .dynamic : { *(.dynamic) } }")));
  const std::string input = scratchFile(".o");
  const std::string output = scratchFile(".co");
  ASSERT_TRUE(writeFileAtomic(input, assemble(twoKernelSource(), "gfx942:sramecc+:xnack-", false)));
  runTool({"ld.lld-22", "-shared", "--no-warn-mismatch", "-T", script, input, "-o", output});
  const auto linked = readFile(output);
  ASSERT_TRUE(linked);
  for (const std::string& file : {script, input, output})
    std::remove(file.c_str());
  const CodeObject before = parsed(*linked);
  ASSERT_LT(symbolsOf(before, true).at("first").value, symbolsOf(before, true).at("table").value);
  const auto same = rewriteObject(before, insertion(before, 0, 0));
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, *linked);
  for (const std::uint64_t count : {std::uint64_t{256}, std::uint64_t{20480}}) {
    const auto bytes = rewriteObject(before, insertion(before, 8, count));
    ASSERT_TRUE(bytes) << bytes.error().message;
    const CodeObject after = parsed(*bytes);
    expectAcceptedByTools(*bytes);
    expectSoundSegments(after);
    const auto symbols = symbolsOf(after, true);
    EXPECT_EQ(wordAt(after, symbols.at("table").value + 32), 7U);
    EXPECT_EQ(symbols.at("second").value, symbolsOf(before, true).at("second").value + count);
    for (const Relocation& relocation : after.relocations())
      if (relocation.offset == symbols.at("table").value + 24)
        EXPECT_EQ(static_cast<std::uint64_t>(relocation.addend), symbols.at("second").value + 4);
  }
}

TEST(Rewrite, ShrinkingKeepsLaterAddresses) {
  const CodeObject before = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  Rewrite rewrite;
  for (std::size_t i = 0; i < before.sections().size(); ++i)
    if (before.sections()[i].name == ".text") {
      const auto old = before.contents(before.sections()[i]);
      // Drop the last instruction of `second` (s_endpgm follows s_nop: keep the end).
      Bytes contents(old.begin(), old.end() - 8);
      contents.insert(contents.end(), old.end() - 4, old.end());
      rewrite.code.push_back({i, contents});
    }
  const auto bytes = rewriteObject(before, rewrite);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const CodeObject after = parsed(*bytes);
  expectAcceptedByTools(*bytes);
  expectSoundSegments(after);
  EXPECT_EQ(bytes->size(), before.bytes().size());
  const auto old = symbolsOf(before, true);
  const auto now = symbolsOf(after, true);
  EXPECT_EQ(now.at("helper").value, old.at("helper").value);
  EXPECT_EQ(now.at("second").size, old.at("second").size - 4);
  // The room that was left is code that does nothing.
  EXPECT_EQ(wordAt(before, old.at("helper").value) & 0xffffffff, wordAt(after, now.at("helper").value) & 0xffffffff);
  const Section* text = after.codeSections().front();
  std::uint32_t filler = 0;
  std::memcpy(&filler, after.bytes().data() + text->offset + text->size, sizeof filler);
  EXPECT_EQ(filler, 0xbf800000U);
}

TEST(Rewrite, DescriptorAndMetadataEdits) {
  const CodeObject before = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  std::size_t index = before.kernels()[0].name == "first" ? 0 : 1;
  KernelDescriptor descriptor = before.kernels()[index].descriptor;
  descriptor.setVgprs(before.target(), 128, 96);
  descriptor.setGroupSegmentSize(512);
  descriptor.setEntryOffset(1); // rewrite derives it again
  Rewrite rewrite;
  rewrite.descriptors.emplace_back(index, descriptor);
  rewrite.metadata = {{index, ".vgpr_count", 128}, {index, ".group_segment_fixed_size", 512}, {index, ".no_such", 1}};
  const auto bytes = rewriteObject(before, rewrite);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const CodeObject after = parsed(*bytes);
  const auto kernel = after.findKernel("first");
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->descriptor.allocatedVgprs(after.target()), 128U);
  EXPECT_EQ((*kernel)->descriptor.accumOffset(after.target()), 96U);
  EXPECT_EQ((*kernel)->metadata->vgprCount, 128U);
  EXPECT_EQ((*kernel)->metadata->groupSegmentFixedSize, 512U);
  EXPECT_EQ((*kernel)->entryAddress, before.kernels()[index].entryAddress);
  // VGPR count, accum offset, two bytes of LDS size; one and two bytes of metadata.
  std::size_t differing = 0;
  for (std::size_t i = 0; i < bytes->size(); ++i)
    differing += (*bytes)[i] != before.bytes()[i] ? 1 : 0;
  EXPECT_LE(differing, 8U);
}

std::string notesOf(const Bytes& bytes) {
  const std::string file = scratchFile(".co");
  EXPECT_TRUE(writeFileAtomic(file, bytes));
  const std::string notes = runTool({"llvm-readelf-22", "--notes", file}).out;
  std::remove(file.c_str());
  return notes.substr(notes.find("Displaying"));
}

TEST(Rewrite, MetadataThatNeedsMoreBytesMakesTheNoteGrow) {
  const CodeObject before = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  const std::size_t index = before.kernels()[0].name == "first" ? 0 : 1;
  const std::uint32_t old = before.kernels()[index].metadata->sgprCount;
  ASSERT_LT(old, 128U) << "one byte in msgpack";
  for (const std::uint32_t value : {std::uint32_t{128}, std::uint32_t{1000}, std::uint32_t{0x12345678}}) {
    Rewrite rewrite;
    rewrite.metadata = {{index, ".sgpr_count", value}};
    const auto bytes = rewriteObject(before, rewrite);
    ASSERT_TRUE(bytes) << bytes.error().message;
    expectAcceptedByTools(*bytes);
    const CodeObject after = parsed(*bytes);
    expectSoundSegments(after);
    EXPECT_EQ((*after.findKernel("first"))->metadata->sgprCount, value);
    // LLVM's own reader finds that field changed and nothing else.
    std::string expected = notesOf(Bytes(before.bytes().begin(), before.bytes().end()));
    const std::string field = ".sgpr_count:     ";
    const std::size_t at = expected.find(field + std::to_string(old), expected.find(".name:           first"));
    ASSERT_NE(at, std::string::npos) << expected;
    expected.replace(at + field.size(), std::to_string(old).size(), std::to_string(value));
    const std::string seen = notesOf(*bytes);
    EXPECT_EQ(seen.substr(seen.find("---")), expected.substr(expected.find("---")));
    for (std::size_t k = 0; k < before.kernels().size(); ++k) {
      const Kernel& kernel = **after.findKernel(before.kernels()[k].name);
      EXPECT_TRUE(std::ranges::equal(after.contents(*after.codeSections().front()),
                                     before.contents(*before.codeSections().front())));
      EXPECT_EQ(kernel.entryAddress - after.codeSections().front()->address,
                before.kernels()[k].entryAddress - before.codeSections().front()->address);
    }
  }
}

TEST(Rewrite, RefusesWhatWouldBreak) {
  const CodeObject relocatable = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-", false));
  const auto linkFirst = rewriteObject(relocatable, {});
  ASSERT_FALSE(linkFirst);
  EXPECT_NE(linkFirst.error().message.find("link it first"), std::string::npos);

  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  const auto misaligned = rewriteObject(object, insertion(object, 0, 4));
  ASSERT_FALSE(misaligned) << "entries must stay on 256 bytes";
  EXPECT_NE(misaligned.error().message.find("alignment of 256"), std::string::npos);

  Rewrite data;
  for (std::size_t i = 0; i < object.sections().size(); ++i)
    if (object.sections()[i].name == ".data")
      data.code.push_back({i, Bytes(object.sections()[i].size + 8)});
  EXPECT_FALSE(rewriteObject(object, data)) << "data cannot grow";
  data.code.front().contents.resize(data.code.front().contents.size() - 8, 0);
  const auto zeroed = rewriteObject(object, data);
  ASSERT_TRUE(zeroed);
  EXPECT_EQ(wordAt(parsed(*zeroed), symbolsOf(object, false).at("table_local").value), 0U);
}

} // namespace
} // namespace asmevo::object
