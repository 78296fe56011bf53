// Blocks beyond 2^31 and 2^32 elements: pools of 4 GiB and more, of which few pages are ever
// touched. What kernels write, copy, gather and attend to there is what the reference leaves in
// such a pool, and what comes out of a small one, bit for bit.

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernel_backends.h"
#include "verify/kernel_cache_ops.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kBlockStride = std::int64_t{1} << 20;
constexpr std::int64_t kNumBlocks = 4100;  // 2^32 elements and some more

// Zeros that take no memory before they are written.
class SparseMemory {
 public:
  explicit SparseMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    RECTO_CHECK(data_ != MAP_FAILED);
  }
  ~SparseMemory() { munmap(data_, bytes_); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// The strides of a layout, but for blocks that are far apart.
class SparsePool {
 public:
  SparsePool(KvLayout layout, ElementType type, std::int64_t num_blocks)
      : k_(num_blocks * kBlockStride * element_bytes(type)),
        v_(num_blocks * kBlockStride * element_bytes(type)),
        view_(dense_kv_view({.layout = layout,
                             .type = type,
                             .num_blocks = num_blocks,
                             .block_size = kBlockSize,
                             .num_kv_heads = kHeads,
                             .head_dim_k = kHeadDim,
                             .head_dim_v = kHeadDim},
                            k_.data(), v_.data())
                  .value()) {
    view_.k.block_stride = kBlockStride;
    view_.v.block_stride = kBlockStride;
  }

  const MutablePagedKvView& view() const { return view_; }

 private:
  SparseMemory k_;
  SparseMemory v_;
  MutablePagedKvView view_;
};

// Rows of numbers up to 1.
reference::RowPool rows_of_units(ElementType type, std::int64_t num_rows, std::int64_t num_heads,
                                 std::uint64_t seed) {
  reference::RowPool rows(
      {.type = type, .num_rows = num_rows, .num_heads = num_heads, .head_dim = kHeadDim}, seed);
  RandomStream stream(seed);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::int64_t head = 0; head < num_heads; ++head) {
      for (std::int64_t dim = 0; dim < kHeadDim; ++dim) {
        rows.set_code(row, head, dim, reference::encode(2 * stream.next_unit() - 1, type));
      }
    }
  }
  return rows;
}

struct Contexts {
  std::vector<std::int32_t> table;  // [2, 2]
  std::vector<std::int32_t> lengths = {20, 9};
  std::vector<std::int64_t> starts = {0, 20};

  BlockTableView table_view() const { return {table.data(), 2, 2, 2}; }
};

// Both contexts of a pool, by whoever gathers.
template <typename Gather>
std::vector<std::byte> gathered(const MutablePagedKvView& kv, const Contexts& contexts,
                                const Gather& gather) {
  const reference::RowPoolShape shape = {
      .type = kv.k.type, .num_rows = 29, .num_heads = kHeads, .head_dim = kHeadDim};
  reference::RowPool k(shape, 1);
  reference::RowPool v(shape, 2);
  gather({.kv = as_const(kv),
          .block_table = contexts.table_view(),
          .context_length = contexts.lengths,
          .context_start = contexts.starts,
          .k = k.view(),
          .v = v.view()});
  std::vector<std::byte> bytes = k.bytes();
  bytes.insert(bytes.end(), v.bytes().begin(), v.bytes().end());
  return bytes;
}

