#include "timing/hardware_counters.h"

namespace asmevo::timing {

std::vector<std::pair<std::string, double>> hardwareCounters(const std::vector<StaticInst>& code,
                                                             std::span<const InstructionCounters> counters,
                                                             const Traffic& traffic, double scale) {
  std::uint64_t waves = 0, all = 0, valu = 0, salu = 0, smem = 0, branch = 0, vmem = 0, lds = 0;
  for (std::size_t i = 0; i < counters.size() && i < code.size(); ++i) {
    const StaticInst& inst = code[i];
    const std::uint64_t issued = counters[i].issued;
    all += issued;
    switch (inst.category) {
    case Category::valu:
    case Category::mfma:
      valu += issued;
      break;
    case Category::scalar:
      (inst.scalarMemory ? smem : salu) += issued;
      break;
    case Category::branch:
      branch += issued;
      break;
    case Category::vmem:
      vmem += issued;
      break;
    case Category::lds:
      lds += issued;
      break;
    case Category::internal:
      waves += inst.internal == Internal::end ? issued : 0;
      break;
    }
  }
  const std::uint64_t lookups = traffic.loadLookups + traffic.storeLookups;
  const std::uint64_t l2Requests = traffic.l2Reads + traffic.l2Writes + traffic.l2Atomics;
  // The accesses of a look-up's lanes are counted by four.
  constexpr std::uint64_t perLookup = 4;
  const auto writtenBack = traffic.evictedLines + static_cast<std::uint64_t>(traffic.dirtyBytes / lineBytes);
  const std::pair<const char*, std::uint64_t> values[] = {
      {"SQ_WAVES", waves},
      {"SQ_INSTS", all},
      {"SQ_INSTS_VALU", valu},
      {"SQ_INSTS_SALU", salu},
      {"SQ_INSTS_SMEM", smem},
      {"SQ_INSTS_BRANCH", branch},
      {"SQ_INSTS_LDS", lds},
      {"SQ_INSTS_VMEM", vmem},
      {"SQ_INSTS_VMEM_RD", traffic.loads},
      {"SQ_INSTS_VMEM_WR", traffic.stores + traffic.atomics},
      {"SQ_ACTIVE_INST_VALU", valu},
      {"SQ_ACTIVE_INST_SCA", salu + smem},
      {"SQC_DCACHE_REQ", traffic.scalarRequests},
      {"TA_TOTAL_WAVEFRONTS_sum", traffic.requests},
      {"TCP_TA_TCP_STATE_READ_sum", traffic.requests},
      {"TD_STORE_WAVEFRONT_sum", traffic.stores},
      {"TCP_TOTAL_ACCESSES_sum", lookups * perLookup},
      {"TCP_TOTAL_READ_sum", traffic.loadLookups * perLookup},
      {"TCP_TOTAL_WRITE_sum", traffic.storeLookups * perLookup},
      {"TCP_TOTAL_CACHE_ACCESSES_sum", lookups},
      {"TCP_UTCL1_REQUEST_sum", lookups},
      {"TCP_TCC_READ_REQ_sum", traffic.l2Reads},
      {"TCP_TCC_WRITE_REQ_sum", traffic.l2Writes},
      {"TCC_RW_REQ_sum", l2Requests},
      {"TCC_WRITE_sum", traffic.l2Writes},
      {"TCC_HIT_sum", traffic.l2Hits},
      {"TCC_MISS_sum", traffic.l2Misses},
      {"TCC_EA0_RDREQ_sum", traffic.fabricReads},
      {"TCC_WRITEBACK_sum", writtenBack},
      {"TCC_EA0_WRREQ_sum", 2 * writtenBack},
  };
  std::vector<std::pair<std::string, double>> result;
  for (const auto& [name, value] : values)
    result.emplace_back(name, static_cast<double>(value) * scale);
  return result;
}

} // namespace asmevo::timing
