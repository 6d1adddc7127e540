#include "isa/matrix_cost.h"

#include <array>

namespace asmevo::isa {
namespace {

/// Input family, from the mnemonic's last part.
enum class Inputs : std::uint8_t { narrow, xf32, f32, f64, f8f6f4 };

struct Row {
  std::string_view tile; ///< rows x columns
  Inputs inputs;
  bool severalBlocks;
  std::array<std::uint8_t, 4> passes; ///< by MatrixCore; 0: no such instruction
};

// The depth does not matter: within a family a deeper shape does more per pass. Sparse forms run at the dense rate of
// twice the depth.
constexpr Row rows[] = {
    // f16, bf16, i8 and fp8/bf8.
    {"32x32", Inputs::narrow, false, {16, 16, 8, 8}},
    {"16x16", Inputs::narrow, false, {8, 8, 4, 4}},
    {"32x32", Inputs::narrow, true, {16, 16, 16, 16}},
    {"16x16", Inputs::narrow, true, {8, 8, 8, 8}},
    {"4x4", Inputs::narrow, true, {2, 2, 2, 2}},
    {"32x32", Inputs::xf32, false, {0, 0, 8, 0}},
    {"16x16", Inputs::xf32, false, {0, 0, 4, 0}},
    {"32x32", Inputs::f32, false, {16, 16, 16, 16}},
    {"16x16", Inputs::f32, false, {8, 8, 8, 8}},
    {"32x32", Inputs::f32, true, {16, 16, 16, 16}},
    {"16x16", Inputs::f32, true, {8, 8, 8, 8}},
    {"4x4", Inputs::f32, true, {2, 2, 2, 2}},
    {"16x16", Inputs::f64, false, {0, 8, 8, 16}},
    {"4x4", Inputs::f64, true, {0, 4, 4, 4}},
    // With fp8 or bf8 on either side; fp6 and fp4 on both take half.
    {"32x32", Inputs::f8f6f4, false, {0, 0, 0, 16}},
    {"16x16", Inputs::f8f6f4, false, {0, 0, 0, 8}},
};

/// Removes the text up to and including the next '_' and returns it without the '_'.
std::string_view takePart(std::string_view& text) {
  const std::size_t end = text.find('_');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isBlockCount(std::string_view part) {
  return part == "2b" || part == "4b" || part == "16b";
}

struct Shape {
  std::string_view tile, depth, inputs;
  bool severalBlocks = false;
};

/// "32x32x4_2b_f16", or "32x32x4f16" where one depth per tile and type has several blocks.
std::optional<Shape> parseShape(std::string_view text) {
  Shape shape;
  const std::size_t x = text.find('x');
  const std::size_t secondX = x == std::string_view::npos ? x : text.find('x', x + 1);
  if (secondX == std::string_view::npos)
    return std::nullopt;
  shape.tile = text.substr(0, secondX);
  std::size_t end = secondX + 1;
  while (end < text.size() && isDigit(text[end]))
    ++end;
  shape.depth = text.substr(secondX + 1, end - secondX - 1);
  text.remove_prefix(end);
  if (text.starts_with('_'))
    text.remove_prefix(1);
  if (std::string_view rest = text; isBlockCount(takePart(rest))) {
    shape.severalBlocks = true;
    text = rest;
  }
  shape.severalBlocks |= shape.tile == "4x4";
  shape.inputs = text;
  return shape;
}

Inputs inputsOf(std::string_view text) {
  if (text == "xf32")
    return Inputs::xf32;
  if (text == "f32")
    return Inputs::f32;
  if (text == "f64")
    return Inputs::f64;
  return text == "f8f6f4" ? Inputs::f8f6f4 : Inputs::narrow;
}

} // namespace

std::optional<MatrixCore> matrixCoreOf(std::string_view processor) {
  if (processor == "gfx908")
    return MatrixCore::gfx908;
  if (processor == "gfx90a")
    return MatrixCore::gfx90a;
  if (processor == "gfx950")
    return MatrixCore::gfx950;
  if (processor.starts_with("gfx94") || processor == "gfx9-4-generic")
    return MatrixCore::gfx940;
  return std::nullopt;
}

std::optional<MatrixCost> matrixCost(std::string_view base, MatrixCore core) {
  if (takePart(base) != "v")
    return std::nullopt;
  std::string_view kind = takePart(base);
  if (kind != "mfma" && kind != "smfmac")
    return std::nullopt;
  std::string_view afterType = base;
  if (takePart(afterType) == "scale")
    base = afterType;
  takePart(base); // result type
  const auto shape = parseShape(base);
  if (!shape || shape->depth.empty())
    return std::nullopt;
  const Inputs inputs = inputsOf(shape->inputs);
  for (const Row& row : rows)
    if (row.tile == shape->tile && row.inputs == inputs && row.severalBlocks == shape->severalBlocks) {
      const std::uint8_t passes = row.passes[static_cast<std::size_t>(core)];
      if (passes == 0)
        return std::nullopt;
      return MatrixCost{passes, inputs != Inputs::f32 && inputs != Inputs::f64};
    }
  return std::nullopt;
}

std::optional<MatrixCost> matrixCost(const Instruction& inst, MatrixCore core) {
  auto cost = matrixCost(inst.base, core);
  const bool narrowFormats = inst.mods.cbsz >= 2 && inst.mods.blgp >= 2; // 0 fp8, 1 bf8, 2 to 4 fp6, bf6, fp4
  if (cost && narrowFormats && inst.base.ends_with("f8f6f4"))
    cost->passes = static_cast<std::uint8_t>(cost->passes / 2);
  return cost;
}

} // namespace asmevo::isa
