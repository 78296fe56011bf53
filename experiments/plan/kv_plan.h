#pragma once

// Capacity of a KV cache: how a card's memory is split, how many requests of a given length fit,
// and the cost of reserving the longest context for each request. Arithmetic only; the simulator
// has the effects of traffic.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/gpu_table.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "core/status.h"
#include "core/units.h"

namespace recto::experiments {

// Prompt and output of one request. A plan counts both; a run needs one slot less, because nothing
// is computed from the last token.
struct RequestLength {
  TokenCount prompt;
  TokenCount output;

  TokenCount total() const { return prompt + output; }
};

struct KvPlanOptions {
  ModelSpec model;
  GpuSpec gpu;
  PoolOptions pool;
  // KV memory of each rank; nullopt: derived from the card.
  std::optional<ByteCount> kv_memory;
  // The tokens that a contiguous cache reserves per request; nullopt: the model's longest context.
  std::optional<TokenCount> max_length;
  std::vector<RequestLength> lengths;
  std::vector<TokenCount> mean_lengths;
  std::int64_t batch = 1;  // requests of each length whose bytes are reported
};

// Requests of exactly one length.
struct LengthFit {
  RequestLength length;
  BlockCount blocks;            // of one request
  TokenCount tail_slots;        // empty at the end of its last block
  std::int64_t paged = 0;       // requests that fit, in blocks
  std::int64_t contiguous = 0;  // requests that fit, each in max_length slots
  ByteCount batch_bytes;  // K and V of `batch` requests, tails left out, on all ranks together
};

// One way to give slots to requests of a mean length.
struct MeanFit {
  std::int64_t requests = 0;
  double held_slots = 0;    // by one request, on average
  double waste_share = 0;   // the share of held_slots left empty at their end
  double pool_share = 0;    // waste of all requests that fit, as a share of the pool
  double memory_share = 0;  // the same of the card's memory; 0 if only KV memory is known
};

// Requests of varying lengths, whose last block is half empty on average: it lacks
// (block_size - 1) / 2 tokens.
struct MeanLengthFit {
  TokenCount mean_length;
  MeanFit contiguous;
  MeanFit paged;
};

struct KvPlan {
  PoolSize pool;
  ByteCount bytes_per_token;  // on one rank
  TokenCount max_length;
  std::vector<LengthFit> lengths;
  std::vector<MeanLengthFit> mean_lengths;
};

// Invalid input for impossible options, and if the model does not fit: the message then has the
// figures, and the smallest tensor parallelism with which the model fits.
Result<KvPlan> make_kv_plan(const KvPlanOptions& options);

// Contiguous reservations of max_length that fit.
std::int64_t contiguous_requests(const KvPlan& plan);

// The longest mean length for which at least `requests` requests fit in blocks; nullopt if not even
// requests of one token fit. A claim about batch sizes holds up to this length.
std::optional<TokenCount> longest_mean_length(const KvPlan& plan, TokenCount block_size,
                                              std::int64_t requests);

// The shortest mean length from which on blocks leave less than `share` of the card's memory (or of
// the pool, if only KV memory is known) empty. `share` in (0, 1].
TokenCount shortest_mean_length(const KvPlan& plan, const KvPlanOptions& options, double share);

}  // namespace recto::experiments
