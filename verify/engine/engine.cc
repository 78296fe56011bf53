#include "verify/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "core/contract.h"
#include "sim/scheduling/continuous_scheduler.h"
#include "verify/engine/engine_batch.h"

namespace recto::verify {
namespace {

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

sim::Request scheduled(const GenerationRequest& request, std::size_t id) {
  auto content = std::make_shared<sim::TokenContent>();
  content->prompt_token_ids = request.prompt;
  return {.id = static_cast<std::int64_t>(id),
          .arrival = SimTime(request.arrival_step),
          .prompt_tokens = TokenCount(std::ssize(request.prompt)),
          .output_tokens = TokenCount(request.output_tokens),
          .decoding = request.decoding,
          .width = request.width,
          .content = std::move(content)};
}

class Engine final : public sim::SchedulerObserver {
 public:
  // `weights` and `reader` must outlive the engine.
  Engine(const ModelWeights& weights, const EngineOptions& options, const TableReader& reader)
      : weights_(weights), options_(options), reader_(reader), store_(weights.shape, options) {}

  // May be called once.
  Result<EngineRun> run(const std::vector<GenerationRequest>& requests) {
    if (const auto why = store_.why_unsupported()) return Status::invalid_input("model: " + *why);
    auto cache = EngineCache::create(options_, requests, store_, record_);
    RECTO_RETURN_IF_ERROR(cache.status());
    cache_ = std::move(cache).value();
    std::int64_t sequences = 0;
    for (const GenerationRequest& request : requests) sequences += request.width;
    batch_ = std::make_unique<EngineBatch>(weights_, options_, *cache_, store_,
                                           std::min(sequences, options_.max_sequences));
    scheduler_ = std::make_unique<sim::ContinuousScheduler>(scheduler_options(options_), *cache_,
                                                            counters_, this);
    for (;; ++record_.now) {
      RECTO_RETURN_IF_ERROR(enqueue_arrived(requests));
      const sim::StepPlan::Kind kind = scheduler_->plan(now()).kind;
      const bool is_idle = kind == sim::StepPlan::Kind::kIdle;
      if (is_idle && jobs_.size() == requests.size()) break;
      if (is_idle) continue;
      if (kind == sim::StepPlan::Kind::kStep) {
        compute_step();
      } else {
        scheduler_->complete(now());
      }
    }
    for (const EngineJob& job : jobs_) {
      RECTO_CHECK(job.is_finished());
      record_.run.texts.push_back(job.result());
    }
    counts().graphs = store_.captured_graphs();
    return std::move(record_.run);
  }

 private:
  SimTime now() const { return SimTime(record_.now); }
  EngineCounts& counts() { return record_.run.counts; }
  EngineJob& job_of(const sim::SequenceGroup& group) {
    return jobs_[static_cast<std::size_t>(group.request.id)];
  }

  void on_rejected(const sim::Request& request, SimTime) override { rejected_ = request.id; }

  void on_admitted(const sim::SequenceGroup& group, SimTime) override {
    if (group.phase != sim::SequenceGroupPhase::kPrefilling) {
      record_.tell(group.request.id, "is back from the host");
      return;
    }
    record_.tell(group.request.id, fmt::format("is admitted; {} of {} tokens are cached",
                                               group.prefill_context, group.prefill_target));
    counts().hit_tokens += group.prefill_context;
  }

  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind, SimTime) override {
    const bool is_swap = kind == sim::PreemptionKind::kSwap;
    (is_swap ? counts().swaps : counts().recomputes) += 1;
    if (!is_swap) job_of(group).forget_logits();
    record_.tell(group.request.id,
                 is_swap ? "is preempted: swapped to the host" : "is preempted: to be recomputed");
  }

  void on_finished(const sim::SequenceGroup& group, SimTime) override {
    record_.tell(group.request.id, "is finished");
  }

