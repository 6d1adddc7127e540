// CRC-32 (reflected, 0xedb88320) of one record per work-item, through a 256-entry constant table.
#include "gpu.h"

struct CrcTable {
  unsigned entry[256];
};

static constexpr CrcTable makeCrcTable() {
  CrcTable table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? (value >> 1) ^ 0xedb88320u : value >> 1;
    table.entry[i] = value;
  }
  return table;
}

static __device__ const CrcTable crcTable = makeCrcTable();

extern "C" __global__ void table_lookup(const unsigned char* data, unsigned* crc, int records, int recordBytes) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= records)
    return;
  unsigned value = ~0u;
  for (int k = 0; k < recordBytes; ++k)
    value = crcTable.entry[(value ^ data[i * recordBytes + k]) & 0xff] ^ (value >> 8);
  crc[i] = ~value;
}
