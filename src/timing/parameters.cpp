#include "timing/parameters.h"

namespace asmevo::timing {
namespace {

constexpr double anyClk = 1e6;

using P = Parameters;
constexpr ParameterKey keys[] = {
    {"xcds", &P::xcds, 1, 64},
    {"cusPerXcd", &P::cusPerXcd, 1, 1024},
    {"shaderEnginesPerXcd", &P::shaderEnginesPerXcd, 1, 64},
    {"simdsPerCu", &P::simdsPerCu, 4, 4},
    {"maxWavesPerSimd", &P::maxWavesPerSimd, 1, 16},
    {"lds.bytes", &P::chipLdsBytes, 1024, 1 << 20},
    {"clock.peakMhz", &P::peakMhz, 1, 1e5},
    {"clock.matrixMhz", &P::matrixMhz, 1, 1e5},
    {"clock.vectorMhz", &P::vectorMhz, 1, 1e5},
    {"clock.memoryMhz", &P::memoryMhz, 1, 1e5},
    {"clock.denseShare", &P::denseShare, 0.01, 1},
    {"launch.floorMicroseconds", &P::launchFloorMicroseconds, 0, 1e6},
    {"dispatch.clkPerWorkgroup", &P::dispatchClkPerWorkgroup, 0, anyClk},
    {"dispatch.clkPerWave", &P::dispatchClkPerWave, 0, anyClk},
    {"dispatch.replacement", &P::dispatchReplacement, 0, anyClk},
    {"wave.start", &P::waveStart, 0, anyClk},
    {"wave.end", &P::waveEnd, 0, anyClk},
    {"issue.slot", &P::slot, 4, 4},
    {"valu.issue", &P::valuIssue, 4, anyClk},
    {"valu.transIssue", &P::valuTransIssue, 4, anyClk},
    {"valu.transF64Issue", &P::valuTransF64Issue, 4, anyClk},
    {"valu.dualIssue", &P::valuDualIssue, 0, 1},
    {"valu.toMemory", &P::valuToMemory, 0, anyClk},
    {"valu.sgprToScalar", &P::valuSgprToScalar, 0, anyClk},
    {"valu.vccToBranch", &P::valuVccToBranch, 0, anyClk},
    {"salu.toVmem", &P::saluToVmem, 0, anyClk},
    {"salu.toBranch", &P::saluToBranch, 0, anyClk},
    {"fetch.latency", &P::fetchLatency, 4, anyClk},
    {"fetch.missL2", &P::fetchMissL2, 0, anyClk},
    {"fetch.missMemory", &P::fetchMissMemory, 0, anyClk},
    {"fetch.cacheBytes", &P::fetchCacheBytes, 1024, 1 << 24},
    {"fetch.cacheWays", &P::fetchCacheWays, 1, 64},
    {"mfma.passClk", &P::mfmaPassClk, 1, anyClk},
    {"mfma.valuDelayClk", &P::mfmaValuDelayClk, 0, anyClk},
    {"mfma.packedExtraPasses", &P::mfmaPackedExtraPasses, 0, anyClk},
    {"mfma.resultExtraPasses", &P::mfmaResultExtraPasses, 0, anyClk},
    {"mfma.nonXdlResultExtraPasses", &P::mfmaNonXdlResultExtraPasses, 0, anyClk},
    {"mfma.srcCExtraPasses", &P::mfmaSrcCExtraPasses, 0, anyClk},
    {"barrier.release", &P::barrierRelease, 0, anyClk},
    {"sleep.clkPerUnit", &P::sleepClkPerUnit, 0, anyClk},
    {"lds.banks", &P::ldsBanks, 32, 64},
    {"lds.latency", &P::ldsLatency, 0, anyClk},
    {"lds.writeExtra", &P::ldsWriteExtra, 0, anyClk},
    {"lds.portBytesPerClk", &P::ldsPortBytesPerClk, 1, 4096},
    {"lds.readBytesPerClk", &P::ldsReadBytesPerClk, 1, 4096},
    {"lds.addressClk", &P::ldsAddressClk, 0, anyClk},
    {"lds.queue", &P::ldsQueue, 1, 1024},
    {"lds.directClk", &P::ldsDirectClk, 0, anyClk},
    {"smem.cacheBytes", &P::smemCacheBytes, 1024, 1 << 24},
    {"smem.lineBytes", &P::smemLineBytes, 64, 64},
    {"smem.hit", &P::smemHit, 0, anyClk},
    {"smem.l2", &P::smemL2, 0, anyClk},
    {"smem.memory", &P::smemMemory, 0, anyClk, Domain::latencyBeyondL2Scalar},
    {"smem.mall", &P::smemMall, 0, anyClk, Domain::latencyBeyondL2Scalar},
    {"l1.bytes", &P::l1Bytes, 1024, 1 << 24},
    {"l1.lineBytes", &P::l1LineBytes, 128, 128},
    {"l1.sets", &P::l1Sets, 1, 4096},
    {"l1.latency", &P::l1Latency, 0, anyClk},
    {"l1.clkPerSector", &P::l1ClkPerSector, 0, anyClk},
    {"vmem.addressClk", &P::vmemAddressClk, 1, anyClk},
    {"vmem.queue", &P::vmemQueue, 1, 1024},
    {"vmem.inflightBytes", &P::vmemInflightBytes, 4096, 1 << 24},
    {"vmem.counterMax", &P::vmemCounterMax, 1, 63},
    {"lgkm.counterMax", &P::lgkmCounterMax, 1, 63},
    {"vmem.storeAck", &P::vmemStoreAck, 0, anyClk},
    {"atomic.extra", &P::atomicExtra, 0, anyClk},
    {"atomic.clkPerPass", &P::atomicClkPerPass, 0, anyClk},
    {"l2.bytes", &P::l2Bytes, 1 << 16, 1 << 30},
    {"l2.ways", &P::l2Ways, 1, 64},
    {"l2.channels", &P::l2Channels, 1, 16},
    {"l2.interleaveBytes", &P::l2InterleaveBytes, 256, 256},
    {"l2.latency", &P::l2Latency, 0, anyClk},
    {"l2.bytesPerClkPerXcd", &P::l2BytesPerClkPerXcd, 1, 1e6},
    {"l2.writeBytesPerClkPerXcd", &P::l2WriteBytesPerClkPerXcd, 1, 1e6},
    {"l2.bytesPerClkPerCu", &P::l2BytesPerClkPerCu, 1, 1e6},
    {"tlb.reachBytes", &P::tlbReachBytes, 4096, 1e15},
    {"tlb.pageBytes", &P::tlbPageBytes, 4096, 1 << 30},
    {"tlb.missClk", &P::tlbMissClk, 0, anyClk},
    {"fabric.bytesPerClkPerXcd", &P::fabricBytesPerClkPerXcd, 1, 1e6, Domain::rateBeyondL2},
    {"mall.bytes", &P::mallBytes, 0, 1e12},
    {"mall.latency", &P::mallLatency, 0, anyClk, Domain::latencyBeyondL2},
    {"mall.warm", &P::mallWarm, 0, 1},
    {"hbm.latency", &P::hbmLatency, 0, anyClk, Domain::latencyBeyondL2},
    {"hbm.bytesPerSecond", &P::hbmBytesPerSecond, 1e9, 1e15},
    {"hbm.halfRateBytes", &P::hbmHalfRateBytes, 0, 1e9},
};

} // namespace

std::span<const ParameterKey> parameterKeys() {
  return keys;
}

Parameters Parameters::of(const Chip& chip) {
  Parameters result;
  for (const ParameterKey& k : keys)
    result.*k.field = chip.parameter(k.key);
  result.matrixCore = isa::matrixCoreOf(chip.processor).value_or(isa::MatrixCore::gfx940);
  return result;
}

Parameters Parameters::atClock(double mhz) const {
  Parameters result = *this;
  const double ratio = mhz / peakMhz;
  for (const ParameterKey& k : keys) {
    double& value = result.*k.field;
    switch (k.domain) {
    case Domain::engine:
      break;
    case Domain::latencyBeyondL2:
      value = l2Latency + (value - l2Latency) * ratio;
      break;
    case Domain::latencyBeyondL2Scalar:
      value = smemL2 + (value - smemL2) * ratio;
      break;
    case Domain::rateBeyondL2:
      value /= ratio;
      break;
    }
  }
  result.peakMhz = mhz;
  return result;
}

} // namespace asmevo::timing
