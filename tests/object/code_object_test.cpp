#include "object/code_object.h"
#include "object/object_support.h"

#include <gtest/gtest.h>
#include <llvm/BinaryFormat/ELF.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

namespace asmevo::object {
namespace {

namespace elf = llvm::ELF;
using nlohmann::json;
using testing::assemble;
using testing::corpusFiles;
using testing::parsed;
using testing::runTool;
using testing::scratchFile;
using testing::twoKernelSource;

json readobj(const std::string& file) {
  const std::string text =
      runTool({"llvm-readobj-22", "--elf-output-style=JSON", "--pretty-print", "--file-headers", "--sections",
               "--symbols", "--dyn-syms", "--program-headers", "--relocations", file})
          .out;
  return json::parse(text).at(0);
}

/// Everything that llvm-readobj lists must be found with the same numbers.
void compareWithReadobj(const CodeObject& object, const json& theirs) {
  EXPECT_EQ(object.flags(), theirs["ElfHeader"]["Flags"]["Value"].get<std::uint32_t>());
  EXPECT_EQ(object.abiVersion(), theirs["ElfHeader"]["Ident"]["ABIVersion"].get<unsigned>());

  const json& sections = theirs["Sections"];
  ASSERT_EQ(object.sections().size(), sections.size());
  for (std::size_t i = 1; i < sections.size(); ++i) {
    const json& their = sections[i]["Section"];
    const Section& ours = object.sections()[i];
    EXPECT_EQ(ours.name, their["Name"]["Name"].get<std::string>());
    EXPECT_EQ(ours.type, their["Type"]["Value"].get<std::uint32_t>());
    EXPECT_EQ(ours.flags, their["Flags"]["Value"].get<std::uint64_t>());
    EXPECT_EQ(ours.address, their["Address"].get<std::uint64_t>());
    EXPECT_EQ(ours.offset, their["Offset"].get<std::uint64_t>());
    EXPECT_EQ(ours.size, their["Size"].get<std::uint64_t>());
    EXPECT_EQ(ours.alignment, their["AddressAlignment"].get<std::uint64_t>());
  }

  const json& segments = theirs["ProgramHeaders"];
  ASSERT_EQ(object.segments().size(), segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const json& their = segments[i]["ProgramHeader"];
    const Segment& ours = object.segments()[i];
    EXPECT_EQ(ours.type, their["Type"]["Value"].get<std::uint32_t>());
    EXPECT_EQ(ours.offset, their["Offset"].get<std::uint64_t>());
    EXPECT_EQ(ours.address, their["VirtualAddress"].get<std::uint64_t>());
    EXPECT_EQ(ours.fileSize, their["FileSize"].get<std::uint64_t>());
    EXPECT_EQ(ours.memorySize, their["MemSize"].get<std::uint64_t>());
  }

  for (const bool dynamic : {false, true}) {
    const json& symbols = theirs[dynamic ? "DynamicSymbols" : "Symbols"];
    std::vector<const Symbol*> ours;
    for (const Symbol& symbol : object.symbols())
      if (symbol.dynamic == dynamic)
        ours.push_back(&symbol);
    ASSERT_EQ(ours.size(), symbols.size());
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const json& their = symbols[i]["Symbol"];
      if (ours[i]->type != elf::STT_SECTION) // readobj lends a section symbol the section's name
        EXPECT_EQ(ours[i]->name, their["Name"]["Name"].get<std::string>());
      EXPECT_EQ(ours[i]->value, their["Value"].get<std::uint64_t>());
      EXPECT_EQ(ours[i]->size, their["Size"].get<std::uint64_t>());
      EXPECT_EQ(ours[i]->type, their["Type"]["Value"].get<unsigned>());
      EXPECT_EQ(ours[i]->binding, their["Binding"]["Value"].get<unsigned>());
      EXPECT_EQ(ours[i]->sectionIndex, their["Section"]["Value"].get<unsigned>());
    }
  }
}

TEST(CodeObject, AgreesWithReadobjOnAssembledObjects) {
  for (const bool link : {true, false}) {
    const Bytes bytes = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-", link);
    const std::string file = scratchFile(".co");
    ASSERT_TRUE(writeFileAtomic(file, bytes));
    compareWithReadobj(parsed(bytes), readobj(file));
    std::remove(file.c_str());
  }
}

TEST(CodeObject, AgreesWithReadobjOnProductionObjects) {
  const auto files = corpusFiles();
  for (std::size_t i = 0; i < files.size(); i += 125) {
    SCOPED_TRACE(files[i]);
    const auto object = CodeObject::load(files[i]);
    ASSERT_TRUE(object);
    compareWithReadobj(*object, readobj(files[i]));
  }
}

// Counts of the package amd-aiter 0.1.7.post2.dev18, taken with llvm-readelf and find.
TEST(CodeObject, EveryProductionObjectHasOneKernel) {
  std::map<std::string, unsigned> targets;
  unsigned kernargSizeZero = 0;
  for (const std::string& file : corpusFiles()) {
    const auto object = CodeObject::load(file);
    ASSERT_TRUE(object) << object.error().message;
    ++targets[object->target().id()];
    ASSERT_EQ(object->kernels().size(), 1U) << file;
    const Kernel& kernel = object->kernels().front();
    EXPECT_TRUE(kernel.metadata.has_value()) << file;
    EXPECT_EQ(object->elfType(), elf::ET_DYN) << file;
    EXPECT_TRUE(object->relocations().empty()) << file;
    EXPECT_EQ(object->metadataText().substr(0, 4), "---\n") << file;
    const auto code = object->codeSections();
    ASSERT_EQ(code.size(), 1U) << file;
    EXPECT_EQ(code.front()->name, ".text");
    EXPECT_TRUE(code.front()->contains(kernel.entryAddress)) << file;
    EXPECT_EQ(kernel.entryAddress % 256, 0U) << file;
    kernargSizeZero += kernel.descriptor.kernargSize() == 0 ? 1 : 0;
  }
  EXPECT_EQ(targets, (std::map<std::string, unsigned>{{"gfx942", 1281}, {"gfx950", 1220}}));
  EXPECT_EQ(kernargSizeZero, 2500U);
}

TEST(CodeObject, KernelsOfAnAssembledObject) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  ASSERT_EQ(object.kernels().size(), 2U);
  std::map<std::string, std::uint64_t> values;
  for (const Symbol& symbol : object.symbols())
    if (!symbol.dynamic)
      values[symbol.name] = symbol.value;
  for (const std::string name : {"first", "second"}) {
    const auto kernel = object.findKernel(name);
    ASSERT_TRUE(kernel);
    EXPECT_EQ((*kernel)->entryAddress, values.at(name));
    EXPECT_EQ((*kernel)->descriptorAddress, values.at(name + ".kd"));
    EXPECT_EQ((*kernel)->descriptorFileOffset, object.fileOffset(values.at(name + ".kd")));
  }
  EXPECT_EQ(object.codeSections().size(), 2U);
  EXPECT_FALSE(object.fileOffset(0xfffffff0).has_value());

