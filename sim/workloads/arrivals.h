#pragma once

// When requests arrive, as data and as text; sim/workloads/arrival_process.h generates the times.
//
//   poisson:2                      exponential gaps, 2 requests/s
//   gamma:rate=2,cv=3              gamma gaps: cv > 1 is burstier than Poisson, cv < 1 smoother
//   onoff:rate=10,on_s=5,off_s=20  Poisson at 10/s while on, silent while off; both periods
//                                  exponential with these means
//   constant:4                     equal gaps
//   closed:clients=32,think_s=1    32 clients, each of which thinks (exponential, mean 1 s) after
//                                  its request was answered, then sends the next

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"

namespace recto::sim {

struct PoissonArrivals {
  double rate_per_s = 1;
  friend bool operator==(const PoissonArrivals&, const PoissonArrivals&) = default;
};
struct GammaArrivals {
  double rate_per_s = 1;
  double cv = 1;  // of the gaps: standard deviation over mean
  friend bool operator==(const GammaArrivals&, const GammaArrivals&) = default;
};
struct OnOffArrivals {
  double rate_per_s = 1;  // while on
  double on_s = 1;
  double off_s = 1;
  friend bool operator==(const OnOffArrivals&, const OnOffArrivals&) = default;
};
struct ConstantArrivals {
  double rate_per_s = 1;
  friend bool operator==(const ConstantArrivals&, const ConstantArrivals&) = default;
};
struct ClosedLoopArrivals {
  std::int64_t clients = 1;
  double think_s = 0;
  friend bool operator==(const ClosedLoopArrivals&, const ClosedLoopArrivals&) = default;
};

using ArrivalSpec = std::variant<PoissonArrivals, GammaArrivals, OnOffArrivals, ConstantArrivals,
                                 ClosedLoopArrivals>;

// An error names the invalid field and its allowed values.
Status check_arrivals(const ArrivalSpec& spec);

// Parses and checks `text`.
Result<ArrivalSpec> parse_arrivals(std::string_view text);
// The syntax of each kind.
std::vector<std::string> arrival_usages();

// Returns the text form, which parses back to an equal spec.
std::string describe(const ArrivalSpec& spec);

// Mean requests per second in the long run; nullopt for a closed loop, whose rate depends on the
// answers.
std::optional<double> mean_rate_per_s(const ArrivalSpec& spec);

// Compresses all arrival times by `factor` > 0, including bursts and their periods, so that the
// same seed gives the same pattern. An error for a closed loop, which has no rate to scale.
Result<ArrivalSpec> scale_rate(const ArrivalSpec& spec, double factor);

}  // namespace recto::sim
