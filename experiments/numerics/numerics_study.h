#pragma once

// The sharpness of the error bounds, and the smallest faults that they find: for one type and one
// number of keys, over many draws (draw.h).

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/element_type.h"
#include "core/random_stream.h"
#include "experiments/numerics/draw.h"

namespace recto::experiments {

// The default number of draws: as many as have kDefaultKeys keys together, within these limits.
inline constexpr std::int64_t kDefaultKeys = 65'536;
inline constexpr std::int64_t kDefaultDrawsMin = 4;
inline constexpr std::int64_t kDefaultDrawsMax = 100;
std::int64_t default_draws(std::int64_t num_keys);

struct StudyCell {
  StudyTypes types = {};
  std::int64_t num_keys = 0;  // 2 or more
  std::int64_t draws = 0;
  std::uint64_t seed = 0;
};

// The cell's k-th draw of a kind ("calibrate", "confirm 0", ...), independent of other draws.
RandomStream draw_stream(const StudyCell& cell, std::string_view kind, std::int64_t draw);

// The median and the largest |error| / bound.
struct Share {
  double median = 0;
  double worst = 0;
};

struct Sharpness {
  Share out_worst_case;  // over all elements of all draws
  Share out_probabilistic;
  Share lse_ln_worst_case;  // over all draws
  Share lse_ln_probabilistic;
  std::int64_t beyond_probabilistic = 0;  // elements of out
};

enum class Sight : std::uint8_t {
  kSeen,
  kAlways,  // at any size, because the judge refuses the right kernel as often
  kNever,   // at no size below 1
};

// The smallest size of a fault that a judge refuses in nearly all draws.
struct Threshold {
  Sight sight = Sight::kNever;
  double size = 0;           // requested
  double realised = 0;       // median over the draws, after rounding
  std::int64_t refused = 0;  // of draws that did not help to choose the size
};

// The lower 95 % confidence bound of the share of all draws that a judge refuses, if it refused
// `refused` of `draws` (Clopper & Pearson 1934, one-sided).
double supported_share(std::int64_t refused, std::int64_t draws);

struct CellResult {
  StudyCell cell;
  Sharpness sharpness;
  std::array<std::int64_t, kJudges.size()> refused_right{};  // draws
  std::array<std::array<Threshold, kJudges.size()>, kFaults.size()> thresholds{};
};

// A fault and a size to be confirmed, and how often the judge refuses the kernel's results.
struct Attempt {
  Fault fault = Fault::kDroppedKey;
  Judge judge = Judge::kProbabilistic;
  double size = 0;
  std::vector<double> realised = {};  // of each draw
  std::int64_t refused = 0;
};

// The most draws that may be missed: 1 % of `draws`.
std::int64_t misses_allowed(std::int64_t draws);

// Runs each attempt on the draws of `round`. Stops an attempt that has missed more than
// misses_allowed(); it then has fewer draws.
void confirm(const StudyCell& cell, int round, std::span<Attempt> attempts);

// Runs each attempt on all draws of a separate kind, which do not affect the size.
void verify_found(const StudyCell& cell, std::span<Attempt> attempts);

// For each draw, computes the smallest size that is refused if a fault's effect is added to the
// observed error. Starts at the 99th percentile of these sizes, and raises the size by 10 % until
// fresh draws with the fault confirm it. Then counts on other draws how often it is refused,
// because the draws that ended the search are a selection.
CellResult study(const StudyCell& cell);

}  // namespace recto::experiments
