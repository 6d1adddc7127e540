/// What a HIP kernel needs, in one header: no ROCm is installed here. The same kernel source builds two ways:
/// - for gfx942 (clang's HIP device compilation): index registers, barriers and cross-lane operations are builtins;
/// - for the host (ASMEVO_HOST defined): each work-item is a fibre of host/workgroup.h, and barriers and cross-lane
///   operations are rendezvous between fibres. Those results are the emulator's oracle.
/// Fused multiply-adds are written as __builtin_fmaf on both sides; nothing else is contracted.
#pragma once

using half4 = _Float16 __attribute__((ext_vector_type(4)));
using float4 = float __attribute__((ext_vector_type(4)));
using float16 = float __attribute__((ext_vector_type(16)));

#ifdef ASMEVO_HOST

#include "host/matrix.h"
#include "host/workgroup.h"

#include <bit>
#include <cmath>

#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __launch_bounds__(...)
/// Dynamic LDS of the launch as an array of T named `name`.
#define DYNAMIC_SHARED(T, name) T* const name = reinterpret_cast<T*>(asmevo::host::dynamicLds())

struct GpuThreadIdx {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  unsigned getX() const { return asmevo::host::position().item[0]; }
  unsigned getY() const { return asmevo::host::position().item[1]; }
};
struct GpuBlockIdx {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __declspec(property(get = getZ)) unsigned z;
  unsigned getX() const { return asmevo::host::position().group[0]; }
  unsigned getY() const { return asmevo::host::position().group[1]; }
  unsigned getZ() const { return asmevo::host::position().group[2]; }
};
struct GpuBlockDim {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  unsigned getX() const { return asmevo::host::position().groupSize[0]; }
  unsigned getY() const { return asmevo::host::position().groupSize[1]; }
};
struct GpuGridDim {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  unsigned getX() const { return asmevo::host::position().groups[0]; }
  unsigned getY() const { return asmevo::host::position().groups[1]; }
};

/// hidden_group_size_*: the workgroup size of the launch, also in a partial workgroup.
inline unsigned __launched_group_size(unsigned dimension) {
  return asmevo::host::position().groupSize[dimension];
}
/// hidden_remainder_x: work-items of the partial last workgroup of a row, 0 when there is none.
inline unsigned __remainder_x() {
  return asmevo::host::position().remainder[0];
}

inline void __syncthreads() {
  asmevo::host::groupBarrier();
}

template <class T> T atomicAdd(T* address, T value) {
  const T old = *address;
  *address = old + value;
  return old;
}

inline unsigned __lane_id() {
  return asmevo::host::position().lane;
}

/// The value of `value` in lane `source & 63`.
template <class T> T __shfl(T value, unsigned source) {
  return std::bit_cast<T>(asmevo::host::exchange(std::bit_cast<std::uint32_t>(value), source & 63));
}

