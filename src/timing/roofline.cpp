#include "timing/roofline.h"

#include "isa/matrix_cost.h"

#include <algorithm>
#include <charconv>

namespace asmevo::timing {
namespace {

/// Product of the numbers in "16x16x16" and, where given, the blocks in "_4b".
double shapeProduct(std::string_view base) {
  const std::size_t firstX = base.find('x');
  if (firstX == std::string_view::npos)
    return 0;
  std::size_t at = base.rfind('_', firstX) + 1;
  double product = 1;
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    unsigned value = 0;
    const auto read = std::from_chars(base.data() + at, base.data() + base.size(), value);
    if (read.ec != std::errc())
      return 0;
    product *= value;
    at = static_cast<std::size_t>(read.ptr - base.data()) + 1; // past the 'x'
    if (at > base.size())
      break;
  }
  for (const auto& [suffix, blocks] : {std::pair{"_2b", 2.0}, std::pair{"_4b", 4.0}, std::pair{"_16b", 16.0}})
    if (base.find(std::string(suffix) + "_") != std::string_view::npos)
      product *= blocks;
  return product;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool isFloat(std::string_view base) {
  return contains(base, "_f32") || contains(base, "_f16") || contains(base, "_f64") || contains(base, "_bf16");
}

double rate(std::uint64_t hits, std::uint64_t all) {
  return all ? static_cast<double>(hits) / static_cast<double>(all) : 1;
}

} // namespace

double flopsOf(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  if (inst.cls == isa::InstClass::mfma)
    return 2 * shapeProduct(base);
  if (inst.cls != isa::InstClass::valu || !isFloat(base) || base.starts_with("v_cvt") || base.starts_with("v_cmp"))
    return 0;
  const double packed = base.starts_with("v_pk_") ? 2 : 1;
  const auto is = [&](std::initializer_list<std::string_view> names) {
    const std::string_view name = base.substr(packed > 1 ? 5 : 2);
    return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return name.starts_with(n); });
  };
  if (base.starts_with("v_dot2"))
    return 64 * 4;
  if (is({"fma", "mad", "fmac", "mac"}))
    return 64 * packed * 2;
  if (is({"add_", "sub_", "subrev_", "mul_", "max", "min", "rcp", "rsq", "sqrt", "exp", "log", "sin", "cos"}))
    return 64 * packed;
  return 0;
}

void addHitRates(Estimate& estimate, const Traffic& traffic) {
  const double beyondL2 = traffic.mallBytes + traffic.hbmBytes;
  estimate.mallHitRate = beyondL2 > 0 ? traffic.mallBytes / beyondL2 : 1;
  estimate.scalarHitRate = rate(traffic.scalarHits, traffic.scalarRequests);
  estimate.fetchHitRate = rate(traffic.fetches - traffic.fetchMisses, traffic.fetches);
}

void addResources(Estimate& estimate, const Parameters& p, const std::vector<isa::InstRef>& code) {
  double matrixFlops = 0, vectorFlops = 0, valuIssues = 0, scalarIssues = 0;
  estimate.vectorRequests = estimate.vectorSectors = 0;
  for (const InstructionProfile& at : estimate.instructions) {
    const std::size_t index = at.offset / 4;
    if (index >= code.size() || !code[index])
      continue;
    const isa::Instruction& inst = *code[index];
    const auto issued = static_cast<double>(at.issued);
    switch (inst.cls) {
    case isa::InstClass::mfma:
      matrixFlops += flopsOf(inst) * issued;
      break;
    case isa::InstClass::valu:
      vectorFlops += flopsOf(inst) * issued * at.activeLanes / 64;
      valuIssues += issued;
      break;
    case isa::InstClass::salu:
    case isa::InstClass::smem:
      scalarIssues += issued;
      break;
    case isa::InstClass::vmem:
    case isa::InstClass::flat:
    case isa::InstClass::global:
    case isa::InstClass::scratch:
      estimate.vectorRequests += at.requests;
      estimate.vectorSectors += at.sectors;
      break;
    default:
      break;
    }
  }
  estimate.flops = matrixFlops + vectorFlops;

  const double clk = std::max(1.0, estimate.cycles), hertz = estimate.clockMhz * 1e6;
  const double seconds = clk / hertz, allCus = p.xcds * p.cusPerXcd;
  const double cus = std::min(allCus, static_cast<double>(std::max<std::uint64_t>(1, estimate.workgroups)));
  const auto share = [&](std::string_view name) {
    const auto found = std::ranges::find(estimate.utilisation, name, &std::pair<std::string, double>::first);
    return found == estimate.utilisation.end() ? 0 : found->second;
  };
  estimate.resources.clear();
  const auto add = [&](const char* name, double achieved, double peak, const char* unit) {
    estimate.resources.push_back({name, share(name), achieved, peak, unit});
  };
  constexpr double tera = 1e12;
  if (matrixFlops > 0) {
    // The peak of the shapes and types used: what they would reach back to back on every SIMD.
    double matrixClk = 0;
    for (const InstructionProfile& at : estimate.instructions)
      if (const std::size_t index = at.offset / 4;
          index < code.size() && code[index] && code[index]->cls == isa::InstClass::mfma)
        matrixClk += static_cast<double>(at.issued) * p.mfmaPassClk *
                     isa::matrixCost(*code[index], p.matrixCore).value_or(isa::MatrixCost{8, true}).passes;
    add("MFMA", matrixFlops / seconds / tera, matrixFlops / (matrixClk / (4 * allCus) / hertz) / tera, "TFLOP/s");
  }
  add("VALU", valuIssues / clk / cus, 1, "instr/clk/CU");
  add("SALU", scalarIssues / clk / cus, 1, "instr/clk/CU");
  const double ldsPeak = 4 * p.ldsBanks;
  add("LDS", share("LDS") * ldsPeak, ldsPeak, "B/clk/CU");
  add("VMEM", estimate.l1Bytes / clk / cus, 64 / p.l1ClkPerSector, "B/clk/CU");
  add("L2", estimate.l2Bytes / seconds / tera, p.l2BytesPerClkPerXcd * p.xcds * hertz / tera, "TB/s");
  add("fabric", (estimate.mallBytes + estimate.hbmBytes) / seconds / tera,
      p.fabricBytesPerClkPerXcd * p.xcds * hertz / tera, "TB/s");
  add("HBM", estimate.hbmBytes / seconds / tera, p.hbmBytesPerSecond / tera, "TB/s");
  std::ranges::sort(estimate.resources, [](const ResourceUse& a, const ResourceUse& b) {
    return a.share != b.share ? a.share > b.share : a.name < b.name;
  });
}

} // namespace asmevo::timing
