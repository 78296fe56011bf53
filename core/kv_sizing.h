#pragma once

// How much memory a model's KV cache takes, and how many blocks fit on one card, or on several with
// tensor parallelism.

#include <cstdint>

#include "core/gpu_table.h"
#include "core/model_table.h"
#include "core/status.h"
#include "core/units.h"

namespace recto {

// How the KV cache is divided into blocks and over the ranks of a tensor-parallel group.
struct KvShape {
  TokenCount block_size{16};
  std::int64_t kv_element_bytes = 2;
  std::int64_t tensor_parallel = 1;
};

// Invalid input if a field of the shape, or a field of the model that K and V depend on, is not
// positive, or if the heads do not divide over the ranks. The number of query heads must be a
// multiple of the ranks; so must that of KV heads, unless it is smaller than the number of ranks
// and divides it.
Status check_kv_shape(const ModelSpec& model, const KvShape& shape);

// The functions below require a shape that passes check_kv_shape.

// KV heads that each rank holds. With more ranks than KV heads they are replicated, one per rank.
std::int64_t kv_heads_per_rank(const ModelSpec& model, const KvShape& shape);

// Bytes of K and V of one token in all layers, on one rank.
ByteCount kv_bytes_per_token(const ModelSpec& model, const KvShape& shape);

// The same for the slots of one block.
ByteCount kv_bytes_per_block(const ModelSpec& model, const KvShape& shape);

// Memory that an engine needs besides weights and KV: CUDA context, libraries, activations. 1.34
// GiB is what vLLM logs for a mid-sized model (0.33 GiB non-torch and 1.01 GiB peak activation,
// github.com/vllm-project/vllm/issues/14452); it grows with the batched tokens and the vocabulary.
inline constexpr ByteCount kDefaultReserve{std::int64_t{1372} << 20};

struct PoolOptions {
  KvShape shape;
  double memory_utilization = 0.9;      // of the memory that the driver reports; vLLM's default
  ByteCount reserve = kDefaultReserve;  // per card
};

// How the memory of one rank is divided. Weights, reserve, blocks, remainder and unused memory
// (beyond memory_utilization) add up to the card's memory.
struct PoolSize {
  BlockCount blocks;
  TokenCount slots;
  ByteCount block_bytes;      // one block, on one rank
  ByteCount pool_bytes;       // all blocks, on one rank
  ByteCount remainder_bytes;  // less than a block
  ByteCount weight_bytes;     // on one rank: an even share, rounded up
  ByteCount reserve_bytes;
  ByteCount unused_bytes;  // beyond memory_utilization
  std::int64_t tensor_parallel = 1;
};

// Sizes the pool of `options.shape.tensor_parallel` such cards. Invalid input for impossible
// options, or if a figure of the model or the card is missing; exhausted, with the figures, if
// weights and reserve leave no room for one block.
Result<PoolSize> size_pool(const ModelSpec& model, const GpuSpec& gpu, const PoolOptions& options);

// The number of blocks that fit into `kv_memory` bytes on each rank. Ignores what else the card
// holds.
BlockCount blocks_in(ByteCount kv_memory, const ModelSpec& model, const KvShape& shape);

// The smallest number of ranks whose pool has room for `min_slots` tokens. Only tries counts over
// which the heads divide; ignores the shape's own tensor_parallel. Exhausted if even one rank per
// query head is not enough. O(query heads).
Result<std::int64_t> smallest_tensor_parallel(const ModelSpec& model, const GpuSpec& gpu,
                                              const PoolOptions& options, TokenCount min_slots);

}  // namespace recto
