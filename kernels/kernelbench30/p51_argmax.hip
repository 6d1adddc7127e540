// Index of the first maximum over the middle dimension of [batch][rows][columns]: a workgroup takes 64 columns, and its
// 16 waves every 16th row.
#include "kernelbench30/device_math.h"

extern "C" __global__ __launch_bounds__(1024) void p51_argmax(const float* __restrict__ in, long* __restrict__ out,
                                                              int rows, int columns) {
  __shared__ float values[16][64];
  __shared__ int places[16][64];
  const int column = (int)(blockIdx.x * 64 + threadIdx.x);
  float largest = -infinity();
  int place = 0;
  if (column < columns) {
    const float* from = in + (long)blockIdx.y * rows * columns + column;
    for (int row = (int)threadIdx.y; row < rows; row += 16) {
      const float x = from[(long)row * columns];
      if (x > largest) {
        largest = x;
        place = row;
      }
    }
  }
  values[threadIdx.y][threadIdx.x] = largest;
  places[threadIdx.y][threadIdx.x] = place;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int wave = 1; wave < 16; ++wave) {
      const float x = values[wave][threadIdx.x];
      const int p = places[wave][threadIdx.x];
      if (x > largest || (x == largest && p < place)) {
        largest = x;
        place = p;
      }
    }
    out[(long)blockIdx.y * columns + column] = place;
  }
}