/// What v_exp_f32, v_rcp_f32, v_rsq_f32 and v_log_f32 make of a denormal argument or result.
inline float withoutDenormals(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
/// v_exp_f32: 2^x, correctly rounded.
inline float exp2_hw(float x) {
  return withoutDenormals(static_cast<float>(std::exp2(static_cast<double>(withoutDenormals(x)))));
}
/// v_rcp_f32: 1 / x, correctly rounded.
inline float rcp_hw(float x) {
  return withoutDenormals(static_cast<float>(1.0 / static_cast<double>(withoutDenormals(x))));
}
/// v_rsq_f32: 1 / sqrt(x), correctly rounded.
inline float rsqrt_hw(float x) {
  return withoutDenormals(static_cast<float>(1.0 / std::sqrt(static_cast<double>(withoutDenormals(x)))));
}

/// Sum over the 64 lanes in DPP order (row_shr 1, 2, 4, 8, then row_bcast 15 and 31); complete in lane 63.
inline float waveSumDpp(float x) {
  const unsigned lane = __lane_id();
  for (const unsigned distance : {1u, 2u, 4u, 8u}) {
    const float other = __shfl(x, lane - distance);
    x += (lane & 15) >= distance ? other : 0.0f;
  }
  const float row = __shfl(x, (lane & ~15u) - 1);
  x += (lane >> 4) % 2 == 1 ? row : 0.0f;
  const float half = __shfl(x, 31);
  x += lane >= 32 ? half : 0.0f;
  return x;
}

/// v_mfma_f32_32x32x8_f16: a holds A[lane % 32][4 * (lane / 32) + j], b holds B[4 * (lane / 32) + j][lane % 32],
/// element 4 * g + j of the result is row 8 * g + 4 * (lane / 32) + j, column lane % 32.
inline float16 mfma32x32x8(half4 a, half4 b, float16 c) {
  const auto rows = asmevo::host::gather(std::bit_cast<std::uint64_t>(a));
  const auto& columns = asmevo::host::gather(std::bit_cast<std::uint64_t>(b));
  const unsigned lane = __lane_id();
  const auto eight = [](const std::array<std::uint64_t, 64>& values, unsigned index) {
    std::array<double, 8> out{};
    for (unsigned k = 0; k < 8; ++k)
      out[k] = static_cast<double>(std::bit_cast<half4>(values[k / 4 * 32 + index])[k % 4]);
    return out;
  };
  const std::array<double, 8> column = eight(columns, lane % 32);
  for (unsigned i = 0; i < 16; ++i)
    c[i] = asmevo::host::matrixGroupF16(eight(rows, 8 * (i / 4) + 4 * (lane / 32) + i % 4), column, c[i]);
  return c;
}

#else // device

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define DYNAMIC_SHARED(T, name) extern __shared__ T name[]

struct GpuThreadIdx {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __device__ unsigned getX() const { return __builtin_amdgcn_workitem_id_x(); }
  __device__ unsigned getY() const { return __builtin_amdgcn_workitem_id_y(); }
};
struct GpuBlockIdx {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __declspec(property(get = getZ)) unsigned z;
  __device__ unsigned getX() const { return __builtin_amdgcn_workgroup_id_x(); }
  __device__ unsigned getY() const { return __builtin_amdgcn_workgroup_id_y(); }
  __device__ unsigned getZ() const { return __builtin_amdgcn_workgroup_id_z(); }
};
struct GpuBlockDim {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __device__ unsigned getX() const { return __builtin_amdgcn_workgroup_size_x(); }
  __device__ unsigned getY() const { return __builtin_amdgcn_workgroup_size_y(); }
};
struct GpuGridDim {
  __declspec(property(get = getX)) unsigned x;
  __declspec(property(get = getY)) unsigned y;
  __device__ unsigned getX() const { return implicit()[0]; }
  __device__ unsigned getY() const { return implicit()[1]; }
  // Code object v5: hidden_block_count_x and _y are the first hidden arguments.
  static const __device__ __attribute__((address_space(4))) unsigned* implicit() {
    return (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr();
  }
};

// The 16-bit hidden arguments of code object v5: hidden_group_size_x at byte 12, hidden_remainder_x at byte 18.
static inline __device__ unsigned __hidden_short(unsigned index) {
  return ((const __attribute__((address_space(4))) unsigned short*)__builtin_amdgcn_implicitarg_ptr())[index];
}
static inline __device__ unsigned __launched_group_size(unsigned dimension) {
  return __hidden_short(6 + dimension);
}
static inline __device__ unsigned __remainder_x() {
  return __hidden_short(9);
}

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

template <class T> static inline __device__ T atomicAdd(T* address, T value) {
  return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

static inline __device__ unsigned __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

template <class T> static inline __device__ T __shfl(T value, unsigned source) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute((int)(source << 2), __builtin_bit_cast(int, value)));
}

static inline __device__ float exp2_hw(float x) {
  return __builtin_amdgcn_exp2f(x);
}
static inline __device__ float rcp_hw(float x) {
  return __builtin_amdgcn_rcpf(x);
}
static inline __device__ float rsqrt_hw(float x) {
  return __builtin_amdgcn_rsqf(x);
}

template <int control, int rows> static inline __device__ float dppAdd(float x) {
  const int moved = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), control, rows, 0xf, false);
  return x + __builtin_bit_cast(float, moved);
}

static inline __device__ float waveSumDpp(float x) {
  x = dppAdd<0x111, 0xf>(x); // row_shr:1
  x = dppAdd<0x112, 0xf>(x); // row_shr:2
  x = dppAdd<0x114, 0xf>(x); // row_shr:4
  x = dppAdd<0x118, 0xf>(x); // row_shr:8
  x = dppAdd<0x142, 0xa>(x); // row_bcast:15 into rows 1 and 3
  x = dppAdd<0x143, 0xc>(x); // row_bcast:31 into rows 2 and 3
  return x;
}

static inline __device__ float16 mfma32x32x8(half4 a, half4 b, float16 c) {
  return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
}

#endif

#define threadIdx (GpuThreadIdx{})
#define blockIdx (GpuBlockIdx{})
#define blockDim (GpuBlockDim{})
#define gridDim (GpuGridDim{})

/// e^x the way fast kernels write it: one multiply, one v_exp_f32.
static inline __device__ float fastExp(float x) {
  return exp2_hw(x * 1.44269504088896340736f);
}

/// The value `distance` lanes across (butterfly).
template <class T> static inline __device__ T __shfl_xor(T value, unsigned distance) {
  return __shfl(value, __lane_id() ^ distance);
}
