/// Runs straight-line windows concretely: registers by the emulator's own handlers, memory by a sparse model of the
/// whole address space, so that any register state is a state to run from. It is what counterexamples are tried on and
/// what proofs are held against; it shares no code with the terms.
#pragma once

#include "emulator/bind.h"
#include "program/program.h"
#include "verify/proof/deadline.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace asmevo::verify {

/// Bytes that nobody wrote are a function of seed and address: mostly arbitrary bits, often special numbers.
class SparseMemory {
 public:
  explicit SparseMemory(std::uint64_t seed = 0) : seed(seed) {}
  std::uint64_t read(std::uint64_t address, unsigned bytes);
  void write(std::uint64_t address, std::uint64_t value, unsigned bytes);
  /// Equal contents of two memories with one seed.
  bool sameAs(SparseMemory& other);

 private:
  using Line = std::array<std::uint8_t, 64>;
  Line& line(std::uint64_t address);
  std::uint64_t seed;
  std::unordered_map<std::uint64_t, Line> lines;
};

/// A dword with a meaning for `kind`: 0 any bits, 1 special numbers, 2 small multiples of four, 3 ordinary floats.
std::uint32_t chosenDword(std::uint64_t hash, unsigned kind);
std::uint64_t mixed(std::uint64_t x);

/// Everything a window may read.
struct MachineState {
  std::vector<std::uint32_t> scalars = std::vector<std::uint32_t>(isa::sreg::count); ///< by scalar unit
  SparseMemory global, lds, scratch;

  /// The 64 lanes of a physical VGPR.
  std::uint32_t* lanes(unsigned physical) { return vgprs[physical].lane; }

 private:
  friend class WindowMachine;
  /// Aligned as the emulator's handlers want it.
  struct alignas(64) Register {
    std::uint32_t lane[64]{};
  };
  std::vector<Register> vgprs = std::vector<Register>(512);
};

/// One window, bound once and run from many states.
class WindowMachine {
 public:
  /// Instructions that transfer control are left out; the window's branch condition is read from the state.
  WindowMachine(std::span<const isa::InstRef> code, unsigned accumOffset);
  ~WindowMachine();
  WindowMachine(const WindowMachine&) = delete;
  WindowMachine& operator=(const WindowMachine&) = delete;

  /// False, with a reason, where an instruction is not modelled, the state makes no sense to it or `end` is passed.
  bool run(MachineState& state, const Deadline& end, std::string& reason) const;
  /// Why no run is possible, or "".
  const std::string& unsupported() const { return problem; }

 private:
  enum class Kind : std::uint8_t { alu, scalarLoad, load, store, atomic, ldsDma, ldsLoad, ldsStore, ldsAtomic };
  struct Step {
    Kind kind = Kind::alu;
    emulator::Op op[2];
    isa::InstRef inst = nullptr;
    unsigned bytes = 4, dwords = 1; ///< of one element
    bool isSigned = false, returns = false;
    int half = 0;                          ///< d16: 1 low, 2 high
    unsigned elements = 1;                 ///< LDS forms with two addresses
    std::array<std::uint32_t, 2> offset{}; ///< of LDS elements
  };
  bool bindStep(isa::InstRef inst, Step& step);
  bool bindData(std::string_view type, Step& step) const;
  struct Target;
  bool resolve(const Step& step, emulator::Wave& wave, MachineState& state, unsigned lane, Target& target,
               std::string& reason) const;
  bool memoryStep(const Step& step, emulator::Wave& wave, MachineState& state, std::string& reason) const;

  emulator::BindContext context;
  emulator::Arena arena;
  std::vector<std::unique_ptr<Step>> steps;
  std::string problem;
};

} // namespace asmevo::verify
