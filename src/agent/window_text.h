/// Windows of a program as assembly text, and edits of them back from untrusted text.
#pragma once

#include "program/program.h"
#include "support/result.h"

#include <string>

namespace asmevo::agent {

/// Blocks [first, last] as text: "L<id>:" before each block, one instruction a line, branches to "L<id>".
std::string printWindow(const program::Program& program, program::BlockId first, program::BlockId last);

/// Replaces blocks [first, last] of `program` by `text` in the same form. Only labels of those blocks, in order, and
/// single instructions are accepted: no directives, comments or other labels. A line equal to an original instruction
/// of the window keeps that instruction's very bytes and pc-relative reference. Errors name the line.
Result<program::Program> applyWindowText(const program::Program& program, isa::Codec& codec, program::BlockId first,
                                         program::BlockId last, const std::string& text);

} // namespace asmevo::agent
