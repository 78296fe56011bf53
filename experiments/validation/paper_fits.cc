#include "experiments/validation/paper_fits.h"

#include <cmath>
#include <functional>
#include <utility>

namespace recto::experiments {
namespace {

using sim::Gauge;
using sim::Report;

// Where an increasing or decreasing function of a positive number reaches `target`, to one part in
// 10^4.
double solve(double low, double high, double target, const std::function<double(double)>& value) {
  const bool grows = value(high) > value(low);
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    ((value(middle) < target) == grows ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

sim::LinearCoefficients constant_step(double ms) {
  return {.fixed_ns = ms * 1e6, .source = "constant"};
}

}  // namespace

double constant_step_ms(const std::string& workload, double batch) {
  return solve(20, 200, batch, [&](double ms) {
    return mean_over_seeds({.workload = workload, .step_time = constant_step(ms)},
                           running_sequences);
  });
}

double beam_switch_probability(const std::string& workload, double saving_percent) {
  return solve(0.001, 0.5, saving_percent, [&](double probability) {
    return mean_over_seeds(beam_run(workload, 2, probability), sharing_saving);
  });
}

StepTimeParts mean_step_time(const std::string& workload) {
  const double per_sequence_ns = paper_step_time().per_sequence_ns;
  StepTimeParts parts;
  parts.total_ms = mean_over_seeds({.workload = workload}, [](const Report& report) {
    return seconds(report.time_spent.total()) * 1e3 / static_cast<double>(report.counters.steps);
  });
  const double host_ms = mean_over_seeds({.workload = workload}, [&](const Report& report) {
    return per_sequence_ns / 1e6 * static_cast<double>(report.counters.decode_tokens) /
           static_cast<double>(report.counters.steps);
  });
  parts.card_ms = parts.total_ms - host_ms;
  return parts;
}

}  // namespace recto::experiments
