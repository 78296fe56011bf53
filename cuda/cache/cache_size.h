#pragma once

// Computes how many blocks of a cache fit on a card.
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
  std::optional<ByteCount> weights = {};  // on each rank; default: from the model's data
  // Layer groups with their own tables and equally many layers each: a block then holds tokens for
  // the layers of one group. 1, or a divisor of the model's layers.
  std::int32_t num_groups = 1;
  ByteCount host_memory{0};  // for swapped sequences, on each rank
};

struct CacheSize {
  BlockCount num_blocks{};
  BlockCount host_blocks{};
  ByteCount block_bytes{};      // on one rank
  ByteCount remainder_bytes{};  // room left: less than a block, or beyond 2^31 - 1 blocks
  // The length of a single sequence that fills the pool in all groups.
  TokenCount max_tokens{};
};

// Invalid input for an impossible request, or if a required figure of the model or the card is
// missing; exhausted, with the figures, if there is no room for one block in each group. O(1).
Result<CacheSize> size_cache(const CacheSizeRequest& request);

}  // namespace recto::cache
