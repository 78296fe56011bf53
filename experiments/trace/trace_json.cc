#include "experiments/trace/trace_json.h"

#include <cstddef>
#include <optional>
#include <string>

namespace recto::experiments {
namespace {

Json lengths_json(const sim::LengthFigures& lengths) {
  return {{"total", lengths.sum.value()}, {"mean", lengths.mean},
          {"p50", lengths.p50.value()},   {"p90", lengths.p90.value()},
          {"p99", lengths.p99.value()},   {"max", lengths.max.value()}};
}

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json arrivals_json(const TraceReport& report) {
  const sim::ArrivalFigures& arrivals = report.summary.arrivals;
  return {{"duration_s", seconds(arrivals.duration)},
          {"mean_per_second", or_null(arrivals.mean_per_second)},
          {"peak_per_second", arrivals.peak_per_second},
          {"peak_per_minute", arrivals.peak_per_minute},
          {"gap_variation", or_null(arrivals.gap_variation)},
          {"equal_arrivals", report.equal_arrivals}};
}

Json tail_waste_json(const TraceReport& report) {
  Json rows = Json::array();
  for (const sim::TailWaste& waste : report.summary.tail_waste) {
    rows.push_back({{"block_size", waste.block_size.value()},
                    {"allocated_slots", waste.allocated.value()},
                    {"padding_slots", waste.padding.value()},
                    {"share", waste.share()}});
  }
  return rows;
}

Json lru_json(const TraceReport& report) {
  const sim::PrefixReuseFigures& all = *report.summary.prefix_reuse;
  const LruShares shares(report);
  Json rows = Json::array();
  for (std::size_t i = 0; i < all.lru.size(); ++i) {
    rows.push_back({{"cache_tokens", all.lru[i].capacity.value()},
                    {"with_partial_blocks",
                     {{"hit_blocks", all.lru[i].hit_blocks},
                      {"block_share", shares.all(i)},
                      {"hit_tokens", all.lru[i].hit_tokens.value()},
                      {"token_share", shares.all_of_tokens(i)}}},
                    {"full_blocks_only",
                     {{"hit_blocks", report.full_blocks_reuse->lru[i].hit_blocks},
                      {"block_share", shares.full_of_blocks(i)},
                      {"token_share", shares.full_of_tokens(i)}}}});
  }
  return rows;
}

Json prefix_reuse_json(const TraceReport& report) {
  if (!report.summary.prefix_reuse) return nullptr;
  const sim::PrefixReuseFigures& reuse = *report.summary.prefix_reuse;
  const Json with_partial = {{"hit_blocks", reuse.hit_blocks},
                             {"block_share", reuse.hit_block_share()},
                             {"hit_tokens", reuse.hit_tokens.value()},
                             {"token_share", reuse.hit_token_share()}};
  const Json full_only = {{"hit_blocks", reuse.full_hit_blocks},
                          {"block_share", reuse.full_hit_block_share()},
                          {"hit_tokens", reuse.full_hit_tokens.value()},
                          {"token_share", reuse.full_hit_token_share()}};
  return {
      {"block_size", report.block_size.value()},
      {"requests", reuse.requests},
      {"prompt_tokens", reuse.prompt_tokens.value()},
      {"blocks", reuse.blocks},
      {"full_blocks", reuse.full_blocks},
      {"distinct_blocks", reuse.distinct_blocks},
      {"infinite", {{"with_partial_blocks", with_partial}, {"full_blocks_only", full_only}}},
      {"lru", lru_json(report)},
  };
}

}  // namespace

Json trace_json(const TraceReport& report) {
  const sim::TraceCounters& counters = report.counters;
  return {
      {"file", report.name},
      {"format", sim::format_name(report.format)},
      {"rows", counters.rows},
      {"requests", counters.requests},
      {"failed_requests", counters.failed_requests},
      {"skipped_rows", counters.skipped_rows},
      {"skip_messages", counters.skip_messages},
      {"text_bytes", counters.text_bytes},
      {"prompt_tokens", lengths_json(report.summary.prompt)},
      {"output_tokens", lengths_json(report.summary.output)},
      {"arrivals", arrivals_json(report)},
      {"tail_waste", tail_waste_json(report)},
      {"prefix_reuse", prefix_reuse_json(report)},
      {"warnings", report.warnings},
  };
}

}  // namespace recto::experiments
