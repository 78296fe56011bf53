#pragma once

// How far a KV cache goes: its split of a card's memory, how many requests of a length it holds,
// and what reserving the longest context for each request would cost instead. Arithmetic alone;
// what traffic does to it is for the simulator to say.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/gpu_table.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "core/status.h"
#include "core/units.h"

namespace recto::experiments {

// Prompt and output of one request. A plan counts both; a run gets by with one slot less, since
// nothing is computed from the last token.
struct RequestLength {
  TokenCount prompt;
  TokenCount output;

  TokenCount total() const { return prompt + output; }
};

struct KvPlanOptions {
  ModelSpec model;
  GpuSpec gpu;
  PoolOptions pool;
  // KV memory of each rank, where it is given instead of following from the card.
  std::optional<ByteCount> kv_memory;
  // What a contiguous cache reserves for each request; nullopt: the model's longest context.
  std::optional<TokenCount> max_length;
  std::vector<RequestLength> lengths;
  std::vector<TokenCount> mean_lengths;
  std::int64_t batch = 1;  // tell the bytes of so many requests of each length
};

// Requests of exactly one length.
struct LengthFit {
  RequestLength length;
  BlockCount blocks;            // of one request
  TokenCount tail_slots;        // empty at the end of its last block
  std::int64_t paged = 0;       // requests that fit, in blocks
  std::int64_t contiguous = 0;  // the same, each in max_length slots
  ByteCount batch_bytes;  // K and V of `batch` requests, tails left out, on all ranks together
};

// One way to give slots to requests of a mean length.
struct MeanFit {
  std::int64_t requests = 0;
  double held_slots = 0;    // by one request, on average
  double waste_share = 0;   // of them, what its end leaves empty
  double pool_share = 0;    // the same of all requests that fit, in the pool
  double memory_share = 0;  // and in the memory of the card; 0 where only KV memory is known
};

// Requests whose lengths are spread, so that a last block is half empty on average: it lacks
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

// Invalid input for impossible options, and also where the model does not fit: the message then
// has the figures, and the least tensor parallelism that does.
Result<KvPlan> make_kv_plan(const KvPlanOptions& options);

// Contiguous reservations of max_length that fit.
std::int64_t contiguous_requests(const KvPlan& plan);

// The longest mean length for which at least `requests` requests fit in blocks; nullopt if not
// even requests of one token do. The edges of a claim about batch sizes.
std::optional<TokenCount> longest_mean_length(const KvPlan& plan, TokenCount block_size,
                                              std::int64_t requests);

// The shortest mean length from which on blocks leave less than `share` of the card's memory (or
// of the pool, where only KV memory is known) empty. `share` in (0, 1].
TokenCount shortest_mean_length(const KvPlan& plan, const KvPlanOptions& options, double share);

}  // namespace recto::experiments
