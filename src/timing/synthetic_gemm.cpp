#include "timing/synthetic_gemm.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace asmevo::timing {
namespace {

constexpr unsigned waveCount = 4, lanes = 64, rowBytes = 128;
/// K = 8256 halves: an odd multiple of the 128-byte line.
constexpr std::uint64_t matrixRowBytes = 8256 * 2;
constexpr unsigned mostTokens = 4096;

struct Token {
  char letter;
  unsigned number;
};

Result<std::vector<Token>> parse(const std::string& order) {
  std::vector<Token> tokens;
  std::istringstream in(order);
  for (std::string text; in >> text;) {
    Token token{text[0], 1};
    const char* const first = text.data() + 1;
    const char* const last = text.data() + text.size();
    const auto read = std::from_chars(first, last, token.number);
    if (first != last && (read.ec != std::errc() || read.ptr != last))
      return badInput("GEMM loop: '{}' is no token", text);
    if (std::string_view("MRWGSBlv").find(token.letter) == std::string_view::npos || token.number > mostTokens)
      return badInput("GEMM loop: '{}' is no token", text);
    tokens.push_back(token);
  }
  return tokens;
}

/// Byte of a 16-byte chunk in a 128-byte LDS row under the tile's swizzle.
std::uint32_t swizzled(unsigned row, unsigned chunk, unsigned rowsPerPhase) {
  return row * rowBytes + ((chunk ^ (row / rowsPerPhase % 8)) * 16);
}

/// Operand read: 16 rows, four chunks of k; `which` counts the eight reads of a half tile.
void readAddresses(std::vector<std::uint32_t>& out, unsigned which, unsigned rowsPerPhase) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    out.push_back(swizzled(which / 2 * 32 + lane % 16, which % 2 * 4 + lane / 16, rowsPerPhase));
}

/// Write of loaded data: eight whole rows; `which` counts the four writes of a wave in a half tile.
void writeAddresses(std::vector<std::uint32_t>& out, unsigned wave, unsigned which, unsigned rowsPerPhase) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    out.push_back(swizzled(wave * 32 + which * 8 + lane / 8, lane % 8, rowsPerPhase));
}

std::string statement(char letter, unsigned count, unsigned number) {
  switch (letter) {
  case 'M': // accumulators in AGPRs, operands of two halves
    return fmt::format("v_mfma_f32_16x16x16_f16 a[{0}:{1}], v[{2}:{3}], v[{4}:{5}], a[{0}:{1}]", count % 64 * 4,
                       count % 64 * 4 + 3, count % 16 * 2, count % 16 * 2 + 1, 64 + count % 16 * 2,
                       64 + count % 16 * 2 + 1);
  case 'R':
    return fmt::format("ds_read_b128 v[{}:{}], v200", count % 16 * 4, count % 16 * 4 + 3);
  case 'W':
    return fmt::format("ds_write_b128 v201, v[{}:{}]", 128 + count % 16 * 4, 128 + count % 16 * 4 + 3);
  case 'G':
    return fmt::format("buffer_load_dwordx4 v[{}:{}], v202, s[4:7], 0 offen", 128 + count % 16 * 4,
                       128 + count % 16 * 4 + 3);
  case 'S':
    return "s_add_u32 s20, s20, s21";
  case 'B':
    return "s_barrier";
  case 'l':
    return fmt::format("s_waitcnt lgkmcnt({})", number);
  case 'v':
    return fmt::format("s_waitcnt vmcnt({})", number);
  default:
    return "s_cbranch_scc1 0";
  }
}

std::string repeat(std::string_view text, unsigned times) {
  std::string result;
  for (unsigned i = 0; i < times; ++i)
    result.append(text).append(" ");
  return result;
}

} // namespace

