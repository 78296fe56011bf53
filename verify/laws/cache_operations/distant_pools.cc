#include "verify/laws/cache_operations/distant_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/contract.h"
#include "core/units.h"
#include "verify/cases/sparse_memory.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kReach = std::int64_t{1} << 32;  // elements, to the last block
// An offset that loses its upper half leads at most this many elements before the pool: a read
// there gives NaN, a write is detected, and neither ends the program.
constexpr std::int64_t kBefore = std::int64_t{1} << 31;
constexpr std::int64_t kAlignment = 64;  // elements

// Far enough apart that the last block's offset, truncated to 32 bits, leads to no block.
std::int64_t distance_of(std::int64_t num_blocks, std::int64_t block_stride) {
  const std::int64_t apart = ceil_div(kReach + block_stride, num_blocks - 1);
  return ceil_div(std::max(apart, 3 * block_stride), kAlignment) * kAlignment;
}

std::string stray_write(const char* name, const void* data, const FarBlocks& blocks) {
  const auto element = changed_narrow_offset(static_cast<const std::byte*>(data), blocks);
  return element ? stray_write_text(name, blocks, *element) + "\n" : "";
}

std::vector<std::byte> near_pool(const MutableKvTensorView& pool, const FarBlocks& blocks) {
  const auto bytes = static_cast<std::size_t>(blocks.elements * blocks.element_bytes);
  std::vector<std::byte> near(static_cast<std::size_t>(blocks.num_blocks) * bytes);
  const auto* const first = static_cast<const std::byte*>(pool.data);
  for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
    std::memcpy(near.data() + static_cast<std::size_t>(block) * bytes,
                first + block * blocks.stride * blocks.element_bytes, bytes);
  }
  return near;
}

}  // namespace

Result<std::unique_ptr<const DistantPools>> DistantPools::create(const PagedKvView& near) {
  std::unique_ptr<DistantPools> pools(new DistantPools);
  RECTO_RETURN_IF_ERROR(spread(near.k, pools->kv_.k, pools->mappings_[0]));
  RECTO_RETURN_IF_ERROR(spread(near.v, pools->kv_.v, pools->mappings_[1]));
  return std::unique_ptr<const DistantPools>(std::move(pools));
}

DistantPools::~DistantPools() {
  for (const Mapping& mapping : mappings_)
    if (mapping.data != nullptr) unmap_sparse_memory(mapping.data, mapping.bytes);
}

Status DistantPools::spread(const KvTensorView& near, MutableKvTensorView& pool, Mapping& mapping) {
  RECTO_CHECK_GE(near.num_blocks, 2);
  const FarBlocks blocks{.num_blocks = near.num_blocks,
                         .stride = distance_of(near.num_blocks, near.block_stride),
                         .elements = near.block_stride,
                         .element_bytes = element_bytes(near.type)};
  mapping.blocks = blocks;
  mapping.bytes = static_cast<std::size_t>(
      (kBefore + (blocks.num_blocks - 1) * blocks.stride + blocks.elements) * blocks.element_bytes);
  void* const data = map_sparse_memory(mapping.bytes);
  if (data == nullptr) {
    return Status::failed(
        fmt::format("address space for blocks beyond 2^31 elements: {}", std::strerror(errno)));
  }
  mapping.data = data;
  auto* const first = static_cast<std::byte*>(data) + kBefore * blocks.element_bytes;
  watch_narrow_offsets(first, blocks);
  const std::int64_t block_bytes = blocks.elements * blocks.element_bytes;
  for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
    std::memcpy(first + block * blocks.stride * blocks.element_bytes,
                static_cast<const std::byte*>(near.data) + block * block_bytes,
                static_cast<std::size_t>(block_bytes));
  }
  pool = view_over<void*>(near, first);
  pool.block_stride = blocks.stride;
  return Status::ok();
}

KvPools DistantPools::near_pools() const {
  return {.k = near_pool(kv_.k, mappings_[0].blocks), .v = near_pool(kv_.v, mappings_[1].blocks)};
}

std::string DistantPools::stray_writes() const {
  return stray_write("K", kv_.k.data, mappings_[0].blocks) +
         stray_write("V", kv_.v.data, mappings_[1].blocks);
}

LawCase with_high_ids(LawCase law_case) {
  std::int64_t blocks = 1;
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    blocks += sequence.context_length / law_case.placement.block_size + 1;
  law_case.placement.order = BlockOrder::kHighIds;
  law_case.placement.spare_blocks = std::max(law_case.placement.spare_blocks, blocks);
  return law_case;
}

}  // namespace recto::verify
