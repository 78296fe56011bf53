#include "verify/engine/kv_store.h"

#include <algorithm>
#include <cstring>

#include "core/contract.h"
#include "cuda/cache_ops.h"
#include "reference/rounding.h"
#include "verify/engine/attention_flow.h"
#include "verify/host_api/host_api_backends.h"
#include "verify/kernels/kernel_numerics.h"

namespace recto::verify {
namespace {

using reference::Matrix;

KvPoolShape pool_shape(const ModelShape& shape, const KvRounding& rounding,
                       const KvStoreOptions& options, std::int64_t num_blocks) {
  return {.layout = options.layout,
          .type = rounding.cache,
          .num_blocks = num_blocks,
          .block_size = options.block_size,
          .num_kv_heads = shape.num_kv_heads,
          .head_dim_k = shape.head_dim,
          .head_dim_v = shape.head_dim};
}

// A kernel checks the contents before anything is written.
struct CheckedOp {
  std::vector<std::byte> memory = std::vector<std::byte>(kContentsCheckBytes);

  CacheOpOptions options(DeviceCall& call) {
    call.add_write("workspace", std::span(memory));
    return {.contents_check = ContentsCheck::kOnDevice,
            .workspace = {.data = memory.data(), .bytes = kContentsCheckBytes}};
  }
};

using BlockLists = std::vector<std::vector<std::int64_t>>;

// For each row, the length of the context that ends with it, and its sequence's table.
struct RowTables {
  explicit RowTables(const StepRows& step) {
    for (std::int64_t s = 0; s < step.num_sequences(); ++s) {
      const auto place = static_cast<std::size_t>(s);
      const std::int32_t rows = step.query_start[place + 1] - step.query_start[place];
      const auto blocks = std::span(step.table)
                              .subspan(place * static_cast<std::size_t>(step.max_blocks),
                                       static_cast<std::size_t>(step.max_blocks));
      for (std::int32_t behind = rows - 1; behind >= 0; --behind) {
        context_length.push_back(step.context_length[place] - behind);
        table.insert(table.end(), blocks.begin(), blocks.end());
      }
    }
  }

  std::vector<std::int32_t> context_length;  // [rows]
  std::vector<std::int32_t> table;           // [rows, max_blocks]
};

}  // namespace

KvStore::Pool::Pool(const KvPoolShape& shape, const KvRounding& rounding) {
  const KvPoolElements elements = count_pool_elements(shape).value();
  const std::int64_t bytes = element_bytes(shape.type);
  k.assign(static_cast<std::size_t>(elements.k * bytes), std::byte{0xff});
  v.assign(static_cast<std::size_t>(elements.v * bytes), std::byte{0xff});
  view = dense_kv_view(shape, k.data(), v.data()).value();
  if (!is_fp8(shape.type)) return;
  scales = {rounding.scale_k, rounding.scale_v};
  view.k.scale = {.kind = ScaleKind::kPerTensor, .data = &scales[0]};
  view.v.scale = {.kind = ScaleKind::kPerTensor, .data = &scales[1]};
}

KvStore::KvStore(const ModelShape& shape, const KvRounding& rounding, const KvStoreOptions& options)
    : shape_(shape),
      rounding_(rounding),
      how_(options.how),
      decode_(host_api_backend(
          options.how, {.kernel = options.decode_kernel, .split_size = options.split_size})),
      prefill_(host_api_backend(options.how, {})) {
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    device_.emplace_back(pool_shape(shape, rounding_, options, options.num_blocks), rounding_);
    host_.emplace_back(pool_shape(shape, rounding_, options, options.host_blocks), rounding_);
  }
  if (options.graphs) graphs_.emplace(shape, rounding, *options.graphs);
}

void KvStore::copy(std::span<const cache::BlockCopy> copies) {
  if (copies.empty()) return;
  std::vector<BlockPair> pairs;
  BlockLists blocks;
  for (const cache::BlockCopy& copy : copies) {
    pairs.push_back({copy.source.value(), copy.destination.value()});
    blocks.push_back({copy.source.value(), copy.destination.value()});
  }
  for (const Pool& pool : device_) {
    simt::Executor executor(how_.executor);
    DeviceCall call(executor);
    call.add_write(pool.view, blocks,
                   owners_in_turn(std::ssize(pairs) * shape_.num_kv_heads, std::ssize(pairs)));
    call.add_read("pairs", std::span<const BlockPair>(pairs));
    CheckedOp op;
    const CacheOpOptions options = op.options(call);
    call.run(how_.observer, [&](simt::Stream& stream) {
      return run_block_copy(pool.view, pairs, options, &stream);
    });
  }
}

void KvStore::swap(std::span<const BlockPair> pairs, Direction direction) {
  if (pairs.empty()) return;
  const bool is_out = direction == Direction::kOut;
  BlockLists sources;
  BlockLists destinations;
  for (const BlockPair& pair : pairs) {
    sources.push_back({pair.source});
    destinations.push_back({pair.destination});
  }
  const BlockOwners owners =
      owners_in_turn(std::ssize(pairs) * shape_.num_kv_heads, std::ssize(pairs));
  for (std::size_t layer = 0; layer < device_.size(); ++layer) {
    const MutablePagedKvView& from = (is_out ? device_ : host_)[layer].view;
    const MutablePagedKvView& to = (is_out ? host_ : device_)[layer].view;
    simt::Executor executor(how_.executor);
    DeviceCall call(executor);
    call.add_read("from", as_const(from), sources, owners);
    call.add_write(to, destinations, owners);
    call.add_read("pairs", pairs);
    CheckedOp op;
    const CacheOpOptions options = op.options(call);
    call.run(how_.observer, [&](simt::Stream& stream) {
      return run_block_swap(as_const(from), to, pairs, options, &stream);
    });
  }
}

