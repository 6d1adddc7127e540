/// Which elements of two sequences are the same, in order: exact where it is cheap, near-linear always.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace asmevo::verify {

using SequenceKey = std::uint64_t;
using MatchedPair = std::pair<std::size_t, std::size_t>;

/// Longest ascending chain of elements that occur once on each side (patience anchors).
std::vector<MatchedPair> uniqueAnchors(std::span<const SequenceKey> a, std::span<const SequenceKey> b);

/// A common subsequence, ascending on both sides: equal ends, anchors, and between them a longest one where the gap is
/// small; in large gaps without anchors what a bounded look ahead finds.
std::vector<MatchedPair> alignSequences(std::span<const SequenceKey> a, std::span<const SequenceKey> b);

} // namespace asmevo::verify
