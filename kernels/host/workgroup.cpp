#include "host/workgroup.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ucontext.h>

namespace asmevo::host {
namespace {

constexpr std::size_t stackBytes = 64 * 1024;

enum class State { ready, atWaveSync, atGroupBarrier, done };

/// A work-item with its own stack.
struct Fibre {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  State state = State::ready;
  Position position;
  unsigned wave = 0;
  unsigned exchanges = 0; ///< gathers so far: selects one of the wave's two slots
};

struct Wave {
  std::array<std::array<std::uint64_t, 64>, 2> slots{};
  unsigned first = 0, count = 0; ///< its fibres
};

/// The workgroup that runs on this thread.
class Workgroup {
 public:
  explicit Workgroup(std::uint32_t ldsBytes) : lds((ldsBytes + 15) / 16 + 1) {}

  bool run(const Shape& shape, const std::array<unsigned, 3>& group, const std::function<void()>& work);
  void block(State state);

  Fibre* running = nullptr;
  std::vector<Wave> waves;
  struct alignas(16) Line {
    char bytes[16];
  };
  std::vector<Line> lds;

 private:
  static void enter();
  bool step();

  std::vector<Fibre> fibres;
  std::size_t live = 0;
  const std::function<void()>* body = nullptr;
  ucontext_t scheduler{};
};

thread_local Workgroup* current = nullptr;

void Workgroup::enter() {
  Workgroup& group = *current;
  (*group.body)();
  group.block(State::done);
}

void Workgroup::block(State state) {
  Fibre* const self = running;
  self->state = state;
  swapcontext(&self->context, &scheduler);
}

/// Runs every ready fibre to its next rendezvous and opens those that are complete. False: nothing could move.
bool Workgroup::step() {
  bool moved = false;
  for (Fibre& fibre : fibres) {
    if (fibre.state != State::ready)
      continue;
    running = &fibre;
    swapcontext(&scheduler, &fibre.context);
    moved = true;
    live -= fibre.state == State::done;
  }
  const auto open = [&](State gate, std::size_t first, std::size_t count) {
    const auto begin = fibres.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    if (!std::all_of(begin, end, [&](const Fibre& f) { return f.state == gate || f.state == State::done; }))
      return;
    for (auto fibre = begin; fibre != end; ++fibre)
      if (fibre->state == gate) {
        fibre->state = State::ready;
        moved = true;
      }
  };
  for (const Wave& wave : waves)
    open(State::atWaveSync, wave.first, wave.count);
  open(State::atGroupBarrier, 0, fibres.size());
  return moved;
}

bool Workgroup::run(const Shape& shape, const std::array<unsigned, 3>& group, const std::function<void()>& work) {
  std::array<unsigned, 3> size{}, groups{}, remainder{};
  for (unsigned d = 0; d < 3; ++d) {
    size[d] = std::min(shape.workgroupSize[d], shape.gridSize[d] - group[d] * shape.workgroupSize[d]);
    groups[d] = shape.gridSize[d] / shape.workgroupSize[d];
    remainder[d] = shape.gridSize[d] % shape.workgroupSize[d];
  }
  const unsigned items = size[0] * size[1] * size[2];
  fibres.resize(items);
  waves.assign((items + 63) / 64, {});
  body = &work;
  live = items;
  for (unsigned i = 0; i < items; ++i) {
    Fibre& fibre = fibres[i];
    if (!fibre.stack)
      fibre.stack = std::make_unique_for_overwrite<char[]>(stackBytes);
    fibre.state = State::ready;
    fibre.exchanges = 0;
    fibre.wave = i / 64;
    fibre.position = {{i % size[0], i / size[0] % size[1], i / (size[0] * size[1])},
                      group,
                      shape.workgroupSize,
                      remainder,
                      groups,
                      i % 64};
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = stackBytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, &Workgroup::enter, 0);
  }
  for (unsigned w = 0; w < waves.size(); ++w) {
    waves[w].first = w * 64;
    waves[w].count = std::min(64u, items - w * 64);
  }
  while (live > 0)
    if (!step())
      return false;
  return true;
}

} // namespace

const Position& position() {
  return current->running->position;
}
void groupBarrier() {
  current->block(State::atGroupBarrier);
}
void* dynamicLds() {
  return current->lds.data();
}

const std::array<std::uint64_t, 64>& gather(std::uint64_t value) {
  Fibre& self = *current->running;
  auto& slot = current->waves[self.wave].slots[self.exchanges++ % 2];
  slot[self.position.lane] = value;
  current->block(State::atWaveSync);
  return slot;
}

bool runGrid(const Shape& shape, const std::function<void()>& body) {
  Workgroup workgroup(shape.dynamicLdsBytes);
  Workgroup* const outer = std::exchange(current, &workgroup);
  bool finished = true;
  std::array<unsigned, 3> groups{};
  for (unsigned d = 0; d < 3; ++d)
    groups[d] = (shape.gridSize[d] + shape.workgroupSize[d] - 1) / shape.workgroupSize[d];
  for (unsigned z = 0; z < groups[2] && finished; ++z)
    for (unsigned y = 0; y < groups[1] && finished; ++y)
      for (unsigned x = 0; x < groups[0] && finished; ++x)
        finished = workgroup.run(shape, {x, y, z}, body);
  current = outer;
  return finished;
}

} // namespace asmevo::host
