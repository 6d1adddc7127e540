// One step of gravitation: one body per work-item, 256 per workgroup; tiles of positions go through a global buffer
// that all workgroups share, as in the measured program. `tiles` of them are done.
#include "gpu.h"

extern "C" __global__ void nbody(float4* position, float4* velocity, int tiles, float step, float softening,
                                 float4* tile, float4* newPosition, float4* newVelocity) {
  const unsigned item = threadIdx.x, body = blockDim.x * blockIdx.x + threadIdx.x, count = blockDim.x;
  const float4 mine = position[body];
  float4 pull = {0, 0, 0, 0};
  for (int i = 0; i < tiles; ++i) {
    tile[item] = position[(unsigned)i * count + item];
    __syncthreads();
    for (unsigned j = 0; j < count; ++j) {
      const float x = tile[j].x - mine.x, y = tile[j].y - mine.y, z = tile[j].z - mine.z;
      const float squared = x * x + y * y + z * z;
      const float inverse = 1.0f / __builtin_sqrtf(squared + softening);
      const float strength = tile[j].w * (inverse * inverse * inverse);
      pull.x += strength * x;
      pull.y += strength * y;
      pull.z += strength * z;
    }
    __syncthreads();
  }
  const float4 old = velocity[body];
  float4 moved, faster;
  moved.x = mine.x + old.x * step + pull.x * 0.5f * step * step;
  moved.y = mine.y + old.y * step + pull.y * 0.5f * step * step;
  moved.z = mine.z + old.z * step + pull.z * 0.5f * step * step;
  moved.w = mine.w;
  faster.x = old.x + pull.x * step;
  faster.y = old.y + pull.y * step;
  faster.z = old.z + pull.z * step;
  faster.w = old.w;
  newPosition[body] = moved;
  newVelocity[body] = faster;
}
