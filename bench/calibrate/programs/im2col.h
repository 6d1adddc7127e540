/// Unrolls the patches of a picture into columns; shared by im2col and conv2d.
#pragma once

#include "gpu.h"

struct Extent {
  unsigned x, y;
};

extern "C" __global__ void im2col(float* in, float* out, const Extent picture, const Extent mask, const Extent stride,
                                  const Extent pad, const Extent dilation, const unsigned channels,
                                  const unsigned batch) {
  const unsigned item = blockDim.x * blockIdx.x + threadIdx.x;
  const int width = (int)picture.x, height = (int)picture.y;
  const int maskWidth = (int)mask.x, maskHeight = (int)mask.y;
  const int reachX = (int)((mask.x - 1) * dilation.x + 1), reachY = (int)((mask.y - 1) * dilation.y + 1);
  const int fieldX = (int)((width - reachX + 2 * pad.x) / stride.x + 1);
  const int fieldY = (int)((height - reachY + 2 * pad.y) / stride.y + 1);
  const int columns = (int)(fieldX * fieldY * batch), rows = (int)(maskWidth * maskHeight * channels);
  const int frame = width * height, patch = maskWidth * maskHeight;

  const int image = (int)(item / (fieldX * fieldY));
  const int position = (int)(item % (fieldX * fieldY));
  const int left = position % fieldX, top = position / fieldX;
  if (image >= (int)batch)
    return;
  for (int row = 0; row < rows; ++row) {
    const int channel = row / patch;
    const int y = row % patch / maskWidth, x = row % maskWidth;
    const int fromX = (int)(left * stride.x - pad.x + dilation.x * x);
    const int fromY = (int)(top * stride.y - pad.y + dilation.y * y);
    float value = 0;
    if (fromX >= 0 && fromY >= 0 && fromX < width && fromY < height)
      value = in[image * (int)channels * frame + channel * frame + fromY * width + fromX];
    out[row * columns + (int)item] = value;
  }
}
