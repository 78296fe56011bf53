#include "experiments/numerics/numerics_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace recto::experiments {
namespace {

constexpr double kRaise = 1.1;

template <typename Enum>
std::size_t index(Enum value) {
  return static_cast<std::size_t>(value);
}

// The smallest value that at least a share of the values does not exceed.
double percentile(std::vector<double> values, double share) {
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(share * count)) - 1;
  const auto place = values.begin() + std::max<std::ptrdiff_t>(rank, 0);
  std::ranges::nth_element(values, place);
  return *place;
}

Share share_of(const std::vector<double>& values) {
  return {percentile(values, 0.5), *std::ranges::max_element(values)};
}

// |error| / bound of each element.
struct Shares {
  std::vector<double> out_worst_case;
  std::vector<double> out_probabilistic;
  std::vector<double> lse_ln_worst_case;
  std::vector<double> lse_ln_probabilistic;

  void add(const Draw::Errors& errors, const reference::HeadBound& bound) {
    for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
      out_worst_case.push_back(std::abs(errors.out[dim]) / bound.worst_case(0, dim));
      out_probabilistic.push_back(std::abs(errors.out[dim]) / bound.probabilistic(0, dim));
    }
    lse_ln_worst_case.push_back(std::abs(errors.lse_ln) / bound.lse_ln_worst_case[0]);
    lse_ln_probabilistic.push_back(std::abs(errors.lse_ln) / bound.lse_ln_probabilistic[0]);
  }

  Sharpness sharpness() const {
    const auto beyond =
        std::ranges::count_if(out_probabilistic, [](double share) { return share > 1; });
    return {share_of(out_worst_case), share_of(out_probabilistic), share_of(lse_ln_worst_case),
            share_of(lse_ln_probabilistic), beyond};
  }
};

// What the draws show about the correct kernel.
struct Calibration {
  Shares shares;
  std::array<std::int64_t, kJudges.size()> refused_right{};
  // For each draw, the smallest size that is refused.
  std::array<std::array<std::vector<double>, kJudges.size()>, kFaults.size()> sizes;

  // Takes the draw as it was prepared.
  void add_sizes(Draw& draw, const Row& error, std::span<const Fault> faults) {
    for (const Judge judge : kJudges) {
      const Row allowed = draw.allowed(judge);
      for (const Fault fault : faults) {
        sizes[index(fault)][index(judge)].push_back(
            smallest_refused(error, draw.direction(fault), allowed));
      }
    }
  }
};

// Uses the problem as drawn for the correct kernel and for scale errors. For faults of the last
// key, plants a key with a small weight, like that of the smallest faults that the judges refuse.
Calibration calibrate(const StudyCell& cell) {
  constexpr double kSmallWeight = 1e-3;
  constexpr std::array kOfLastKey{Fault::kDroppedKey, Fault::kSwappedValue};
  Calibration found;
  for (std::int64_t number = 0; number < cell.draws; ++number) {
    Draw draw(cell.types, cell.num_keys, draw_stream(cell, "calibrate", number));
    const Draw::Errors errors = draw.right_errors();
    found.shares.add(errors, draw.bound());
    for (const Judge judge : kJudges) {
      found.refused_right[index(judge)] += is_refused(errors.out, draw.allowed(judge)) ? 1 : 0;
    }
    found.add_sizes(draw, errors.out, {{Fault::kScaleError}});
    draw.prepare(Fault::kDroppedKey, kSmallWeight);
    found.add_sizes(draw, draw.right_errors().out, kOfLastKey);
  }
  return found;
}

Threshold threshold_of(const Attempt& attempt) {
  return {Sight::kSeen, attempt.size, percentile(attempt.realised, 0.5), attempt.refused};
}

void try_on(Draw& draw, Attempt& attempt) {
  attempt.realised.push_back(draw.prepare(attempt.fault, attempt.size));
  const Row error = draw.faulty_error(attempt.fault, attempt.size);
  attempt.refused += is_refused(error, draw.allowed(attempt.judge)) ? 1 : 0;
}

// ln of the number of ways to choose `few` of `all`.
double log_choices(std::int64_t all, std::int64_t few) {
  return std::lgamma(static_cast<double>(all) + 1) - std::lgamma(static_cast<double>(few) + 1) -
         std::lgamma(static_cast<double>(all - few) + 1);
}