void KvStore::swap_out(std::span<const cache::SwapCopy> copies) {
  std::vector<BlockPair> pairs;
  for (const auto& copy : copies) pairs.push_back({copy.device.value(), copy.host.value()});
  swap(pairs, Direction::kOut);
}

void KvStore::swap_in(std::span<const cache::SwapCopy> copies) {
  std::vector<BlockPair> pairs;
  for (const auto& copy : copies) pairs.push_back({copy.host.value(), copy.device.value()});
  swap(pairs, Direction::kIn);
}

std::vector<std::byte> KvStore::encode(const Matrix& values) const {
  const std::int64_t bytes = element_bytes(rounding_.type);
  std::vector<std::byte> codes(static_cast<std::size_t>(values.size() * bytes));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code = reference::encode(values.data()[i], rounding_.type);
    std::memcpy(codes.data() + i * bytes, &code, static_cast<std::size_t>(bytes));
  }
  return codes;
}

RowsView KvStore::rows(const std::vector<std::byte>& codes, std::int64_t num_rows,
                       std::int64_t heads) const {
  return {.data = codes.data(),
          .type = rounding_.type,
          .num_rows = num_rows,
          .num_heads = heads,
          .head_dim = shape_.head_dim,
          .row_stride = heads * shape_.head_dim,
          .head_stride = shape_.head_dim};
}

void KvStore::write(std::int64_t layer, const StepRows& step, const Matrix& k, const Matrix& v) {
  const std::vector<std::byte> k_codes = encode(k);
  const std::vector<std::byte> v_codes = encode(v);
  const KvWriteInputs inputs{.k = rows(k_codes, k.rows(), shape_.num_kv_heads),
                             .v = rows(v_codes, v.rows(), shape_.num_kv_heads),
                             .slot_mapping = step.slots,
                             .kv = device_[static_cast<std::size_t>(layer)].view};
  simt::Executor executor(how_.executor);
  DeviceCall call(executor);
  call.add_read("k", inputs.k);
  call.add_read("v", inputs.v);
  call.add_read("slot_mapping", inputs.slot_mapping);
  BlockLists blocks;
  for (const std::int64_t slot : step.slots) blocks.push_back({slot / inputs.kv.k.block_size});
  call.add_write(inputs.kv, blocks, owners_in_turn(std::ssize(blocks), std::ssize(blocks)));
  CheckedOp op;
  const CacheOpOptions options = op.options(call);
  call.run(how_.observer, [&](simt::Stream& stream) {
    return run_kv_write(inputs, kernels::RepeatedSlots::kNone, options, &stream);
  });
}

PagedAttentionInputs KvStore::inputs(std::int64_t layer, const StepRows& step,
                                     const std::vector<std::byte>& q) const {
  return {.q = rows(q, step.query_start.back(), shape_.num_q_heads),
          .kv = as_const(device_[static_cast<std::size_t>(layer)].view),
          .block_table = {.data = step.table.data(),
                          .num_seqs = step.num_sequences(),
                          .max_blocks = step.max_blocks,
                          .row_stride = step.max_blocks},
          .query_start = step.query_start,
          .context_length = step.context_length,
          .options = {.scale = attention_scale(shape_)}};
}

Matrix KvStore::attend(std::int64_t layer, const StepRows& step, const Matrix& q) {
  const std::vector<std::byte> codes = encode(q);
  const PagedAttentionInputs call = inputs(layer, step, codes);
  const bool is_decode = q.rows() == step.num_sequences();
  const reference::AttentionResult result = result_of((is_decode ? decode_ : prefill_).call(call));
  return Eigen::Map<const Matrix>(result.out.data(), q.rows(), shape_.q_size());
}

Matrix KvStore::decode(std::int64_t layer, const StepRows& step, const Matrix& q, const Matrix& k,
                       const Matrix& v) {
  const std::vector<std::byte> q_codes = encode(q);
  const std::vector<std::byte> k_codes = encode(k);
  const std::vector<std::byte> v_codes = encode(v);
  const RowTables rows(step);
  return graphs_->decode(layer, device_[static_cast<std::size_t>(layer)].view,
                         {.q = q_codes,
                          .k = k_codes,
                          .v = v_codes,
                          .context_length = rows.context_length,
                          .table = rows.table,
                          .max_blocks = step.max_blocks});
}

std::optional<std::string> KvStore::why_unsupported() {
  StepRows step{.slots = {0, 1},
                .query_start = {0, 2},
                .context_length = {2},
                .table = {0, 0},
                .max_blocks = 2};
  const std::vector<std::byte> q = encode(Matrix::Zero(2, shape_.q_size()));
  if (const auto why = prefill_.why_unsupported(inputs(0, step, q))) return why;
  step.query_start = {0, 1};
  return decode_.why_unsupported(inputs(0, step, q));
}

std::vector<reference::KernelNumerics> kernels_of(const ModelShape& shape,
                                                  const KvRounding& rounding,
                                                  std::int64_t split_size) {
  return {decode_kernel_numerics(rounding.type, rounding.cache, split_size),
          group_decode_numerics(rounding.type, rounding.cache, split_size),
          prefill_numerics(rounding.type, rounding.cache, shape.head_dim)};
}

}  // namespace recto::verify
