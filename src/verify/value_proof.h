/// Proof that two kernels compute the same, block by block, for every input: hash-consed value graphs over the register
/// effects of each instruction, floating point uninterpreted, memory as ordered effects.
///
/// The argument is an induction over cut points. The control-flow graphs of K0 and K1 are walked in step, which pairs
/// their blocks. The relation held at every pair's entry is: all registers live in K0 are equal, all memory is equal,
/// and each side's available facts (register r still holds what instruction i computed from registers that have not
/// changed since) hold on that side. Both blocks are then executed symbolically from that relation; branch conditions,
/// live-out registers and memory effects must be the same terms. Waits, nops and priorities have no value: their
/// soundness is the business of the wait and hazard dataflow (lint_waits, program/analysis/hazards), never of this
/// proof.
#pragma once

#include "object/code_object.h"
#include "support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::verify {

enum class ProofStatus {
  proved,      ///< equal for every input
  differs,     ///< a live value, condition or effect has different terms: not shown equal
  unsupported, ///< something the proof does not reason about (indexed registers, unequal control flow ...)
};

struct ProofResult {
  ProofStatus status = ProofStatus::unsupported;
  std::string reason;           ///< for proved: what was compared; otherwise where it failed
  std::size_t blocks = 0;       ///< block pairs compared
  std::size_t editedBlocks = 0; ///< pairs whose instructions differ
  std::uint64_t address = 0;    ///< K0 address of the first failing block
};

/// Compares the named kernel of two objects. Errors only on objects that cannot be recovered.
Result<ProofResult> proveEquivalent(const object::CodeObject& k0, const object::CodeObject& k1,
                                    const std::string& kernel);

} // namespace asmevo::verify
