#include "verify/distant_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/contract.h"
#include "core/units.h"
#include "verify/sparse_memory.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kReach = std::int64_t{1} << 32;  // elements, of the last block
// An offset that loses its upper half lies at most so many elements before the pool: it reads
// zeros, and does not end the program.
constexpr std::int64_t kBefore = std::int64_t{1} << 31;
constexpr std::int64_t kAlignment = 64;  // elements

}  // namespace

Result<std::unique_ptr<const DistantPools>> DistantPools::create(
    const PagedAttentionInputs& inputs) {
  std::unique_ptr<DistantPools> pools(new DistantPools(inputs));
  RECTO_RETURN_IF_ERROR(spread(pools->inputs_.kv.k, pools->mappings_[0]));
  RECTO_RETURN_IF_ERROR(spread(pools->inputs_.kv.v, pools->mappings_[1]));
  return std::unique_ptr<const DistantPools>(std::move(pools));
}

DistantPools::~DistantPools() {
  for (const Mapping& mapping : mappings_)
    if (mapping.data != nullptr) unmap_sparse_memory(mapping.data, mapping.bytes);
}

Status DistantPools::spread(KvTensorView& pool, Mapping& mapping) {
  RECTO_CHECK_GE(pool.num_blocks, 2);
  const std::int64_t element = element_bytes(pool.type);
  const auto block_bytes = static_cast<std::size_t>(pool.block_stride * element);
  const std::int64_t distance =
      (ceil_div(kReach, (pool.num_blocks - 1) * kAlignment) + 1) * kAlignment;
  const std::int64_t stride = std::max(pool.block_stride, distance);
  mapping.bytes = static_cast<std::size_t>((kBefore + pool.num_blocks * stride) * element);
  void* const data = map_sparse_memory(mapping.bytes);
  if (data == nullptr) {
    return Status::failed(
        fmt::format("address space for blocks beyond 2^31 elements: {}", std::strerror(errno)));
  }
  mapping.data = data;
  auto* const first = static_cast<std::byte*>(data) + kBefore * element;
  for (std::int64_t block = 0; block < pool.num_blocks; ++block) {
    std::memcpy(first + block * stride * element,
                static_cast<const std::byte*>(pool.data) + block * pool.block_stride * element,
                block_bytes);
  }
  pool.data = first;
  pool.block_stride = stride;
  return Status::ok();
}

}  // namespace recto::verify
