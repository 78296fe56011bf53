// Blocks, and slots within a block, beyond 2^31 and 2^32 elements, in pools of 4 GiB and more of
// which few pages are touched. Kernels that write, copy, gather and attend there give the
// reference's results, and those of a small pool, bit for bit.

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/kernel_cache_ops.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 64;
// In elements. An offset that loses its upper half leads at most this far before the pool: a wrong
// access must hit mapped memory there instead of ending the program.
constexpr std::int64_t kBefore = std::int64_t{1} << 31;

// Distances in elements, and the blocks in use.
struct Spread {
  std::int64_t num_blocks;
  std::int64_t block_stride;
  std::optional<std::int64_t> slot_stride;  // else the layout's own
  std::array<std::int32_t, 3> ids;          // two of the first context, one of the second
  std::array<std::int32_t, 2> free_ids;     // destinations for copies of the first and the last id
};

// More than 2^32 elements.
constexpr Spread kManyBlocks = {.num_blocks = 4100,
                                .block_stride = std::int64_t{1} << 20,
                                .slot_stride = {},
                                .ids = {4099, 2049, 3},
                                .free_ids = {7, 4098}};
// The slots of a block, from the eighth on, lie beyond 2^31.
constexpr Spread kWideSlots = {.num_blocks = 5,
                               .block_stride = std::int64_t{1} << 32,
                               .slot_stride = std::int64_t{1} << 28,
                               .ids = {4, 2, 0},
                               .free_ids = {1, 3}};
constexpr Spread kSmall = {.num_blocks = 3,
                           .block_stride = std::int64_t{1} << 20,
                           .slot_stride = {},
                           .ids = {0, 1, 2},
                           .free_ids = {}};

// Zeros that take no memory until they are written.
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

// The strides of a layout, except that blocks are far apart.
class SparsePool {
 public:
  SparsePool(KvLayout layout, ElementType type, const Spread& spread)
      : before_bytes_(kBefore * element_bytes(type)),
        k_(before_bytes_ + spread.num_blocks * spread.block_stride * element_bytes(type)),
        v_(before_bytes_ + spread.num_blocks * spread.block_stride * element_bytes(type)),
        view_(dense_kv_view({.layout = layout,
                             .type = type,
                             .num_blocks = spread.num_blocks,
                             .block_size = kBlockSize,
                             .num_kv_heads = kHeads,
                             .head_dim_k = kHeadDim,
                             .head_dim_v = kHeadDim},
                            static_cast<std::byte*>(k_.data()) + before_bytes_,
                            static_cast<std::byte*>(v_.data()) + before_bytes_)
                  .value()) {
    for (MutableKvTensorView* tensor : {&view_.k, &view_.v}) {
      tensor->block_stride = spread.block_stride;
      tensor->slot_stride = spread.slot_stride.value_or(tensor->slot_stride);
    }
  }

  const MutablePagedKvView& view() const { return view_; }

 private:
  std::int64_t before_bytes_;
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
  explicit Contexts(const std::array<std::int32_t, 3>& ids) : table{ids[0], ids[1], ids[2], -1} {}

  std::vector<std::int32_t> table;  // [2, 2]
  std::vector<std::int32_t> lengths = {20, 9};
  std::vector<std::int64_t> starts = {0, 20};

  BlockTableView table_view() const { return {table.data(), 2, 2, 2}; }
};

// Both contexts of a pool, read by `gather`.
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

PagedAttentionInputs decode_of(const RowsView& q, const SparsePool& pool,
                               const Contexts& contexts) {
  static const std::vector<std::int32_t> kQueryStart = {0, 1, 2};
  return {.q = q,
          .kv = as_const(pool.view()),
          .block_table = contexts.table_view(),
          .query_start = kQueryStart,
          .context_length = contexts.lengths};
}

