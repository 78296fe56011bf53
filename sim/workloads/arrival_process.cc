#include "sim/workloads/arrival_process.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "sim/workloads/distributions.h"

namespace recto::sim {
namespace {

Result<SimTime> later(SimTime from, double gap_s) {
  constexpr double kLastNs = 0x1p63;
  const double gap_ns = std::floor(gap_s * static_cast<double>(kNanosecondsPerSecond) + 0.5);
  if (static_cast<double>(from.value()) + gap_ns >= kLastNs) {
    return Status::invalid_input(
        "arrivals: simulated time would pass 292 years; expected fewer requests or a higher rate");
  }
  return from + SimDuration(static_cast<std::int64_t>(gap_ns));
}

// Independent gaps: `Gaps` is called with a stream for the next gap in seconds.
template <typename Gaps>
class OpenLoop : public ArrivalProcess {
 public:
  OpenLoop(Gaps gaps, RandomStream stream) : gaps_(std::move(gaps)), stream_(stream) {}

  Result<std::optional<SimTime>> next_time() override {
    if (!ahead_) {
      const Result<SimTime> time = later(now_, gaps_(stream_));
      if (!time.is_ok()) return time.status();
      ahead_ = time.value();
    }
    return ahead_;
  }

  Result<std::optional<Arrival>> next() override {
    const Result<std::optional<SimTime>> time = next_time();
    if (!time.is_ok()) return time.status();
    now_ = *time.value();
    ahead_.reset();
    return std::optional<Arrival>(Arrival{.time = now_, .client = std::nullopt});
  }

 private:
  Gaps gaps_;
  RandomStream stream_;
  SimTime now_;
  std::optional<SimTime> ahead_;
};

struct ConstantGaps {
  double gap_s;
  double operator()(RandomStream&) const { return gap_s; }
};

// A Poisson process that is switched on and off. Exponential gaps have no memory, so a gap that
// extends past the end of an on period is drawn again in the next one. Periods have their own
// stream: changing the rate does not move the bursts.
class OnOffGaps {
 public:
  OnOffGaps(const OnOffArrivals& spec, const RandomStream& stream)
      : gap_(1 / spec.rate_per_s),
        on_period_(spec.on_s),
        off_period_(spec.off_s),
        periods_(stream.split("periods")) {
    const double share_on = spec.on_s / (spec.on_s + spec.off_s);
    if (periods_.next_unit() >= share_on) silence_s_ = off_period_(periods_);
    on_left_s_ = on_period_(periods_);
  }

  double operator()(RandomStream& stream) {
    double gap_s = std::exchange(silence_s_, 0);
    for (;;) {
      const double draw_s = gap_(stream);
      if (draw_s < on_left_s_) {
        on_left_s_ -= draw_s;
        return gap_s + draw_s;
      }
      gap_s += on_left_s_ + off_period_(periods_);
      on_left_s_ = on_period_(periods_);
    }
  }

 private:
  Exponential gap_;
  Exponential on_period_;
  Exponential off_period_;
  RandomStream periods_;
  double silence_s_ = 0;  // before the first on period
  double on_left_s_ = 0;
};

class ClosedLoop : public ArrivalProcess {
 public:
  ClosedLoop(const ClosedLoopArrivals& spec, const RandomStream& stream)
      : think_s_(spec.think_s), think_stream_(stream.split("think")) {
    const RandomStream first = stream.split("first");
    for (std::int64_t client = 0; client < spec.clients; ++client) {
      think(client, SimTime(), first.split(static_cast<std::uint64_t>(client)));
    }
  }

  Result<std::optional<SimTime>> next_time() override {
    RECTO_RETURN_IF_ERROR(failure_);
    if (ready_.empty()) return std::optional<SimTime>();
    return std::optional<SimTime>(std::max(latest_, ready_.top().first));
  }

  Result<std::optional<Arrival>> next() override {
    RECTO_RETURN_IF_ERROR(failure_);
    if (ready_.empty()) return std::optional<Arrival>();
    const auto [ready, client] = ready_.top();
    ready_.pop();
    latest_ = std::max(latest_, ready);
    client_of_.emplace(issued_++, client);
    return std::optional<Arrival>(Arrival{.time = latest_, .client = client});
  }

  void finish(std::int64_t request, SimTime now) override {
    const auto waiting = client_of_.find(request);
    RECTO_CHECK(waiting != client_of_.end());
    const std::int64_t client = waiting->second;
    client_of_.erase(waiting);
    think(client, now, think_stream_.split(static_cast<std::uint64_t>(request)));
  }

 private:
  using Ready = std::pair<SimTime, std::int64_t>;  // time and client

  void think(std::int64_t client, SimTime from, RandomStream stream) {
    const double pause_s = think_s_ > 0 ? Exponential(think_s_)(stream) : 0;
    const Result<SimTime> ready = later(from, pause_s);
    if (!ready.is_ok()) {
      failure_ = ready.status();
      return;
    }
    ready_.emplace(ready.value(), client);
  }

  double think_s_;
  RandomStream think_stream_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::unordered_map<std::int64_t, std::int64_t> client_of_;  // of requests not yet answered
  std::int64_t issued_ = 0;
  SimTime latest_;
  Status failure_;
};

template <typename Gaps>
std::unique_ptr<ArrivalProcess> open_loop(Gaps gaps, const RandomStream& stream) {
  return std::make_unique<OpenLoop<Gaps>>(std::move(gaps), stream.split("gaps"));
}

std::unique_ptr<ArrivalProcess> make(const PoissonArrivals& spec, const RandomStream& stream) {
  return open_loop(Exponential(1 / spec.rate_per_s), stream);
}
std::unique_ptr<ArrivalProcess> make(const GammaArrivals& spec, const RandomStream& stream) {
  const double shape = 1 / (spec.cv * spec.cv);
  return open_loop(Gamma({.shape = shape, .mean = 1 / spec.rate_per_s}), stream);
}
std::unique_ptr<ArrivalProcess> make(const OnOffArrivals& spec, const RandomStream& stream) {
  return open_loop(OnOffGaps(spec, stream), stream);
}
std::unique_ptr<ArrivalProcess> make(const ConstantArrivals& spec, const RandomStream& stream) {
  return open_loop(ConstantGaps{1 / spec.rate_per_s}, stream);
}
std::unique_ptr<ArrivalProcess> make(const ClosedLoopArrivals& spec, const RandomStream& stream) {
  return std::make_unique<ClosedLoop>(spec, stream);
}

}  // namespace

void ArrivalProcess::finish(std::int64_t request, SimTime now) {
  static_cast<void>(request);
  static_cast<void>(now);
}

std::unique_ptr<ArrivalProcess> make_arrival_process(const ArrivalSpec& spec,
                                                     const RandomStream& stream) {
  RECTO_CHECK_EQ(check_arrivals(spec), Status::ok());
  return std::visit([&stream](const auto& kind) { return make(kind, stream); }, spec);
}

}  // namespace recto::sim