std::vector<std::uint64_t> attended(const MutablePagedKvView& kv, const Contexts& contexts,
                                    ElementType q_type) {
  reference::RowPool q = rows_of_units(q_type, 2, 2 * kHeads, 7);
  const std::vector<std::int32_t> query_start = {0, 1, 2};
  std::vector<std::uint64_t> bits;
  std::vector<Backend> backends = kernel_backends({});
  for (const std::int64_t split_size : {8, 1000}) {
    backends.push_back(group_decode_backend({}, split_size));
    backends.push_back(bulk_decode_backend({}, split_size));
  }
  backends.push_back(paged_prefill_backend({}));
  for (const Backend& backend : backends) {
    const PagedAttentionInputs inputs = {.q = q.const_view(),
                                         .kv = as_const(kv),
                                         .block_table = contexts.table_view(),
                                         .query_start = query_start,
                                         .context_length = contexts.lengths};
    if (backend.why_unsupported(inputs)) continue;
    const auto result = backend.run(inputs);
    for (const double value : result.out) bits.push_back(std::bit_cast<std::uint64_t>(value));
    for (const double value : result.lse_ln) bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return bits;
}

// All tokens of both contexts but the last of each, which is appended.
void write_contexts(const KernelRun& how, const SparsePool& by_kernels,
                    const SparsePool& by_reference, const Contexts& contexts,
                    ElementType row_type) {
  reference::RowPool k = rows_of_units(row_type, 29, kHeads, 3);
  reference::RowPool v = rows_of_units(row_type, 29, kHeads, 4);
  std::vector<std::int64_t> slots;
  for (std::size_t seq = 0; seq < 2; ++seq) {
    for (std::int64_t token = 0; token < contexts.lengths[seq]; ++token) {
      const auto index = 2 * seq + static_cast<std::size_t>(token / kBlockSize);
      slots.push_back(contexts.table[index] * kBlockSize + token % kBlockSize);
    }
  }
  KvWriteInputs inputs = {.k = k.const_view(), .v = v.const_view(), .slot_mapping = slots};
  inputs.kv = by_reference.view();
  reference::write_kv(inputs);
  slots[19] = slots[28] = -1;
  inputs.kv = by_kernels.view();
  write_kv_by_kernel(how, inputs);
  std::vector<std::int32_t> cached_length = {19, 8};
  RowsView last_k = k.const_view();
  RowsView last_v = v.const_view();
  last_k.data =
      static_cast<const std::byte*>(last_k.data) + 19 * last_k.row_stride * element_bytes(row_type);
  last_v.data =
      static_cast<const std::byte*>(last_v.data) + 19 * last_v.row_stride * element_bytes(row_type);
  last_k.row_stride *= 9;
  last_v.row_stride *= 9;
  last_k.num_rows = last_v.num_rows = 2;
  append_kv_by_kernel(how, {.k = last_k,
                            .v = last_v,
                            .block_table = contexts.table_view(),
                            .cached_length = cached_length.data(),
                            .kv = by_kernels.view()});
}

void check_high_ids(KvLayout layout, ElementType row_type, ElementType cached) {
  const SparsePool by_kernels(layout, cached, kNumBlocks);
  const SparsePool by_reference(layout, cached, kNumBlocks);
  const Contexts contexts = {.table = {4099, 2049, 3, -1}};
  write_contexts({}, by_kernels, by_reference, contexts, row_type);
  const auto by_reference_gather = [](const GatherInputs& inputs) { reference::gather_kv(inputs); };
  const auto by_kernel_gather = [](const GatherInputs& inputs) { gather_kv_by_kernel({}, inputs); };
  const auto expected = gathered(by_reference.view(), contexts, by_reference_gather);
  CHECK(gathered(by_kernels.view(), contexts, by_reference_gather) == expected);
  CHECK(gathered(by_kernels.view(), contexts, by_kernel_gather) == expected);

  copy_blocks_by_kernel({}, by_kernels.view(), std::vector<BlockPair>{{3, 4098}, {4099, 7}});
  const Contexts copied = {.table = {7, 2049, 4098, -1}};
  CHECK(gathered(by_kernels.view(), copied, by_kernel_gather) == expected);

  const SparsePool small(layout, cached, 3);
  swap_blocks_by_kernel({}, as_const(by_kernels.view()), small.view(),
                        std::vector<BlockPair>{{4099, 0}, {2049, 1}, {4098, 2}});
  const Contexts swapped = {.table = {0, 1, 2, -1}};
  CHECK(gathered(small.view(), swapped, by_reference_gather) == expected);
  const ElementType q_type = is_fp8(cached) ? row_type : cached;
  CHECK(attended(by_kernels.view(), contexts, q_type) == attended(small.view(), swapped, q_type));
}

TEST_CASE("block ids beyond 2^31 elements lead where they should") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    INFO(layout);
    check_high_ids(layout, ElementType::kBf16, ElementType::kBf16);
    check_high_ids(layout, ElementType::kFp16, ElementType::kE4m3);
  }
}

}  // namespace
}  // namespace recto::verify