Result<GemmReplay> replayGemm(const Chip& chip, isa::Codec& codec, const GemmLoop& loop, unsigned iterations) {
  ASMEVO_TRY(const std::vector<Token> tokens, parse(loop.order));
  GemmReplay result;
  std::vector<std::string> statements;
  const auto add = [&](char letter, unsigned number) {
    const auto count = static_cast<unsigned>(std::count(result.letters.begin(), result.letters.end(), letter));
    statements.push_back(statement(letter, count, number));
    result.letters += letter;
  };
  for (const Token& token : tokens)
    for (unsigned i = 0; i < (std::string_view("Blv").find(token.letter) == std::string_view::npos ? token.number : 1);
         ++i)
      add(token.letter, token.number);
  add('L', 0);
  ASMEVO_TRY(const SyntheticProgram program, SyntheticProgram::assemble(codec, statements));

  emulator::WorkgroupTrace group;
  for (unsigned wave = 0; wave < waveCount; ++wave) {
    WaveBuilder b(program);
    for (unsigned iteration = 0; iteration < iterations; ++iteration) {
      unsigned reads = 0, writes = 0, loads = 0;
      for (std::size_t s = 0; s < result.letters.size(); ++s) {
        b.step(s);
        emulator::MemoryAccess access;
        access.step = static_cast<std::uint32_t>(b.trace.path.size() - 1);
        access.bytesPerLane = 16;
        access.activeLanes = lanes;
        access.firstLine = static_cast<std::uint32_t>(b.trace.lines.size());
        access.firstLane = static_cast<std::uint32_t>(b.trace.ldsAddresses.size());
        switch (result.letters[s]) {
        case 'R':
          access.space = emulator::Space::lds;
          readAddresses(b.trace.ldsAddresses, reads++ % 8, loop.swizzleRows);
          break;
        case 'W':
          access.space = emulator::Space::lds;
          access.store = true;
          writeAddresses(b.trace.ldsAddresses, wave, writes++ % 4, loop.swizzleRows);
          break;
        case 'G': {
          const std::uint64_t firstRow = loads / 4 * 128 + wave * 32 + loads % 4 * 8;
          for (std::uint64_t row = firstRow; row < firstRow + 8; ++row)
            for (std::uint64_t half = 0; half < 2; ++half)
              b.trace.lines.push_back((0x10'0000'0000 + row * matrixRowBytes + iteration * rowBytes) / 64 + half);
          access.lineCount = 16;
          ++loads;
          break;
        }
        default:
          continue;
        }
        b.trace.accesses.push_back(access);
      }
    }
    group.waves.push_back(b.step(result.letters.size()).trace);
  }
  ChipLoad load;
  load.warmMall = true;
  ASMEVO_TRY(result.replay, replay(chip, program.code(), 256, {group}, 1, load));
  return result;
}

Result<double> gemmClkPerIteration(const Chip& chip, isa::Codec& codec, const GemmLoop& loop) {
  constexpr std::size_t first = 4, last = 12;
  ASMEVO_TRY(const GemmReplay run, replayGemm(chip, codec, loop, last + 1));
  const std::size_t length = run.letters.size();
  return static_cast<double>(run.replay.gap(first * length, last * length)) / static_cast<double>(last - first);
}

GemmLoop gemmBaseline() {
  return {"l0 B R4 M1 R4 M3 l0 B M1 R3 M1 v3 W1 v1 W2 v0 W1 G2 M1 G2 W4 M1 G4 M23 R1 M1 R1 M46 R1 M1 R1 M1 R1 l0 B W4 "
          "G3 W4 G5 M72 R3 M7 R3 M65 R3 M12 R3 M10 R3 M2 R1 M8"};
}

namespace {
constexpr char writesAndLoads[] = "W1 M1 W1 M2 W1 M2 W1 M1 G1 M2 G1 M4 G1 M4 G1 M5 ";
}

GemmLoop gemmSpread() {
  const std::string tail = "W1 M2 W1 M2 W1 M2 W1 M1 G1 M2 G1 M4 G1 M4 G1 M5 ";
  const std::string firstTail = "v3 W1 M2 v1 W1 M2 W1 M2 v0 W1 M1 G1 M2 G1 M4 G1 M4 G1 M5 ";
  return {"M1 l0 B M1 R1 M10 " + repeat("R1 M2", 7) + "l0 B " + firstTail + "M26 " + repeat("R1 M2", 8) + tail +
          "M20 l0 B M6 " + repeat("R1 M2", 8) + tail + "M26 " + repeat("R1 M2", 8) + tail + "M16 S22"};
}

GemmLoop gemmParked() {
  const std::string reads = "M4 " + repeat("R1 M2", 7) + "R1 ";
  return {"l0 B " + reads + "M2 l0 B M23 v3 W1 M1 v1 W1 M2 W1 M2 v0 W1 M1 G1 M2 G1 M4 G1 M4 G1 M5 " + reads + "M25 " +
          writesAndLoads + "l0 B " + reads + "M25 " + writesAndLoads + reads + "M25 " + writesAndLoads + "S22"};
}

GemmLoop gemmDrained() {
  const std::string reads = "M2 l12 M2 R1 M2 l13 R1 M2 " + repeat("R1 M2", 5) + "R1 ";
  return {"l0 B " + reads + "M25 v3 W1 M1 v1 W1 M2 W1 M2 v0 W1 M1 G1 M2 G1 M4 G1 M4 G1 M5 " + reads + "M25 " +
          writesAndLoads + "l9 B " + reads + "M25 " + writesAndLoads + reads + "M25 " + writesAndLoads + "S21"};
}

GemmLoop gemmPartial() {
  GemmLoop loop = gemmDrained();
  for (const auto& [from, to] : {std::pair{"v3", "v15"}, std::pair{"v1 ", "v13 "}, std::pair{"v0", "v12"}})
    loop.order.replace(loop.order.find(from), std::string_view(from).size(), to);
  return loop;
}

GemmLoop without(GemmLoop loop, std::string_view letters) {
  std::string kept;
  std::istringstream in(loop.order);
  for (std::string token; in >> token;)
    if (letters.find(token[0]) == std::string_view::npos)
      kept += token + " ";
  loop.order = kept;
  return loop;
}

} // namespace asmevo::timing
