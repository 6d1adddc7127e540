/// Small kernels for the program tests, made by stock clang and lld.
#pragma once

#include "isa/codec.h"
#include "object/code_object.h"
#include "program/program.h"

#include <memory>
#include <string>
#include <vector>

namespace asmevo::program::test {

/// Links a whole assembly file with clang-22 for `cpu`; fails the test and gives an empty vector on any diagnostic.
Bytes assembleFile(const std::string& text, const std::string& cpu = "gfx942");

struct KernelText {
  std::string body;            ///< after the label k
  std::string descriptor = ""; ///< more .amdhsa_ directives
  std::string data = "";       ///< in .rodata after the descriptor
  std::string more = "";       ///< in .text after the kernel
};
/// One kernel `k` with 8 bytes of arguments.
std::string kernelFile(const KernelText& kernel, const std::string& cpu = "gfx942");

/// A parsed object with a decoder of its own and its program.
struct Loaded {
  object::CodeObject object;
  std::unique_ptr<isa::Codec> codec;
  Program program;
};
Loaded load(Bytes bytes, const std::string& name = "test.co");
inline Loaded loadKernel(const KernelText& kernel) {
  return load(assembleFile(kernelFile(kernel)));
}

/// Texts of a block's instructions.
std::vector<std::string> texts(const Loaded& loaded, BlockId block);
/// Contents of .text.
Bytes textOf(const object::CodeObject& object);
/// Address of a symbol; fails the test if there is none.
std::uint64_t symbolAddress(const object::CodeObject& object, const std::string& name);
/// Inserts an instruction before position `index` of a block.
void insert(Loaded& loaded, BlockId block, std::size_t index, const std::string& text, std::size_t count = 1);

/// Where straight-line control goes from `address` in the bytes of .text when every conditional branch but the one at
/// `address` falls through and all s_nop and s_branch are followed: the address of the first other instruction.
std::uint64_t follow(const Loaded& loaded, std::uint64_t address);
/// Target of the branch at `address` by its encoding alone.
std::uint64_t encodedTarget(const Loaded& loaded, std::uint64_t address);

/// Path of a production object of the corpus, and of one of our own kernels.
std::string corpusPath(const std::string& relative);
std::vector<std::string> ownKernels();

} // namespace asmevo::program::test
