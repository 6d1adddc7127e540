// C[M,N] = A[M,K] * B[N,K]^T, f16 in, f32 out, on the matrix cores: a workgroup of four waves makes a 64x64 tile, each wave
// 32x32 of it. K is a multiple of 8, M and N of 64.
#include "gpu.h"

extern "C" __global__ __launch_bounds__(256) void matmul_mfma(const _Float16* a, const _Float16* b, float* c, int n,
                                                              int k) {
  const int wave = (int)threadIdx.x / 64;
  const int lane = (int)threadIdx.x % 64;
  const int row0 = (int)blockIdx.y * 64 + wave / 2 * 32;
  const int column0 = (int)blockIdx.x * 64 + wave % 2 * 32;
  const _Float16* aRow = a + (long)(row0 + lane % 32) * k + lane / 32 * 4;
  const _Float16* bRow = b + (long)(column0 + lane % 32) * k + lane / 32 * 4;

  float16 sum = {};
  for (int k0 = 0; k0 < k; k0 += 8)
    sum = mfma32x32x8(*(const half4*)(aRow + k0), *(const half4*)(bRow + k0), sum);

  for (int i = 0; i < 16; ++i) {
    const int row = row0 + i / 4 * 8 + lane / 32 * 4 + i % 4;
    c[(long)row * n + column0 + lane % 32] = sum[i];
  }
}
