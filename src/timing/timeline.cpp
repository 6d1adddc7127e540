#include "timing/timeline.h"

namespace asmevo::timing {

void Timeline::take(const CuLaunch& launch, const TraceSet& traces, const std::vector<StaticInst>& code,
                    const CuResult& run, const std::vector<IssueEvent>& log) {
  waves.clear();
  waves.reserve(run.waveSpans.size());
  for (const WaveSpan& span : run.waveSpans) {
    TimelineWave& wave = waves.emplace_back();
    wave.workgroup = traces.groups[launch.traces[span.group]].index;
    wave.group = span.group;
    wave.inGroup =
        waves.size() > 1 && waves[waves.size() - 2].group == span.group ? waves[waves.size() - 2].inGroup + 1 : 0;
    wave.simd = span.simd;
    wave.start = span.start;
    wave.end = span.end;
  }
  for (const IssueEvent& event : log) {
    TimelineWave& wave = waves[event.wave];
    const PreparedWave& replayed = traces.groups[launch.traces[wave.group]].waves[wave.inGroup];
    wave.issues.push_back({(*replayed.path)[event.step], event});
  }
  end = run.end;
  instructions = run.instructions;
  residents = launch.residents;
  category.clear();
  for (const StaticInst& inst : code)
    category.push_back(inst.category);
}

} // namespace asmevo::timing
