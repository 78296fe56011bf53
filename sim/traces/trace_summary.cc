#include "sim/traces/trace_summary.h"

#include <utility>

namespace recto::sim {

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
