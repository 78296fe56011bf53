#include "sim/workloads/length_distribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/workloads/distributions.h"

namespace recto::sim {

class LengthSampler {
 public:
  virtual ~LengthSampler() = default;
  virtual std::int64_t draw(RandomStream& stream) const = 0;
};

namespace {

class ConstantSampler : public LengthSampler {
 public:
  explicit ConstantSampler(const ConstantLength& spec) : tokens_(spec.tokens.value()) {}
  std::int64_t draw(RandomStream&) const override { return tokens_; }

 private:
  std::int64_t tokens_;
};

// A distribution over integers that are already in range.
template <typename Distribution>
class IntegerSampler : public LengthSampler {
 public:
  explicit IntegerSampler(Distribution distribution) : distribution_(distribution) {}
  std::int64_t draw(RandomStream& stream) const override { return distribution_(stream); }

 private:
  Distribution distribution_;
};

// Rounds, and redraws above `max`. Compares doubles, because a value in the far tail fits no
// integer.
template <typename Distribution>
class TruncatedSampler : public LengthSampler {
 public:
  TruncatedSampler(Distribution distribution, TokenCount max)
      : distribution_(distribution), max_(static_cast<double>(max.value())) {}

  std::int64_t draw(RandomStream& stream) const override {
    for (;;) {
      const double rounded = std::floor(distribution_(stream) + 0.5);
      if (rounded <= max_) return static_cast<std::int64_t>(std::max(rounded, 1.0));
    }
  }

 private:
  Distribution distribution_;
  double max_;
};

// Inversion over integer counts: no rounding.
class EmpiricalSampler : public LengthSampler {
 public:
  explicit EmpiricalSampler(const EmpiricalLength& spec) : counts_(spec.counts) {
    for (const EmpiricalLength::Count& count : counts_) {
      total_ += static_cast<std::uint64_t>(count.times);
      ends_.push_back(total_);
    }
  }

  std::int64_t draw(RandomStream& stream) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), stream.next_below(total_));
    return counts_[static_cast<std::size_t>(end - ends_.begin())].length.value();
  }

 private:
  std::vector<EmpiricalLength::Count> counts_;
  std::vector<std::uint64_t> ends_;  // running totals of the counts
  std::uint64_t total_ = 0;
};

using Sampler = std::shared_ptr<const LengthSampler>;

// Inversion over running totals of the weights: one draw selects the part, which then draws a
// length.
class MixtureSampler : public LengthSampler {
 public:
  MixtureSampler(const MixtureLength& spec, std::vector<Sampler> parts)
      : parts_(std::move(parts)), max_(spec.max.value()) {
    for (const MixtureLength::Part& part : spec.parts) {
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part.weight);
    }
  }

  std::int64_t draw(RandomStream& stream) const override {
    for (;;) {
      const double point = stream.next_unit() * ends_.back();
      // If the product rounds up to the total, no end exceeds it: take the last part.
      const auto end = std::upper_bound(ends_.begin(), ends_.end() - 1, point);
      const std::int64_t length =
          parts_[static_cast<std::size_t>(end - ends_.begin())]->draw(stream);
      if (length <= max_) return length;
    }
  }

 private:
  std::vector<Sampler> parts_;
  std::vector<double> ends_;  // running totals of the weights
  std::int64_t max_;
};

Sampler make_sampler(const ConstantLength& spec) { return std::make_shared<ConstantSampler>(spec); }
Sampler make_sampler(const UniformLength& spec) {
  return std::make_shared<IntegerSampler<UniformInteger>>(
      UniformInteger({.min = spec.min.value(), .max = spec.max.value()}));
}
Sampler make_sampler(const LogNormalLength& spec) {
  return std::make_shared<TruncatedSampler<LogNormal>>(
      LogNormal({.mean = spec.mean, .cv = spec.cv}), spec.max);
}
Sampler make_sampler(const GammaLength& spec) {
  return std::make_shared<TruncatedSampler<Gamma>>(Gamma({.shape = spec.shape, .mean = spec.mean}),
                                                   spec.max);
}
Sampler make_sampler(const ZipfLength& spec) {
  return std::make_shared<IntegerSampler<Zipf>>(Zipf({.n = spec.n, .s = spec.s}));
}
Sampler make_sampler(const EmpiricalLength& spec) {
  return std::make_shared<EmpiricalSampler>(spec);
}

Sampler make_sampler(const MixtureLength& spec) {
  std::vector<Sampler> parts;
  for (const MixtureLength::Part& part : spec.parts) {
    parts.push_back(std::visit([](const auto& kind) { return make_sampler(kind); }, part.length));
  }
  return std::make_shared<MixtureSampler>(spec, std::move(parts));
}

// Sorts and removes repetitions, so that equal distributions have equal specs.
void normalise(LengthSpec& spec) {
  auto* const empirical = std::get_if<EmpiricalLength>(&spec);
  if (empirical == nullptr) return;
  std::map<TokenCount, std::int64_t> times;
  for (const EmpiricalLength::Count& count : empirical->counts) times[count.length] += count.times;
  empirical->counts.clear();
  for (const auto& [length, total] : times) empirical->counts.push_back({length, total});
}

}  // namespace

LengthDistribution::LengthDistribution(LengthSpec spec)
    : spec_(std::move(spec)),
      sampler_(std::visit([](const auto& kind) { return make_sampler(kind); }, spec_)) {}

Result<LengthDistribution> LengthDistribution::create(LengthSpec spec) {
  RECTO_RETURN_IF_ERROR(check_length_spec(spec));
  normalise(spec);
  return LengthDistribution(std::move(spec));
}

Result<LengthDistribution> LengthDistribution::parse(std::string_view text) {
  Result<LengthSpec> spec = parse_length_spec(text);
  if (!spec.is_ok()) return spec.status();
  return create(std::move(spec).value());
}

Result<LengthDistribution> LengthDistribution::from_lengths(std::span<const TokenCount> lengths) {
  EmpiricalLength spec;
  for (const TokenCount length : lengths) spec.counts.push_back({length, 1});
  return create(std::move(spec));
}

TokenCount LengthDistribution::draw(RandomStream& stream) const {
  return TokenCount(sampler_->draw(stream));
}

}  // namespace recto::sim
