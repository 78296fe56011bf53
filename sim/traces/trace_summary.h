#pragma once

// Summarises a trace in one pass over its requests: lengths, arrivals, tail waste, prefix reuse.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/traces/prefix_reuse.h"
#include "sim/traces/trace_reader.h"

namespace recto::sim {

struct LengthFigures {
  std::int64_t count = 0;
  TokenCount sum;
  double mean = 0;  // 0 without any length, as are all fields
  TokenCount p50;
  TokenCount p90;
  TokenCount p99;
  TokenCount max;
};

// Exact statistics of token lengths, from the number of occurrences of each length.
// Memory O(distinct lengths), which the longest length bounds, not the number of requests.
class LengthCounts {
 public:
  void add(TokenCount length);  // O(log distinct lengths)

  // The smallest length that at least `percent` % of all lengths do not exceed (nearest rank,
  // ceil(percent/100 * count); no interpolation). `percent` in 1..100; 0 if there are no lengths.
  TokenCount percentile(int percent) const;

  LengthFigures figures() const;

 private:
  std::map<TokenCount, std::int64_t> counts_;
  std::int64_t count_ = 0;
  TokenCount sum_;
};

struct ArrivalFigures {
  SimDuration duration;  // from the first arrival to the last
  // Gaps per second, (count - 1) / duration; nullopt if all arrive at once.
  std::optional<double> mean_per_second;
  // The most arrivals in any window [k s, (k + 1) s) or [k min, (k + 1) min), counted from the
  // first arrival.
  std::int64_t peak_per_second = 0;
  std::int64_t peak_per_minute = 0;
  // Standard deviation of the gaps over their mean: 1 for Poisson arrivals, larger for bursts.
  std::optional<double> gap_variation;
};

// How requests arrive, in constant memory.
class ArrivalStatistics {
 public:
  void add(SimTime arrival);  // no earlier than the one before; O(1)
  ArrivalFigures figures() const;

 private:
  // Finds the window with the most arrivals, among windows of one length.
  class Windows {
   public:
    explicit Windows(SimDuration length) : length_(length) {}
    void add(SimDuration since_first);
    std::int64_t peak() const { return peak_; }

   private:
    SimDuration length_;
    std::int64_t index_ = 0;
    std::int64_t count_ = 0;
    std::int64_t peak_ = 0;
  };

  std::int64_t count_ = 0;
  SimTime first_;
  SimTime last_;
  Windows seconds_{SimDuration(kNanosecondsPerSecond)};
  Windows minutes_{SimDuration(60 * kNanosecondsPerSecond)};
  // Welford's running mean and sum of squared deviations of the gaps, in seconds.
  double gap_mean_ = 0;
  double gap_squares_ = 0;
};

// The slots that paging leaves unused at the end of each request without sharing: the rest of its
// last block.
struct TailWaste {
  TokenCount block_size;
  TokenCount allocated;
  TokenCount padding;

  // Sum of padding over sum of allocated; 0 for an empty trace.
  double share() const {
    return allocated.value() == 0
               ? 0.0
               : static_cast<double>(padding.value()) / static_cast<double>(allocated.value());
  }
};

struct TraceSummary {
  LengthFigures prompt;
  LengthFigures output;
  ArrivalFigures arrivals;
  std::vector<TailWaste> tail_waste;               // block sizes 1, 2, 4 ... kTailBlockSizeMax
  std::optional<PrefixReuseFigures> prefix_reuse;  // where requests say what their tokens are
};

inline constexpr std::int64_t kTailBlockSizeMax = 512;

// Memory does not grow with the number of requests, except as stated for PrefixReuse and
// LengthCounts.
class TraceSummarizer {
 public:
  explicit TraceSummarizer(const PrefixReuseOptions& options);

  void add(const Request& request);  // in order of arrival; O(log distinct lengths + blocks)
  TraceSummary summary() const;

 private:
  LengthCounts prompts_;
  LengthCounts outputs_;
  ArrivalStatistics arrivals_;
  std::vector<TailWaste> tail_waste_;
  PrefixReuse prefix_reuse_;
};

// Reads `trace` to its end. Prefix reuse is counted in the blocks that the format has ids for, or
// in blocks of 16 tokens if it has the tokens themselves.
Result<TraceSummary> summarize_trace(TraceReader& trace);

// The same for any open-loop source.
Result<TraceSummary> summarize(RequestSource& source, const PrefixReuseOptions& options);

}  // namespace recto::sim
