// Needleman-Wunsch: the 64x64 blocks of one anti-diagonal of blocks, 64 work-items each, cell scores in LDS. `upper`
// kernels go over the diagonals up to the longest, `lower` ones over the rest. A block's side is an argument, as in the
// measured program: its loops are not unrolled over it.
#include "gpu.h"

constexpr int mostSide = 64;

static inline __device__ int largest(int a, int b, int c) {
  const int most = a <= b ? b : a;
  return most <= c ? c : most;
}

static inline __device__ void alignBlock(int* reference, int* scores, int pitch, int penalty, int blockX, int blockY,
                                         int side) {
  __shared__ int score[(mostSide + 1) * (mostSide + 1)];
  __shared__ int match[mostSide * mostSide];
  const int item = (int)threadIdx.x;
  const int corner = pitch * side * blockY + side * blockX;
  const int inside = corner + item + pitch + 1;

  if (item == 0)
    score[0] = scores[corner];
  for (int row = 0; row < side; ++row)
    match[row * side + item] = reference[inside + pitch * row];
  __syncthreads();
  score[(item + 1) * (side + 1)] = scores[corner + pitch + pitch * item];
  __syncthreads();
  score[item + 1] = scores[corner + item + 1];
  __syncthreads();

  for (int diagonal = 0; diagonal < side; ++diagonal) {
    if (item <= diagonal) {
      const int x = item + 1, y = diagonal - item + 1;
      score[y * (side + 1) + x] =
          largest(score[(y - 1) * (side + 1) + x - 1] + match[(y - 1) * side + x - 1],
                  score[y * (side + 1) + x - 1] - penalty, score[(y - 1) * (side + 1) + x] - penalty);
    }
    __syncthreads();
  }
  for (int diagonal = side - 2; diagonal >= 0; --diagonal) {
    if (item <= diagonal) {
      const int x = item + side - diagonal, y = side - item;
      score[y * (side + 1) + x] =
          largest(score[(y - 1) * (side + 1) + x - 1] + match[(y - 1) * side + x - 1],
                  score[y * (side + 1) + x - 1] - penalty, score[(y - 1) * (side + 1) + x] - penalty);
    }
    __syncthreads();
  }
  for (int row = 0; row < side; ++row)
    scores[inside + pitch * row] = score[(row + 1) * (side + 1) + item + 1];
}

extern "C" __global__ void nw_upper(int* reference, int* scores, int pitch, int penalty, int diagonal, int side) {
  alignBlock(reference, scores, pitch, penalty, (int)blockIdx.x, diagonal - 1 - (int)blockIdx.x, side);
}

extern "C" __global__ void nw_lower(int* reference, int* scores, int pitch, int penalty, int diagonal, int side,
                                    int blocks) {
  alignBlock(reference, scores, pitch, penalty, (int)blockIdx.x + blocks - diagonal, blocks - (int)blockIdx.x - 1,
             side);
}
