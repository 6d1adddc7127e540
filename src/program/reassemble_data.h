/// What edited text says about everything that is not code: data sections, descriptors, metadata.
#pragma once

#include "object/code_object.h"
#include "program/assembly_lines.h"
#include "program/labels.h"
#include "program/program.h"
#include "program/text_diagnostics.h"

#include <map>
#include <string>
#include <vector>

namespace asmevo::program {

class DataReader {
 public:
  DataReader(const object::CodeObject& object, const Labels& labels, TextDiagnostics& diagnostics)
      : object(object), labels(labels), diagnostics(diagnostics) {}

  /// Statements of one data section, or of the note section (`index` of a SHT_NOTE section).
  Status section(std::size_t index, const std::vector<Statement>& statements);
  /// Lines between .amdgpu_metadata and .end_amdgpu_metadata.
  void metadata(const std::vector<Statement>& lines);

  /// New contents and descriptors, for the program; texts for the user.
  std::map<std::size_t, Bytes> data;
  std::map<std::size_t, object::KernelDescriptor> descriptors; ///< by kernel; entry offsets as they were
  std::vector<std::string> notes;

 private:
  const object::CodeObject& object;
  const Labels& labels;
  TextDiagnostics& diagnostics;

  void replaceNote(const object::CodeObject::FileRange& note, std::span<const std::uint8_t> contents,
                   const Statement& first);
  void descriptorBytes(std::size_t index, Bytes& contents);
};

/// Integer directive (".long") to the bytes of one element, 0 if it is none.
std::size_t elementBytes(std::string_view directive);

/// True for .globl, .type, .size and their like, which declare symbols.
bool isSymbolDirective(std::string_view directive);

} // namespace asmevo::program