  // Invalid input if the scheduler rejects a request.
  Status enqueue_arrived(const std::vector<GenerationRequest>& requests) {
    for (std::size_t next = jobs_.size(); next < requests.size(); ++next) {
      const GenerationRequest& request = requests[next];
      if (request.arrival_step > record_.now) break;
      jobs_.emplace_back(request);
      scheduler_->enqueue(scheduled(request, next), now());
      if (!rejected_) continue;
      return Status::invalid_input(
          fmt::format("request {}: can never be served; expected a pool, a maximum length and a "
                      "number of sequences that hold it alone",
                      *rejected_));
    }
    return Status::ok();
  }

  void compute_step() {
    std::vector<EnginePart> parts = this->parts();
    batch_->compute(parts, counts());
    note(parts);
    for (EnginePart& part : parts) {
      if (part.ends_text) choose(part);
    }
    const std::map<std::int64_t, std::int64_t> kept = settle_drafts(parts);
    cache_->begin_completion();
    scheduler_->complete(now());
    cache_->end_completion();
    for (const auto& [request, drafts] : kept) scheduler_->gain(request, drafts, now());
    for (const EnginePart& part : parts) {
      if (part.parent_of.empty() || options_.fault == EngineFault::kWrongParent) continue;
      cache_->branch(part.group->members, part.parent_of,
                     TokenCount(part.shape.context + part.shape.rows));
    }
  }

  std::vector<EnginePart> parts() {
    std::vector<EnginePart> parts;
    for (const sim::SequenceGroup* group : scheduler_->holders()) {
      for (std::size_t member = 0; member < group->members.size(); ++member) {
        const bool decodes = group->phase == sim::SequenceGroupPhase::kDecoding;
        const bool prefills =
            group->phase == sim::SequenceGroupPhase::kPrefilling && member == group->prefill_member;
        const std::int64_t rows = decodes ? 1 : prefills ? group->planned_chunk : 0;
        if (rows > 0) parts.push_back(part(*group, member, rows));
      }
    }
    return parts;
  }

  EnginePart part(const sim::SequenceGroup& group, std::size_t member, std::int64_t rows) {
    EnginePart part{.group = &group,
                    .job = &job_of(group),
                    .sequence = group.members[member],
                    .shape = {.request = group.request.id,
                              .member = static_cast<std::int32_t>(member),
                              .context = scheduler_->context(group, member),
                              .rows = rows}};
    const std::span<const Token> text = part.job->text(part.shape.member);
    const std::int64_t end = part.shape.context + rows;
    RECTO_CHECK_LE(end, std::ssize(text));
    part.ends_text = end == std::ssize(text);
    part.tokens.assign(text.begin() + part.shape.context, text.begin() + end);
    if (group.phase == sim::SequenceGroupPhase::kDecoding) {
      RECTO_CHECK(part.ends_text);
      add_drafts(part);
    } else {
      counts().chunks += part.ends_text ? 0 : 1;
      part.is_shifted = options_.fault == EngineFault::kShiftedPosition && group.preemptions > 0;
    }
    return part;
  }

  // Adds as many drafts as the request has outputs left and the pool has room for.
  void add_drafts(EnginePart& part) {
    const sim::Request& request = part.group->request;
    if (options_.draft_tokens == 0 || request.decoding == sim::Decoding::kBeam) return;
    const std::int64_t left = part.group->final_context() - part.shape.context - 1;
    const std::vector<Token> drafts =
        part.job->drafts(part.shape.member, std::min(left, options_.draft_tokens));
    if (drafts.empty()) return;
    const TokenCount room = cache_->append_drafts(part.sequence, TokenCount(part.shape.context),
                                                  TokenCount(1 + std::ssize(drafts)));
    part.shape.drafts = room.value() - 1;
    part.shape.rows += part.shape.drafts;
    part.tokens.insert(part.tokens.end(), drafts.begin(), drafts.begin() + part.shape.drafts);
    counts().drafted += part.shape.drafts;
  }

  void note(const std::vector<EnginePart>& parts) {
    EngineStep& step = record_.run.steps.emplace_back();
    step.step = record_.now;
    std::set<BlockId> blocks;
    for (const EnginePart& part : parts) {
      const std::span<const BlockId> table = cache_->block_table(part.sequence);
      SequenceStep& sequence = step.sequences.emplace_back(part.shape);
      sequence.num_blocks = std::ssize(table);
      if (reader_) reader_(sequence, table);
      blocks.insert(table.begin(), table.end());
      counts().rows += sequence.rows;
      counts().shared_blocks += sequence.num_blocks;
    }
    step.distinct_blocks = std::ssize(blocks);
    counts().shared_blocks -= step.distinct_blocks;
    ++counts().steps;
  }