std::vector<std::uint64_t> attended(const Backend& backend, const PagedAttentionInputs& inputs) {
  const auto result = result_of(backend.call(inputs));
  std::vector<std::uint64_t> bits;
  for (const double value : result.out) bits.push_back(std::bit_cast<std::uint64_t>(value));
  for (const double value : result.lse_ln) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// Compares attention to the same contexts in a sparse pool and in a small one.
void check_attended(const SparsePool& pool, const Contexts& contexts, const SparsePool& small,
                    ElementType q_type) {
  reference::RowPool q = rows_of_units(q_type, 2, 2 * kHeads, 7);
  std::vector<Backend> backends = kernel_backends({});
  for (const std::int64_t split_size : {8, 1000}) {
    backends.push_back(gqa_decode_backend({}, split_size));
    backends.push_back(tma_decode_backend({}, split_size));
  }
  backends.push_back(paged_prefill_backend({}));
  const Contexts small_contexts(kSmall.ids);
  const PagedAttentionInputs inputs = decode_of(q.const_view(), pool, contexts);
  const PagedAttentionInputs small_inputs = decode_of(q.const_view(), small, small_contexts);
  int compared = 0;
  for (const Backend& backend : backends) {
    if (backend.why_unsupported(inputs) || backend.why_unsupported(small_inputs)) continue;
    INFO(backend.name);
    CHECK(attended(backend, inputs) == attended(backend, small_inputs));
    ++compared;
  }
  CHECK(compared > 0);
}

// Writes all tokens of both contexts except the last of each, which are appended.
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

void check(const Spread& spread, KvLayout layout, ElementType row_type, ElementType cached) {
  const SparsePool by_kernels(layout, cached, spread);
  const SparsePool by_reference(layout, cached, spread);
  const Contexts contexts(spread.ids);
  write_contexts({}, by_kernels, by_reference, contexts, row_type);
  const auto by_reference_gather = [](const GatherInputs& inputs) { reference::gather_kv(inputs); };
  const auto by_kernel_gather = [](const GatherInputs& inputs) { gather_kv_by_kernel({}, inputs); };
  const auto expected = gathered(by_reference.view(), contexts, by_reference_gather);
  CHECK(gathered(by_kernels.view(), contexts, by_reference_gather) == expected);
  CHECK(gathered(by_kernels.view(), contexts, by_kernel_gather) == expected);

  const auto [first, second, third] = spread.ids;
  const auto [new_first, new_third] = spread.free_ids;
  copy_blocks_by_kernel({}, by_kernels.view(),
                        std::vector<BlockPair>{{third, new_third}, {first, new_first}});
  const Contexts copied({new_first, second, new_third});
  CHECK(gathered(by_kernels.view(), copied, by_kernel_gather) == expected);

  const SparsePool small(layout, cached, kSmall);
  swap_blocks_by_kernel({}, as_const(by_kernels.view()), small.view(),
                        std::vector<BlockPair>{{first, 0}, {second, 1}, {new_third, 2}});
  CHECK(gathered(small.view(), Contexts(kSmall.ids), by_reference_gather) == expected);
  check_attended(by_kernels, contexts, small, is_fp8(cached) ? row_type : cached);
}

void check_layouts(const Spread& spread, const std::vector<KvLayout>& layouts) {
  for (const KvLayout layout : layouts) {
    INFO(layout);
    check(spread, layout, ElementType::kBf16, ElementType::kBf16);
    check(spread, layout, ElementType::kFp16, ElementType::kE4m3);
  }
}

TEST_CASE("blocks beyond 2^31 elements are addressed correctly") {
  check_layouts(kManyBlocks, {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked});
}

// Slots of a packed V lie side by side, whatever the strides.
TEST_CASE("slots beyond 2^31 elements of a block are addressed correctly") {
  check_layouts(kWideSlots, {KvLayout::kTokenMajor, KvLayout::kHeadMajor});
}

}  // namespace
}  // namespace recto::verify
