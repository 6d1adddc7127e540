// What a work-item sees of its launch, digits apart: full workgroups of the grid, workgroup size, size of the partial
// last workgroup, and (in the second array) ids.
#include "gpu.h"

extern "C" __global__ void launch_shape(unsigned* shape, unsigned* ids, unsigned pitch) {
  const unsigned i = blockIdx.x * __launched_group_size(0) + threadIdx.x;
  const unsigned row = blockIdx.y * __launched_group_size(1) + threadIdx.y;
  shape[row * pitch + i] = __launched_group_size(0) * 1000000 + gridDim.x * 1000 + __remainder_x();
  ids[row * pitch + i] = blockIdx.y << 24 | threadIdx.y << 16 | blockIdx.x << 8 | threadIdx.x;
}
