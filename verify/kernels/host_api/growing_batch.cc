#include "verify/kernels/host_api/growing_batch.h"

#include <numeric>
#include <utility>

#include "core/contract.h"
#include "reference/kv_cache_ops.h"
#include "verify/cases/poison.h"

namespace recto::verify {
namespace {

std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

// Sequences without a token.
BatchLayout layout_of(const GrowingShape& shape) {
  const KvPoolShape& pool = shape.pool;
  return {.q = dense_rows<const void*>(nullptr, pool.type, shape.num_seqs, shape.num_q_heads,
                                       pool.head_dim_k),
          .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value()),
          .sequences = std::vector<BatchSequence>(as_size(shape.num_seqs)),
          .table_size = {.max_blocks = shape.max_blocks},
          .fill = kNanByte};
}

}  // namespace

GrowingBatch::GrowingBatch(const GrowingShape& shape, std::uint64_t seed)
    : shape_(shape),
      random_(RandomStream(seed)),
      batch_(layout_of(shape)),
      reference_pools_(batch_.pools),
      free_blocks_(as_size(shape.pool.num_blocks)),
      cached_length_(as_size(shape.num_seqs), -1) {
  const std::int64_t bytes =
      shape.num_seqs * shape.pool.num_kv_heads * element_bytes(shape.pool.type);
  k_.resize(as_size(bytes * shape.pool.head_dim_k));
  v_.resize(as_size(bytes * shape.pool.head_dim_v));
  std::iota(free_blocks_.begin(), free_blocks_.end(), 0);
}

RowsView GrowingBatch::rows(const std::vector<std::byte>& memory, std::int64_t dim) const {
  return dense_rows<const void*>(memory.data(), shape_.pool.type, shape_.num_seqs,
                                 shape_.pool.num_kv_heads, dim);
}

void GrowingBatch::lengthen(std::int64_t sequence) {
  const std::size_t s = as_size(sequence);
  ++cached_length_[s];
  ++batch_.lists.context_length[s];
  if (cached_length_[s] % shape_.pool.block_size != 0) return;
  RECTO_CHECK(!free_blocks_.empty());
  const std::size_t picked = random_.next_below(free_blocks_.size());
  std::swap(free_blocks_[picked], free_blocks_.back());
  batch_.lists.block_table[as_size(sequence * shape_.max_blocks +
                                   cached_length_[s] / shape_.pool.block_size)] =
      free_blocks_.back();
  free_blocks_.pop_back();
}

void GrowingBatch::draw_tokens() {
  ++step_;
  for (std::vector<std::byte>* memory : {&batch_.q, &k_, &v_}) {
    fill_with_units(*memory, shape_.pool.type, random_);
  }
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
    const std::int32_t block = batch_.lists.block_table[s * as_size(shape_.max_blocks) +
                                                        as_size(position / shape_.pool.block_size)];
    slots.push_back(block * shape_.pool.block_size + position % shape_.pool.block_size);
  }
  PagedAttentionInputs inputs = batch_.inputs;
  const MutablePagedKvView kv = reference_pools_.over(inputs.kv);
  reference::write_kv({.k = new_k(), .v = new_v(), .slot_mapping = slots, .kv = kv});
  inputs.kv = as_const(kv);
  inputs.options = options;
  return inputs;
}

bool GrowingBatch::has_equal_pools() const {
  return batch_.pools.k == reference_pools_.k && batch_.pools.v == reference_pools_.v;
}

}  // namespace recto::verify
