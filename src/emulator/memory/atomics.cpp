#include "emulator/memory/atomics.h"

#include "emulator/alu/mode_state.h"
#include "emulator/alu/scalar_domain.h"
#include "emulator/memory/buffer_format.h"
#include "isa/semantics/atomics.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

namespace flt = isa::semantics::flt;

using U64 = std::uint64_t;
using U32 = std::uint32_t;

/// One element on the host. LDS follows MODE's denormal bits, but for f64 sums; device memory keeps denormals (LLVM:
/// FeatureMemoryAtomicFAddF32DenormalSupport; the manual's table 53 says that f32 sums flush them).
template <bool Lds> struct AtomicDomain : ScalarDomain {
  explicit AtomicDomain(U32 modeRegister) : mode(ModeState::of(modeRegister)) {}

  template <class F, class V> V fin(F, V x) const { return flushed<F>(x, flushesIn<F>()); }
  template <class F, class V> V fadd(F f, V a, V b) const {
    constexpr bool keeps = F::bits == 64;
    const V x = keeps ? a : fin(f, a), y = keeps ? b : fin(f, b);
    const V sum = fromHost(f, toHost(f, x) + toHost(f, y));
    if (isNan<F>(sum))
      return static_cast<V>(flt::quietNan<F>);
    return keeps ? sum : flushed<F>(sum, flushesOut<F>());
  }
  template <class F, class V> bool feq(F f, V a, V b) const { return toHost(f, fin(f, a)) == toHost(f, fin(f, b)); }
  template <class F, class V> bool flt(F f, V a, V b) const { return toHost(f, fin(f, a)) < toHost(f, fin(f, b)); }
  template <class F, class V> bool funord(F, V a, V b) const { return isNan<F>(a) || isNan<F>(b); }

 private:
  template <class F> bool flushesIn() const { return Lds && (F::bits == 32 ? mode.in32 : mode.in64); }
  template <class F> bool flushesOut() const { return Lds && (F::bits == 32 ? mode.out32 : mode.out64); }
  template <class F, class V> static bool isNan(V x) { return (x & flt::absMask<F>) > flt::infinity<F>; }
  template <class F, class V> static V flushed(V x, bool flush) {
    return flush && (x & flt::infinity<F>) == 0 ? static_cast<V>(x & flt::signBit<F>) : x;
  }
  static float toHost(flt::F16, U32 x) { return floatFromHalf(static_cast<std::uint16_t>(x)); }
  static float toHost(flt::F32, U32 x) { return std::bit_cast<float>(x); }
  static double toHost(flt::F64, U64 x) { return std::bit_cast<double>(x); }
  static U32 fromHost(flt::F16, float x) { return halfFromFloat(x); }
  static U32 fromHost(flt::F32, float x) { return std::bit_cast<U32>(x); }
  static U64 fromHost(flt::F64, double x) { return std::bit_cast<U64>(x); }

  ModeState mode;
};

template <unsigned Bits> struct Element;
template <> struct Element<32> {
  using Type = U32;
};
template <> struct Element<64> {
  using Type = U64;
};

using Table = std::unordered_map<std::string_view, AtomicForm>;

namespace use {
inline constexpr bool bits = false, flt = true;
}

template <class T> U64 load(const std::uint8_t* host) {
  T value;
  std::memcpy(&value, host, sizeof value);
  return value;
}

template <class T> U64 apply(const AtomicForm& form, std::uint8_t* host, U64 data, U64 compare, U32 mode, bool shared) {
  if (!shared) {
    const U64 old = load<T>(host);
    const T value = static_cast<T>(form.body(old, data, compare, mode));
    std::memcpy(host, &value, sizeof value);
    return old;
  }
  T* element = reinterpret_cast<T*>(host);
  T old = __atomic_load_n(element, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(element, &old, static_cast<T>(form.body(old, data, compare, mode)), false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}

enum class Space { memory, lds };

/// The rows of one space.
template <Space Wanted> Table tableOf() {
  using namespace isa::semantics;
  Table table;
  const auto add = [&](Space space, std::string_view name, AtomicForm form) {
    if (space == Wanted)
      table.emplace(name, form);
  };
#define ASMEVO_ATOMIC(space, operation, width, operands, kind, function, section)                                      \
  add(Space::space, #operation,                                                                                        \
      {[](U64 old, U64 data, U64 other, U32 mode) -> U64 {                                                             \
         using V = Element<width>::Type;                                                                               \
         const AtomicDomain<Space::space == Space::lds> d(mode);                                                       \
         return function(d, static_cast<V>(old), static_cast<V>(data), static_cast<V>(other));                         \
       },                                                                                                              \
       width / 8, operands, use::kind});
#include "isa/semantics/atomics.def"
#undef ASMEVO_ATOMIC
  return table;
}

const AtomicForm* find(const Table& table, std::string_view operation) {
  const auto found = table.find(operation);
  return found == table.end() ? nullptr : &found->second;
}

} // namespace

const AtomicForm* findMemoryAtomic(std::string_view operation) {
  static const Table table = tableOf<Space::memory>();
  return find(table, operation);
}

const AtomicForm* findLdsAtomic(std::string_view operation) {
  static const Table table = tableOf<Space::lds>();
  return find(table, operation);
}

std::uint64_t applyAtomic(const AtomicForm& form, std::uint8_t* host, std::uint64_t data, std::uint64_t compare,
                          std::uint32_t mode, bool shared) {
  shared = shared && reinterpret_cast<std::uintptr_t>(host) % form.bytes == 0;
  return form.bytes == 8 ? apply<U64>(form, host, data, compare, mode, shared)
                         : apply<U32>(form, host, data, compare, mode, shared);
}

} // namespace asmevo::emulator
