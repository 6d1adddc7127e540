/// The chip file's numbers as typed fields: one table names them, so that a key read by the model cannot be missing.
#pragma once

#include "isa/matrix_cost.h"
#include "timing/timing.h"

#include <span>
#include <string_view>

namespace asmevo::timing {

/// Unit clk unless the name says otherwise; meanings and sources: chips/README.md and the chip files.
struct Parameters {
  double xcds = 0, cusPerXcd = 0, shaderEnginesPerXcd = 0, simdsPerCu = 0, maxWavesPerSimd = 0, chipLdsBytes = 0;
  double peakMhz = 0, matrixMhz = 0, vectorMhz = 0, memoryMhz = 0, denseShare = 0, launchFloorMicroseconds = 0;
  double dispatchClkPerWorkgroup = 0, dispatchClkPerWave = 0, dispatchReplacement = 0;
  double waveStart = 0, waveEnd = 0;
  double slot = 0;
  double valuIssue = 0, valuTransIssue = 0, valuTransF64Issue = 0, valuDualIssue = 0, valuToMemory = 0,
         valuSgprToScalar = 0, valuVccToBranch = 0;
  double saluToVmem = 0, saluToBranch = 0;
  double fetchLatency = 0, fetchMissL2 = 0, fetchMissMemory = 0, fetchCacheBytes = 0, fetchCacheWays = 0;
  double mfmaPassClk = 0, mfmaValuDelayClk = 0, mfmaPackedExtraPasses = 0, mfmaResultExtraPasses = 0,
         mfmaNonXdlResultExtraPasses = 0, mfmaSrcCExtraPasses = 0;
  double barrierRelease = 0, sleepClkPerUnit = 0;
  double ldsBanks = 0, ldsLatency = 0, ldsWriteExtra = 0, ldsPortBytesPerClk = 0, ldsReadBytesPerClk = 0,
         ldsAddressClk = 0, ldsQueue = 0, ldsDirectClk = 0;
  double smemCacheBytes = 0, smemLineBytes = 0, smemHit = 0, smemL2 = 0, smemMemory = 0, smemMall = 0;
  double l1Bytes = 0, l1LineBytes = 0, l1Sets = 0, l1Latency = 0, l1ClkPerSector = 0;
  double vmemAddressClk = 0, vmemQueue = 0, vmemInflightBytes = 0, vmemCounterMax = 0, lgkmCounterMax = 0,
         vmemStoreAck = 0;
  double atomicExtra = 0, atomicClkPerPass = 0;
  double l2Bytes = 0, l2Ways = 0, l2Channels = 0, l2InterleaveBytes = 0, l2Latency = 0, l2BytesPerClkPerXcd = 0,
         l2WriteBytesPerClkPerXcd = 0, l2BytesPerClkPerCu = 0;
  double tlbReachBytes = 0, tlbPageBytes = 0, tlbMissClk = 0;
  double fabricBytesPerClkPerXcd = 0;
  double mallBytes = 0, mallLatency = 0, mallWarm = 0;
  double hbmLatency = 0, hbmBytesPerSecond = 0, hbmHalfRateBytes = 0;

  isa::MatrixCore matrixCore = isa::MatrixCore::gfx940; ///< of the chip's processor

  static Parameters of(const Chip& chip);
  /// The same chip with its engine clock at `mhz`: CUs, L1 and L2 keep their clk; fabric, Infinity Cache and HBM run on
  /// clocks of their own, so their latency beyond L2 and their rates change in engine clk. `peakMhz` becomes `mhz`.
  Parameters atClock(double mhz) const;
};

/// Which clock a number belongs to.
enum class Domain : std::uint8_t {
  engine,
  latencyBeyondL2, ///< clk at the peak engine clock, the L2's own part included
  latencyBeyondL2Scalar,
  rateBeyondL2 ///< bytes per engine clk at the peak clock
};

/// A key of the chip file, the field it fills and the values that make sense (the model divides by some of them).
struct ParameterKey {
  std::string_view key;
  double Parameters::* field;
  double least, most;
  Domain domain = Domain::engine;
};
std::span<const ParameterKey> parameterKeys();

} // namespace asmevo::timing
