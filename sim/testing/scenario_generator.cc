#include "sim/testing/scenario_generator.h"

#include <algorithm>
#include <utility>

namespace recto::sim {
namespace {

bool one_in(Draw& draw, std::int64_t times) { return draw.uniform(1, times) == times; }

// Draws short and long lengths, and lengths at or next to a block boundary.
TokenCount draw_length(Draw& draw, std::int64_t block_size) {
  switch (draw.uniform(0, 3)) {
    case 0:
      return TokenCount(draw.uniform(1, 3));
    case 1:
      return TokenCount(
          std::max<std::int64_t>(1, draw.uniform(1, 3) * block_size + draw.uniform(-1, 1)));
    default:
      return TokenCount(draw.uniform(1, 60));
  }
}

PoolSpec draw_pool(Draw& draw, AllocatorKind kind) {
  PoolSpec pool;
  pool.kind = kind;
  if (pool.is_paged()) {
    pool.block_size = TokenCount(draw.uniform(1, 16));
    pool.null_blocks = BlockCount(one_in(draw, 4) ? 1 : 0);
    const std::int64_t blocks = draw.uniform(4, 60) + pool.null_blocks.value();
    const std::int64_t remainder =
        one_in(draw, 3) ? draw.uniform(0, pool.block_size.value() - 1) : 0;
    pool.slots = blocks * pool.block_size + TokenCount(remainder);
  } else {
    pool.block_size = TokenCount(1);
    pool.slots = TokenCount(draw.uniform(60, 600));
    pool.placement =
        draw.element({PlacementKind::kBuddy, PlacementKind::kFirstFit, PlacementKind::kBestFit});
  }
  return pool;
}

SimulationOptions draw_options(Draw& draw, const PoolSpec& pool) {
  SimulationOptions options;
  options.host_bandwidth_bytes_per_s = 1e9;  // a slot of one byte takes a nanosecond
  options.metrics = {.series_window = SimDuration(draw.uniform(100, 2000)),
                     .series_windows_max = 8};
  if (one_in(draw, 6)) options.batching = Batching::kStatic;

  SchedulerOptions& rules = options.scheduler;
  rules.max_sequences = one_in(draw, 3) ? draw.uniform(1, 4) : draw.uniform(4, 16);
  rules.max_batched_tokens = TokenCount(rules.max_sequences + draw.uniform(0, 60));
  rules.max_length = TokenCount(one_in(draw, 4) ? draw.uniform(40, 90) : 128);
  if (one_in(draw, 2)) rules.prefill = PrefillRule::kWhole;
  if (one_in(draw, 2)) rules.admission = AdmissionRule::kFirstChunk;
  if (one_in(draw, 3)) rules.watermark = TokenCount(draw.uniform(1, 2 * pool.block_size.value()));
  if (one_in(draw, 2)) rules.preemption = PreemptionRule::kSwap;
  if (one_in(draw, 2)) rules.host_pool = TokenCount(draw.uniform(0, pool.slots.value()));
  if (pool.kind != AllocatorKind::kPrefixCached && one_in(draw, 4)) {
    rules.window = TokenCount(draw.uniform(1, 40));
  }
  if (one_in(draw, 2)) {
    rules.beam_switch_probability = draw.element({0.02, 0.2, 0.5, 1.0});
  }
  rules.seed = static_cast<std::uint64_t>(draw.uniform(0, 1000));
  return options;
}

std::vector<std::int32_t> draw_ids(Draw& draw, TokenCount length) {
  // Mostly one id, so that prompts often share a prefix; 0 is an ordinary id.
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length.value()), 0);
  if (!ids.empty() && one_in(draw, 2)) {
    ids[static_cast<std::size_t>(draw.uniform(0, length.value() - 1))] = 1;
  }
  return ids;
}

