#include "sim/workloads/arrival_process.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

// Any open loop.
ArrivalSpec draw_open_loop(Draw& draw) {
  const double rate_per_s = draw.growing<int>(1, 9999) / 100.0;
  const double other = draw.growing<int>(1, 499) / 100.0;
  const double third = draw.growing<int>(1, 499) / 100.0;
  switch (draw.growing<int>(0, 3)) {
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
  property("never go back in time", [](Draw& draw) {
    const auto seed = draw.seed();
    const auto arrivals = make_arrival_process(draw_open_loop(draw), RandomStream(seed));
    SimTime before;
    for (int i = 0; i < 100; ++i) {
      const SimTime time = arrivals->next().value()->time;
      RECTO_REQUIRE(time >= before);
      before = time;
    }
  });

  property("keep their pattern when their rate is scaled", [](Draw& draw) {
    const ArrivalSpec spec = draw_open_loop(draw);
    const double factor = draw.growing<int>(1, 999) / 50.0;
    const auto seed = draw.seed();
    const auto plain = make_arrival_process(spec, RandomStream(seed));
    const auto scaled = make_arrival_process(scale_rate(spec, factor).value(), RandomStream(seed));
    for (int i = 1; i <= 100; ++i) {
      const auto time_ns = static_cast<double>(plain->next().value()->time.value());
      const auto scaled_ns = static_cast<double>(scaled->next().value()->time.value());
      // Each gap is rounded to a nanosecond on either side.
      RECTO_REQUIRE(std::abs(scaled_ns * factor - time_ns) <= i * (1 + factor) + time_ns * 1e-12);
    }
  });

  property("survive a round trip through their description", [](Draw& draw) {
    const ArrivalSpec spec = draw_open_loop(draw);
    RECTO_REQUIRE(parse_arrivals(describe(spec)).value() == spec);
  });
}

}  // namespace
}  // namespace recto::sim
