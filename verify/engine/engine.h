#pragma once

// The engine of one run: it takes requests through the simulator's scheduler, the production block
// manager and the kernels, one step at a time. Callers use engine_run.h.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/scheduling/continuous_scheduler.h"
#include "verify/engine/engine_job.h"
#include "verify/engine/engine_run.h"
#include "verify/engine/host_model.h"

namespace recto::verify {

// One sequence's part of a step.
struct EnginePart {
  EngineJob* job = nullptr;
  sim::SequenceId sequence;
  SequenceStep shape;
  std::vector<Token> tokens;  // [rows]
  std::vector<Token> drafts;  // of these, the last ones
  bool ends_text = false;     // its row before the drafts has the logits of the next token
  bool is_shifted = false;
  std::vector<reference::Vector> logits;  // of that row and the drafts
};

// Beams that branch once the scheduler has completed the step.
struct BeamBranching {
  std::int64_t request = 0;
  std::vector<std::int32_t> parent_of;
  TokenCount context;
};

class Engine final : public sim::SchedulerObserver {
 public:
  // `weights` must outlive the engine.
  Engine(const ModelWeights& weights, const EngineOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // May be called once.
  Result<EngineRun> run(const std::vector<GenerationRequest>& requests);

 private:
  void on_rejected(const sim::Request& request, SimTime) override { rejected_ = request.id; }
  void on_admitted(const sim::Group& group, SimTime) override;
  void on_preempted(const sim::Group& group, sim::PreemptionKind kind, SimTime) override;
  void on_finished(const sim::Group& group, SimTime) override {
    tell(group.request.id, "is finished");
  }

  Status make_cache(const std::vector<GenerationRequest>& requests);
  CacheMoves moves();
  void tell(std::int64_t request, std::string text) {
    run_.events.push_back({.step = now_, .request = request, .text = std::move(text)});
  }

  void compute_step();
  std::vector<EnginePart> parts();
  EnginePart part(const sim::Group& group, std::size_t member, std::int64_t rows);
  void add_drafts(const sim::Group& group, EnginePart& part);
  void note(const std::vector<EnginePart>& parts);
  StepRows rows_of(std::span<EnginePart* const> parts) const;
  bool replays(std::span<EnginePart* const> parts);
  void compute(std::span<EnginePart* const> parts);
  std::vector<BeamBranching> choose(std::vector<EnginePart>& parts);
  std::map<std::int64_t, std::int64_t> settle_drafts(std::vector<EnginePart>& parts);
  std::int64_t right_drafts(const EnginePart& part) const;
  void keep_drafts(EnginePart& part, std::int64_t kept);
  void go_on(const std::vector<BeamBranching>& branchings);

  const EngineOptions options_;
  const HostModel model_;
  const std::int64_t layers_;
  KvStore store_;
  std::unique_ptr<EngineCache> cache_;
  sim::Counters counters_;
  std::unique_ptr<sim::ContinuousScheduler> scheduler_;
  std::map<std::int64_t, EngineJob> jobs_;  // by request
  std::int64_t now_ = 0;                    // steps
  std::optional<std::int64_t> rejected_;
  EngineRun run_;
};

}  // namespace recto::verify
