/// Where every block of a program lands, and the bytes it becomes.
#pragma once

#include "program/program.h"

#include <map>
#include <utility>
#include <vector>

namespace asmevo::program {

/// relayout: blocks follow one another; function entries keep their alignment and kernarg-preload prologues their 256
/// bytes; inPlace: every block that was there before stays where it was.
enum class Policy { relayout, inPlace };

/// Addresses in terms of the section's old start. `program` is changed where the layout needs it: islands for branches
/// that do not reach, surplus padding of a preload prologue.
class Layout {
 public:
  Layout(const object::CodeObject& object, Program& program, isa::Codec& codec, Policy policy)
      : object(object), program(program), codec(codec), policy(policy) {}

  /// Assigns addresses until every branch reaches its target.
  Status place();

  std::uint64_t blockAddress(BlockId id) const { return starts[id]; }
  /// The section's new size; sections without blocks are not listed.
  const std::map<std::size_t, std::uint64_t>& sectionSizes() const { return sizes; }
  /// Old virtual address of code to new one, monotone; identity outside of code.
  std::uint64_t moved(std::uint64_t old) const;
  /// True if any instruction or block that was there before has another address.
  bool movesAnything() const { return anythingMoved; }
  /// Address just after the s_getpc_b64 of that id; empty if it is gone or there twice.
  std::optional<std::uint64_t> anchor(std::uint32_t getpcId) const;

  /// Calls visit(block, instr, address) in order, and pad(section, address, bytes) for s_nop padding.
  template <class Visit, class Pad> void walk(Visit&& visit, Pad&& pad) const {
    for (std::size_t i = 0; i < program.blocks.size(); ++i) {
      Block& block = program.blocks[i];
      std::uint64_t address = starts[i];
      if (paddingBefore[i])
        pad(block.section, address - paddingBefore[i], paddingBefore[i]);
      for (Instr& instr : block.instrs) {
        visit(block, instr, address);
        address += instr.inst->size;
      }
    }
    for (const auto& tail : tails)
      pad(tail.section, tail.address, tail.bytes);
  }

 private:
  const object::CodeObject& object;
  Program& program;
  isa::Codec& codec;
  Policy policy;

  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> paddingBefore;
  std::map<std::size_t, std::uint64_t> sizes;
  struct Tail {
    std::size_t section;
    std::uint64_t address, bytes;
  };
  std::vector<Tail> tails;
  /// An instruction (or a block that lost its first one: size 0) with its old and new address; `newLabel` is where a
  /// label in front of it is now, which lies before code inserted at a block's start.
  struct Move {
    std::uint64_t oldBegin, size, newBegin, newLabel;
  };
  std::map<std::size_t, std::vector<Move>> moves; ///< by section, ascending; the last entry is the section's end
  std::map<std::uint32_t, std::optional<std::uint64_t>> anchors;
  bool anythingMoved = false;
  /// An s_branch on the way of branches that do not reach `destination`.
  struct Island {
    BlockId block, destination;
  };
  std::vector<Island> islands;

  Status assign();
  Status bridgeAll(bool& changed);
  BlockId destinationOf(BlockId target) const;
  bool reuseIsland(BlockId block, Instr& branch, std::uint64_t from);
  Status addIsland(BlockId block, std::size_t index, std::uint64_t from);
  bool trimPrologue(BlockId second, std::uint64_t surplus);
  void recordMoves();
  std::uint64_t bytesOf(const Block& block) const;
};

} // namespace asmevo::program
