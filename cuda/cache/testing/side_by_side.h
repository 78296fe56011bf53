#pragma once

// Times one operation in several ways, in turns within one benchmark run, so that disturbances
// affect all alike: by the manager, by the plain manager, and as a floor, which is the part of the
// work that cannot be avoided. Where there is no meaningful floor, a reference takes its place: a
// known cost of the same order, which the manager may undercut.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace recto::cache::testing {

class SideBySide {
 public:
  explicit SideBySide(benchmark::State& state) : state_(&state) {}

  // ours() sets the time of the iteration; the others are timed beside it. Each does the same
  // number of operations, enough of them for the clock.
  template <typename Work>
  void ours(const Work& work) {
    state_->SetIterationTime(time(kOurs, work));
  }
  template <typename Work>
  void plain(const Work& work) {
    time(kPlain, work);
  }
  template <typename Work>
  void floor(const Work& work) {
    time(kFloor, work);
  }

  template <typename Work>
  void reference(const Work& work) {
    time(kReference, work);
  }

  // Reports counters from medians over the iterations: nanoseconds per operation (ns, plain_ns, and
  // floor_ns or reference_ns), and the ratios plain over ours and ours over floor or reference.
  void report(std::int64_t operations) {
    const double ours = ns(kOurs, operations);
    state_->counters["ns"] = ours;
    if (!seconds_[kPlain].empty()) {
      state_->counters["plain_ns"] = ns(kPlain, operations);
      state_->counters["times_faster"] = ns(kPlain, operations) / ours;
    }
    if (!seconds_[kFloor].empty()) {
      state_->counters["floor_ns"] = ns(kFloor, operations);
      state_->counters["times_floor"] = ours / ns(kFloor, operations);
    }
    if (!seconds_[kReference].empty()) {
      state_->counters["reference_ns"] = ns(kReference, operations);
      state_->counters["times_reference"] = ours / ns(kReference, operations);
    }
  }

 private:
  enum Way : std::uint8_t { kOurs, kPlain, kFloor, kReference, kNumWays };

  template <typename Work>
  double time(Way way, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    benchmark::ClobberMemory();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    seconds_[way].push_back(elapsed.count());
    return elapsed.count();
  }
  double ns(Way way, std::int64_t operations) {
    std::vector<double>& all = seconds_[way];
    const auto middle = all.begin() + std::ssize(all) / 2;
    std::nth_element(all.begin(), middle, all.end());
    return *middle * 1e9 / static_cast<double>(operations);
  }

  benchmark::State* state_;
  std::array<std::vector<double>, kNumWays> seconds_;
};

}  // namespace recto::cache::testing
