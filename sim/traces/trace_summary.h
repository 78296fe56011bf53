#pragma once

// Summarises a trace in one pass over its requests.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/traces/arrival_statistics.h"
#include "sim/traces/length_counts.h"
#include "sim/traces/prefix_reuse.h"
#include "sim/traces/trace_reader.h"

namespace recto::sim {

// What paging would leave unused at the end of each request if paged alone: the rest of its last
// block.
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
