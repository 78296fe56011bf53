#include "sim/traces/trace_summary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/contract.h"

namespace recto::sim {
void LengthCounts::add(TokenCount length) {
  ++counts_[length];
  ++count_;
  sum_ += length;
}

TokenCount LengthCounts::percentile(int percent) const {
  RECTO_CHECK(percent >= 1 && percent <= 100);
  const std::int64_t rank = ceil_div(count_ * percent, 100);
  std::int64_t passed = 0;
  for (const auto& [length, count] : counts_) {
    passed += count;
    if (passed >= rank) return length;
  }
  return TokenCount(0);
}

LengthFigures LengthCounts::figures() const {
  if (count_ == 0) return {};
  return {.count = count_,
          .sum = sum_,
          .mean = static_cast<double>(sum_.value()) / static_cast<double>(count_),
          .p50 = percentile(50),
          .p90 = percentile(90),
          .p99 = percentile(99),
          .max = counts_.rbegin()->first};
}

void ArrivalStatistics::Windows::add(SimDuration since_first) {
  const std::int64_t index = since_first.value() / length_.value();
  if (index != index_) count_ = 0;
  index_ = index;
  peak_ = std::max(peak_, ++count_);
}

void ArrivalStatistics::add(SimTime arrival) {
  if (count_ == 0) {
    first_ = arrival;
  } else {
    RECTO_CHECK_LE(last_, arrival);
    const double gap = recto::seconds(arrival - last_);
    const double deviation = gap - gap_mean_;
    gap_mean_ += deviation / static_cast<double>(count_);  // `count_` is the number of this gap
    gap_squares_ += deviation * (gap - gap_mean_);
  }
  last_ = arrival;
  ++count_;
  seconds_.add(arrival - first_);
  minutes_.add(arrival - first_);
}

ArrivalFigures ArrivalStatistics::figures() const {
  ArrivalFigures figures;
  figures.duration = last_ - first_;
  figures.peak_per_second = seconds_.peak();
  figures.peak_per_minute = minutes_.peak();
  if (figures.duration.value() > 0) {
    const auto gaps = static_cast<double>(count_ - 1);
    figures.mean_per_second = gaps / recto::seconds(figures.duration);
    figures.gap_variation = std::sqrt(gap_squares_ / gaps) / gap_mean_;
  }
  return figures;
}

TraceSummarizer::TraceSummarizer(const PrefixReuseOptions& options) : prefix_reuse_(options) {
  for (std::int64_t block_size = 1; block_size <= kTailBlockSizeMax; block_size *= 2) {
    tail_waste_.push_back({.block_size = TokenCount(block_size), .allocated = {}, .padding = {}});
  }
}

void TraceSummarizer::add(const Request& request) {
  prompts_.add(request.prompt_tokens);
  outputs_.add(request.output_tokens);
  arrivals_.add(request.arrival);
  for (TailWaste& waste : tail_waste_) {
    const BlockCount blocks = blocks_for(request.final_length(), waste.block_size);
    const TokenCount allocated = waste.block_size * blocks.value();
    waste.allocated += allocated;
    waste.padding += allocated - request.final_length();
  }
  prefix_reuse_.add(request);
}

TraceSummary TraceSummarizer::summary() const {
  TraceSummary summary{.prompt = prompts_.figures(),
                       .output = outputs_.figures(),
                       .arrivals = arrivals_.figures(),
                       .tail_waste = tail_waste_,
                       .prefix_reuse = std::nullopt};
  PrefixReuseFigures reuse = prefix_reuse_.figures();
  if (reuse.requests > 0) summary.prefix_reuse = std::move(reuse);
  return summary;
}

Result<TraceSummary> summarize_trace(TraceReader& trace) {
  PrefixReuseOptions options;
  if (trace.content_block_tokens() > TokenCount(0)) {
    options.block_tokens = trace.content_block_tokens();
  }
  return summarize(trace, options);
}

Result<TraceSummary> summarize(RequestSource& source, const PrefixReuseOptions& options) {
  TraceSummarizer summarizer(options);
  while (true) {
    const Result<std::optional<Request>> request = source.next();
    if (!request.is_ok()) return request.status();
    if (!request.value()) return summarizer.summary();
    summarizer.add(*request.value());
  }
}

}  // namespace recto::sim
