#include "verify/kernels/host_api/growing_batch.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "core/contract.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

GrowingBatch::Pool::Pool(const KvPoolShape& shape) {
  const KvPoolElements elements = count_pool_elements(shape).value();
  // NaN in every type.
  k.assign(as_size(elements.k * element_bytes(shape.type)), std::byte{0xff});
  v.assign(as_size(elements.v * element_bytes(shape.type)), std::byte{0xff});
  view = dense_kv_view(shape, k.data(), v.data()).value();
}

GrowingBatch::GrowingBatch(const GrowingShape& shape, std::uint64_t seed)
    : shape_(shape),
      random_(RandomStream(seed)),
      pool_(shape.pool),
      reference_pool_(shape.pool),
      free_blocks_(as_size(shape.pool.num_blocks)),
      table_(as_size(shape.num_seqs * shape.max_blocks), -1),
      cached_length_(as_size(shape.num_seqs), -1),
      context_length_(as_size(shape.num_seqs), 0),
      query_start_(as_size(shape.num_seqs + 1)) {
  const std::int64_t bytes = shape.num_seqs * element_bytes(shape.pool.type);
  q_.resize(as_size(bytes * shape.num_q_heads * shape.pool.head_dim_k));
  k_.resize(as_size(bytes * shape.pool.num_kv_heads * shape.pool.head_dim_k));
  v_.resize(as_size(bytes * shape.pool.num_kv_heads * shape.pool.head_dim_v));
  std::iota(free_blocks_.begin(), free_blocks_.end(), 0);
  std::iota(query_start_.begin(), query_start_.end(), 0);
}

RowsView GrowingBatch::rows(const std::vector<std::byte>& memory, std::int64_t heads,
                            std::int64_t dim) const {
  return {.data = memory.data(),
          .type = shape_.pool.type,
          .num_rows = shape_.num_seqs,
          .num_heads = heads,
          .head_dim = dim,
          .row_stride = heads * dim,
          .head_stride = dim};
}

BlockTableView GrowingBatch::block_table() const {
  return {.data = table_.data(),
          .num_seqs = shape_.num_seqs,
          .max_blocks = shape_.max_blocks,
          .row_stride = shape_.max_blocks};
}

void GrowingBatch::draw(std::vector<std::byte>& memory) {
  const auto bytes = as_size(element_bytes(shape_.pool.type));
  for (std::size_t at = 0; at < memory.size(); at += bytes) {
    const std::uint32_t code = reference::encode(2 * random_.next_unit() - 1, shape_.pool.type);
    std::memcpy(memory.data() + at, &code, bytes);
  }
}

void GrowingBatch::lengthen(std::int64_t sequence) {
  const std::size_t s = as_size(sequence);
  ++cached_length_[s];
  context_length_[s] = cached_length_[s] + 1;
  if (cached_length_[s] % shape_.pool.block_size != 0) return;
  RECTO_CHECK(!free_blocks_.empty());
  const std::size_t picked = random_.next_below(free_blocks_.size());
  std::swap(free_blocks_[picked], free_blocks_.back());
  table_[s * as_size(shape_.max_blocks) + as_size(cached_length_[s] / shape_.pool.block_size)] =
      free_blocks_.back();
  free_blocks_.pop_back();
}

void GrowingBatch::draw_tokens() {
  ++step_;
  draw(q_);
  draw(k_);
  draw(v_);
  for (std::int64_t s = 0; s < shape_.num_seqs; ++s) {
    if (step_ >= s * shape_.stagger) lengthen(s);
  }
}

PagedAttentionInputs GrowingBatch::append_by_reference(const AttentionOptions& options) {
  std::vector<std::int64_t> slots;
  for (std::size_t s = 0; s < cached_length_.size(); ++s) {
    const std::int64_t position = cached_length_[s];
    if (position < 0) {
      slots.push_back(-1);
      continue;
    }
    const std::int32_t block =
        table_[s * as_size(shape_.max_blocks) + as_size(position / shape_.pool.block_size)];
    slots.push_back(block * shape_.pool.block_size + position % shape_.pool.block_size);
  }
  reference::write_kv(
      {.k = new_k(), .v = new_v(), .slot_mapping = slots, .kv = reference_pool_.view});
  return {.q = q(),
          .kv = as_const(reference_pool_.view),
          .block_table = block_table(),
          .query_start = query_start_,
          .context_length = context_length_,
          .options = options};
}

bool GrowingBatch::has_equal_pools() const {
  return pool_.k == reference_pool_.k && pool_.v == reference_pool_.v;
}

}  // namespace recto::verify
