// Kernels traced on an MI350X (ATT, FlyDSL): issue distance by pair of instructions, waves alone on their SIMD.
#include "listing.h"
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace asmevo::bench {
namespace {

using timing::Clk;

/// Kernels with waves alone on their SIMD, and waves per workgroup.
constexpr std::pair<const char*, unsigned> lonely[] = {{"blockscale_preshuffle_gemm_big", 4},
                                                       {"flash_attn_func_small", 4},
                                                       {"fused_rope_cache_big", 1},
                                                       {"hgemm_splitk_big", 4},
                                                       {"layernorm_big", 4},
                                                       {"moe_gemm_big", 4},
                                                       {"pa_mqa_logits_fp4_small", 4},
                                                       {"preshuffle_gemm_v2_big", 4},
                                                       {"mla_decode_big", 8},
                                                       {"pa_big", 4},
                                                       {"topk_gating_softmax_big", 4}};
constexpr std::int64_t leastSamples = 50;

/// First, second, what the second reads of the first, whether it was jumped to.
using PairClass = std::tuple<std::string, std::string, std::string, bool>;

std::string mnemonic(const std::string& text, bool withArgument) {
  if (withArgument && text.starts_with("s_nop"))
    return text;
  std::string name = text.substr(0, text.find(' '));
  for (const char* suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
    if (name.ends_with(suffix))
      name.resize(name.size() - std::string_view(suffix).size());
  return name;
}

bool isWait(const std::string& text) {
  return text.starts_with("s_waitcnt") || text.starts_with("s_nop") || text.starts_with("s_barrier");
}

struct Measured {
  std::int64_t samples = 0;
  Clk least = 0, median = 0;
};

/// The kind of register through which `b` depends on `a`.
std::string dependence(const isa::Instruction& a, const isa::Instruction& b) {
  constexpr unsigned accumOffset = 512;
  const isa::RegSet written = a.writes(accumOffset), read = b.reads(accumOffset);
  std::string kind = "none";
  written.forEach([&](isa::RegUnit unit) {
    if (!read.test(unit))
      return;
    kind = unit >= isa::vgprBase                                    ? "vgpr"
           : kind == "vgpr"                                         ? kind
           : unit == isa::sreg::vccLo || unit == isa::sreg::vccHi   ? "vcc"
           : unit == isa::sreg::execLo || unit == isa::sreg::execHi ? "exec"
           : unit == isa::sreg::scc                                 ? "scc"
                                                                    : "sgpr";
  });
  return kind;
}

struct Gaps {
  std::map<PairClass, std::vector<Clk>> byClass;
  void add(const ListedKernel& kernel, unsigned wave, const std::vector<Clk>& issue) {
    const std::vector<MeasuredStep>& steps = kernel.waves[wave].steps;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      const ListedInstruction &a = kernel.instructions[steps[i].instruction],
                              &b = kernel.instructions[steps[i + 1].instruction];
      if (a.text.starts_with("s_waitcnt") || a.text.starts_with("s_barrier"))
        continue;
      const bool jumped = b.offset != a.offset + a.inst->size;
      // The trace counts the fetch of a jump into the wait that it leads to.
      const Clk start = jumped && isWait(b.text) ? issue[i] + 4 : issue[i + 1];
      byClass[{mnemonic(a.text, true), mnemonic(b.text, false), dependence(*a.inst, *b.inst), jumped}].push_back(
          start - issue[i]);
    }
  }
};

Clk median(std::vector<Clk>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

Result<std::map<PairClass, Measured>> measuredClasses(const std::string& path) {
  ASMEVO_TRY(const Table table, Table::read(path));
  ASMEVO_TRY(const std::size_t first, table.column("first"));
  ASMEVO_TRY(const std::size_t second, table.column("second"));
  ASMEVO_TRY(const std::size_t dependence, table.column("raw_dep"));
  ASMEVO_TRY(const std::size_t jumped, table.column("jumped"));
  ASMEVO_TRY(const std::size_t samples, table.column("n"));
  ASMEVO_TRY(const std::size_t least, table.column("min"));
  ASMEVO_TRY(const std::size_t middle, table.column("p50"));
  std::map<PairClass, Measured> classes;
  for (std::size_t row = 0; row < table.rows(); ++row)
    classes[{table.text(row, first), table.text(row, second), table.text(row, dependence),
             table.number(row, jumped) != 0}] = {table.number(row, samples), table.number(row, least),
                                                 table.number(row, middle)};
  return classes;
}

} // namespace

Result<std::vector<Section>> attSections(const Data& data) {
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip("mi350x"));
  object::Target target;
  target.processor = "gfx950";
  ASMEVO_TRY(const auto codec, isa::Codec::create(target));
  const std::string folder = data.path("att");
  ASMEVO_TRY(auto measured, measuredClasses(folder + "/att_gfx950_gaps.csv"));
  Gaps gaps;
  for (const auto& [name, wavesPerGroup] : lonely) {
    ASMEVO_TRY(const ListedKernel kernel, ListedKernel::read(*codec, folder, name));
    const auto members = kernel.members(wavesPerGroup);
    const auto groups = kernel.workgroups(wavesPerGroup);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ASMEVO_TRY(const timing::Replay run, timing::replay(chip, kernel.code, 512, {groups[g]}, 1));
      for (std::size_t w = 0; w < members[g].size(); ++w)
        gaps.add(kernel, members[g][w], run.issue[w]);
    }
  }
  Section section{"ATT pair classes with 50 samples or more, waves alone on their SIMD", chip.name, {}, {}};
  std::size_t classes = 0, close = 0;
  for (const auto& [key, m] : measured) {
    if (m.samples < leastSamples)
      continue;
    ++classes;
    const auto& [first, second, dependence, jumped] = key;
    const auto found = gaps.byClass.find(key);
    if (found == gaps.byClass.end()) {
      section.notes.push_back(fmt::format("{} -> {} ({}): not replayed", first, second, dependence));
      continue;
    }
    const Clk least = *std::min_element(found->second.begin(), found->second.end());
    const Clk middle = median(found->second);
    if (std::abs(least - m.least) <= 4 && std::abs(middle - m.median) <= 4)
      ++close;
    else
      section.notes.push_back(fmt::format("{} -> {} ({}{}): measured {} / {} (n {}), modelled {} / {} (n {})", first,
                                          second, dependence, jumped ? ", jumped" : "", m.least, m.median, m.samples,
                                          least, middle, found->second.size()));
  }
  section.rows.push_back(atLeast(fmt::format("minimum and median within 4 clk, of {} classes", classes),
                                 static_cast<double>(close) / static_cast<double>(classes), 0.9));
  return std::vector<Section>{section};
}

} // namespace asmevo::bench
