#include "verify/decode_step_backend.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "core/attention_gate.h"
#include "core/batch.h"
#include "core/contract.h"
#include "reference/kv_cache_ops.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kCopiedBytesMax = std::int64_t{1} << 30;  // of a pool

std::optional<std::string> why_no_decode_step(const PagedAttentionInputs& inputs,
                                              const CallOptions& /*options*/) {
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    if (inputs.query_start[s + 1] - inputs.query_start[s] != 1)
      return "not exactly one query row per sequence";
    if (inputs.context_length[s] == 0) return "a sequence without a newest token";
  }
  for (const KvTensorView* tensor : {&inputs.kv.k, &inputs.kv.v}) {
    if (tensor->scale.kind != ScaleKind::kNone) return "a cache with scales";
    const std::int64_t bytes =
        tensor->num_blocks * tensor->block_stride * element_bytes(tensor->type);
    if (bytes > kCopiedBytesMax) return "a pool too large to copy without its newest tokens";
  }
  return std::nullopt;
}

// The slot's number in the pool, block * block_size + offset.
std::int64_t slot_of(const PagedAttentionInputs& inputs, std::size_t sequence, std::int64_t token) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  const std::int32_t* row =
      inputs.block_table.data + static_cast<std::int64_t>(sequence) * inputs.block_table.row_stride;
  return row[token / block_size] * block_size + token % block_size;
}

// The newest tokens' slots to overwrite; -1 where another token is in the same slot.
std::vector<std::int64_t> slots_to_lose(const PagedAttentionInputs& inputs) {
  std::set<std::int64_t> cached;
  std::vector<std::int64_t> newest;
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    const std::int64_t last = inputs.context_length[s] - 1;
    for (std::int64_t token = 0; token < last; ++token) cached.insert(slot_of(inputs, s, token));
    newest.push_back(slot_of(inputs, s, last));
  }
  for (std::int64_t& slot : newest)
    if (cached.count(slot) == 1) slot = -1;
  return newest;
}

// One dense row of K or V per sequence.
struct NewRows {
  std::vector<std::byte> memory;
  RowsView view;

  NewRows(const KvTensorView& tensor, ElementType type, std::size_t num_seqs)
      : memory(num_seqs * static_cast<std::size_t>(tensor.num_kv_heads * tensor.head_dim *
                                                   element_bytes(type))),
        view(dense_rows<const void*>(memory.data(), type, static_cast<std::int64_t>(num_seqs),
                                     tensor.num_kv_heads, tensor.head_dim)) {}
  NewRows(const NewRows&) = delete;
  NewRows& operator=(const NewRows&) = delete;

  void set(std::int64_t element, double value) {
    const std::int64_t bytes = element_bytes(view.type);
    const std::uint32_t code = reference::encode(value, view.type);
    std::memcpy(memory.data() + element * bytes, &code, static_cast<std::size_t>(bytes));
  }
};

void fill_newest(const PagedAttentionInputs& inputs, const KvTensorView& tensor, NewRows& rows) {
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    const std::int64_t last = inputs.context_length[s] - 1;
    const std::int64_t slot = slot_of(inputs, s, last);
    for (std::int64_t head = 0; head < tensor.num_kv_heads; ++head) {
      Eigen::RowVectorXd values(tensor.head_dim);
      reference::read_slot(tensor, slot / tensor.block_size, head, slot % tensor.block_size,
                           values);
      const std::int64_t first =
          static_cast<std::int64_t>(s) * rows.view.row_stride + head * rows.view.head_stride;
      for (std::int64_t dim = 0; dim < tensor.head_dim; ++dim) rows.set(first + dim, values[dim]);
    }
  }
}

reference::AttentionResult run_as_decode_step(const PagedAttentionInputs& inputs,
                                              const CallOptions& options,
                                              const DecodeStepRun& run) {
  const std::size_t num_seqs = inputs.context_length.size();
  NewRows new_k(inputs.kv.k, inputs.q.type, num_seqs);
  NewRows new_v(inputs.kv.v, inputs.q.type, num_seqs);
  KvPools copy = copied_pools(inputs.kv);
  const MutablePagedKvView kv = copy.over(inputs.kv);
  for (NewRows* rows : {&new_k, &new_v}) {
    const auto elements = static_cast<std::int64_t>(num_seqs) * rows->view.row_stride;
    for (std::int64_t i = 0; i < elements; ++i)
      rows->set(i, std::numeric_limits<double>::quiet_NaN());
  }
  const std::vector<std::int64_t> lost = slots_to_lose(inputs);
  reference::write_kv({.k = new_k.view, .v = new_v.view, .slot_mapping = lost, .kv = kv});
  fill_newest(inputs, inputs.kv.k, new_k);
  fill_newest(inputs, inputs.kv.v, new_v);
  std::vector<std::int32_t> cached(inputs.context_length.begin(), inputs.context_length.end());
  for (std::int32_t& length : cached) --length;
  const DecodeStepInputs step{.q = inputs.q,
                              .new_k = new_k.view,
                              .new_v = new_v.view,
                              .kv = as_const(kv),
                              .block_table = inputs.block_table,
                              .cached_length = cached,
                              .options = inputs.options};
  RECTO_CHECK_EQ(check_contents(step), Status::ok());
  return run(step, options);
}

}  // namespace

Backend decode_step_backend(const std::string& name, const DecodeStepRun& run,
                            const decltype(Backend::numerics_of)& numerics) {
  return {.name = name,
          .attend =
              [run](const PagedAttentionInputs& inputs, const CallOptions& options) {
                return Done{run_as_decode_step(inputs, options, run)};
              },
          .numerics_of = numerics,
          .refusal = why_no_decode_step};
}

}  // namespace recto::verify
