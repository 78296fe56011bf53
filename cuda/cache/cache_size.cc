#include "cuda/cache/cache_size.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

Status expected(const std::string& field, std::int64_t value, const std::string& what) {
  return Status::invalid_input(message(field, " = ", value, "; expected ", what));
}

Status check_request(const CacheSizeRequest& request) {
  RECTO_RETURN_IF_ERROR(check_kv_shape(request.model, request.pool.shape));
  if (!request.weights) RECTO_RETURN_IF_ERROR(check_weight_fields(request.model));
  RECTO_RETURN_IF_ERROR(check_gpu_memory(request.gpu));
  const std::int64_t layers = request.model.num_layers;
  if (request.num_groups < 1 || layers % request.num_groups != 0) {
    return expected("number of groups", request.num_groups,
                    message("a divisor of the ", layers, " layers of ", request.model.name));
  }
  const double utilization = request.pool.memory_utilization;
  if (!(utilization > 0 && utilization <= 1)) {
    return Status::invalid_input("memory utilization = " + std::to_string(utilization) +
                                 "; expected more than 0, at most 1");
  }
  const std::int64_t weights = request.weights.value_or(ByteCount(0)).value();
  if (weights < 0) return expected("weight bytes", weights, "0 or more");
  const std::int64_t reserve = request.pool.reserve.value();
  if (reserve < 0) return expected("reserve bytes", reserve, "0 or more");
  const std::int64_t host = request.host_memory.value();
  return host < 0 ? expected("host memory bytes", host, "0 or more") : Status::ok();
}

// Block ids have 32 bits.
BlockCount blocks_within(std::int64_t bytes, ByteCount block) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return BlockCount(std::min(bytes / block.value(), kMost));
}

}  // namespace

Result<CacheSize> size_cache(const CacheSizeRequest& request) {
  RECTO_RETURN_IF_ERROR(check_request(request).in("cache size"));
  const KvShape& shape = request.pool.shape;
  const auto usable = static_cast<std::int64_t>(std::floor(
      static_cast<double>(request.gpu.memory.value()) * request.pool.memory_utilization));
  const std::int64_t weights =
      request.weights ? request.weights->value()
                      : ceil_div(weight_bytes(request.model).value(), shape.tensor_parallel);
  const std::int64_t reserve = request.pool.reserve.value();
  CacheSize size;
  size.block_bytes =
      ByteCount(kv_bytes_per_block(request.model, shape).value() / request.num_groups);
  // If weights or reserve alone exceed the usable memory, nothing is left; otherwise the sum fits.
  const std::int64_t room = std::max(weights, reserve) > usable ? -1 : usable - weights - reserve;
  if (room < size.block_bytes.value() * request.num_groups) {
    return Status::exhausted(message("cache size: ", request.model.name, " on ", request.gpu.name,
                                     ": of ", usable, " usable bytes, weights take ", weights,
                                     " and the reserve ", reserve, ", which leaves no room for ",
                                     request.num_groups, " blocks of ", size.block_bytes,
                                     ", one for each group"));
  }
  size.num_blocks = blocks_within(room, size.block_bytes);
  size.host_blocks = blocks_within(request.host_memory.value(), size.block_bytes);
  size.remainder_bytes = ByteCount(room - size.num_blocks.value() * size.block_bytes.value());
  size.max_tokens =
      TokenCount(size.num_blocks.value() / request.num_groups * shape.block_size.value());
  return size;
}

}  // namespace recto::cache
