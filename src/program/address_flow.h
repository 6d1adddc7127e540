/// Follows code addresses through scalar registers, across blocks: what becomes of every s_getpc_b64, which additions
/// turn it into which address, what is loaded from there, and which jumps take the result.
#pragma once

#include "program/program.h"

#include <optional>
#include <string>
#include <vector>

namespace asmevo::program {

/// Where an instruction is.
struct InstrPlace {
  BlockId block = 0;
  std::uint32_t index = 0;
  bool operator==(const InstrPlace&) const = default;
};

/// Everything that is known about the code addresses of a program.
struct AddressFlow {
  /// A constant that holds (part of) a distance from a program counter.
  struct Reference {
    InstrPlace at, counter; ///< getpcId of the reference is still to be assigned
    PcReference reference;
  };
  std::vector<Reference> references;

  /// A jump or call to one address.
  struct Jump {
    InstrPlace at;
    std::uint64_t target = 0;
  };
  std::vector<Jump> jumps;

  /// A jump or call whose target was loaded from memory of this object.
  struct TableJump {
    InstrPlace at;
    std::uint64_t table = 0; ///< address of the first entry
    bool isIndexed = true;   ///< else this one entry
    unsigned entryBytes = 8;
    bool isRelative = false, isSigned = true;
    std::uint64_t base = 0;            ///< what relative entries are added to,
    std::optional<InstrPlace> counter; ///< or whose anchor
  };
  std::vector<TableJump> tableJumps;

  /// An address that is formed, and what is done with it.
  struct Address {
    std::uint64_t target = 0;
    bool isLoaded = false;     ///< memory is read there
    bool isArithmetic = false; ///< more is added to it
    bool isPrefetched = false; ///< and nothing but that
  };
  std::vector<Address> addresses;

  /// A raw program counter that is still in its register when a known function is called.
  struct Passed {
    std::uint64_t counter = 0; ///< address of the s_getpc_b64
    std::uint64_t callee = 0;
    unsigned reg = 0;
  };
  std::vector<Passed> passed;

  /// Why some address cannot be kept up to date; empty if all can.
  std::string pin;
};

/// `program` needs its links. Only instructions that control can reach from an s_getpc_b64 are looked at. Assumes what
/// LLVM's calling convention guarantees: a callee keeps s30 to s105.
AddressFlow followAddresses(const Program& program, isa::Codec& codec);

} // namespace asmevo::program
