#pragma once

// An engine that generates text. The simulator's scheduler decides which sequences compute what,
// the production block manager decides where K and V go, and kernels compute attention. This header
// has the engine's options, and the record of a run.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
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
  kDroppedCopy,      // copy-on-write of a shared block
  kDroppedSwapIn,    // blocks swapped in without their contents
  kShiftedPosition,  // off by one, for tokens recomputed after a preemption
  kStaleTable,       // a new block's table entry repeats the previous one
  kUncheckedDraft,   // the first draft is accepted as the next token
  kRejectedDraft,    // rolls back one too few: K and V of the first wrong draft stay
  kLostDraft,        // rolls back one too many: K and V of the last right draft are lost
  kWrongParent,      // beams keep their blocks, whichever text they continue
  kStaleGraph,       // a replayed graph has the lengths of its first step
};

struct EngineOptions {
  KvRounding rounding = {};
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t block_size = 16;
  std::int64_t num_blocks = 64;
  std::int64_t host_blocks = 0;
  cache::PrefixCaching caching = cache::PrefixCaching::kOff;
  std::int64_t max_sequences = 8;
  std::int64_t max_batched_tokens = 64;  // of a step: longer prompts are cut into chunks
  std::int64_t max_length = 256;         // of any context
  sim::AdmissionRule admission = sim::AdmissionRule::kFirstChunk;
  sim::PreemptionRule preemption = sim::PreemptionRule::kRecompute;
  std::int64_t draft_tokens = 0;  // drafts that each decoding sequence guesses from its own text
  StepCalls calls = StepCalls::kApart;
  StepGraphs graphs = StepGraphs::kOff;
  std::optional<AttentionKernel> decode_kernel = {};  // one row per sequence; default: by rule
  // Keys per split in decode. By default the plan's, at least 256; graphs have one split.
  std::optional<std::int64_t> split_size = {};
  EngineFault fault = EngineFault::kNone;
};

struct EngineEvent {
  std::int64_t step = 0;
  std::int64_t request = -1;  // -1: none
  std::string text;
};

// One sequence in one step.
struct SequenceStep {
  std::int64_t request = 0;
  std::int32_t member = 0;
  std::int64_t context = 0;  // tokens in the cache before the step
  std::int64_t rows = 0;     // rows computed in the step, drafts included
  std::int64_t drafts = 0;
  std::int64_t num_blocks = 0;  // entries of its table

  // True if the step computes only the sequence's last token, and perhaps drafts after it.
  bool decodes() const { return rows == 1 + drafts; }
};

struct EngineStep {
  std::int64_t step = 0;
  std::vector<SequenceStep> sequences;
  std::int64_t distinct_blocks = 0;  // in their tables, shared ones once
};

// Called in each step for each sequence, with its block table [num_blocks], valid during the call.
using TableReader = std::function<void(const SequenceStep&, std::span<const BlockId>)>;

struct EngineCounts {
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::int64_t chunks = 0;  // of prompts that were cut
  std::int64_t recomputes = 0;
  std::int64_t swaps = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t copied_blocks = 0;
  std::int64_t swapped_blocks = 0;  // in either direction
  std::int64_t shared_blocks = 0;   // table entries beyond a block's first, over all steps
  std::int64_t beam_switches = 0;   // beams that continued another beam's text
  std::int64_t graphs = 0;          // captured: one for each layer and size of batch
  std::int64_t replayed_steps = 0;  // batches that graphs computed
  std::int64_t replayed_drafts = 0;
  std::int64_t launched_steps = 0;  // batches with chunks of prompts, while graphs are on
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;           // drafts that were right and stayed
  std::int64_t partial_rollbacks = 0;  // sequences that kept some drafts and gave back others
};

struct EngineText {
  std::vector<std::vector<Token>> outputs;             // [width][output_tokens]
  std::vector<std::vector<reference::Vector>> logits;  // the same; beams: along their path
};

struct EngineRun {
  std::vector<EngineText> texts;  // [requests]
  std::vector<EngineEvent> events;
  std::vector<EngineStep> steps;
  EngineCounts counts;
};

// Invalid input if the requests or options cannot be served however full the pool is. Requests must
// be in the order of their arrival.
Status check_engine(const ModelShape& shape, const std::vector<GenerationRequest>& requests,
                    const EngineOptions& options);

// Serves all requests. Invalid input if the scheduler rejects a request, or if no kernel serves it.
Result<EngineRun> run_engine(const ModelWeights& weights,
                             const std::vector<GenerationRequest>& requests,
                             const EngineOptions& options, const TableReader& reader = {});

}  // namespace recto::verify
