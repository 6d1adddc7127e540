/// Handlers of the scalar unit: the bodies of sop.def over host integers.
#include "emulator/alu/alu_internal.h"
#include "emulator/alu/scalar_domain.h"
#include "isa/semantics/sop.h"

#include <unordered_map>
#include <utility>

namespace asmevo::emulator {

namespace {

namespace sem = isa::semantics;
using sem::OperandType;

template <class Tag> [[gnu::always_inline]] inline auto read(const Wave& wave, const Op* op, std::size_t index) {
  constexpr OperandType t = Tag::type;
  if constexpr (t == OperandType::mask)
    return wave.scc != 0;
  else if constexpr (t == OperandType::exec)
    return wave.exec();
  else if constexpr (Tag::old && t == OperandType::b64)
    return wave.pair(op->dst);
  else if constexpr (Tag::old)
    return wave.sgpr[op->dst];
  else if constexpr (t == OperandType::b64)
    return wave.scalar64(op->src[index]);
  else
    return wave.scalar32(op->src[index]);
}

[[gnu::always_inline]] inline void write(Wave& wave, const Op* op, std::uint32_t v) {
  wave.sgpr[op->dst] = v;
}
[[gnu::always_inline]] inline void write(Wave& wave, const Op* op, std::uint64_t v) {
  wave.setPair(op->dst, v);
}
[[gnu::always_inline]] inline void write(Wave& wave, const Op*, bool scc) {
  wave.scc = scc;
}
template <class V> [[gnu::always_inline]] inline void write(Wave& wave, const Op* op, sem::Out<V, bool> r) {
  write(wave, op, r.value);
  wave.scc = r.mask;
}
/// The destination may be EXEC itself: the instruction's new EXEC wins.
[[gnu::always_inline]] inline void write(Wave& wave, const Op* op, sem::ExecOut<std::uint64_t, bool> r) {
  write(wave, op, r.value);
  wave.setPair(isa::sreg::execLo, r.exec);
  wave.scc = r.scc;
}

template <class Spec, class R, class... A, std::size_t... I>
[[gnu::always_inline]] inline void execute(Wave& wave, const Op* op, R (*)(A...), std::index_sequence<I...>) {
  write(wave, op, Spec::run(ScalarDomain{}, read<A>(wave, op, I)...));
}

template <class Spec> void scalarHandler(Wave& wave, const Op* op) {
  constexpr typename Spec::Type* type = nullptr;
  execute<Spec>(wave, op, type, std::make_index_sequence<sem::Signature<typename Spec::Type>::sources>());
  ASMEVO_NEXT(wave, op);
}

namespace rows {
using namespace isa::semantics;
#define ASMEVO_OP(name, speed, use, body, signature, section)                                                          \
  struct name {                                                                                                        \
    using Type = signature;                                                                                            \
    template <class D, class... A> [[gnu::always_inline]] static auto run(const D& d, A... a) {                        \
      return body(d, a...);                                                                                            \
    }                                                                                                                  \
  };
#include "isa/semantics/sop.def"
#undef ASMEVO_OP
} // namespace rows

struct ScalarEntry {
  std::string_view name;
  Handler handler;
  sem::SignatureInfo signature;
};
constexpr ScalarEntry scalarTable[] = {
#define ASMEVO_OP(name, speed, use, body, signature, section)                                                          \
  {#name, &scalarHandler<rows::name>, sem::Signature<rows::name::Type>::info()},
#include "isa/semantics/sop.def"
#undef ASMEVO_OP
};

} // namespace

bool findScalarHandler(std::string_view base, Handler& handler, sem::SignatureInfo& signature) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const ScalarEntry*> map;
    for (const ScalarEntry& e : scalarTable)
      map.emplace(e.name, &e);
    return map;
  }();
  const auto it = index.find(base);
  if (it == index.end())
    return false;
  handler = it->second->handler;
  signature = it->second->signature;
  return true;
}

Status bindScalar(const isa::Instruction& inst, const BindContext& context, Handler handler,
                  const sem::SignatureInfo& signature, Op& op) {
  std::size_t at = 0;
  const auto& operands = inst.operands;
  if (signature.dst != OperandType::mask) {
    if (operands.empty() || operands[0].kind != isa::OperandKind::sgpr || operands[0].index >= 128)
      return refused("{}: destination is not a scalar register", inst.text);
    op.dst = operands[0].index;
    op.dstDwords = sem::typeInfo(signature.dst).dwords;
    if (op.dst + op.dstDwords > 128)
      return refused("{}: destination leaves the scalar registers", inst.text);
    at = 1;
  }
  // SOPK reads its destination, or compares it: the register then stands first.
  for (unsigned i = 0; i < signature.sources; ++i) {
    const OperandType t = signature.src[i];
    if (signature.old[i] || t == OperandType::mask || t == OperandType::exec)
      continue;
    Src& src = op.src[i];
    if (t == OperandType::simm16 || t == OperandType::uimm16) {
      src.kind = SrcKind::constant;
      src.constant =
          t == OperandType::uimm16
              ? inst.simm16 & 0xffff
              : static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(inst.simm16)));
      continue;
    }
    if (at >= operands.size())
      return refused("{}: expected another source operand", inst.text);
    src = bindSource(operands[at++], t == OperandType::b64 ? ConstType::b64 : ConstType::b32, context);
    if (src.kind != SrcKind::sgpr && src.kind != SrcKind::constant)
      return refused("{}: source {} is not modelled in a scalar instruction", inst.text, i);
    if (src.kind == SrcKind::sgpr && src.reg + sem::typeInfo(t).dwords > 256)
      return refused("{}: source {} leaves the scalar registers", inst.text, i);
  }
  op.fn = handler;
  return {};
}

} // namespace asmevo::emulator
