#include "sim/workloads/arrival_process.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

// Any open loop.
ArrivalSpec any_open_loop() {
  const double rate_per_s = *rc::gen::inRange(1, 10'000) / 100.0;
  const double other = *rc::gen::inRange(1, 500) / 100.0;
  const double third = *rc::gen::inRange(1, 500) / 100.0;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return PoissonArrivals{rate_per_s};
    case 1:
      return GammaArrivals{rate_per_s, other};
    case 2:
      return OnOffArrivals{rate_per_s, other, third};
    default:
      return ConstantArrivals{rate_per_s};
  }
}

TEST_CASE("arrivals of any open loop") {
  rc::prop("never go back in time", [] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto arrivals = make_arrival_process(any_open_loop(), RandomStream(seed));
    SimTime before;
    for (int i = 0; i < 100; ++i) {
      const SimTime time = arrivals->next().value()->time;
      RC_ASSERT(time >= before);
      before = time;
    }
  });

  rc::prop("keep their pattern when their rate is scaled", [] {
    const ArrivalSpec spec = any_open_loop();
    const double factor = *rc::gen::inRange(1, 1000) / 50.0;
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto plain = make_arrival_process(spec, RandomStream(seed));
    const auto scaled = make_arrival_process(scale_rate(spec, factor).value(), RandomStream(seed));
    for (int i = 1; i <= 100; ++i) {
      const auto time_ns = static_cast<double>(plain->next().value()->time.value());
      const auto scaled_ns = static_cast<double>(scaled->next().value()->time.value());
      // Each gap is rounded to a nanosecond on either side.
      RC_ASSERT(std::abs(scaled_ns * factor - time_ns) <= i * (1 + factor) + time_ns * 1e-12);
    }
  });

  rc::prop("survive a round trip through their description", [] {
    const ArrivalSpec spec = any_open_loop();
    RC_ASSERT(parse_arrivals(describe(spec)).value() == spec);
  });
}

}  // namespace
}  // namespace recto::sim
