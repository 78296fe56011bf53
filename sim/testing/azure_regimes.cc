#include "sim/testing/azure_regimes.h"

#include <algorithm>
#include <optional>
#include <string>

#include "sim/time/linear_time_model.h"
#include "sim/traces/real_traces.h"
#include "sim/traces/trace_reader.h"

namespace recto::sim {

std::vector<Request> azure_requests(std::int64_t scale_rate) {
  std::vector<Request> requests;
  const std::optional<std::string> path = testing::find_real_trace("azure-llm-2023-conv.csv");
  if (!path) return requests;
  const auto trace =
      open_trace(*path, {.scale_rate = static_cast<double>(scale_rate), .limit = {}, .lines = {}});
  while (true) {
    const std::optional<Request> next = trace.value()->next().value();
    if (!next) return requests;
    requests.push_back(*next);
  }
}

PagedOptions roomy_pool(std::int64_t max_sequences) {
  return {.pool_slots = TokenCount(max_sequences * 4096)};
}

SimulationOptions roomy_options(std::int64_t max_sequences) {
  SimulationOptions options;
  options.scheduler.max_sequences = max_sequences;
  options.scheduler.max_batched_tokens = TokenCount(std::max<std::int64_t>(2048, max_sequences));
  options.scheduler.max_length = TokenCount(131'072);
  return options;
}

const TimeModel& card_time_model() {
  static const LinearTimeModel kModel({.fixed_ns = 17.25e6,
                                       .per_prefill_token_ns = 83e3,
                                       .per_kv_token_ns = 171,
                                       .per_sequence_ns = 8.5e3,
                                       .source = "order of magnitude"});
  return kModel;
}

}  // namespace recto::sim