// The probability that `refused` or more of `draws` are refused, each with probability `share`, in
// (0, 1).
double probability_of_as_many(std::int64_t refused, std::int64_t draws, double share) {
  double sum = 0;
  for (std::int64_t missed = 0; missed <= draws - refused; ++missed) {
    sum += std::exp(log_choices(draws, missed) + static_cast<double>(missed) * std::log1p(-share) +
                    static_cast<double>(draws - missed) * std::log(share));
  }
  return sum;
}

}  // namespace

std::int64_t default_draws(std::int64_t num_keys) {
  return std::clamp(kDefaultKeys / num_keys, kDefaultDrawsMin, kDefaultDrawsMax);
}

RandomStream draw_stream(const StudyCell& cell, std::string_view kind, std::int64_t draw) {
  return RandomStream(cell.seed)
      .split(cell.types.name())
      .split(static_cast<std::uint64_t>(cell.num_keys))
      .split(kind)
      .split(static_cast<std::uint64_t>(draw));
}

double supported_share(std::int64_t refused, std::int64_t draws) {
  RECTO_CHECK(0 <= refused && refused <= draws);
  constexpr double kDoubt = 0.05;
  if (refused == 0) return 0;
  double low = 0;
  double high = 1;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (probability_of_as_many(refused, draws, middle) < kDoubt ? low : high) = middle;
  }
  return low;
}

std::int64_t misses_allowed(std::int64_t draws) { return draws / 100; }

void confirm(const StudyCell& cell, int round, std::span<Attempt> attempts) {
  const std::string kind = fmt::format("confirm {}", round);
  const auto is_given_up = [&](const Attempt& attempt) {
    return std::ssize(attempt.realised) - attempt.refused > misses_allowed(cell.draws);
  };
  for (std::int64_t number = 0; number < cell.draws; ++number) {
    if (std::ranges::all_of(attempts, is_given_up)) return;
    Draw draw(cell.types, cell.num_keys, draw_stream(cell, kind, number));
    for (Attempt& attempt : attempts) {
      if (is_given_up(attempt)) continue;
      try_on(draw, attempt);
    }
  }
}

void verify_found(const StudyCell& cell, std::span<Attempt> attempts) {
  for (std::int64_t number = 0; number < cell.draws; ++number) {
    Draw draw(cell.types, cell.num_keys, draw_stream(cell, "verify", number));
    for (Attempt& attempt : attempts) try_on(draw, attempt);
  }
}

CellResult study(const StudyCell& cell) {
  RECTO_CHECK_GE(cell.draws, 1);
  const Calibration calibration = calibrate(cell);
  CellResult result{cell, calibration.shares.sharpness(), calibration.refused_right, {}};
  std::vector<Attempt> open;
  for (const Fault fault : kFaults) {
    for (const Judge judge : kJudges) {
      const std::vector<double>& sizes = calibration.sizes[index(fault)][index(judge)];
      const double size = percentile(sizes, 0.99);
      if (size > 0) {
        open.push_back({fault, judge, size});
      } else {
        result.thresholds[index(fault)][index(judge)] = {Sight::kAlways, 0, 0,
                                                         std::ranges::count(sizes, 0.0)};
      }
    }
  }
  std::vector<Attempt> found;
  const auto is_too_large = [](const Attempt& attempt) { return !(attempt.size < 1); };
  for (int round = 0; std::erase_if(open, is_too_large), !open.empty(); ++round) {
    confirm(cell, round, open);
    std::vector<Attempt> missed;
    for (const Attempt& attempt : open) {
      if (cell.draws - attempt.refused <= misses_allowed(cell.draws)) {
        found.push_back({attempt.fault, attempt.judge, attempt.size});
      } else {
        missed.push_back({attempt.fault, attempt.judge, attempt.size * kRaise});
      }
    }
    open = std::move(missed);
  }
  verify_found(cell, found);
  for (const Attempt& attempt : found) {
    result.thresholds[index(attempt.fault)][index(attempt.judge)] = threshold_of(attempt);
  }
  return result;
}

}  // namespace recto::experiments
