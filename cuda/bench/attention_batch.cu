#include "cuda/bench/attention_batch.h"

#include <numeric>
#include <utility>
#include <vector>

#include "core/random_stream.h"

namespace recto::bench {
namespace {

std::int64_t pool_tokens(const BatchShape& shape) {
  return shape.num_seqs * shape.blocks_per_seq() * shape.block_size;
}

std::int64_t pool_bytes(const BatchShape& shape) {
  return pool_tokens(shape) * shape.num_kv_heads * shape.head_dim * element_bytes(shape.kv_type);
}

std::int64_t rows_bytes(const BatchShape& shape) {
  return shape.num_rows() * shape.num_q_heads() * shape.head_dim * element_bytes(shape.q_type);
}

std::vector<std::int32_t> shuffled_ids(std::int64_t count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  RandomStream random(7);
  for (std::size_t left = ids.size(); left > 1; --left) {
    std::swap(ids[left - 1], ids[random.next_below(left)]);
  }
  return ids;
}

template <typename T>
Status upload_all(const DeviceBytes& memory, const std::vector<T>& values) {
  return upload(memory, values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)));
}

}  // namespace

double BatchShape::kv_bytes() const {
  return 2.0 * static_cast<double>(num_seqs * context_length * num_kv_heads * head_dim *
                                   element_bytes(kv_type));
}

double BatchShape::must_move_bytes() const {
  return kv_bytes() + 2.0 * static_cast<double>(rows_bytes(*this)) +
         4.0 * static_cast<double>(num_rows() * num_q_heads() + num_seqs * (blocks_per_seq() + 1));
}

double BatchShape::flops() const {
  const auto rows = static_cast<double>(rows_per_seq);
  const double keys = static_cast<double>(context_length) - (rows - 1) / 2;
  return 4.0 * keys * rows * static_cast<double>(num_seqs * num_q_heads() * head_dim);
}

AttentionBatch::AttentionBatch(const BatchShape& shape)
    : shape_(shape),
      k_(pool_bytes(shape)),
      v_(pool_bytes(shape)),
      q_(rows_bytes(shape)),
      out_(rows_bytes(shape)),
      lse_ln_(4 * shape.num_rows() * shape.num_q_heads()),
      table_(4 * shape.num_seqs * shape.blocks_per_seq()),
      query_start_(4 * (shape.num_seqs + 1)),
      context_length_(4 * shape.num_seqs),
      scale_(4),
      status_(make_views()) {}

Status AttentionBatch::make_views() {
  for (const DeviceBytes* memory : {&k_, &v_, &q_, &out_, &lse_ln_, &table_}) {
    if (memory->data() == nullptr) return Status::exhausted("the card has too little memory");
  }
  fill_random(k_, shape_.kv_type, 1);
  fill_random(v_, shape_.kv_type, 2);
  fill_random(q_, shape_.q_type, 3);
  std::vector<std::int32_t> starts;
  for (std::int64_t s = 0; s <= shape_.num_seqs; ++s) {
    starts.push_back(static_cast<std::int32_t>(s * shape_.rows_per_seq));
  }
  const std::vector<std::int32_t> lengths(static_cast<std::size_t>(shape_.num_seqs),
                                          static_cast<std::int32_t>(shape_.context_length));
  RECTO_RETURN_IF_ERROR(
      upload_all(table_, shuffled_ids(shape_.num_seqs * shape_.blocks_per_seq())));
  RECTO_RETURN_IF_ERROR(upload_all(query_start_, starts));
  RECTO_RETURN_IF_ERROR(upload_all(context_length_, lengths));
  RECTO_RETURN_IF_ERROR(upload_all(scale_, std::vector<float>{0.5F}));
  const Result<MutablePagedKvView> kv =
      dense_kv_view({.layout = shape_.layout,
                     .type = shape_.kv_type,
                     .num_blocks = shape_.num_seqs * shape_.blocks_per_seq(),
                     .block_size = shape_.block_size,
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

PagedAttentionInputs AttentionBatch::inputs() const {
  const std::int64_t dim = shape_.head_dim;
  return {.q = {.data = q_.data(),
                .type = shape_.q_type,
                .num_rows = shape_.num_rows(),
                .num_heads = shape_.num_q_heads(),
                .head_dim = dim,
                .row_stride = shape_.num_q_heads() * dim,
                .head_stride = dim},
          .kv = as_const(kv_),
          .block_table = {.data = static_cast<const std::int32_t*>(table_.data()),
                          .num_seqs = shape_.num_seqs,
                          .max_blocks = shape_.blocks_per_seq(),
                          .row_stride = shape_.blocks_per_seq()},
          .query_start = {static_cast<const std::int32_t*>(query_start_.data()),
                          static_cast<std::size_t>(shape_.num_seqs + 1)},
          .context_length = {static_cast<const std::int32_t*>(context_length_.data()),
                             static_cast<std::size_t>(shape_.num_seqs)},
          .options = {.scale = 0.0883883F}};
}

AttentionOutputs AttentionBatch::outputs() const {
  const std::int64_t dim = shape_.head_dim;
  return {.out = {.data = out_.data(),
                  .type = shape_.q_type,
                  .num_rows = shape_.num_rows(),
                  .num_heads = shape_.num_q_heads(),
                  .head_dim = dim,
                  .row_stride = shape_.num_q_heads() * dim,
                  .head_stride = dim},
          .lse_ln = {static_cast<float*>(lse_ln_.data()),
                     static_cast<std::size_t>(shape_.num_rows() * shape_.num_q_heads())}};
}

}  // namespace recto::bench
