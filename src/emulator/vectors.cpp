#include "emulator/vectors.h"

#include "isa/codec.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

namespace asmevo::emulator {

namespace {

using nlohmann::json;

constexpr unsigned vgprs = 64;
constexpr std::size_t ldsBytes = 65536;

struct alignas(64) VectorRegisters {
  std::uint32_t lanes[vgprs][64];
};

/// Everything an instruction can change here.
struct Machine {
  Wave wave;
  std::unique_ptr<VectorRegisters> registers = std::make_unique<VectorRegisters>();
  std::vector<std::uint8_t> lds = std::vector<std::uint8_t>(ldsBytes);

  Machine() {
    wave.vgpr = registers->lanes[0];
    wave.vgprCount = vgprs;
    wave.lds = lds.data();
    wave.ldsBytes = ldsBytes;
  }
};

bool parseHex(std::string_view text, std::uint64_t& value) {
  if (text.starts_with("0x"))
    text.remove_prefix(2);
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

bool hexOf(const json& j, std::uint64_t& value) {
  if (j.is_number_unsigned()) {
    value = j.get<std::uint64_t>();
    return true;
  }
  return j.is_string() && parseHex(j.get_ref<const std::string&>(), value);
}

bool indexOf(std::string_view key, unsigned limit, unsigned& index) {
  const auto r = std::from_chars(key.data(), key.data() + key.size(), index);
  return r.ec == std::errc() && r.ptr == key.data() + key.size() && index < limit;
}

/// Writes the named part of the state. False: malformed.
bool apply(const json& state, Machine& m) {
  if (!state.is_object())
    return false;
  std::uint64_t value = 0;
  unsigned index = 0;
  for (const auto& [key, entry] : state.items()) {
    if (key == "s") {
      for (const auto& [name, x] : entry.items()) {
        if (!indexOf(name, 102, index) || !hexOf(x, value))
          return false;
        m.wave.sgpr[index] = static_cast<std::uint32_t>(value);
      }
    } else if (key == "v") {
      for (const auto& [name, x] : entry.items()) {
        if (!indexOf(name, vgprs, index))
          return false;
        const bool list = x.is_array();
        for (std::size_t lane = 0; lane < (list ? x.size() : 1); ++lane) {
          if (lane >= 64 || !hexOf(list ? x[lane] : x, value))
            return false;
          m.registers->lanes[index][lane] = static_cast<std::uint32_t>(value);
        }
      }
    } else if (key == "lds") {
      for (const auto& [name, x] : entry.items()) {
        if (!indexOf(name, ldsBytes - 3, index) || !hexOf(x, value))
          return false;
        std::memcpy(m.lds.data() + index, &value, 4);
      }
    } else {
      if (!hexOf(entry, value))
        return false;
      if (key == "vcc")
        m.wave.setPair(isa::sreg::vccLo, value);
      else if (key == "exec")
        m.wave.setPair(isa::sreg::execLo, value);
      else if (key == "m0")
        m.wave.sgpr[isa::sreg::m0] = static_cast<std::uint32_t>(value);
      else if (key == "scc")
        m.wave.scc = static_cast<std::uint32_t>(value);
      else if (key == "mode")
        m.wave.mode = static_cast<std::uint32_t>(value);
      else
        return false;
    }
  }
  return true;
}

/// Registers that a vector does not name hold a pattern, so that a stray write shows.
void poison(Machine& m) {
  for (unsigned i = 0; i < 128; ++i)
    m.wave.sgpr[i] = 0xa5000000u + i;
  for (unsigned r = 0; r < vgprs; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      m.registers->lanes[r][lane] = 0x5a000000u + (r << 8) + lane;
  std::memset(m.lds.data(), 0, m.lds.size());
  m.wave.mode = 0x3f0;
  m.wave.gprIdx = 0;
  m.wave.scc = 0;
  m.wave.stop = Stop::running;
}

struct NanField {
  unsigned reg, lane, lsb, width;
};

struct Tolerance {
  double ulp = 0, absolute = 0;
};

/// "approx ulp 2^29", "approx abs 2^-16".
double parsePower(std::string_view text) {
  if (text.starts_with("2^"))
    return std::ldexp(1.0, std::atoi(std::string(text.substr(2)).c_str()));
  return std::strtod(std::string(text).c_str(), nullptr);
}

Tolerance toleranceOf(std::string_view note) {
  Tolerance t;
  if (const auto at = note.find("approx ulp "); at != std::string_view::npos)
    t.ulp = parsePower(note.substr(at + 11, note.find(';', at) - at - 11));
  if (const auto at = note.find("approx abs "); at != std::string_view::npos)
    t.absolute = parsePower(note.substr(at + 11, note.find(';', at) - at - 11));
  return t;
}

bool isNan(std::uint64_t bits, unsigned width) {
  switch (width) {
  case 16:
    return (bits & 0x7fff) > 0x7c00;
  case 32:
    return (bits & 0x7fffffff) > 0x7f800000;
  case 64:
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  default:
    return (bits & 0xff) == 0x80; // fp8 and bf8, FNUZ
  }
}

double halfValue(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 0x3ff);
  const double magnitude = exponent == 31  ? INFINITY
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double valueOf(std::uint64_t bits, unsigned width) {
  if (width == 16)
    return halfValue(bits);
  if (width == 32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return std::bit_cast<double>(bits);
}

/// Position on the line of representable numbers.
std::int64_t ordinal(std::uint64_t bits, unsigned width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

bool within(std::uint64_t got, std::uint64_t want, unsigned width, const Tolerance& t) {
  const double a = valueOf(got, width), b = valueOf(want, width);
  if (!std::isfinite(a) || !std::isfinite(b))
    return got == want;
  if (t.absolute > 0 && std::fabs(a - b) <= t.absolute)
    return true;
  return t.ulp > 0 &&
         std::fabs(static_cast<double>(ordinal(got, width)) - static_cast<double>(ordinal(want, width))) <= t.ulp;
}

unsigned resultWidth(std::string_view base) {
  return base.ends_with("f64") ? 64 : base.ends_with("f16") ? 16 : 32;
}

struct Comparison {
  std::string difference; ///< empty: equal
  bool inexact = false;
};

/// Compares `got` with `want`, field by field, allowing what the vector allows.
Comparison compare(const Machine& got, const Machine& want, const std::vector<NanField>& nans,
                   const Tolerance& tolerance, unsigned width) {
  Comparison result;
  const auto differ = [&](std::string where, std::uint64_t g, std::uint64_t w) {
    if (result.difference.empty())
      result.difference = fmt::format("{} is {:#x}, expected {:#x}", where, g, w);
  };
  for (unsigned i = 0; i < 128; ++i)
    if (got.wave.sgpr[i] != want.wave.sgpr[i])
      differ(fmt::format("s{}", i), got.wave.sgpr[i], want.wave.sgpr[i]);
  if (got.wave.scc != want.wave.scc)
    differ("scc", got.wave.scc, want.wave.scc);
  if (got.wave.mode != want.wave.mode)
    differ("mode", got.wave.mode, want.wave.mode);
  for (std::size_t i = 0; i + 4 <= ldsBytes; i += 4)
    if (std::memcmp(got.lds.data() + i, want.lds.data() + i, 4) != 0) {
      std::uint32_t g, w;
      std::memcpy(&g, got.lds.data() + i, 4);
      std::memcpy(&w, want.lds.data() + i, 4);
      differ(fmt::format("lds[{}]", i), g, w);
    }
  const auto& g = got.registers->lanes;
  const auto& w = want.registers->lanes;
  for (unsigned r = 0; r < vgprs; ++r)
    for (unsigned lane = 0; lane < 64; ++lane) {
      std::uint64_t a = g[r][lane], b = w[r][lane];
      if (a == b)
        continue;
      for (const NanField& f : nans) {
        if (f.lane != lane || r < f.reg || r > f.reg + (f.width == 64 ? 1 : 0))
          continue;
        const std::uint64_t whole = f.width == 64 ? g[f.reg][lane] | std::uint64_t{g[f.reg + 1][lane]} << 32
                                                  : std::uint64_t{g[f.reg][lane]} >> f.lsb;
        const std::uint64_t mask = f.width >= 32 ? 0xffffffff : ((std::uint64_t{1} << f.width) - 1) << f.lsb;
        if (isNan(whole, f.width)) {
          a &= ~mask;
          b &= ~mask;
        }
      }
      bool allowed = a == b;
      if (!allowed && (tolerance.ulp > 0 || tolerance.absolute > 0)) {
        const bool wide = width == 64;
        // Destinations start at an even register here; look at the whole number.
        const unsigned low = wide ? r & ~1u : r;
        const std::uint64_t ga = wide ? g[low][lane] | std::uint64_t{g[low + 1][lane]} << 32 : a;
        const std::uint64_t wb = wide ? w[low][lane] | std::uint64_t{w[low + 1][lane]} << 32 : b;
        allowed = within(ga, wb, width, tolerance);
        result.inexact |= allowed;
      }
      if (!allowed)
        differ(fmt::format("v{}[{}]", r, lane), g[r][lane], w[r][lane]);
    }
  return result;
}

/// The NaN fields of a vector, or nullopt when malformed.
std::optional<std::vector<NanField>> nanFields(const json& vector) {
  std::vector<NanField> fields;
  if (!vector.contains("nan"))
    return fields;
  for (const json& entry : vector["nan"]) {
    NanField f{};
    if (!entry.is_object() || !entry.contains("reg") || !entry["reg"].is_string())
      return std::nullopt;
    const std::string name = entry["reg"];
    if (name.size() < 2 || name[0] != 'v' || !indexOf(std::string_view(name).substr(1), vgprs - 1, f.reg))
      return std::nullopt;
    f.lane = entry.value("lane", 0u);
    f.lsb = entry.value("lsb", 0u);
    f.width = entry.value("width", 32u);
    if (f.lane > 63 || f.lsb > 31 || f.width > 64)
      return std::nullopt;
    fields.push_back(f);
  }
  return fields;
}

void returnHandler(Wave&, const Op*) {}

} // namespace

Result<VectorReport> checkVectors(std::string_view text, const object::Target& target, const VectorOptions& options) {
  ASMEVO_TRY(std::unique_ptr<isa::Codec> codec, isa::Codec::create(target));
  VectorReport report;
  Machine got, want;
  std::size_t lineNumber = 0;
  std::map<std::string, std::size_t> shown;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++lineNumber;
    if (line.empty())
      continue;
    const json vector = json::parse(line, nullptr, false);
    const auto malformed = [&](std::string_view what) { return badInput("line {}: {}", lineNumber, what); };
    if (!vector.is_object() || !vector.contains("asm") || !vector["asm"].is_string() || !vector.contains("in") ||
        !vector.contains("out"))
      return malformed("not a test vector");
    const std::string& assembly = vector["asm"].get_ref<const std::string&>();
    ASMEVO_TRY(const isa::InstRef inst, codec->assemble(assembly));
    VectorCounts& counts = report.byOpcode[inst->base];

    Arena arena;
    BindContext context;
    context.simd = options.simd;
    context.arena = &arena;
    Op ops[2];
    ops[0].inst = inst;
    ops[1].fn = &returnHandler;
    const Status bound =
        inst->cls == isa::InstClass::lds ? bindMemory(*inst, context, ops[0]) : bindAlu(*inst, context, ops[0]);
    if (!bound) {
      if (counts.unmodelled++ == 0)
        report.refusals.push_back(fmt::format("{}: {}", inst->base, bound.error().message));
      ++report.total.unmodelled;
      continue;
    }

    poison(got);
    poison(want);
    const auto nans = nanFields(vector);
    if (!apply(vector["in"], got) || !apply(vector["in"], want) || !apply(vector["out"], want) || !nans)
      return malformed("a register or value is malformed");
    got.wave.runStart = ops;
    ops[0].fn(got.wave, ops);
    Comparison result;
    if (got.wave.stop == Stop::fault)
      result.difference = "stopped: " + got.wave.faultMessage;
    else
      result = compare(got, want, *nans, toleranceOf(vector.value("note", "")), resultWidth(inst->base));
    if (result.difference.empty()) {
      ++counts.passed;
      ++report.total.passed;
      counts.inexact += result.inexact;
      report.total.inexact += result.inexact;
    } else {
      ++counts.failed;
      ++report.total.failed;
      if (shown[inst->base]++ < options.differencesPerOpcode)
        report.differences.push_back(fmt::format("{}: {} (line {})", assembly, result.difference, lineNumber));
    }
  }
  return report;
}

} // namespace asmevo::emulator