  // Chooses the next tokens of the part's request once all its sequences have logits for them.
  void choose(EnginePart& part) {
    EngineJob& job = *part.job;
    const bool is_first = job.outputs() == 0;
    if (!job.tell(part.shape.member, part.logits.front())) return;
    const std::vector<std::int32_t> parent_of = job.choose();
    if (job.request().decoding != sim::Decoding::kBeam || is_first || job.is_finished()) return;
    part.parent_of = parent_of;
    for (std::size_t i = 0; i < parent_of.size(); ++i) {
      counts().beam_switches += parent_of[i] == static_cast<std::int32_t>(i) ? 0 : 1;
    }
  }

  // All sequences of a request have equal contexts, so they keep as many drafts as are right in all
  // of them. Returns the nonzero numbers by request.
  std::map<std::int64_t, std::int64_t> settle_drafts(std::vector<EnginePart>& parts) {
    std::map<std::int64_t, std::int64_t> kept;
    for (const EnginePart& part : parts) {
      const std::int64_t right = part.shape.drafts == 0 ? 0 : right_drafts(part);
      const auto [found, is_first] = kept.try_emplace(part.shape.request, right);
      if (!is_first) found->second = std::min(found->second, right);
    }
    for (EnginePart& part : parts) {
      if (part.shape.drafts > 0) keep_drafts(part, kept.at(part.shape.request));
    }
    std::erase_if(kept, [](const auto& each) { return each.second == 0; });
    return kept;
  }

  std::int64_t right_drafts(const EnginePart& part) const {
    if (options_.fault == EngineFault::kUncheckedDraft) {
      part.job->replace_last(part.shape.member, part.drafts().front());
    }
    const std::int64_t right =
        part.job->right_drafts(part.shape.member, part.drafts(), std::span(part.logits).subspan(1));
    const bool keeps_wrong = options_.fault == EngineFault::kRejectedDraft;
    return keeps_wrong ? std::min(right + 1, part.shape.drafts) : right;
  }

  // Keeps K and V of the first `kept` drafts, appends the tokens that follow from them, and rolls
  // back the other drafts.
  void keep_drafts(const EnginePart& part, std::int64_t kept) {
    counts().accepted += kept;
    counts().partial_rollbacks += kept > 0 && kept < part.shape.drafts ? 1 : 0;
    part.job->go_on(part.shape.member,
                    std::span(part.logits).subspan(1, static_cast<std::size_t>(kept)));
    const bool loses_one = options_.fault == EngineFault::kLostDraft && kept > 0;
    cache_->take_back(part.sequence, TokenCount(part.shape.context + 1),
                      TokenCount(loses_one ? kept - 1 : kept));
    record_.tell(part.shape.request, fmt::format("keeps {} of {} drafts", kept, part.shape.drafts));
  }

  const ModelWeights& weights_;
  const EngineOptions options_;
  const TableReader& reader_;
  KvStore store_;
  EngineRecord record_;
  std::unique_ptr<EngineCache> cache_;
  std::unique_ptr<EngineBatch> batch_;
  sim::Counters counters_;
  std::unique_ptr<sim::ContinuousScheduler> scheduler_;
  std::vector<EngineJob> jobs_;  // of requests that have arrived
  std::optional<std::int64_t> rejected_;
};

}  // namespace

Result<EngineRun> run_engine(const ModelWeights& weights,
                             const std::vector<GenerationRequest>& requests,
                             const EngineOptions& options, const TableReader& reader) {
  RECTO_RETURN_IF_ERROR(check_shape(weights.shape));
  RECTO_RETURN_IF_ERROR(check_engine(weights.shape, requests, options));
  return Engine(weights, options, reader).run(requests);
}

}  // namespace recto::verify
