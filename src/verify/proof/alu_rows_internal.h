/// From a semantics row to an AluRow. Included by the alu_rows_*.cpp files only.
#pragma once

#include "verify/proof/alu_rows.h"

#include <utility>

namespace asmevo::verify::rows {

namespace sem = isa::semantics;
using sem::OperandType;

template <class Tag> auto loadSource(const TermDomain& d, const SourceTerms& s) {
  constexpr OperandType type = Tag::type;
  using B32 = TermDomain::B32;
  if constexpr (type == OperandType::mask)
    return TermDomain::Mask{s[0]};
  else if constexpr (type == OperandType::b64 || type == OperandType::f64 || type == OperandType::exec)
    return TermDomain::B64{d.t.pack(s[0], s[1])};
  else if constexpr (type == OperandType::pkF32 || type == OperandType::pkB32)
    return sem::Pair<B32>{{s[0]}, {s[1]}};
  else if constexpr (type == OperandType::b128)
    return sem::Quad<B32>{{s[0]}, {s[1]}, {s[2]}, {s[3]}};
  else
    return B32{s[0]};
}

struct Sink {
  const TermDomain& d;
  AluResult& r;
  void put(TermId id) const { r.dwords[r.count++] = id; }
  void take(TermDomain::B32 x) const { put(x.id); }
  void take(TermDomain::B64 x) const {
    put(d.t.lo(x.id));
    put(d.t.hi(x.id));
  }
  void take(sem::Pair<TermDomain::B32> x) const {
    put(x.lo.id);
    put(x.hi.id);
  }
  void take(sem::Quad<TermDomain::B32> x) const {
    for (const auto& v : {x.d0, x.d1, x.d2, x.d3})
      put(v.id);
  }
  void take(TermDomain::Mask m) const {
    r.mask = m.id;
    r.hasMask = true;
  }
  template <class V> void take(sem::Out<V, TermDomain::Mask> x) const {
    take(x.value);
    take(x.mask);
  }
  void take(sem::ExecOut<TermDomain::B64, TermDomain::Mask> x) const {
    take(x.value);
    r.exec = x.exec.id;
    r.hasExec = true;
    take(x.scc);
  }
};

template <class Spec, class R, class... A, std::size_t... I>
void runAs(const TermDomain& d, std::span<const SourceTerms> sources, AluResult& result, R (*)(A...),
           std::index_sequence<I...>) {
  Sink{d, result}.take(Spec::run(d, loadSource<A>(d, sources[I])...));
}

template <class Spec> void runRow(const TermDomain& d, std::span<const SourceTerms> sources, AluResult& result) {
  constexpr typename Spec::Type* type = nullptr;
  runAs<Spec>(d, sources, result, type, std::make_index_sequence<sem::Signature<typename Spec::Type>::sources>());
}

template <class Spec> constexpr AluRow rowOf(const char* name) {
  AluRow row{name, sem::Signature<typename Spec::Type>::info(), Rounding::nearest, &runRow<Spec>};
  if (Spec::rounds && sem::typeInfo(row.signature.dst).isFloat)
    row.rounding = sem::typeInfo(row.signature.dst).elementBits == 32 ? Rounding::f32 : Rounding::f64;
  return row;
}

namespace use {
struct bits {
  static constexpr bool rounds = false;
};
struct mode {
  static constexpr bool rounds = true;
};
struct nearest {
  static constexpr bool rounds = false;
};
} // namespace use

#define ASMEVO_TERM_SPEC(name, speed, useName, body, signature, section)                                               \
  struct name : use::useName {                                                                                         \
    using Type = signature;                                                                                            \
    template <class D, class... A> static auto run(const D& d, A... a) { return body(d, a...); }                       \
  };
#define ASMEVO_TERM_ROW(name, speed, useName, body, signature, section) rowOf<name>(#name),

std::span<const AluRow> integerRows();
std::span<const AluRow> floatRows();

} // namespace asmevo::verify::rows
