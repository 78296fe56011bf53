#include "experiments/support/resolved_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/contract.h"
#include "experiments/support/model_file.h"
#include "experiments/support/request_source.h"
#include "sim/allocators/contiguous_allocator.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::experiments {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

Status bad(std::string message) { return Status::invalid_input(std::move(message)); }

// The KV memory of each card, in slots. It is divided into blocks later, so that pools of all block
// sizes are equally large and show their remainder.
Status size_from_card(ResolvedRun& run) {
  PoolOptions options{.shape = run.shape, .memory_utilization = run.config.utilization};
  options.shape.block_size = TokenCount(1);
  const Result<PoolSize> pool = size_pool(run.model, run.gpu, options);
  if (!pool.is_ok()) {
    std::string message = pool.status().message();
    const auto ranks = smallest_tensor_parallel(run.model, run.gpu, options, TokenCount(1));
    if (ranks.is_ok())
      message += fmt::format("; the fewest cards that do are --tp {}", ranks.value());
    return bad(message);
  }
  run.pool_slots = pool.value().slots;
  run.gpu_pool = pool.value();
  return Status::ok();
}

const char* pool_flag(const RunConfig& config) {
  if (config.pool_gib) return "--pool-gib";
  if (config.pool_slots) return "--pool-slots";
  return config.pool_blocks ? "--pool-blocks" : "--gpu";
}

Status resolve_pool(ResolvedRun& run) {
  const RunConfig& config = run.config;
  const int given =
      (config.pool_gib ? 1 : 0) + (config.pool_slots ? 1 : 0) + (config.pool_blocks ? 1 : 0);
  if (given > 1)
    return bad("--pool-gib, --pool-slots, --pool-blocks: expected at most one of them");
  if (config.pool_slots) {
    run.pool_slots = TokenCount(*config.pool_slots);
  } else if (config.pool_blocks) {
    run.pool_slots = TokenCount(*config.pool_blocks * config.block_size);
  } else if (config.pool_gib) {
    const auto bytes = static_cast<std::int64_t>(std::floor(*config.pool_gib * kGib));
    run.pool_slots = TokenCount(bytes / kv_bytes_per_token(run.model, run.shape).value());
  } else {
    RECTO_RETURN_IF_ERROR(size_from_card(run));
  }
  const std::int64_t slots = run.pool_slots.value();
  if (slots < 1 || slots > kMaxPoolSlots) {
    return bad(fmt::format("{}: found {} slots; expected 1 to {}", pool_flag(config), slots,
                           kMaxPoolSlots));
  }
  if (is_contiguous(config)) return Status::ok();
  const std::int64_t blocks = slots / config.block_size;
  if (blocks <= config.null_blocks) {
    return bad(
        fmt::format("--block-size: a pool of {} slots has {} blocks of {}; expected more "
                    "than the {} of --null-blocks",
                    slots, blocks, config.block_size, config.null_blocks));
  }
  return Status::ok();
}

// The simulator does not model which slots of shared blocks are outside the window. So a model's
// own window applies only if no blocks are shared; a requested window is refused otherwise.
std::int64_t window_of(const ResolvedRun& run) {
  if (run.config.window) return *run.config.window;
  if (run.config.allocator == "prefix-cached" || run.decoding.width > 1) return 0;
  return run.model.sliding_window ? run.model.sliding_window->value() : 0;
}

