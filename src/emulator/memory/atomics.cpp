#include "emulator/memory/atomics.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

using U64 = std::uint64_t;
using U32 = std::uint32_t;

template <class T> T as(U64 bits) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(bits);
  else
    return std::bit_cast<T>(static_cast<U32>(bits));
}
template <class T> U64 bitsOf(T value) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<U64>(value);
  else
    return std::bit_cast<U32>(value);
}

template <class T> U64 add(U64 old, U64 data, U64, U32) {
  return static_cast<T>(old + data);
}
template <class T> U64 sub(U64 old, U64 data, U64, U32) {
  return static_cast<T>(old - data);
}
template <class T> U64 reverseSub(U64 old, U64 data, U64, U32) {
  return static_cast<T>(data - old);
}
template <class T> U64 minimum(U64 old, U64 data, U64, U32) {
  return bitsOf(std::min(as<T>(old), as<T>(data)));
}
template <class T> U64 maximum(U64 old, U64 data, U64, U32) {
  return bitsOf(std::max(as<T>(old), as<T>(data)));
}
U64 bitAnd(U64 old, U64 data, U64, U32) {
  return old & data;
}
U64 bitOr(U64 old, U64 data, U64, U32) {
  return old | data;
}
U64 bitXor(U64 old, U64 data, U64, U32) {
  return old ^ data;
}
U64 swap(U64, U64 data, U64, U32) {
  return data;
}
/// Wraps to 0 above `data`.
U64 increment(U64 old, U64 data, U64, U32) {
  return old >= data ? 0 : old + 1;
}
/// Wraps to `data` at 0 or above `data`.
U64 decrement(U64 old, U64 data, U64, U32) {
  return old == 0 || old > data ? data : old - 1;
}
U64 compareSwap(U64 old, U64 data, U64 compare, U32) {
  return old == compare ? data : old;
}
template <class T> U64 compareSwapFloat(U64 old, U64 data, U64 compare, U32) {
  return as<T>(old) == as<T>(compare) ? data : old;
}
/// (old & ~mask) | data; the mask comes first.
U64 maskOr(U64 old, U64 mask, U64 data, U32) {
  return (old & ~mask) | data;
}
U64 wrap(U64 old, U64 data, U64 compare, U32) {
  return static_cast<U32>(old >= data ? old - data : old + compare);
}
/// ds_condxchg32_rtn_b64: each half whose bit 31 is set in the data replaces the low 31 bits of memory.
U64 conditionalExchange(U64 old, U64 data, U64, U32) {
  U64 result = old;
  for (unsigned half = 0; half < 64; half += 32)
    if (data >> (half + 31) & 1)
      result = (result & ~(U64{0xffffffff} << half)) | (data & U64{0x7fffffff} << half);
  return result;
}

constexpr U32 denormals32Kept = 3u << 4; ///< MODE[5:4]: FP_DENORM single

float flushed(float value, bool flush) {
  return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.f, value) : value;
}

/// Device memory keeps denormals on gfx942 (LLVM: FeatureMemoryAtomicFAddF32DenormalSupport).
template <class T> U64 addFloat(U64 old, U64 data, U64, U32) {
  return bitsOf(as<T>(old) + as<T>(data));
}
/// LDS follows MODE.
U64 addFloatByMode(U64 old, U64 data, U64, U32 mode) {
  const bool flush = (mode & denormals32Kept) == 0;
  return bitsOf(flushed(flushed(as<float>(old), flush) + flushed(as<float>(data), flush), flush));
}
/// A NaN operand gives the other one.
template <class T> U64 minFloat(U64 old, U64 data, U64, U32) {
  const T a = as<T>(old), b = as<T>(data);
  if (std::isnan(b))
    return old;
  if (std::isnan(a))
    return data;
  return b < a || (a == b && std::signbit(b)) ? data : old;
}
template <class T> U64 maxFloat(U64 old, U64 data, U64, U32) {
  const T a = as<T>(old), b = as<T>(data);
  if (std::isnan(b))
    return old;
  if (std::isnan(a))
    return data;
  return b > a || (a == b && !std::signbit(b)) ? data : old;
}

float fromHalf(U32 bits) {
  return _cvtsh_ss(static_cast<unsigned short>(bits));
}
U32 toHalf(float value) {
  return static_cast<unsigned short>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
}
float fromBrain(U32 bits) {
  return std::bit_cast<float>(bits << 16);
}
U32 toBrain(float value) {
  const U32 bits = std::bit_cast<U32>(value);
  if (std::isnan(value))
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// The sum of two f16 or bf16 is exact in f32 or rounds to it without harm (f32 has more than twice the precision + 2).
U64 addPackedHalf(U64 old, U64 data, U64, U32) {
  const U32 low = toHalf(fromHalf(old & 0xffff) + fromHalf(data & 0xffff));
  const U32 high = toHalf(fromHalf(old >> 16 & 0xffff) + fromHalf(data >> 16 & 0xffff));
  return low | high << 16;
}
U64 addPackedBrain(U64 old, U64 data, U64, U32) {
  const U32 low = toBrain(fromBrain(old & 0xffff) + fromBrain(data & 0xffff));
  const U32 high = toBrain(fromBrain(old >> 16 & 0xffff) + fromBrain(data >> 16 & 0xffff));
  return low | high << 16;
}

using S32 = std::int32_t;
using S64 = std::int64_t;

using Table = std::unordered_map<std::string_view, AtomicForm>;

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

} // namespace

