#include "optimize/moves/arithmetic/nan_test.h"

#include <fmt/format.h>

#include <algorithm>

namespace asmevo::optimize {

namespace {

class Writer {
 public:
  explicit Writer(isa::Codec& c) : codec(c) {}

  template <class... Args> void add(fmt::format_string<Args...> format, Args&&... args) {
    auto inst = codec.assemble(fmt::format(format, std::forward<Args>(args)...));
    fine = fine && static_cast<bool>(inst);
    if (!fine)
      return;
    program::Instr& instr = test.code.emplace_back();
    instr.inst = codec.complete(*inst);
  }

  /// A branch where the unordered comparison of the two holds in some lane.
  void finish(unsigned a, unsigned b, const NanTestRegisters& registers) {
    if (!registers.masks.empty() && registers.masks.front() == "vcc") {
      add("v_cmp_u_f32_e32 vcc, v{}, v{}", a, b);
      test.branch = "s_cbranch_vccnz";
    } else if (!registers.masks.empty() && registers.scc) {
      add("v_cmp_u_f32_e64 {}, v{}, v{}", registers.masks.front(), a, b);
      add("s_cmp_lg_u64 {}, 0", registers.masks.front());
      test.branch = "s_cbranch_scc1";
    } else {
      fine = false;
    }
  }

  std::optional<NanTest> result() && { return fine ? std::optional(std::move(test)) : std::nullopt; }

 private:
  isa::Codec& codec;
  NanTest test;
  bool fine = true;
};

std::string pairText(unsigned first) {
  return registerText({RegisterFile::vgpr, first, 2});
}

/// What the chain `total` += a * b leaves over is at most one value, which the last comparison takes.
std::optional<NanTest> sumTest(std::span<const unsigned> values, unsigned total, bool started,
                               const NanTestRegisters& registers, Writer& out) {
  std::size_t i = 0;
  for (; i + 1 < values.size(); i += 2, started = true)
    out.add("{} v{}, v{}, v{}", started ? "v_fmac_f32_e32" : "v_mul_f32_e32", total, values[i], values[i + 1]);
  out.finish(total, i < values.size() ? values[i] : total, registers);
  return std::move(out).result();
}

std::optional<NanTest> packedTest(std::span<const unsigned> values, const NanTestRegisters& registers, Writer& out) {
  std::vector<unsigned> sorted(values.begin(), values.end()), pairs, rest;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] % 2 == 0 && i + 1 < sorted.size() && sorted[i + 1] == sorted[i] + 1)
      pairs.push_back(sorted[i++]);
    else
      rest.push_back(sorted[i]);
  if (pairs.size() < 2)
    return std::nullopt;
  const std::string total = pairText(*registers.vgprPair);
  std::size_t i = 0;
  for (; i + 1 < pairs.size(); i += 2)
    if (i == 0)
      out.add("v_pk_mul_f32 {}, {}, {}", total, pairText(pairs[0]), pairText(pairs[1]));
    else
      out.add("v_pk_fma_f32 {0}, {1}, {2}, {0}", total, pairText(pairs[i]), pairText(pairs[i + 1]));
  if (i < pairs.size())
    out.add("v_pk_add_f32 {0}, {0}, {1}", total, pairText(pairs[i]));
  rest.push_back(*registers.vgprPair + 1);
  return sumTest(rest, *registers.vgprPair, true, registers, out);
}

std::optional<NanTest> compareTest(std::span<const unsigned> values, const NanTestRegisters& registers,
                                   isa::Codec& codec) {
  if (values.size() <= 2) {
    Writer out(codec);
    out.finish(values.front(), values.back(), registers);
    return std::move(out).result();
  }
  if (registers.masks.size() < 2 || !registers.scc)
    return std::nullopt;
  Writer out(codec);
  const std::string &all = registers.masks[0], &one = registers.masks[1];
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const unsigned partner = i + 1 < values.size() ? values[i + 1] : values[i];
    out.add("v_cmp_u_f32_e64 {}, v{}, v{}", i == 0 ? all : one, values[i], partner);
    if (i != 0)
      out.add("s_or_b64 {0}, {0}, {1}", all, one);
  }
  auto test = std::move(out).result();
  if (test)
    test->branch = "s_cbranch_scc1";
  return test;
}

} // namespace

std::optional<NanTest> nanTest(NanTestForm form, std::span<const unsigned> values, const NanTestRegisters& registers,
                               isa::Codec& codec) {
  if (values.size() < 2)
    return std::nullopt;
  Writer out(codec);
  switch (form) {
  case NanTestForm::packed:
    return registers.vgprPair ? packedTest(values, registers, out) : std::nullopt;
  case NanTestForm::sums:
    return registers.vgpr ? sumTest(values, *registers.vgpr, false, registers, out) : std::nullopt;
  case NanTestForm::compares:
    return compareTest(values, registers, codec);
  }
  return std::nullopt;
}

} // namespace asmevo::optimize