Status check_combinations(const ResolvedRun& run) {
  const RunConfig& config = run.config;
  const std::int32_t width = run.decoding.width;
  if (config.batching == "static" && width > 1) {
    return bad(
        fmt::format("--batching static: found --decoding {}; expected single", config.decoding));
  }
  if (const std::int64_t window = window_of(run); window > 0) {
    const std::string found = fmt::format("--window {}", window);
    if (config.allocator == "prefix-cached") {
      return bad(found +
                 ": expected no --allocator prefix-cached with a sliding window; "
                 "--window 0 turns it off");
    }
    if (width > 1) {
      return bad(found +
                 ": expected --decoding single with a sliding window; --window 0 turns "
                 "it off");
    }
    if (window == 1) return bad("--window: found 1; expected 0 or at least 2");
  }
  if (config.batching == "continuous" && config.max_batched_tokens < config.max_sequences) {
    return bad(
        fmt::format("--max-batched-tokens: found {}; expected at least the {} of "
                    "--max-sequences",
                    config.max_batched_tokens, config.max_sequences));
  }
  if (config.manager == "production" && is_contiguous(config)) {
    return bad(
        fmt::format("--manager production: found --allocator {}; expected paged or prefix-cached, "
                    "the allocators that have blocks",
                    config.allocator));
  }
  if (width > config.max_sequences) {
    return bad(fmt::format("--decoding {}: expected at most the {} sequences of --max-sequences",
                           config.decoding, config.max_sequences));
  }
  if (config.beam_switch_probability > 0 && run.decoding.kind != sim::Decoding::kBeam) {
    return bad(fmt::format("--beam-switch-probability: found --decoding {}; expected beam:WIDTH",
                           config.decoding));
  }
  return Status::ok();
}

SimDuration rounded_ns(double ns) {
  return SimDuration(static_cast<std::int64_t>(std::floor(ns + 0.5)));
}

TokenCount watermark_of(const ResolvedRun& run) {
  // Whole blocks, as in vLLM's block manager.
  const std::int64_t unit = run.shape.block_size.value();
  const double units = static_cast<double>(run.pool_slots.value() / unit) * run.config.watermark;
  return TokenCount(static_cast<std::int64_t>(std::floor(units)) * unit);
}

void fill_options(ResolvedRun& run) {
  const RunConfig& config = run.config;
  sim::SimulationOptions& options = run.options;
  options.batching =
      config.batching == "static" ? sim::Batching::kStatic : sim::Batching::kContinuous;
  options.kv_bytes_per_token = kv_bytes_per_token(run.model, run.shape);
  options.host_bandwidth_bytes_per_s =
      config.host_bandwidth ? *config.host_bandwidth * 1e9 : run.gpu.host_link_bytes_per_s;
  if (config.ttft_limit_ms) options.limits.ttft = rounded_ns(*config.ttft_limit_ms * 1e6);
  if (config.tpot_limit_ms) options.limits.tpot = rounded_ns(*config.tpot_limit_ms * 1e6);
  options.metrics.series_window = rounded_ns(config.series_window_s * 1e9);

  sim::SchedulerOptions& scheduler = options.scheduler;
  scheduler.max_sequences = config.max_sequences;
  // Static batches have no such limit, but the simulator's bounds apply.
  scheduler.max_batched_tokens = TokenCount(
      config.batching == "static" ? std::max(config.max_batched_tokens, config.max_sequences)
                                  : config.max_batched_tokens);
  scheduler.prefill =
      config.prefill == "whole" ? sim::PrefillRule::kWhole : sim::PrefillRule::kChunked;
  scheduler.admission = config.admission == "first-chunk" ? sim::AdmissionRule::kFirstChunk
                                                          : sim::AdmissionRule::kWholePrompt;
  scheduler.watermark = watermark_of(run);
  scheduler.preemption =
      config.preemption == "swap" ? sim::PreemptionRule::kSwap : sim::PreemptionRule::kRecompute;
  // Every rank swaps its own share of each token.
  const double host_bytes = std::floor(config.host_gib * kGib / static_cast<double>(config.tp));
  scheduler.host_pool =
      TokenCount(static_cast<std::int64_t>(host_bytes) / options.kv_bytes_per_token.value());
  scheduler.max_length = config.max_length ? TokenCount(*config.max_length) : run.model.max_context;
  scheduler.window = TokenCount(window_of(run));
  scheduler.beam_switch_probability = config.beam_switch_probability;
  scheduler.seed = static_cast<std::uint64_t>(config.seed);
}

using AllocatorResult = Result<std::unique_ptr<sim::Allocator>>;