const AtomicForm* findMemoryAtomic(std::string_view operation) {
  static const Table table = {
      {"add", {add<U32>}},
      {"sub", {sub<U32>}},
      {"smin", {minimum<S32>}},
      {"umin", {minimum<U32>}},
      {"smax", {maximum<S32>}},
      {"umax", {maximum<U32>}},
      {"and", {bitAnd}},
      {"or", {bitOr}},
      {"xor", {bitXor}},
      {"inc", {increment}},
      {"dec", {decrement}},
      {"swap", {swap}},
      {"cmpswap", {compareSwap, 4, 2}},
      {"add_x2", {add<U64>, 8}},
      {"sub_x2", {sub<U64>, 8}},
      {"smin_x2", {minimum<S64>, 8}},
      {"umin_x2", {minimum<U64>, 8}},
      {"smax_x2", {maximum<S64>, 8}},
      {"umax_x2", {maximum<U64>, 8}},
      {"and_x2", {bitAnd, 8}},
      {"or_x2", {bitOr, 8}},
      {"xor_x2", {bitXor, 8}},
      {"inc_x2", {increment, 8}},
      {"dec_x2", {decrement, 8}},
      {"swap_x2", {swap, 8}},
      {"cmpswap_x2", {compareSwap, 8, 2}},
      {"add_f32", {addFloat<float>, 4, 1, true}},
      {"add_f64", {addFloat<double>, 8, 1, true}},
      {"min_f64", {minFloat<double>, 8, 1, true}},
      {"max_f64", {maxFloat<double>, 8, 1, true}},
      {"pk_add_f16", {addPackedHalf, 4, 1, true}},
      {"pk_add_bf16", {addPackedBrain, 4, 1, true}},
  };
  const auto found = table.find(operation);
  return found == table.end() ? nullptr : &found->second;
}

const AtomicForm* findLdsAtomic(std::string_view operation) {
  static const Table table = {
      {"add_u32", {add<U32>}},
      {"sub_u32", {sub<U32>}},
      {"rsub_u32", {reverseSub<U32>}},
      {"inc_u32", {increment}},
      {"dec_u32", {decrement}},
      {"min_i32", {minimum<S32>}},
      {"max_i32", {maximum<S32>}},
      {"min_u32", {minimum<U32>}},
      {"max_u32", {maximum<U32>}},
      {"and_b32", {bitAnd}},
      {"or_b32", {bitOr}},
      {"xor_b32", {bitXor}},
      {"mskor_b32", {maskOr, 4, 2}},
      {"wrxchg_b32", {swap}},
      {"cmpst_b32", {compareSwap, 4, 2}},
      {"cmpst_f32", {compareSwapFloat<float>, 4, 2, true}},
      {"min_f32", {minFloat<float>, 4, 1, true}},
      {"max_f32", {maxFloat<float>, 4, 1, true}},
      {"add_f32", {addFloatByMode, 4, 1, true}},
      {"wrap_b32", {wrap, 4, 2}},
      {"pk_add_f16", {addPackedHalf, 4, 1, true}},
      {"pk_add_bf16", {addPackedBrain, 4, 1, true}},
      {"add_u64", {add<U64>, 8}},
      {"sub_u64", {sub<U64>, 8}},
      {"rsub_u64", {reverseSub<U64>, 8}},
      {"inc_u64", {increment, 8}},
      {"dec_u64", {decrement, 8}},
      {"min_i64", {minimum<S64>, 8}},
      {"max_i64", {maximum<S64>, 8}},
      {"min_u64", {minimum<U64>, 8}},
      {"max_u64", {maximum<U64>, 8}},
      {"and_b64", {bitAnd, 8}},
      {"or_b64", {bitOr, 8}},
      {"xor_b64", {bitXor, 8}},
      {"mskor_b64", {maskOr, 8, 2}},
      {"wrxchg_b64", {swap, 8}},
      {"cmpst_b64", {compareSwap, 8, 2}},
      {"cmpst_f64", {compareSwapFloat<double>, 8, 2, true}},
      {"min_f64", {minFloat<double>, 8, 1, true}},
      {"max_f64", {maxFloat<double>, 8, 1, true}},
      {"add_f64", {addFloat<double>, 8, 1, true}},
      {"condxchg32_b64", {conditionalExchange, 8}},
  };
  const auto found = table.find(operation);
  return found == table.end() ? nullptr : &found->second;
}

std::uint64_t applyAtomic(const AtomicForm& form, std::uint8_t* host, std::uint64_t data, std::uint64_t compare,
                          std::uint32_t mode, bool shared) {
  shared = shared && reinterpret_cast<std::uintptr_t>(host) % form.bytes == 0;
  return form.bytes == 8 ? apply<U64>(form, host, data, compare, mode, shared)
                         : apply<U32>(form, host, data, compare, mode, shared);
}

} // namespace asmevo::emulator
