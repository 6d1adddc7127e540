/// The time of a search: what it is spent on, what is left, what is set aside for the last verification.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace asmevo::optimize {

enum class Phase : std::uint8_t {
  baseline,     ///< K0: its price, its own runs
  moves,        ///< making and cleaning proposals
  pricing,      ///< cheap gates and whole grids
  verification, ///< of candidates
  last,         ///< verification of the result
};
inline constexpr std::size_t phaseCount = 5;
std::string_view phaseName(Phase phase);

/// Seconds by the wall clock. Read from several threads, changed from one.
class Budget {
 public:
  explicit Budget(double seconds) : total(seconds), start(Clock::now()), counted(start) {}

  /// Of this run.
  double elapsed() const { return since(start); }
  double left() const { return total - before - since(counted); }
  /// Time that earlier runs of the same job took. What this run does until `countFromHere` repeats those and is free.
  void spentBefore(double seconds) { before = seconds; }
  void countFromHere() { counted = Clock::now(); }

  /// Time that has to remain.
  void setAside(double seconds) { aside = seconds; }
  double setAside() const { return aside; }
  bool isOver() const { return left() <= aside; }

  Phase phase() const { return current; }
  double seconds(Phase phase) const { return spent[static_cast<std::size_t>(phase)]; }

  /// Counts the time of its life for a phase; the phase around it does not get it too.
  class During {
   public:
    During(Budget& of, Phase phase) : budget(of), outer(of.current) { budget.enter(phase); }
    ~During() { budget.enter(outer); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    Budget& budget;
    Phase outer;
  };

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }
  void enter(Phase phase) {
    spent[static_cast<std::size_t>(current)] += since(entered);
    entered = Clock::now();
    current = phase;
  }

  double total, before = 0, aside = 0;
  Clock::time_point start, counted, entered = Clock::now();
  Phase current = Phase::baseline;
  std::array<double, phaseCount> spent{};
};

} // namespace asmevo::optimize
