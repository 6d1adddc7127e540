// A pass of all-pairs shortest paths: 8x8 work-items, one pair of nodes each.
#include "gpu.h"

extern "C" __global__ void floydwarshall(unsigned* distance, unsigned* path, const unsigned nodes,
                                         const unsigned pass) {
  const int x = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  const int y = (int)(blockDim.y * blockIdx.y + threadIdx.y);
  const int via = (int)pass;
  const int before = (int)distance[(unsigned)y * nodes + (unsigned)x];
  const int detour =
      (int)(distance[(unsigned)y * nodes + (unsigned)via] + distance[(unsigned)via * nodes + (unsigned)x]);
  if (detour < before) {
    distance[(unsigned)y * nodes + (unsigned)x] = (unsigned)detour;
    path[(unsigned)y * nodes + (unsigned)x] = (unsigned)via;
  }
}
