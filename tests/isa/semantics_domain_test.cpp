// The instruction bodies read over terms: what the prover does. Compiling this file already shows that no body touches
// a host type or branches on a value; the tests look at a few terms and at the tables.
#include "isa/codec.h"
#include "isa/semantics/conversions.h"
#include "isa/semantics/sop.h"
#include "isa/semantics/table.h"
#include "isa/semantics/vop3p.h"
#include "isa/semantics/vop_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace asmevo::isa::semantics {
namespace {

/// Hash-consed terms: equal text is the same number.
class Terms {
 public:
  std::size_t intern(const std::string& text) {
    const auto [it, fresh] = index.try_emplace(text, texts.size());
    if (fresh)
      texts.push_back(text);
    return it->second;
  }
  const std::string& text(std::size_t id) const { return texts[id]; }

 private:
  std::map<std::string, std::size_t> index;
  std::vector<std::string> texts;
};

/// A value is the number of its term; the width is in the type, as in every domain.
template <unsigned Bits> struct Term {
  std::size_t id;
};

struct TermDomain {
  using B32 = Term<32>;
  using B64 = Term<64>;
  using Mask = Term<1>;
  Terms& terms;

  template <class R, class... A> R make(const char* name, A... args) const {
    std::string text = std::string("(") + name;
    ((text += " " + terms.text(args.id)), ...);
    return {terms.intern(text + ")")};
  }
  B32 c32(std::uint32_t x) const { return {terms.intern(fmt::format("{:#x}", x))}; }
  B64 c64(std::uint64_t x) const { return {terms.intern(fmt::format("{:#x}", x))}; }
  Mask cmask(bool x) const { return {terms.intern(x ? "true" : "false")}; }
  B32 lane() const { return {terms.intern("lane")}; }

#define ASMEVO_UNARY(name)                                                                                             \
  template <class V> V name(V a) const { return make<V>(#name, a); }
#define ASMEVO_BINARY(name)                                                                                            \
  template <class V> V name(V a, V b) const { return make<V>(#name, a, b); }
#define ASMEVO_COMPARE(name)                                                                                           \
  template <class V> Mask name(V a, V b) const { return make<Mask>(#name, a, b); }
#define ASMEVO_FORMAT1(name)                                                                                           \
  template <class F, class V> V name(F, V a) const { return make<V>(formatted<F>(#name).c_str(), a); }
#define ASMEVO_FORMAT2(name)                                                                                           \
  template <class F, class V> V name(F, V a, V b) const { return make<V>(formatted<F>(#name).c_str(), a, b); }
#define ASMEVO_FCOMPARE(name)                                                                                          \
  template <class F, class V> Mask name(F, V a, V b) const { return make<Mask>(formatted<F>(#name).c_str(), a, b); }
#define ASMEVO_CONVERT(name, R, A)                                                                                     \
  R name(A a) const { return make<R>(#name, a); }
  template <class F> static std::string formatted(const char* name) { return name + std::to_string(F::bits); }

  ASMEVO_BINARY(add)
  ASMEVO_BINARY(sub)
  ASMEVO_BINARY(mul)
  ASMEVO_BINARY(and_)
  ASMEVO_BINARY(or_)
  ASMEVO_BINARY(xor_)
  ASMEVO_UNARY(not_)
  ASMEVO_BINARY(shl)
  ASMEVO_BINARY(shr)
  ASMEVO_BINARY(sar)
  ASMEVO_BINARY(umin)
  ASMEVO_BINARY(umax)
  ASMEVO_BINARY(smin)
  ASMEVO_BINARY(smax)
  ASMEVO_UNARY(popcount)
  ASMEVO_UNARY(clz)
  ASMEVO_UNARY(ctz)
  ASMEVO_UNARY(brev)
  ASMEVO_BINARY(mulHiU)
  ASMEVO_BINARY(mulHiS)
  ASMEVO_COMPARE(eq)
  ASMEVO_COMPARE(ne)
  ASMEVO_COMPARE(ult)
  ASMEVO_COMPARE(ule)
  ASMEVO_COMPARE(slt)
  ASMEVO_COMPARE(sle)
  ASMEVO_BINARY(mand)
  ASMEVO_BINARY(mor)
  ASMEVO_BINARY(mxor)
  ASMEVO_UNARY(mnot)
  template <class V> V select(Mask m, V a, V b) const { return make<V>("select", m, a, b); }
  ASMEVO_CONVERT(zext, B64, B32)
  ASMEVO_CONVERT(sext, B64, B32)
  ASMEVO_CONVERT(lo, B32, B64)
  ASMEVO_CONVERT(hi, B32, B64)
  ASMEVO_CONVERT(bit, B32, Mask)
  B64 pack(B32 low, B32 high) const { return make<B64>("pack", low, high); }

  ASMEVO_FORMAT2(fadd)
  ASMEVO_FORMAT2(fmul)
  ASMEVO_FORMAT2(fmin)
  ASMEVO_FORMAT2(fmax)
  template <class F, class V> V ffma(F, V a, V b, V c) const { return make<V>(formatted<F>("ffma").c_str(), a, b, c); }
  template <class F, class V> V fldexp(F, V a, B32 n) const { return make<V>(formatted<F>("fldexp").c_str(), a, n); }
  ASMEVO_FORMAT1(fin)
  ASMEVO_FORMAT1(ffloor)
  ASMEVO_FORMAT1(fceil)
  ASMEVO_FORMAT1(ftrunc)
  ASMEVO_FORMAT1(frndne)
  ASMEVO_FORMAT1(fexp)
  ASMEVO_FORMAT1(flog)
  ASMEVO_FORMAT1(frcp)
  ASMEVO_FORMAT1(frsq)
  ASMEVO_FORMAT1(fsqrt)
  ASMEVO_FORMAT1(fsin)
  ASMEVO_FORMAT1(fcos)
  ASMEVO_FCOMPARE(feq)
  ASMEVO_FCOMPARE(flt)
  ASMEVO_FCOMPARE(fle)
  ASMEVO_FCOMPARE(funord)
  ASMEVO_CONVERT(f32FromF16, B32, B32)
  ASMEVO_CONVERT(f16FromF32, B32, B32)
  ASMEVO_CONVERT(f16FromF32Rtz, B32, B32)
  ASMEVO_CONVERT(f64FromF32, B64, B32)
  ASMEVO_CONVERT(f32FromF64, B32, B64)
  ASMEVO_CONVERT(f32FromI32, B32, B32)
  ASMEVO_CONVERT(f32FromU32, B32, B32)
  ASMEVO_CONVERT(f64FromI32, B64, B32)
  ASMEVO_CONVERT(f64FromU32, B64, B32)
  ASMEVO_CONVERT(i32FromF32, B32, B32)
  ASMEVO_CONVERT(u32FromF32, B32, B32)
  ASMEVO_CONVERT(i32FromF64, B32, B64)
  ASMEVO_CONVERT(u32FromF64, B32, B64)
  ASMEVO_CONVERT(f32FromFp8, B32, B32)
  ASMEVO_CONVERT(f32FromBf8, B32, B32)
  ASMEVO_CONVERT(fp8FromF32, B32, B32)
  ASMEVO_CONVERT(bf8FromF32, B32, B32)
  B32 fp8FromF32Sr(B32 a, B32 r) const { return make<B32>("fp8FromF32Sr", a, r); }
  B32 bf8FromF32Sr(B32 a, B32 r) const { return make<B32>("bf8FromF32Sr", a, r); }
  B64 trigPreop(B64 a, B32 n) const { return make<B64>("trigPreop", a, n); }
};

/// A fresh variable of an operand's type.
template <class Tag> auto variable(const TermDomain& d, const std::string& name) {
  constexpr OperandType t = Tag::type;
  const auto b32 = [&](const std::string& n) { return TermDomain::B32{d.terms.intern(n)}; };
  if constexpr (t == OperandType::mask)
    return TermDomain::Mask{d.terms.intern(name)};
  else if constexpr (t == OperandType::b64 || t == OperandType::f64 || t == OperandType::exec)
    return TermDomain::B64{d.terms.intern(name)};
  else if constexpr (t == OperandType::pkF32 || t == OperandType::pkB32)
    return Pair<TermDomain::B32>{b32(name + ".lo"), b32(name + ".hi")};
  else if constexpr (t == OperandType::b128)
    return Quad<TermDomain::B32>{b32(name + ".0"), b32(name + ".1"), b32(name + ".2"), b32(name + ".3")};
  else
    return b32(name);
}

std::string show(const TermDomain& d, TermDomain::B32 x) {
  return d.terms.text(x.id);
}
std::string show(const TermDomain& d, TermDomain::B64 x) {
  return d.terms.text(x.id);
}
std::string show(const TermDomain& d, TermDomain::Mask x) {
  return d.terms.text(x.id);
}
std::string show(const TermDomain& d, Pair<TermDomain::B32> x) {
  return show(d, x.lo) + " : " + show(d, x.hi);
}
std::string show(const TermDomain& d, Quad<TermDomain::B32> x) {
  return show(d, x.d0) + " : " + show(d, x.d1) + " : " + show(d, x.d2) + " : " + show(d, x.d3);
}
template <class V, class M> std::string show(const TermDomain& d, Out<V, M> x) {
  return show(d, x.value) + " | " + show(d, x.mask);
}
template <class V, class M> std::string show(const TermDomain& d, ExecOut<V, M> x) {
  return show(d, x.value) + " | " + show(d, x.exec) + " | " + show(d, x.scc);
}

template <class Spec, class R, class... A, std::size_t... I>
std::string readBody(const TermDomain& d, R (*)(A...), std::index_sequence<I...>) {
  constexpr const char* names[] = {"a", "b", "c", "d"};
  return show(d, Spec::run(d, variable<A>(d, names[I])...));
}

namespace rows {
#define ASMEVO_OP(name, speed, use, body, signature, section)                                                          \
  struct name {                                                                                                        \
    using Type = signature;                                                                                            \
    template <class... A> static auto run(const TermDomain& d, A... a) { return body(d, a...); }                       \
  };
#include "isa/semantics/compare_float.def"
#include "isa/semantics/compare_int.def"
#include "isa/semantics/conversions.def"
#include "isa/semantics/sop.def"
#include "isa/semantics/transcendental.def"
#include "isa/semantics/vop3p.def"
#include "isa/semantics/vop_f16.def"
#include "isa/semantics/vop_f32.def"
#include "isa/semantics/vop_f64.def"
#include "isa/semantics/vop_int.def"
#include "isa/semantics/vop_int16.def"
#undef ASMEVO_OP
} // namespace rows

/// Every opcode's term, by mnemonic.
std::map<std::string, std::string> allTerms() {
  std::map<std::string, std::string> result;
  Terms terms;
  const TermDomain d{terms};
#define ASMEVO_OP(name, speed, use, body, signature, section)                                                          \
  {                                                                                                                    \
    constexpr rows::name::Type* type = nullptr;                                                                        \
    result[#name] = readBody<rows::name>(d, type, std::make_index_sequence<Signature<rows::name::Type>::sources>());   \
  }
#include "isa/semantics/compare_float.def"
#include "isa/semantics/compare_int.def"
#include "isa/semantics/conversions.def"
#include "isa/semantics/sop.def"
#include "isa/semantics/transcendental.def"
#include "isa/semantics/vop3p.def"
#include "isa/semantics/vop_f16.def"
#include "isa/semantics/vop_f32.def"
#include "isa/semantics/vop_f64.def"
#include "isa/semantics/vop_int.def"
#include "isa/semantics/vop_int16.def"
#undef ASMEVO_OP
  return result;
}

TEST(SemanticsDomain, BodiesGiveTerms) {
  const auto terms = allTerms();
  EXPECT_EQ(terms.at("v_add_f32"), "(fadd32 a b)");
  EXPECT_EQ(terms.at("v_lshl_add_u32"), "(add (shl a b) c)");
  EXPECT_EQ(terms.at("v_cndmask_b32"), "(select c b a)");
  EXPECT_EQ(terms.at("v_fmac_f32"), terms.at("v_fma_f32"));
  EXPECT_EQ(terms.at("v_subrev_f32"), "(fadd32 b (xor_ a 0x80000000))");
  EXPECT_EQ(terms.at("v_pk_fma_f32"), "(ffma32 a.lo b.lo c.lo) : (ffma32 a.hi b.hi c.hi)");
  EXPECT_EQ(terms.at("v_cmp_lt_f32"), "(flt32 a b)");
  EXPECT_EQ(terms.at("v_cmpx_lt_f32"), "(flt32 a b)");
  EXPECT_EQ(terms.at("v_add_co_u32"), "(add a b) | (ult (add a b) a)");
  EXPECT_EQ(terms.at("s_and_saveexec_b64"), "b | (and_ a b) | (ne (and_ a b) 0x0)");
  EXPECT_EQ(terms.at("s_cselect_b32"), "(select c a b)");
}

TEST(SemanticsDomain, EverySourceMattersUnlessTheOpcodeIsConstant) {
  for (const auto& [name, term] : allTerms()) {
    const OpcodeInfo* row = findOpcode(name);
    ASSERT_NE(row, nullptr) << name;
    if (name.starts_with("v_cmp") && (name.find("_f_") != std::string::npos || name.find("_t_") != std::string::npos ||
                                      name.find("_tru_") != std::string::npos))
      continue;
    for (unsigned i = 0; i < row->signature.sources; ++i) {
      const char variable = static_cast<char>('a' + i);
      bool used = false;
      for (std::size_t at = term.find(variable); at != std::string::npos && !used; at = term.find(variable, at + 1))
        used = (at == 0 || term[at - 1] == ' ') &&
               (at + 1 == term.size() || term[at + 1] == ' ' || term[at + 1] == ')' || term[at + 1] == '.');
      EXPECT_TRUE(used) << name << " does not use source " << i << ": " << term;
    }
  }
}

TEST(SemanticsTable, MnemonicsExistInLlvm) {
  object::Target target;
  target.processor = "gfx942";
  const auto codec = Codec::create(target);
  ASSERT_TRUE(codec) << codec.error().message;
  // LLVM's names end in the encoding's and the generation's marks: V_ADD_F32_e32_vi, V_CMP_LT_F32_sdwa_gfx9.
  std::set<std::string> known;
  for (std::string name : (*codec)->opcodeNames()) {
    for (char& c : name)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (bool again = true; again;) {
      again = false;
      for (const std::string_view suffix : {"_vi", "_gfx9", "_gfx940", "_gfx90a", "_gfx9_gfx940", "_e32", "_e64",
                                            "_sdwa", "_dpp", "_gfx8", "_gfx6_gfx7", "_acd", "_vcd", "_vgprcd", "_real"})
        if (name.ends_with(suffix)) {
          name.resize(name.size() - suffix.size());
          again = true;
        }
      known.insert(name);
    }
  }
  // Printed under another name than the opcode's: add_co is V_ADD_U32 of gfx8 with a new name.
  for (const OpcodeInfo& row : opcodeTable()) {
    std::string name(row.mnemonic);
    if (name.ends_with("__clamp"))
      name.resize(name.size() - 7);
    EXPECT_TRUE(known.contains(name)) << name;
  }
  for (const std::string_view name : specialOpcodes())
    EXPECT_TRUE(known.contains(std::string(name))) << name;
}

TEST(SemanticsTable, EachMnemonicOnce) {
  std::set<std::string_view> seen;
  for (const OpcodeInfo& row : opcodeTable())
    EXPECT_TRUE(seen.insert(row.mnemonic).second) << row.mnemonic;
  for (const std::string_view name : specialOpcodes())
    EXPECT_TRUE(seen.insert(name).second) << name;
}

TEST(SemanticsTable, SaturatingFormsBelongToAnOpcode) {
  for (const OpcodeInfo& row : opcodeTable())
    if (row.mnemonic.ends_with("__clamp"))
      EXPECT_NE(findOpcode(row.mnemonic.substr(0, row.mnemonic.size() - 7)), nullptr) << row.mnemonic;
}

} // namespace
} // namespace asmevo::isa::semantics
