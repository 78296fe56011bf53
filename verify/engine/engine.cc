#include "verify/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/contract.h"

namespace recto::verify {
namespace {

CacheFault cache_fault(EngineFault fault) {
  if (fault == EngineFault::kDroppedCopy) return CacheFault::kCopy;
  if (fault == EngineFault::kDroppedSwapIn) return CacheFault::kSwapIn;
  return CacheFault::kNone;
}

std::optional<DecodeGraphOptions> graph_options(const EngineOptions& options) {
  if (options.graphs == StepGraphs::kOff) return std::nullopt;
  return DecodeGraphOptions{.max_length = options.max_length,
                            .kernel = options.decode_kernel,
                            .split_size = options.split_size,
                            .fault = options.fault == EngineFault::kStaleGraph
                                         ? GraphFault::kStaleLengths
                                         : GraphFault::kNone};
}

sim::SchedulerOptions scheduler_options(const EngineOptions& options) {
  sim::SchedulerOptions rules;
  rules.max_sequences = options.max_sequences;
  rules.max_batched_tokens = TokenCount(options.max_batched_tokens);
  rules.admission = options.admission;
  rules.preemption = options.preemption;
  rules.host_pool = TokenCount(options.host_blocks * options.block_size);
  rules.max_length = TokenCount(options.max_length);
  rules.beam_switch_probability = 1;  // see engine_cache.h
  return rules;
}

sim::Request scheduled(const GenerationRequest& request) {
  auto content = std::make_shared<sim::TokenContent>();
  content->prompt_token_ids = request.prompt;
  return {.id = request.id,
          .arrival = SimTime(request.arrival_step),
          .prompt_tokens = TokenCount(std::ssize(request.prompt)),
          .output_tokens = TokenCount(request.output_tokens),
          .decoding = request.decoding,
          .width = request.width,
          .content = std::move(content)};
}

}  // namespace

Engine::Engine(const ModelWeights& weights, const EngineOptions& options)
    : options_(options),
      model_(weights),
      layers_(weights.shape.layers),
      store_(weights.shape, options_.rounding,
             {.layout = options.layout,
              .num_blocks = options.num_blocks,
              .host_blocks = options.host_blocks,
              .block_size = options.block_size,
              .decode_kernel = options.decode_kernel,
              .split_size = options.split_size,
              .graphs = graph_options(options),
              .how = options.how}) {}

void Engine::on_admitted(const sim::Group& group, SimTime) {
  if (group.phase != sim::GroupPhase::kPrefilling) {
    tell(group.request.id, "is back from the host");
    return;
  }
  tell(group.request.id, fmt::format("is admitted; {} of {} tokens are cached",
                                     group.prefill_context, group.prefill_target));
  run_.counts.hit_tokens += group.prefill_context;
}

void Engine::on_preempted(const sim::Group& group, sim::PreemptionKind kind, SimTime) {
  if (kind == sim::PreemptionKind::kSwap) {
    ++run_.counts.swaps;
    tell(group.request.id, "gives way: to the host");
    return;
  }
  ++run_.counts.recomputes;
  jobs_.at(group.request.id).forget_logits();
  tell(group.request.id, "gives way: to be computed again");
}

CacheMoves Engine::moves() {
  return {.copied =
              [this](std::span<const cache::BlockCopy> copies) {
                run_.counts.copied_blocks += std::ssize(copies);
                for (const cache::BlockCopy& copy : copies) {
                  tell(-1, fmt::format("block {} is copied to {}", copy.source.value(),
                                       copy.destination.value()));
                }
              },
          .swapped_out =
              [this](std::span<const cache::SwapCopy> copies) {
                run_.counts.swapped_blocks += std::ssize(copies);
                tell(-1, fmt::format("{} blocks go to the host", copies.size()));
              },
          .swapped_in =
              [this](std::span<const cache::SwapCopy> copies) {
                run_.counts.swapped_blocks += std::ssize(copies);
                tell(-1, fmt::format("{} blocks come back", copies.size()));
              }};
}

Status Engine::make_cache(const std::vector<GenerationRequest>& requests) {
  ManagedOptions managed;
  managed.pool_slots = TokenCount(options_.num_blocks * options_.block_size);
  managed.block_size = TokenCount(options_.block_size);
  managed.caching = options_.caching;
  managed.host_pool = TokenCount(options_.host_blocks * options_.block_size);
  managed.max_sequences = options_.max_sequences;
  managed.max_length = TokenCount(options_.max_length);
  for (const GenerationRequest& request : requests) {
    managed.max_width = std::max(managed.max_width, request.width);
    // Room for all members is requested as if for one sequence; waiting sequences count, too.
    managed.max_sequences += request.width;
  }
  auto cache = EngineCache::create(managed, store_, moves(), cache_fault(options_.fault));
  RECTO_RETURN_IF_ERROR(cache.status());
  cache_ = std::move(cache).value();
  scheduler_ = std::make_unique<sim::ContinuousScheduler>(scheduler_options(options_), *cache_,
                                                          counters_, this);
  return Status::ok();
}

Result<EngineRun> Engine::run(const std::vector<GenerationRequest>& requests) {
  if (const auto why = store_.why_unsupported()) return Status::invalid_input("model: " + *why);
  RECTO_RETURN_IF_ERROR(make_cache(requests));
  std::size_t arrived = 0;
  for (;; ++now_) {
    for (; arrived < requests.size() && requests[arrived].arrival_step <= now_; ++arrived) {
      jobs_.emplace(requests[arrived].id, requests[arrived]);
      scheduler_->enqueue(scheduled(requests[arrived]), SimTime(now_));
      if (rejected_) {
        return Status::invalid_input(fmt::format(
            "request {}: can never be served; expected a pool, a length and a number of sequences "
            "that it fits into alone",
            *rejected_));
      }
    }
    const sim::StepPlan::Kind kind = scheduler_->plan(SimTime(now_)).kind;
    if (kind == sim::StepPlan::Kind::kIdle) {
      if (arrived == requests.size()) break;
      continue;
    }
    if (kind == sim::StepPlan::Kind::kStep) {
      compute_step();
    } else {
      scheduler_->complete(SimTime(now_));
    }
  }
  for (const auto& [id, job] : jobs_) {
    RECTO_CHECK(job.is_finished());
    run_.texts.emplace(id, job.result());
  }
  run_.counts.graphs = store_.captured_graphs();
  return std::move(run_);
}

void Engine::compute_step() {
  std::vector<EnginePart> parts = this->parts();
  note(parts);
  std::vector<EnginePart*> single;
  std::vector<EnginePart*> several;
  for (EnginePart& part : parts) {
    // A graph takes drafts, too.
    const bool has_graph = options_.graphs == StepGraphs::kReplayed && part.shape.decodes();
    const bool is_single = part.shape.rows == 1 || has_graph;
    (is_single && options_.calls == StepCalls::kApart ? single : several).push_back(&part);
  }
  if (!single.empty()) compute(single);
  if (!several.empty()) compute(several);
  const std::vector<BeamBranching> branchings = choose(parts);
  const std::map<std::int64_t, std::int64_t> kept = settle_drafts(parts);
  cache_->begin_completion();
  scheduler_->complete(SimTime(now_));
  cache_->end_completion();
  for (const auto& [request, drafts] : kept) scheduler_->gain(request, drafts, SimTime(now_));
  go_on(branchings);
}

Result<EngineRun> run_engine(const ModelWeights& weights,
                             const std::vector<GenerationRequest>& requests,
                             const EngineOptions& options) {
  RECTO_RETURN_IF_ERROR(check_shape(weights.shape));
  RECTO_RETURN_IF_ERROR(check_engine(weights.shape, requests, options));
  return Engine(weights, options).run(requests);
}

}  // namespace recto::verify
