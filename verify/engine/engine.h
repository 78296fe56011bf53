#pragma once

// An engine that generates: the simulator's scheduler decides who computes what, the production
// block manager where K and V go, and kernels compute attention. Its options, and what a run did.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/cache/cache_options.h"
#include "sim/scheduling/scheduler.h"
#include "verify/engine/model.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

// Whether one attention call serves both the decoding and the prefilling sequences of a step.
enum class StepCalls : std::uint8_t { kApart, kTogether };

// Whether batches of decoding sequences, including drafts, run as graphs, captured once and
// replayed.
enum class StepGraphs : std::uint8_t { kOff, kReplayed };

// A deliberate fault in a step, for tests of the law.
enum class EngineFault : std::uint8_t {
  kNone,
  kDroppedCopy,      // of a shared block that is written to
  kDroppedSwapIn,    // blocks come back from the host without their contents
  kShiftedPosition,  // of what is computed again after a preemption: by one
  kStaleTable,       // a new block's entry is that of the block before
  kUncheckedDraft,   // the first draft is taken for the next token
  kRejectedDraft,    // rolled back one too few: K and V of the first wrong draft stay
  kLostDraft,        // rolled back one too many: K and V of the last right draft are lost
  kWrongParent,      // beams keep their blocks, whichever text they continue
  kStaleGraph,       // a graph that is replayed has the lengths of its first step
};

struct EngineOptions {
  KvRounding rounding = {};
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t block_size = 16;
  std::int64_t num_blocks = 64;
  std::int64_t host_blocks = 0;
  cache::PrefixCaching caching = cache::PrefixCaching::kOff;
  std::int64_t max_sequences = 8;
  std::int64_t max_batched_tokens = 64;  // of a step: prompts beyond are cut into chunks
  std::int64_t max_length = 256;         // of any context
  sim::AdmissionRule admission = sim::AdmissionRule::kFirstChunk;
  sim::PreemptionRule preemption = sim::PreemptionRule::kRecompute;
  std::int64_t draft_tokens = 0;  // that each decoding sequence guesses from its own text
  StepCalls calls = StepCalls::kApart;
  StepGraphs graphs = StepGraphs::kOff;
  std::optional<AttentionKernel> decode_kernel = {};  // for one row a sequence; else by the rule
  // Keys, of decode; else the plan's, no less than 256, and one split in graphs.
  std::optional<std::int64_t> split_size = {};
  EngineFault fault = EngineFault::kNone;
};

struct EngineEvent {
  std::int64_t step = 0;
  std::int64_t request = -1;  // or none
  std::string text;
};

// One sequence in one step.
struct SequenceStep {
  std::int64_t request = 0;
  std::int32_t member = 0;
  std::int64_t context = 0;  // tokens in the cache before it
  std::int64_t rows = 0;     // computed in it; of these drafts
  std::int64_t drafts = 0;
  std::vector<std::int32_t> blocks = {};  // its table, as kernels read it

  // True if the step computes only its last token, and drafts after it.
  bool decodes() const { return rows == 1 + drafts; }
};

struct EngineStep {
  std::int64_t step = 0;
  std::vector<SequenceStep> sequences;
};

struct EngineCounts {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::int64_t chunks = 0;  // parts of prompts that were not whole
  std::int64_t recomputes = 0;
  std::int64_t swaps = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t copied_blocks = 0;
  std::int64_t swapped_blocks = 0;  // in either direction
  std::int64_t shared_blocks = 0;   // table entries beyond a block's first, over all steps
  std::int64_t beam_switches = 0;   // beams that went on from another one
  std::int64_t graphs = 0;          // captured: one for each layer and size of batch
  std::int64_t replayed_steps = 0;  // batches that were served by them
  std::int64_t replayed_drafts = 0;
  std::int64_t launched_steps = 0;  // batches with parts of prompts, though there are graphs
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;           // drafts that were the next tokens, and stayed
  std::int64_t partial_rollbacks = 0;  // of sequences that kept some drafts, and gave others back
};

struct EngineText {
  std::vector<std::vector<Token>> outputs;             // [width][output_tokens]
  std::vector<std::vector<reference::Vector>> logits;  // [width][output_tokens], of beams as a line
};

struct EngineRun {
  std::vector<EngineText> texts;  // [requests]
  std::vector<EngineEvent> events;
  std::vector<EngineStep> steps;
  EngineCounts counts;
};

// Invalid input for requests or options that cannot be served whatever is in the pool. Requests are
// in the order of their arrival.
Status check_engine(const ModelShape& shape, const std::vector<GenerationRequest>& requests,
                    const EngineOptions& options);

// Serves all requests. Invalid input if the scheduler rejects one or no kernel serves it.
Result<EngineRun> run_engine(const ModelWeights& weights,
                             const std::vector<GenerationRequest>& requests,
                             const EngineOptions& options);

}  // namespace recto::verify
