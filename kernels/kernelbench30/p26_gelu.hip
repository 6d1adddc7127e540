// GELU by the error function, element by element.
#include "kernelbench30/device_math.h"
#include "kernelbench30/elementwise.h"

extern "C" __global__ __launch_bounds__(256) void p26_gelu(const float* __restrict__ in, float* __restrict__ out,
                                                           int n) {
  mapElements(in, out, n, [](float x) { return 0.5f * x * (1.0f + errorFunction(x * 0.70710678118654752440f)); });
}
