#pragma once

// The analysis of a trace by `recto trace`, in one pass.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/traces/prefix_reuse.h"
#include "sim/traces/trace_format.h"
#include "sim/traces/trace_reader.h"
#include "sim/traces/trace_summary.h"

namespace recto::experiments {

// No cache has longer blocks; the limit also keeps sums within 64 bits.
inline constexpr TokenCount kReuseBlockSizeMax{1 << 20};

struct TraceReportOptions {
  // The block size of prefix reuse; nullopt: the size of the trace's block ids, or 16 if the trace
  // has the tokens themselves.
  std::optional<TokenCount> block_size;
  std::vector<TokenCount> cache_tokens = sim::PrefixReuseOptions().lru_capacities;
};

struct TraceReport {
  std::string name;
  sim::TraceFormat format = sim::TraceFormat::kPlain;
  sim::TraceCounters counters;
  sim::TraceSummary summary;
  TokenCount block_size;  // of prefix reuse
  // Prefix reuse if the caches hold full blocks only, as engines' caches do: a partial last block
  // of a prompt neither hits nor takes memory. `summary` has both variants for the infinite cache
  // only.
  std::optional<sim::PrefixReuseFigures> full_blocks_reuse;
  std::int64_t equal_arrivals = 0;  // requests that arrive at the same time as the one before
  std::vector<std::string> warnings;
};

// Hits of the i-th bounded cache, as shares of all blocks (partial ones included) or of all prompt
// tokens. The report must have prefix reuse.
class LruShares {
 public:
  explicit LruShares(const TraceReport& report) : report_(report) {}

  double all(std::size_t i) const { return report_.summary.prefix_reuse->lru_hit_block_share(i); }
  double all_of_tokens(std::size_t i) const {
    return report_.summary.prefix_reuse->lru_hit_token_share(i);
  }
  double full_of_blocks(std::size_t i) const;
  double full_of_tokens(std::size_t i) const;

 private:
  const TraceReport& report_;
};

// Reads `trace` to its end.
Result<TraceReport> report_trace(sim::TraceReader& trace, const TraceReportOptions& options);

// "500", "16k", "1.5M" or "2G": thousands, millions and thousands of millions. Invalid input unless
// the result is a whole number from 1 to 10^15.
Result<TokenCount> parse_token_count(std::string_view text);

}  // namespace recto::experiments
