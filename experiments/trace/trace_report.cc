#include "experiments/trace/trace_report.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/request.h"

namespace recto::experiments {
namespace {

Status check_options(const TraceReportOptions& options) {
  if (options.block_size &&
      (*options.block_size < TokenCount(1) || *options.block_size > kReuseBlockSizeMax)) {
    return Status::invalid_input(fmt::format("--block-size: expected 1 to {} tokens, got {}",
                                             kReuseBlockSizeMax.value(),
                                             options.block_size->value()));
  }
  for (const TokenCount capacity : options.cache_tokens) {
    if (capacity < TokenCount(1)) {
      return Status::invalid_input(
          fmt::format("--cache-tokens: expected 1 or more tokens, got {}", capacity.value()));
    }
  }
  return Status::ok();
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

TokenCount block_size_for(const sim::TraceReader& trace, const TraceReportOptions& options) {
  if (options.block_size) return *options.block_size;
  const TokenCount own = trace.content_block_tokens();
  return own > TokenCount(0) ? own : sim::PrefixReuseOptions().block_tokens;
}

// `request` with its content only up to the first block that is not full.
sim::Request keep_full_blocks(sim::Request request, TokenCount block_size) {
  if (request.content == nullptr || request.content->prompt_runs.empty()) return request;
  auto content = std::make_shared<sim::TokenContent>();
  for (const sim::ContentRun& run : request.content->prompt_runs) {
    const TokenCount full(run.length.value() / block_size.value() * block_size.value());
    if (full > TokenCount(0)) content->prompt_runs.push_back({run.content_id, full});
    if (full != run.length) break;
  }
  request.content = std::move(content);
  return request;
}

std::vector<std::string> collect_warnings(const TraceReport& report,
                                          const sim::TraceReader& trace) {
  std::vector<std::string> warnings = trace.warnings();
  if (report.equal_arrivals > 0) {
    warnings.push_back(
        fmt::format("{} of {} requests arrive at the same time as the one before; they keep the "
                    "order of the file",
                    report.equal_arrivals, report.counters.requests));
  }
  const TokenCount own = trace.content_block_tokens();
  if (own > TokenCount(0) && own.value() % report.block_size.value() != 0) {
    warnings.push_back(
        fmt::format("--block-size {} does not divide the {} tokens that an id of this trace stands "
                    "for; no block spans two ids, so each id ends in a partial block",
                    report.block_size.value(), own.value()));
  }
  return warnings;
}

constexpr double kTokensMax = 1e15;  // whole numbers of this size are exact in a double

double unit_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'g':
    case 'G':
      return 1e9;
    default:
      return 1;
  }
}

}  // namespace

double LruShares::full_of_blocks(std::size_t i) const {
  return share(report_.full_blocks_reuse->lru[i].hit_blocks, report_.summary.prefix_reuse->blocks);
}

double LruShares::full_of_tokens(std::size_t i) const {
  return share(report_.full_blocks_reuse->lru[i].hit_blocks * report_.block_size.value(),
               report_.summary.prefix_reuse->prompt_tokens.value());
}

Result<TraceReport> report_trace(sim::TraceReader& trace, const TraceReportOptions& options) {
  RECTO_RETURN_IF_ERROR(check_options(options));
  TraceReport report;
  report.name = trace.name();
  report.format = trace.format();
  report.block_size = block_size_for(trace, options);
  const sim::PrefixReuseOptions reuse{.block_tokens = report.block_size,
                                      .lru_capacities = options.cache_tokens};
  sim::TraceSummarizer summarizer(reuse);
  sim::PrefixReuse full_blocks_reuse(reuse);
  std::optional<SimTime> previous;
  while (true) {
    Result<std::optional<sim::Request>> next = trace.next();
    if (!next.is_ok()) return next.status();
    if (!next.value()) break;
    sim::Request& request = *next.value();
    if (previous == request.arrival) ++report.equal_arrivals;
    previous = request.arrival;
    summarizer.add(request);
    full_blocks_reuse.add(keep_full_blocks(std::move(request), report.block_size));
  }
  report.counters = trace.counters();
  report.summary = summarizer.summary();
  if (report.summary.prefix_reuse) report.full_blocks_reuse = full_blocks_reuse.figures();
  report.warnings = collect_warnings(report, trace);
  return report;
}

Result<TokenCount> parse_token_count(std::string_view text) {
  const double unit = text.empty() ? 1 : unit_of(text.back());
  const char* end = text.data() + text.size() - (unit == 1 ? 0 : 1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Rounded, because 1.1 is not exact; values that are not nearly whole are refused.
  const double tokens = std::round(value * unit);
  const bool is_whole = std::abs(value * unit - tokens) <= 1e-6;
  if (error == std::errc() && stop == end && is_whole && tokens >= 1 && tokens <= kTokensMax) {
    return TokenCount(static_cast<std::int64_t>(tokens));
  }
  return Status::invalid_input(
      fmt::format("found '{}'; expected tokens such as 500, 16k, 1.5M or 2G", text));
}

}  // namespace recto::experiments