AllocatorResult make_managed(const ResolvedRun& run) {
  const sim::SchedulerOptions& scheduler = run.options.scheduler;
  const bool is_caching = run.config.allocator == "prefix-cached";
  auto allocator = verify::ManagedAllocator::create(
      {.pool_slots = run.pool_slots,
       .block_size = TokenCount(run.config.block_size),
       .null_blocks = BlockCount(run.config.null_blocks),
       .caching = is_caching ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff,
       .host_pool = scheduler.host_pool,
       .watermark = scheduler.watermark,
       .max_sequences = scheduler.max_sequences,
       .max_length = scheduler.max_length,
       .max_width = run.decoding.width});
  RECTO_RETURN_IF_ERROR(allocator.status().in("--manager production"));
  return std::unique_ptr<sim::Allocator>(std::move(allocator).value());
}

std::unique_ptr<sim::Allocator> make_contiguous(const ResolvedRun& run) {
  const RunConfig& config = run.config;
  sim::ContiguousOptions contiguous{.pool_slots = run.pool_slots,
                                    .max_length = run.options.scheduler.max_length};
  if (config.placement == "first-fit") contiguous.placement = sim::PlacementKind::kFirstFit;
  if (config.placement == "best-fit") contiguous.placement = sim::PlacementKind::kBestFit;
  if (config.allocator == "contiguous-pow2") contiguous.rule = sim::ReservationRule::kPow2;
  if (config.allocator == "contiguous-oracle") contiguous.rule = sim::ReservationRule::kOracle;
  return std::make_unique<sim::ContiguousAllocator>(contiguous);
}

}  // namespace

Result<ResolvedRun> resolve(const RunConfig& config) {
  ResolvedRun run;
  run.config = config;
  const Result<ModelSpec> model = model_of(config);
  RECTO_RETURN_IF_ERROR(model.status());
  run.model = model.value();
  const Result<GpuSpec> gpu = find_gpu(config.gpu);
  RECTO_RETURN_IF_ERROR(gpu.status().in("--gpu"));
  run.gpu = gpu.value();
  run.shape = {.block_size = TokenCount(is_contiguous(config) ? 1 : config.block_size),
               .kv_element_bytes = config.kv_element_bytes,
               .tensor_parallel = config.tp};
  // Block size and element size are within their ranges already.
  RECTO_RETURN_IF_ERROR(check_kv_shape(run.model, run.shape).in("--tp"));
  const auto decoding = sim::parse_decoding(config.decoding);
  RECTO_RETURN_IF_ERROR(decoding.status().in("--decoding"));
  run.decoding = decoding.value();
  RECTO_RETURN_IF_ERROR(resolve_pool(run));
  RECTO_RETURN_IF_ERROR(check_combinations(run));
  fill_options(run);
  const sim::SchedulerOptions& scheduler = run.options.scheduler;
  if (scheduler.preemption == sim::PreemptionRule::kSwap && config.host_gib > 0 &&
      scheduler.host_pool < TokenCount(1)) {
    return bad(fmt::format("--host-gib: found {}, which holds no token; expected {} bytes and more",
                           config.host_gib, run.options.kv_bytes_per_token.value() * config.tp));
  }
  return run;
}

Status validate(const RunConfig& config) {
  const Result<ResolvedRun> run = resolve(config);
  RECTO_RETURN_IF_ERROR(run.status());
  RECTO_RETURN_IF_ERROR(make_time_model(run.value()).status());
  return open_source(config).status();
}

AllocatorResult make_allocator(const ResolvedRun& run) {
  const RunConfig& config = run.config;
  if (is_contiguous(config)) return make_contiguous(run);
  if (config.manager == "production") return make_managed(run);
  const sim::PagedOptions paged{.pool_slots = run.pool_slots,
                                .block_size = TokenCount(config.block_size),
                                .null_blocks = BlockCount(config.null_blocks)};
  if (config.allocator == "prefix-cached") {
    return std::unique_ptr<sim::Allocator>(std::make_unique<sim::PrefixCachedAllocator>(paged));
  }
  return std::unique_ptr<sim::Allocator>(std::make_unique<sim::PagedAllocator>(paged));
}

}  // namespace recto::experiments
