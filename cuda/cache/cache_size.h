#pragma once

// How many blocks of a cache a card has room for.
//
//   CacheSizeRequest request;
//   request.model = find_model("llama-3.1-8b").value();
//   request.gpu = find_gpu("a100-80").value();
//   const CacheSize size = size_cache(request).value();
//   options.num_blocks = size.num_blocks;

#include <cstdint>
#include <optional>

#include "core/gpu_table.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "core/status.h"
#include "core/units.h"

namespace recto::cache {

struct CacheSizeRequest {
  ModelSpec model = {};
  GpuSpec gpu = {};
  PoolOptions pool = {};                  // block size, element bytes, ranks, utilisation, reserve
  std::optional<ByteCount> weights = {};  // on each rank; default: what the model's data say
  // Layer groups that have tables of their own, with equally many layers each: a block then holds
  // tokens for the layers of one group. 1, or a divisor of the model's layers.
  std::int32_t num_groups = 1;
  ByteCount host_memory{0};  // for swapped sequences, on each rank
};

struct CacheSize {
  BlockCount num_blocks{};
  BlockCount host_blocks{};
  ByteCount block_bytes{};      // on one rank
  ByteCount remainder_bytes{};  // of the card: less than a block, or beyond 2^31 - 1 blocks
  // The length of a single sequence that fills the pool, in all groups.
  TokenCount max_tokens{};
};

// Invalid input for an impossible request, or if a required figure of the model or the card is
// missing; exhausted, with the figures, if there is no room for one block in each group. O(1).
Result<CacheSize> size_cache(const CacheSizeRequest& request);

}  // namespace recto::cache
