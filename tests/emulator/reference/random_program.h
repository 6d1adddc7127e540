/// Random straight-line programs and the machine states they start from.
#pragma once

#include "emulator/reference/machine.h"

#include <random>
#include <string>
#include <vector>

namespace asmevo::emulator::reference {

/// Instruction classes that a program draws from.
enum class Class : std::uint8_t {
  scalar,
  integer,
  floating,
  packed,
  wide, ///< 64-bit
  compare,
  carry,
  lane, ///< readlane family, AGPR moves
  dpp,
  sdwa,
  lds,
  vectorMemory,
  memoryAtomic,
  scalarMemory,
  matrix
};
inline constexpr unsigned classCount = 15;
const char* className(Class c);

/// Registers with a fixed use, which programs do not write:
///   v0 16 * lane   v1 16 * a permuted lane   v2 multiples of 8 below 1024, with repetitions
///   v3 0, 4 or 8   v4, v5, v6 4, 8, 12 * lane   v[8:9], v[10:11] base + v4, base + v5   v14, v15 an index, 0 or 4
///   v[56:57] base + v1   v[58:59] base + v2   v[60:61] LDS aperture + v1   v[62:63] scratch aperture + 16
///   s[0:1] base of the buffer   s[4:7] raw descriptor with 1500 bytes   s[8:11] structured descriptor, 32 records of
///   48 s12 48   s13 a scratch offset
struct RandomProgram {
  std::vector<std::string> lines;
  std::vector<Class> classes; ///< of each line
  Machine start;
};

/// Buffer layout: `memoryBytes` mapped from `memoryBase`, the base pointer in the middle.
inline constexpr std::size_t memoryBytes = 16384;

RandomProgram randomProgram(std::uint64_t seed, std::uint64_t memoryBase);

/// Every template's first word, for the test that all of them occur.
std::vector<std::string> templateMnemonics();

} // namespace asmevo::emulator::reference
