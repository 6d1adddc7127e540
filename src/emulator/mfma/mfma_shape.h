/// The gfx942 matrix instructions as data: element types, rule of arithmetic, and where each matrix element lies.
#pragma once

#include "emulator/wave.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace asmevo::emulator::mfma {

enum class Element : std::uint8_t { f64, f32, xf32, f16, bf16, fp8, bf8, i8 };
inline constexpr unsigned elementBits(Element e) {
  switch (e) {
  case Element::f64:
    return 64;
  case Element::f32:
  case Element::xf32:
    return 32;
  case Element::f16:
  case Element::bf16:
    return 16;
  case Element::fp8:
  case Element::bf8:
  case Element::i8:
    return 8;
  }
  return 32;
}

/// One matrix instruction D[side x side] = A[side x k] B[k x side] + C, `blocks` of them side by side.
///
/// Layout (AMD's published element-to-register mapping; tests hold it against tabulated positions). With
/// `lanesPerStep = side * blocks` and `perLane` elements of k in each lane:
///   A[i][k], B[k][j]  lane = (k / perLane) * lanesPerStep + block * side + (i or j), element k % perLane of that lane
///   D, C (32-bit)     side 16, 32: with g = i / 4: lane = side * (g % (64/side)) + j,
///                     register = block * side*side/64 + 4 * (g / (64/side)) + i % 4
///                     side 4: lane = 4 * block + j, register = i
///   D, C (64-bit)     lane = 16 * (i % 4) + side * block + j, register pair = i / 4
/// SMFMAC: A holds half of every four k; of each pair of elements the two 2-bit indices say which of the four they are.
struct Shape {
  std::string_view mnemonic;
  Element a = Element::f32, b = Element::f32;
  std::uint8_t side = 16, k = 4, blocks = 1;
  bool sparse = false;
  bool broadcastA = false; ///< cbsz and abid are allowed
  bool permuteB = false;   ///< blgp is allowed (f64: it negates operands instead)

  constexpr unsigned lanesPerStep() const { return unsigned{side} * blocks; }
  constexpr unsigned perLaneB() const { return unsigned{k} * lanesPerStep() / 64; }
  constexpr unsigned perLaneA() const { return sparse ? perLaneB() / 2 : perLaneB(); }
  constexpr unsigned dwordsA() const { return perLaneA() * elementBits(a) / 32; }
  constexpr unsigned dwordsB() const { return perLaneB() * elementBits(b) / 32; }
  constexpr unsigned dwordsD() const { return unsigned{side} * side * blocks / 64 * (a == Element::f64 ? 2 : 1); }
};

/// All gfx942 matrix instructions by LLVM's gfx942 spelling.
std::span<const Shape> shapes();
/// Null when there is none of that name.
const Shape* findShape(std::string_view mnemonic);

/// What a bound MFMA op carries in Op::extra. Sources are in Op::src[0..2] (A, B, C); of SMFMAC, src[2] is the register
/// of indices and the accumulator is the destination.
struct Plan {
  const Shape* shape = nullptr;
  std::uint8_t cbsz = 0, abid = 0;
  std::uint8_t blgp = 0;
  std::uint8_t negate = 0; ///< f64 only: bits 0..2 negate A, B, C
};

/// Lane of B that lane `lane` reads under `blgp` (CDNA3 ISA, "MFMA BLGP": 1, 2 one half to both; 3 rotated by 16 lanes;
/// 4 to 7 one quarter to all).
constexpr unsigned permutedLaneB(unsigned lane, unsigned blgp) {
  switch (blgp) {
  case 1:
    return lane % 32;
  case 2:
    return 32 + lane % 32;
  case 3:
    return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7:
    return (blgp - 4) * 16 + lane % 16;
  default:
    return lane;
  }
}

/// Block whose A values `block` reads under cbsz and abid: groups of 2^cbsz blocks share the group's block abid.
constexpr unsigned broadcastBlockA(unsigned block, unsigned cbsz, unsigned abid) {
  return cbsz == 0 ? block : ((block >> cbsz) << cbsz) + abid;
}

} // namespace asmevo::emulator::mfma

namespace asmevo::emulator::scalar {
Handler mfmaHandler(const mfma::Shape& shape);
}
namespace asmevo::emulator::avx2 {
Handler mfmaHandler(const mfma::Shape& shape);
}
namespace asmevo::emulator::avx512 {
Handler mfmaHandler(const mfma::Shape& shape);
}
