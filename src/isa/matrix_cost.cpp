#include "isa/matrix_cost.h"

namespace asmevo::isa {
namespace {

/// Input family, from the mnemonic's last parts.
enum class Inputs : std::uint8_t { narrow, xf32, f32, f64 };

struct Row {
  std::string_view shape; ///< as in the mnemonic, with blocks: "32x32x4_2b"
  Inputs inputs;
  MatrixCost cost;
};

constexpr Row rows[] = {
    // f16, bf16, i8 and fp8/bf8.
    {"32x32x8", Inputs::narrow, {8, true}},
    {"16x16x16", Inputs::narrow, {4, true}},
    {"32x32x16", Inputs::narrow, {8, true}},
    {"16x16x32", Inputs::narrow, {4, true}},
    {"32x32x4_2b", Inputs::narrow, {16, true}},
    {"16x16x4_4b", Inputs::narrow, {8, true}},
    {"4x4x4_16b", Inputs::narrow, {2, true}},
    // Sparse forms run at the dense rate of twice the depth.
    {"32x32x32", Inputs::narrow, {8, true}},
    {"16x16x64", Inputs::narrow, {4, true}},
    {"32x32x4", Inputs::xf32, {8, true}},
    {"16x16x8", Inputs::xf32, {4, true}},
    {"32x32x2", Inputs::f32, {16, false}},
    {"16x16x4", Inputs::f32, {8, false}},
    {"32x32x1_2b", Inputs::f32, {16, false}},
    {"16x16x1_4b", Inputs::f32, {8, false}},
    {"4x4x1_16b", Inputs::f32, {2, false}},
    {"16x16x4", Inputs::f64, {8, false}},
    {"4x4x4_4b", Inputs::f64, {4, false}},
};

/// Removes the text up to and including the next '_' and returns it without the '_'.
std::string_view takePart(std::string_view& text) {
  const std::size_t end = text.find('_');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

bool isBlockCount(std::string_view part) {
  return part == "2b" || part == "4b" || part == "16b";
}

} // namespace

std::optional<MatrixCost> matrixCost(std::string_view base) {
  if (takePart(base) != "v")
    return std::nullopt;
  const std::string_view kind = takePart(base);
  if (kind != "mfma" && kind != "smfmac")
    return std::nullopt;
  takePart(base); // result type
  const std::string_view whole = base;
  const std::string_view tile = takePart(base);
  std::string_view rest = base;
  std::size_t shapeLength = tile.size();
  if (const std::string_view blocks = takePart(rest); isBlockCount(blocks)) {
    shapeLength += 1 + blocks.size();
    base = rest;
  }
  const std::string_view shape = whole.substr(0, shapeLength);
  const Inputs inputs = base == "xf32"  ? Inputs::xf32
                        : base == "f32" ? Inputs::f32
                        : base == "f64" ? Inputs::f64
                                        : Inputs::narrow;
  for (const Row& row : rows)
    if (row.shape == shape && row.inputs == inputs)
      return row.cost;
  return std::nullopt;
}

} // namespace asmevo::isa
