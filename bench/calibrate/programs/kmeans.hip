// Nearest of some centres: one point per work-item, 256 per workgroup; features by column.
#include "gpu.h"

extern "C" __global__ void kmeans(float* features, float* centres, int* membership, int points, int centreCount,
                                  int featureCount) {
  const unsigned point = blockDim.x * blockIdx.x + threadIdx.x;
  if (point < (unsigned)points) {
    int nearest = 0;
    float least = 3.40282347e+38f;
    for (int centre = 0; centre < centreCount; ++centre) {
      float distance = 0;
      for (int f = 0; f < featureCount; ++f)
        distance += (features[(unsigned)(f * points) + point] - centres[centre * featureCount + f]) *
                    (features[(unsigned)(f * points) + point] - centres[centre * featureCount + f]);
      if (distance < least) {
        least = distance;
        nearest = centre;
      }
    }
    membership[point] = nearest;
  }
}
