#pragma once

// Draws lengths from a LengthSpec (sim/workloads/length_spec.h has the kinds and their text forms).

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/random_stream.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/workloads/length_spec.h"

namespace recto::sim {

class LengthSampler;  // in the .cc: a spec with its precomputed constants

// Immutable, cheap to copy.
class LengthDistribution {
 public:
  // An error names the invalid field and its allowed values.
  static Result<LengthDistribution> create(LengthSpec spec);
  static Result<LengthDistribution> parse(std::string_view text);

  // Draws each length with the frequency at which it occurs in `lengths`, such as those of a trace.
  // `lengths` must not be empty.
  static Result<LengthDistribution> from_lengths(std::span<const TokenCount> lengths);

  // O(1); O(log k) for k distinct empirical lengths.
  TokenCount draw(RandomStream& stream) const;

  LengthRange range() const { return length_range(spec_); }

  // Returns the text form, which parses back to an equal distribution.
  std::string describe() const { return sim::describe(spec_); }

  const LengthSpec& spec() const { return spec_; }

  friend bool operator==(const LengthDistribution& a, const LengthDistribution& b) {
    return a.spec_ == b.spec_;
  }

 private:
  explicit LengthDistribution(LengthSpec spec);

  LengthSpec spec_;
  std::shared_ptr<const LengthSampler> sampler_;
};

}  // namespace recto::sim
