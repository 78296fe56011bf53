#include "cuda/bench/attention_batch.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/batch.h"
#include "core/random_stream.h"

namespace recto::bench {
namespace {

// Entries past a sequence's blocks are never read, and are no valid block.
BatchLists lists_of(const BatchShape& shape, std::uint64_t seed) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(shape.num_blocks()));
  std::iota(ids.begin(), ids.end(), 0);
  RandomStream random(seed);
  shuffle(ids, random);
  std::vector<BatchSequence> sequences;
  for (std::int64_t s = 0; s < shape.num_seqs; ++s) {
    sequences.push_back({shape.rows_per_seq, shape.length_of(s)});
  }
  give_blocks(sequences, shape.slots_per_block(), ids);
  return BatchLists(sequences);
}

template <typename T>
Status upload_all(const DeviceBytes& memory, const std::vector<T>& values) {
  return upload(memory, values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)));
}

}  // namespace

AttentionBatch::AttentionBatch(const BatchShape& shape, std::uint64_t seed)
    : shape_(shape),
      k_(shape.tensor_bytes()),
      v_(shape.tensor_bytes()),
      q_(shape.row_bytes()),
      out_(shape.row_bytes()),
      lse_ln_(4 * shape.num_rows() * shape.num_q_heads()),
      table_(4 * shape.num_seqs * shape.max_blocks()),
      query_start_(4 * (shape.num_seqs + 1)),
      context_length_(4 * shape.num_seqs),
      scale_(4),
      status_(fill(seed)) {}

Status AttentionBatch::fill(std::uint64_t seed) {
  for (const DeviceBytes* memory :
       {&k_, &v_, &q_, &out_, &lse_ln_, &table_, &query_start_, &context_length_, &scale_}) {
    if (memory->data() == nullptr) return too_little_memory(shape_.allocated_bytes());
  }
  fill_random(k_, shape_.kv_type, 3 * seed);
  fill_random(v_, shape_.kv_type, 3 * seed + 1);
  fill_random(q_, shape_.q_type, 3 * seed + 2);
  const BatchLists lists = lists_of(shape_, seed);
  RECTO_RETURN_IF_ERROR(upload_all(table_, lists.block_table));
  RECTO_RETURN_IF_ERROR(upload_all(query_start_, lists.query_start));
  RECTO_RETURN_IF_ERROR(upload_all(context_length_, lists.context_length));
  RECTO_RETURN_IF_ERROR(upload_all(scale_, std::vector<float>{0.5F}));
  return make_views();
}

Status AttentionBatch::make_views() {
  const Result<MutablePagedKvView> kv = dense_kv_view({.layout = shape_.layout,
                                                       .type = shape_.kv_type,
                                                       .num_blocks = shape_.num_blocks(),
                                                       .block_size = shape_.slots_per_block(),
                                                       .num_kv_heads = shape_.num_kv_heads,
                                                       .head_dim_k = shape_.head_dim,
                                                       .head_dim_v = shape_.head_dim},
                                                      k_.data(), v_.data());
  if (!kv.is_ok()) return kv.status();
  kv_ = kv.value();
  if (is_fp8(shape_.kv_type)) {
    const KvScale scale = {ScaleKind::kPerTensor, static_cast<const float*>(scale_.data())};
    kv_.k.scale = scale;
    kv_.v.scale = scale;
  }
  return Status::ok();
}

template <typename Pointer>
BasicRowsView<Pointer> AttentionBatch::rows(const DeviceBytes& memory) const {
  return dense_rows<Pointer>(memory.data(), shape_.q_type, shape_.num_rows(), shape_.num_q_heads(),
                             shape_.head_dim);
}

PagedAttentionInputs AttentionBatch::inputs() const {
  return {.q = rows<const void*>(q_),
          .kv = as_const(kv_),
          .block_table = {.data = static_cast<const std::int32_t*>(table_.data()),
                          .num_seqs = shape_.num_seqs,
                          .max_blocks = shape_.max_blocks(),
                          .row_stride = shape_.max_blocks()},
          .query_start = {static_cast<const std::int32_t*>(query_start_.data()),
                          static_cast<std::size_t>(shape_.num_seqs + 1)},
          .context_length = {static_cast<const std::int32_t*>(context_length_.data()),
                             static_cast<std::size_t>(shape_.num_seqs)},
          .options = {.scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim))}};
}

AttentionOutputs AttentionBatch::outputs() const {
  return {.out = rows<void*>(out_),
          .lse_ln = {static_cast<float*>(lse_ln_.data()),
                     static_cast<std::size_t>(shape_.num_rows() * shape_.num_q_heads())}};
}

}  // namespace recto::bench
