// Nine-point stencil: 1x64 work-items go over 16 rows with a halo in LDS. Workgroups: x over rows, y over columns.
#include "gpu.h"

constexpr int rowsPerGroup = 16;

static inline __device__ int haloed(int row, int column, int pitch) {
  return (row + 1) * (pitch + 2) + column + 1;
}

extern "C" __global__ void stencil2d(float* in, float* out, const int alignment, float centre, float cardinal,
                                     float diagonal) {
  __shared__ float tile[(rowsPerGroup + 2) * (64 + 2)];
  const int groupColumns = (int)blockDim.y;
  const int localRow = (int)threadIdx.x, localColumn = (int)threadIdx.y;
  const int row = (int)blockIdx.x * rowsPerGroup + localRow, column = (int)blockIdx.y * groupColumns + localColumn;
  const int columns = (int)gridDim.y * groupColumns + 2;
  const int rest = columns % alignment;
  const int pitch = columns + (rest == 0 ? 0 : alignment - rest) - 2;

  // All rows of a column are under way before the first is stored.
  const auto copyColumn = [&](int beside) {
    float rows[rowsPerGroup + 2];
    for (int i = 0; i < rowsPerGroup + 2; ++i)
      rows[i] = in[haloed(row - 1 + i, column + beside, pitch)];
    for (int i = 0; i < rowsPerGroup + 2; ++i)
      tile[haloed(localRow - 1 + i, localColumn + beside, groupColumns)] = rows[i];
  };
  copyColumn(0);
  if (localColumn == 0)
    copyColumn(-1);
  else if (localColumn == groupColumns - 1)
    copyColumn(1);
  __syncthreads();

  for (int i = 0; i < rowsPerGroup; ++i) {
    const int r = localRow + i;
    const float middle = tile[haloed(r, localColumn, groupColumns)];
    const float straight =
        tile[haloed(r - 1, localColumn, groupColumns)] + tile[haloed(r + 1, localColumn, groupColumns)] +
        tile[haloed(r, localColumn + 1, groupColumns)] + tile[haloed(r, localColumn - 1, groupColumns)];
    const float slanted =
        tile[haloed(r - 1, localColumn + 1, groupColumns)] + tile[haloed(r + 1, localColumn + 1, groupColumns)] +
        tile[haloed(r - 1, localColumn - 1, groupColumns)] + tile[haloed(r + 1, localColumn - 1, groupColumns)];
    out[haloed(row + i, column, pitch)] = centre * middle + cardinal * straight + diagonal * slanted;
  }
}