  const auto unnamed = object.findKernel("");
  ASSERT_FALSE(unnamed);
  EXPECT_NE(unnamed.error().message.find("first, second"), std::string::npos) << unnamed.error().message;
  const auto wrong = object.findKernel("third");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("first, second"), std::string::npos);
}

TEST(CodeObject, RelocatableKernelsFindTheirEntry) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-", false));
  EXPECT_EQ(object.elfType(), elf::ET_REL);
  const auto second = object.findKernel("second");
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->entryAddress, 256U); // offset in .text
  EXPECT_EQ((*second)->descriptor.allocatedVgprs(object.target()), 8U);
}

TEST(CodeObject, DynamicRelocations) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  unsigned relative = 0;
  const Symbol* absolute = nullptr;
  for (const Relocation& relocation : object.relocations()) {
    relative += relocation.type == elf::R_AMDGPU_RELATIVE64 ? 1 : 0;
    if (relocation.type == elf::R_AMDGPU_ABS64)
      absolute = object.relocationSymbol(relocation);
  }
  EXPECT_EQ(relative, 3U);
  ASSERT_NE(absolute, nullptr);
  EXPECT_EQ(absolute->name, "helper");
}

void expectError(Bytes bytes, const std::string& text) {
  const auto object = CodeObject::parse(std::move(bytes), "some/file.co");
  ASSERT_FALSE(object) << text;
  EXPECT_EQ(object.error().kind, ErrorKind::badInput);
  EXPECT_TRUE(object.error().message.starts_with("some/file.co: ")) << object.error().message;
  EXPECT_NE(object.error().message.find(text), std::string::npos) << object.error().message;
}

Bytes bytesOf(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

TEST(CodeObject, OtherFilesAreNamed) {
  expectError({}, "not an ELF file");
  expectError(bytesOf("hello, this is text"), "not an ELF file");
  expectError(bytesOf("\x7f"
                      "ELF"),
              "cut off");
  expectError(bytesOf("__CLANG_OFFLOAD_BUNDLE__\x01"), "offload bundle");
  expectError(bytesOf("CCOB\x03"), "compressed offload bundle");
  Bytes host = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-");
  host[18] = 62; // e_machine: x86-64
  expectError(host, "EM_AMDGPU");
}

TEST(CodeObject, BrokenHeadersAreNamed) {
  const Bytes good = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-");
  const auto with = [&](std::size_t at, std::uint64_t value, unsigned width) {
    Bytes bytes = good;
    for (unsigned i = 0; i < width; ++i)
      bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
    return bytes;
  };
  expectError(with(40, 0, 8), "no section headers");
  expectError(with(40, good.size() - 10, 8), "outside the file");
  expectError(with(40, 0xffffffffffffffc0, 8), "outside the file");
  expectError(with(58, 63, 2), "section headers of 63 bytes");
  expectError(with(60, 0xfffe, 2), "outside the file");
  expectError(with(62, 0xfe, 2), "section names");
  expectError(with(32, 0xfffffffffffffff0, 8), "program headers");
  expectError(with(8, 9, 1), "EI_ABIVERSION 9");
  expectError(with(7, 66, 1), "OS ABI 66");
  expectError(with(48, 0x27, 4), "processor number 0x27");
}

TEST(CodeObject, EntryOutsideTheCodeIsNamed) {
  const Bytes good = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-");
  const CodeObject object = parsed(good);
  Bytes bytes = good;
  bytes[object.kernels().front().descriptorFileOffset + 16 + 3] = 0x40; // entry offset + 1 GiB
  expectError(bytes, "is in no code section");
}

} // namespace
} // namespace asmevo::object
