/// More data and more sizes for the same launches. One set of random inputs lets an edit pass that only some values
/// show (a maximum that lies elsewhere, a sum in another order, a path for infinities), and one size leaves tails and
/// short loops untried.
#pragma once

#include "dispatch/dispatch.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::verify {

/// What a variant does to the case it is made of. Buffers of one constant, poisoned outputs and pointers stay as they
/// are; where floats change integers stay, and the other way round.
enum class VariantKind : std::uint8_t {
  permuted, ///< floats in another order
  boundary, ///< zeros of both signs, denormals, the least normal and the largest finite values among the floats. Where
            ///< the case states a tolerance, the largest are such that sums of products do not overflow: which sum
            ///< overflows depends on its order, which a tolerance leaves open
  specials, ///< NaN (quiet and signalling) and infinities in every third row, boundary values in the next, none in the
            ///< third: cold paths
  codes,    ///< random bits: all codes but NaN of 8-bit floats, 16 binades around the data's own of wider ones
  cancelling, ///< rows whose second half is the negated first in another order, over eight binades: shows the order of
              ///< sums. In every other buffer, then in the rest; the others become positive
  negative,   ///< every other row below zero: maxima that start at zero
  zeros,      ///< one of two buffers wholly zero, the others as they are: sums that do not start at zero
  integers,   ///< one integer buffer permuted, with its own least and greatest values mixed in
  sizes,      ///< smaller scalar arguments, one or all of them
  grid,       ///< one more workgroup in a dimension, which bounds checks have to stop; or only one, for loops over what
              ///< the grid leaves
  workgroup,  ///< other workgroup sizes over the same grid, odd ones among them
};
std::string_view variantKindName(VariantKind kind);
/// Data of floats, as against sizes and integers, which may lead out of bounds.
bool isFloatData(VariantKind kind);

struct Variant {
  std::size_t parent = 0; ///< case of the dispatch given
  VariantKind kind = VariantKind::permuted;
};

/// A dispatch with its variants behind its own cases.
struct VariedDispatch {
  dispatch::Dispatch dispatch;
  std::size_t given = 0;            ///< cases of the dispatch itself
  std::vector<Variant> variants;    ///< of dispatch.cases[given + i]
  std::vector<std::string> leftOut; ///< why there are fewer than could be, as sentences
};

/// `rounds`: of data, each with its own seeds; 0: no variants at all. Sizes and grids come with the first.
/// Deterministic. `firstRound`: numbers the rounds from there, for data that another call has not made. The variants
/// are named "<case>, <kind> <round>", "<case>, argument 3 = 17".
VariedDispatch withVariants(const dispatch::Dispatch& dispatch, unsigned rounds, unsigned firstRound = 1);

/// Scalar arguments that look like extents: integers from 2 to 2^26 - 1 (no normal float has such small bits).
struct Extent {
  std::size_t argument = 0; ///< position in Case::arguments
  std::uint64_t value = 0;
};
std::vector<Extent> extentsOf(const dispatch::Case& launch);
void setScalar(dispatch::Case& launch, std::size_t argument, std::uint64_t value);

} // namespace asmevo::verify
