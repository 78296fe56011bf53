#include "core/kv_sizing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/contract.h"

namespace recto {
namespace {

constexpr std::int64_t kMaxBlockSize = 1 << 20;

Status expected(const std::string& field, std::int64_t value, const std::string& what) {
  return Status::invalid_input(field + " = " + std::to_string(value) + "; expected " + what);
}

Status check_pool(const ModelSpec& model, const GpuSpec& gpu, const PoolOptions& options) {
  RECTO_RETURN_IF_ERROR(check_kv_shape(model, options.shape));
  RECTO_RETURN_IF_ERROR(check_weight_fields(model));
  RECTO_RETURN_IF_ERROR(check_gpu_memory(gpu));
  if (!(options.memory_utilization > 0 && options.memory_utilization <= 1)) {
    return Status::invalid_input(
        "memory utilization = " + std::to_string(options.memory_utilization) +
        "; expected more than 0, at most 1");
  }
  if (options.reserve < ByteCount(0)) {
    return expected("reserve bytes", options.reserve.value(), "0 or more");
  }
  return Status::ok();
}

}  // namespace

Status check_kv_shape(const ModelSpec& model, const KvShape& shape) {
  RECTO_RETURN_IF_ERROR(check_kv_fields(model));
  const std::int64_t ranks = shape.tensor_parallel;
  if (shape.block_size < TokenCount(1) || shape.block_size > TokenCount(kMaxBlockSize)) {
    return expected("block size", shape.block_size.value(),
                    "1 to " + std::to_string(kMaxBlockSize) + " tokens");
  }
  if (shape.kv_element_bytes < 1 || shape.kv_element_bytes > 8) {
    return expected("KV element bytes", shape.kv_element_bytes, "1 to 8");
  }
  if (ranks < 1 || model.num_q_heads % ranks != 0) {
    return expected(
        "tensor parallelism", ranks,
        "a divisor of the " + std::to_string(model.num_q_heads) + " query heads of " + model.name);
  }
  if (model.num_kv_heads % ranks != 0 && ranks % model.num_kv_heads != 0) {
    return expected("tensor parallelism", ranks,
                    "a divisor or a multiple of the " + std::to_string(model.num_kv_heads) +
                        " KV heads of " + model.name);
  }
  constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  const std::int64_t most_tokens = kMostBytes / kv_bytes_per_token(model, shape).value();
  if (shape.block_size > TokenCount(most_tokens)) {
    return expected("block size", shape.block_size.value(),
                    "at most " + std::to_string(most_tokens) + " tokens of " + model.name +
                        ", so that the bytes of a block can be counted");
  }
  return Status::ok();
}

std::int64_t kv_heads_per_rank(const ModelSpec& model, const KvShape& shape) {
  return std::max<std::int64_t>(1, model.num_kv_heads / shape.tensor_parallel);
}

ByteCount kv_bytes_per_token(const ModelSpec& model, const KvShape& shape) {
  return ByteCount(2 * model.num_layers * kv_heads_per_rank(model, shape) * model.head_dim *
                   shape.kv_element_bytes);
}

ByteCount kv_bytes_per_block(const ModelSpec& model, const KvShape& shape) {
  return kv_bytes_per_token(model, shape) * shape.block_size.value();
}

BlockCount blocks_in(ByteCount kv_memory, const ModelSpec& model, const KvShape& shape) {
  RECTO_CHECK_GE(kv_memory, ByteCount(0));
  return BlockCount(kv_memory.value() / kv_bytes_per_block(model, shape).value());
}

Result<PoolSize> size_pool(const ModelSpec& model, const GpuSpec& gpu, const PoolOptions& options) {
  RECTO_RETURN_IF_ERROR(check_pool(model, gpu, options));
  PoolSize pool;
  pool.tensor_parallel = options.shape.tensor_parallel;
  pool.block_bytes = kv_bytes_per_block(model, options.shape);
  pool.reserve_bytes = options.reserve;
  // Norms and biases, which every rank holds in full, are below 0.1 % of the weights.
  pool.weight_bytes =
      ByteCount(ceil_div(weight_bytes(model).value(), options.shape.tensor_parallel));
  const ByteCount usable(static_cast<std::int64_t>(
      std::floor(static_cast<double>(gpu.memory.value()) * options.memory_utilization)));
  pool.unused_bytes = gpu.memory - usable;
  // If either alone exceeds what is usable, nothing is left; otherwise the sum cannot overflow.
  const bool is_full = std::max(pool.weight_bytes, pool.reserve_bytes) > usable;
  const ByteCount room = is_full ? ByteCount(0) : usable - pool.weight_bytes - pool.reserve_bytes;
  if (room < pool.block_bytes) {
    return Status::exhausted(
        model.name + " on " + std::to_string(pool.tensor_parallel) + " x " + gpu.name + ": of " +
        std::to_string(usable.value()) + " usable bytes per card, weights take " +
        std::to_string(pool.weight_bytes.value()) + " and the reserve " +
        std::to_string(pool.reserve_bytes.value()) + ", which leaves no room for a KV block of " +
        std::to_string(pool.block_bytes.value()));
  }
  pool.blocks = blocks_in(room, model, options.shape);
  pool.slots = TokenCount(pool.blocks.value() * options.shape.block_size.value());
  pool.pool_bytes = pool.block_bytes * pool.blocks.value();
  pool.remainder_bytes = room - pool.pool_bytes;
  return pool;
}

Result<std::int64_t> smallest_tensor_parallel(const ModelSpec& model, const GpuSpec& gpu,
                                              const PoolOptions& options, TokenCount min_slots) {
  PoolOptions tried = options;
  tried.shape.tensor_parallel = 1;
  RECTO_RETURN_IF_ERROR(check_pool(model, gpu, tried));
  for (std::int64_t ranks = 1; ranks <= model.num_q_heads; ++ranks) {
    tried.shape.tensor_parallel = ranks;
    if (!check_kv_shape(model, tried.shape).is_ok()) continue;
    const Result<PoolSize> pool = size_pool(model, gpu, tried);
    if (pool.is_ok() && pool.value().slots >= min_slots) return ranks;
  }
  return Status::exhausted(model.name + " with " + std::to_string(min_slots.value()) +
                           " KV slots does not fit on any number of " + gpu.name + " up to its " +
                           std::to_string(model.num_q_heads) + " query heads");
}

}  // namespace recto