// One of three identities of content: the second shares the low half of the first, the third its
// high half.
std::uint64_t draw_content_id(Draw& draw) {
  return draw.element<std::uint64_t>(
      {0x6a09'e667'f3bc'c908, 0xbb67'ae85'f3bc'c908, 0x6a09'e667'84ca'a73b});
}

std::shared_ptr<const TokenContent> draw_content(Draw& draw, const Request& request) {
  TokenContent content;
  if (one_in(draw, 3)) {
    content.prompt_token_ids = draw_ids(draw, request.prompt_tokens);
    if (one_in(draw, 2)) content.output_token_ids = draw_ids(draw, request.output_tokens);
  } else {
    for (std::int64_t runs = draw.uniform(0, 3); runs > 0; --runs) {
      content.prompt_runs.push_back({draw_content_id(draw), TokenCount(draw.uniform(1, 40))});
    }
    if (one_in(draw, 2)) content.output_content_id = draw_content_id(draw);
  }
  return std::make_shared<const TokenContent>(std::move(content));
}

struct Shapes {
  std::int64_t width_max = 1;
  bool has_content = false;
  std::int64_t gap_max = 0;  // ns between arrivals
};

Request draw_request(Draw& draw, const Shapes& shapes, TokenCount block_size) {
  Request request;
  request.prompt_tokens = draw_length(draw, block_size.value());
  request.output_tokens = draw_length(draw, block_size.value());
  if (shapes.width_max > 1 && one_in(draw, 2)) {
    request.decoding = one_in(draw, 2) ? Decoding::kBeam : Decoding::kParallel;
    request.width = static_cast<std::int32_t>(draw.uniform(2, shapes.width_max));
  }
  if (shapes.has_content && !one_in(draw, 4)) request.content = draw_content(draw, request);
  return request;
}

Scenario draw_of_kind(Draw& draw, AllocatorKind kind) {
  Scenario scenario;
  scenario.pool = draw_pool(draw, kind);
  scenario.options = draw_options(draw, scenario.pool);
  scenario.pool.max_length = scenario.options.scheduler.max_length;

  Shapes shapes;
  const bool must_be_single =
      scenario.options.batching == Batching::kStatic ||
      (scenario.pool.is_paged() && scenario.options.scheduler.window.value() > 0);
  if (!must_be_single && one_in(draw, 2)) shapes.width_max = 4;
  shapes.has_content = !one_in(draw, 4);
  shapes.gap_max = draw.element<std::int64_t>({0, 200, 2000, 20'000});

  const std::int64_t count = draw.uniform(1, 12);
  SimTime arrival;
  for (std::int64_t id = 0; id < count; ++id) {
    Request request = draw_request(draw, shapes, scenario.pool.block_size);
    request.id = id;
    if (!one_in(draw, 3)) arrival += SimDuration(draw.uniform(0, shapes.gap_max));
    request.arrival = arrival;
    scenario.requests.push_back(std::move(request));
  }
  return scenario;
}

void squeeze(Scenario& scenario) {
  std::int64_t blocks = 1;
  for (Request& request : scenario.requests) {
    const std::int64_t shared = request.prompt_tokens.value() / scenario.pool.block_size.value();
    const std::int64_t own =
        blocks_for(request.final_context(), scenario.pool.block_size).value() - shared;
    blocks = std::max(blocks, shared + own * request.width);
    request.arrival = SimTime(request.arrival.value() / 10);
  }
  scenario.options.batching = Batching::kContinuous;
  scenario.options.scheduler.max_sequences = 16;
  scenario.options.scheduler.max_batched_tokens = TokenCount(64);
  scenario.options.scheduler.watermark = TokenCount(0);
  scenario.pool.slots =
      (BlockCount(blocks) + scenario.pool.null_blocks).value() * scenario.pool.block_size;
  if (scenario.options.scheduler.preemption == PreemptionRule::kSwap) {
    scenario.options.scheduler.host_pool = scenario.pool.slots;
  }
}

}  // namespace

Scenario draw_scenario(Draw& draw) {
  return draw.composite("scenario", [](Draw& parts) {
    using enum AllocatorKind;
    const AllocatorKind kind =
        parts.element({kContiguousMax, kContiguousPow2, kContiguousOracle, kPaged, kPaged, kPaged,
                       kPrefixCached, kPrefixCached, kPrefixCached, kPrefixCached});
    return draw_of_kind(parts, kind);
  });
}

Scenario draw_scenario(Draw& draw, AllocatorKind kind) {
  return draw.composite("scenario", [kind](Draw& parts) { return draw_of_kind(parts, kind); });
}

Scenario draw_squeezed_scenario(Draw& draw, AllocatorKind kind) {
  return draw.composite("scenario", [kind](Draw& parts) {
    Scenario scenario = draw_of_kind(parts, kind);
    squeeze(scenario);
    return scenario;
  });
}

}  // namespace recto::sim
