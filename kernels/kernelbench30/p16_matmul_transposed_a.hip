// C = A^T * B, A of k rows by m, B of k rows by n.
#include "kernelbench30/matmul.h"

extern "C" __global__ __launch_bounds__(256) void p16_matmul_transposed_a(const float* __restrict__ a,
                                                                          const float* __restrict__ b,
                                                                          float* __restrict__ c, int m, int n, int k) {
  matmul<RowTile>(a, b, c, m, n, k);
}
