#include "report/profile_trace.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace asmevo::report {
namespace {

using nlohmann::json;
using timing::Clk;
using timing::Stall;

constexpr std::size_t mostWaves = 20'000;
constexpr unsigned countersPid = 1, firstSimdPid = 2;
/// Points of each rate counter over the run.
constexpr Clk ratePoints = 256;

constexpr std::string_view categoryNames[timing::categoryCount] = {"internal", "VALU", "MFMA",  "scalar",
                                                                   "VMEM",     "LDS",  "branch"};

/// Microseconds of the format for a clk: one clk is shown as a nanosecond.
std::string stamp(Clk clk) {
  return fmt::format("{}.{:03}", clk / 1000, clk % 1000);
}

std::string jsonText(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

class Writer {
 public:
  void event(const std::string& body) {
    text += events++ ? ",\n{" : "\n{";
    text += body;
    text += "}";
  }
  void slice(unsigned pid, unsigned tid, Clk begin, Clk end, std::string_view name, std::string_view category,
             const std::string& args = {}) {
    if (end <= begin)
      return;
    event(fmt::format(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{}{})", pid, tid, stamp(begin),
                      stamp(end - begin), jsonText(name), jsonText(category),
                      args.empty() ? "" : ",\"args\":{" + args + "}"));
  }
  std::string text;

 private:
  std::size_t events = 0;
};

/// Instruction text by offset from the code base.
std::map<std::uint32_t, std::string_view> textsOf(const Profile& profile) {
  std::map<std::uint32_t, std::string_view> texts;
  for (const HotRegion& block : profile.blocks)
    for (const ProfiledInstruction& line : block.listing)
      texts.emplace(line.cost.offset, line.text);
  return texts;
}

std::string_view categoryOf(const timing::Timeline& timeline, std::uint32_t offset) {
  const std::size_t at = offset / 4;
  return at < timeline.category.size() ? categoryNames[static_cast<std::size_t>(timeline.category[at])]
                                       : categoryNames[0];
}

/// First clk at which no more issues fit.
Clk windowEnd(const timing::Timeline& timeline, const TraceWindow& window) {
  std::vector<Clk> issues;
  for (const timing::TimelineWave& wave : timeline.waves)
    for (const timing::TimelineIssue& issue : wave.issues)
      if (issue.event.clk >= window.from)
        issues.push_back(issue.event.clk);
  // An issue makes up to three slices: two kinds of stall before it, and itself.
  const std::size_t most = std::max<std::size_t>(1, window.slices / 3);
  if (issues.size() <= most)
    return timeline.end + 1;
  std::ranges::nth_element(issues, issues.begin() + static_cast<std::ptrdiff_t>(most));
  return issues[most];
}

std::string stallArgs(Stall reason) {
  return reason == Stall::none ? std::string() : fmt::format(R"("why":{})", jsonText(timing::stallName(reason)));
}

void writeWave(Writer& out, const timing::Timeline& timeline, const timing::TimelineWave& wave, WaveSlot slot, Clk from,
               Clk to, const std::map<std::uint32_t, std::string_view>& texts, std::uint64_t base) {
  const unsigned pid = firstSimdPid + slot.simd, tid = slot.slot;
  out.slice(pid, tid, wave.start, wave.end, fmt::format("wg {} wave {}", wave.workgroup, wave.inGroup), "wave",
            fmt::format(R"("instructions":{},"order":{})", wave.issues.size(), wave.group));
  for (std::size_t i = 0; i < wave.issues.size(); ++i) {
    const timing::TimelineIssue& issue = wave.issues[i];
    const timing::IssueEvent& event = issue.event;
    if (event.clk < from || event.clk >= to)
      continue;
    const Clk dependencyEnd = event.ready + event.dependency;
    out.slice(pid, tid, event.ready, dependencyEnd, timing::stallName(event.dependencyReason), "stall");
    out.slice(pid, tid, dependencyEnd, event.clk, timing::stallName(event.contentionReason), "stall");
    const Clk end = i + 1 < wave.issues.size() ? wave.issues[i + 1].event.ready : wave.end;
    const auto text = texts.find(issue.offset);
    const std::string name =
        text != texts.end() ? std::string(text->second) : fmt::format("{:#x}", base + issue.offset);
    std::string args = fmt::format(R"("address":"{:#x}")", base + issue.offset);
    if (const std::string why = stallArgs(event.ownReason); !why.empty())
      args += "," + why;
    out.slice(pid, tid, event.clk, end, name, categoryOf(timeline, issue.offset), args);
  }
}

void writeCounters(Writer& out, const timing::Timeline& timeline) {
  std::map<Clk, std::array<int, 4>> changes;
  for (const timing::TimelineWave& wave : timeline.waves) {
    ++changes[wave.start][wave.simd & 3];
    --changes[wave.end][wave.simd & 3];
  }
  std::array<int, 4> resident{};
  // Many short waves: no more points than waves may have slices.
  const std::size_t every = changes.size() / mostWaves + 1;
  std::size_t point = 0;
  for (const auto& [clk, change] : changes) {
    for (std::size_t simd = 0; simd < 4; ++simd)
      resident[simd] += change[simd];
    ++point;
    if (point % every == 0 || point == changes.size())
      out.event(fmt::format(R"("ph":"C","pid":{},"name":"waves resident","ts":{},"args":{{)"
                            R"("SIMD 0":{},"SIMD 1":{},"SIMD 2":{},"SIMD 3":{}}})",
                            countersPid, stamp(clk), resident[0], resident[1], resident[2], resident[3]));
  }
  const Clk bucket = timeline.end / ratePoints + 1;
  std::vector<std::array<std::uint64_t, timing::categoryCount>> issued(
      static_cast<std::size_t>(timeline.end / bucket + 1));
  for (const timing::TimelineWave& wave : timeline.waves)
    for (const timing::TimelineIssue& issue : wave.issues)
      if (const std::size_t at = issue.offset / 4; at < timeline.category.size())
        ++issued[static_cast<std::size_t>(std::min(issue.event.clk, timeline.end) / bucket)]
                [static_cast<std::size_t>(timeline.category[at])];
  for (std::size_t i = 0; i < issued.size(); ++i) {
    std::string values;
    for (std::size_t c = 0; c < timing::categoryCount; ++c)
      values += fmt::format(R"({}"{}":{:.1f})", c ? "," : "", categoryNames[c],
                            1000.0 * static_cast<double>(issued[i][c]) / static_cast<double>(bucket));
    out.event(fmt::format(R"("ph":"C","pid":{},"name":"issues per 1000 clk","ts":{},"args":{{{}}})", countersPid,
                          stamp(static_cast<Clk>(i) * bucket), values));
  }
}

json totalsOf(const timing::Timeline& timeline) {
  Clk life = 0;
  std::array<Clk, timing::stallCount> stalls{};
  std::uint64_t issues = 0;
  for (const timing::TimelineWave& wave : timeline.waves) {
    life += wave.end - wave.start;
    for (std::size_t i = 0; i < wave.issues.size(); ++i) {
      const timing::IssueEvent& event = wave.issues[i].event;
      ++issues;
      stalls[static_cast<std::size_t>(event.dependencyReason)] += event.dependency;
      stalls[static_cast<std::size_t>(event.contentionReason)] += event.clk - event.ready - event.dependency;
      const Clk end = i + 1 < wave.issues.size() ? wave.issues[i + 1].event.ready : wave.end;
      stalls[static_cast<std::size_t>(event.ownReason)] += end - event.clk - timing::issueSlotClk;
    }
  }
  json byReason = json::object();
  for (std::size_t s = 1; s < timing::stallCount; ++s)
    if (stalls[s])
      byReason[std::string(timing::stallName(static_cast<Stall>(s)))] = stalls[s];
  return {{"clk", timeline.end},
          {"waves", timeline.waves.size()},
          {"instructions", issues},
          {"wave_cycles", life},
          {"issue_cycles", timing::issueSlotClk * static_cast<Clk>(issues)},
          {"stall_cycles", std::move(byReason)}};
}

} // namespace

std::vector<WaveSlot> slotsOf(const timing::Timeline& timeline) {
  std::vector<WaveSlot> result;
  std::array<std::vector<Clk>, 4> freeAt;
  for (const timing::TimelineWave& wave : timeline.waves) {
    std::vector<Clk>& slots = freeAt[wave.simd & 3];
    auto slot = std::ranges::find_if(slots, [&](Clk free) { return free <= wave.start; });
    if (slot == slots.end())
      slot = slots.insert(slots.end(), 0);
    *slot = wave.end;
    result.push_back({wave.simd, static_cast<unsigned>(slot - slots.begin())});
  }
  return result;
}

std::string chromeTrace(const Profile& profile, const timing::Timeline& timeline, const TraceWindow& window) {
  Writer out;
  const Clk to = windowEnd(timeline, window);
  const std::vector<WaveSlot> slots = slotsOf(timeline);
  const auto texts = textsOf(profile);
  const std::size_t shown = std::min(timeline.waves.size(), mostWaves);
  const bool all = window.from <= 0 && to > timeline.end && shown == timeline.waves.size();
  const json about = {
      {"kernel", profile.kernel},
      {"case", profile.caseName},
      {"device", profile.device},
      {"modelled", profile.modelled},
      {"unit", "1 clk is shown as 1 ns"},
      {"clock_mhz", profile.estimate.clockMhz},
      {"workgroups_on_this_cu", timeline.waves.empty() ? 0 : timeline.waves.back().group + 1},
      {"workgroups_of_dispatch", profile.estimate.workgroups},
      {"loops_shortened", timeline.shortened},
      {"instructions_shown", {{"from_clk", window.from}, {"to_clk", std::min(to, timeline.end)}, {"all", all}}},
      {"waves_shown", shown},
      {"totals", totalsOf(timeline)}};
  out.text = fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\n\"traceEvents\":[",
                         about.dump(-1, ' ', false, json::error_handler_t::replace));
  const auto name = [&](unsigned pid, const std::string& text) {
    out.event(fmt::format(R"("ph":"M","pid":{},"name":"process_name","args":{{"name":{}}})", pid, jsonText(text)));
    out.event(fmt::format(R"("ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}})", pid));
  };
  name(countersPid, fmt::format("{} on one CU of {}", profile.kernel, profile.device));
  std::array<unsigned, 4> slotCount{};
  for (std::size_t i = 0; i < shown; ++i)
    slotCount[slots[i].simd & 3] = std::max(slotCount[slots[i].simd & 3], slots[i].slot + 1);
  for (unsigned simd = 0; simd < 4; ++simd) {
    name(firstSimdPid + simd, fmt::format("SIMD {}", simd));
    for (unsigned slot = 0; slot < slotCount[simd]; ++slot)
      out.event(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"slot {}"}})",
                            firstSimdPid + simd, slot, slot));
  }
  for (std::size_t i = 0; i < shown; ++i)
    writeWave(out, timeline, timeline.waves[i], slots[i], window.from, to, texts, profile.estimate.codeAddress);
  writeCounters(out, timeline);
  return std::move(out.text) + "\n]}\n";
}

} // namespace asmevo::report
