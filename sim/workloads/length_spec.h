#pragma once

// How many tokens a prompt or an output has: integers, at least 1.
//
//   constant:512
//   uniform:min=16,max=1024                (inclusive)
//   lognormal:mean=161,cv=1.2,max=2048     (cv: standard deviation over mean)
//   gamma:mean=338,shape=1.3,max=2048      (coefficient of variation 1 / sqrt(shape))
//   zipf:n=2048,s=1.1                      (P(k) proportional to k^-s, k in 1 ... n)
//   empirical:16x3,20x1                    (length x how often; or from a trace's lengths)
//   mixture:max=99,3xconstant:64+1xgamma:mean=30,shape=2          (weight x part; max optional)
//
// Continuous draws are rounded to the nearest integer, those below 1/2 up to 1. `max` truncates by
// redrawing; the stated mean and cv are those *before* truncation and rounding. `max` must be at
// least the mean, so that at least half of all draws are kept. (No form contains a character that
// is special to a shell: each is one unquoted word on a command line.)

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto::sim {

// The longest sequence that a spec may ask for.
inline constexpr TokenCount kLongestSequence{1'000'000'000};

struct ConstantLength {
  TokenCount tokens;
  friend bool operator==(const ConstantLength&, const ConstantLength&) = default;
};
struct UniformLength {
  TokenCount min;
  TokenCount max;  // inclusive
  friend bool operator==(const UniformLength&, const UniformLength&) = default;
};
struct LogNormalLength {
  double mean = 1;
  double cv = 1;
  TokenCount max = kLongestSequence;
  friend bool operator==(const LogNormalLength&, const LogNormalLength&) = default;
};
struct GammaLength {
  double mean = 1;
  double shape = 1;
  TokenCount max = kLongestSequence;
  friend bool operator==(const GammaLength&, const GammaLength&) = default;
};
struct ZipfLength {
  std::int64_t n = 1;
  double s = 1;
  friend bool operator==(const ZipfLength&, const ZipfLength&) = default;
};
// The lengths that a mixture can contain.
using SimpleLength =
    std::variant<ConstantLength, UniformLength, LogNormalLength, GammaLength, ZipfLength>;

// Draws a part with probability proportional to its weight (3 to 2 is 0.6 to 0.4; describe() prints
// the weights as given), then a length from that part. If the length is above `max`, both are
// redrawn: the mixture as a whole is truncated, and a part with a long tail loses some of its
// share. (A part's own max redraws from that part alone and does not change the shares.)
struct MixtureLength {
  struct Part {
    double weight = 1;
    SimpleLength length;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;
  TokenCount max = kLongestSequence;
  friend bool operator==(const MixtureLength&, const MixtureLength&) = default;
};
struct EmpiricalLength {
  struct Count {
    TokenCount length;
    std::int64_t times = 1;
    friend bool operator==(const Count&, const Count&) = default;
  };
  std::vector<Count> counts;
  friend bool operator==(const EmpiricalLength&, const EmpiricalLength&) = default;
};

using LengthSpec = std::variant<ConstantLength, UniformLength, LogNormalLength, GammaLength,
                                ZipfLength, EmpiricalLength, MixtureLength>;

// An error names the invalid field and its allowed values.
Status check_length_spec(const LengthSpec& spec);

// Parses and checks `text`.
Result<LengthSpec> parse_length_spec(std::string_view text);
// The syntax of each kind.
std::vector<std::string> length_usages();

// Returns the text form, which parses back to an equal spec.
std::string describe(const LengthSpec& spec);

// The range of lengths that can be drawn, inclusive.
struct LengthRange {
  TokenCount min;
  TokenCount max;
};
LengthRange length_range(const LengthSpec& spec);

}  // namespace recto::sim
