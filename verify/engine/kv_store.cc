#include "verify/engine/kv_store.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/contract.h"
#include "core/units.h"
#include "cuda/cache_ops.h"
#include "cuda/decode_step.h"
#include "reference/rounding.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/host_api/captured_step.h"
#include "verify/kernels/host_api/host_api_backends.h"

namespace recto::verify {
namespace {

using reference::Matrix;

std::vector<std::byte> encode(const Matrix& values, ElementType type) {
  const std::int64_t bytes = element_bytes(type);
  std::vector<std::byte> codes(static_cast<std::size_t>(values.size() * bytes));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::uint32_t code = reference::encode(values.data()[i], type);
    std::memcpy(codes.data() + i * bytes, &code, static_cast<std::size_t>(bytes));
  }
  return codes;
}

// Writes the values to the beginning of memory that keeps its address.
void encode_into(const Matrix& values, ElementType type, std::vector<std::byte>& memory) {
  const std::vector<std::byte> codes = encode(values, type);
  RECTO_CHECK_LE(codes.size(), memory.size());
  std::ranges::copy(codes, memory.begin());
}

// Runs a call of cuda/cache_ops.h. A kernel checks its arguments before anything is written.
template <typename Launch>
void run_checked(const Launch& launch) {
  simt::Executor executor({});
  std::vector<std::byte> memory(kContentsCheckBytes);
  const CacheOpOptions options{.contents_check = ContentsCheck::kOnDevice,
                               .workspace = {.data = memory.data(), .bytes = kContentsCheckBytes}};
  DeviceCall(executor).run({}, [&](simt::Stream& stream) { return launch(options, &stream); });
}

}  // namespace

// A captured decode step, and the memory that it reads and writes besides cache and tables.
struct KvStore::Graph {
  std::vector<std::byte> q;                 // [rows, num_q_heads, head_dim]
  std::vector<std::byte> k;                 // [rows, num_kv_heads, head_dim]
  std::vector<std::byte> v;                 // [rows, num_kv_heads, head_dim]
  std::vector<std::int32_t> cached_length;  // [rows], -1: padding
  std::vector<std::byte> out;               // [rows, num_q_heads, head_dim]
  std::vector<float> lse_ln;                // [rows, num_q_heads]
  std::vector<std::byte> workspace;
  CapturedStep step;
};

KvStore::Pool::Pool(const KvPoolShape& shape, const KvRounding& rounding) {
  const PagedKvView layout = as_const(dense_kv_view(shape, nullptr, nullptr).value());
  pools = filled_pools(layout, kNanByte);
  view = pools.over(layout);
  if (!is_fp8(shape.type)) return;
  scales = {rounding.scale_k, rounding.scale_v};
  view.k.scale = {.kind = ScaleKind::kPerTensor, .data = &scales[0]};
  view.v.scale = {.kind = ScaleKind::kPerTensor, .data = &scales[1]};
}

KvStore::KvStore(const ModelShape& shape, const EngineOptions& options)
    : shape_(shape),
      options_(options),
      decode_(host_api_backend(
          {}, {.kernel = options.decode_kernel, .split_size = options.split_size})),
      prefill_(host_api_backend({}, {})) {
  KvPoolShape pool{.layout = options.layout,
                   .type = options.rounding.cache,
                   .block_size = options.block_size,
                   .num_kv_heads = shape.num_kv_heads,
                   .head_dim_k = shape.head_dim,
                   .head_dim_v = shape.head_dim};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    pool.num_blocks = options.num_blocks;
    device_.emplace_back(pool, options.rounding);
    pool.num_blocks = options.host_blocks;
    host_.emplace_back(pool, options.rounding);
  }
}

KvStore::~KvStore() = default;

void KvStore::copy(std::span<const BlockPair> pairs) {
  for (const Pool& pool : device_) {
    run_checked([&](const CacheOpOptions& options, KernelStream stream) {
      return run_block_copy(pool.view, pairs, options, stream);
    });
  }
}

void KvStore::swap(std::span<const BlockPair> pairs, const std::vector<Pool>& from,
                   const std::vector<Pool>& to) {
  for (std::size_t layer = 0; layer < from.size() && !pairs.empty(); ++layer) {
    run_checked([&](const CacheOpOptions& options, KernelStream stream) {
      return run_block_swap(as_const(from[layer].view), to[layer].view, pairs, options, stream);
    });
  }
}

void KvStore::swap_out(std::span<const BlockPair> pairs) { swap(pairs, device_, host_); }
void KvStore::swap_in(std::span<const BlockPair> pairs) { swap(pairs, host_, device_); }

RowsView KvStore::rows_of(const std::vector<std::byte>& codes, std::int64_t num_rows,
                          std::int64_t heads) const {
  return dense_rows<const void*>(codes.data(), options_.rounding.type, num_rows, heads,
                                 shape_.head_dim);
}

PagedAttentionInputs KvStore::inputs(std::int64_t layer, const StepRows& step,
                                     const std::vector<std::byte>& q) const {
  return {.q = rows_of(q, step.query_start.back(), shape_.num_q_heads),
          .kv = as_const(device_[static_cast<std::size_t>(layer)].view),
          .block_table = step.table,
          .query_start = step.query_start,
          .context_length = step.context_length,
          .options = {.scale = shape_.attention_scale()}};
}

Matrix KvStore::attend(std::int64_t layer, const StepRows& step, const ProjectedRows& rows) {
  const std::vector<std::byte> q = encode(rows.q, options_.rounding.type);
  const std::vector<std::byte> k = encode(rows.k, options_.rounding.type);
  const std::vector<std::byte> v = encode(rows.v, options_.rounding.type);
  const std::int64_t num_rows = rows.q.rows();
  const KvWriteInputs write{.k = rows_of(k, num_rows, shape_.num_kv_heads),
                            .v = rows_of(v, num_rows, shape_.num_kv_heads),
                            .slot_mapping = step.slots,
                            .kv = device_[static_cast<std::size_t>(layer)].view};
  run_checked([&](const CacheOpOptions& options, KernelStream stream) {
    return run_kv_write(write, kernels::RepeatedSlots::kNone, options, stream);
  });
  const bool is_decode = num_rows == std::ssize(step.context_length);
  const reference::AttentionResult result =
      result_of((is_decode ? decode_ : prefill_).call(inputs(layer, step, q)));
  return Eigen::Map<const Matrix>(result.out.data(), num_rows, shape_.q_size());
}

void KvStore::capture(std::int64_t layer, const StepRows& step, std::int64_t num_rows,
                      Graph& graph) {
  const auto memory = [&](std::vector<std::byte>& codes, std::int64_t heads) {
    const std::int64_t elements = num_rows * heads * shape_.head_dim;
    codes.resize(static_cast<std::size_t>(elements * element_bytes(options_.rounding.type)));
  };
  memory(graph.q, shape_.num_q_heads);
  memory(graph.k, shape_.num_kv_heads);
  memory(graph.v, shape_.num_kv_heads);
  memory(graph.out, shape_.num_q_heads);
  graph.cached_length.assign(static_cast<std::size_t>(num_rows), -1);
  graph.lse_ln.resize(static_cast<std::size_t>(num_rows * shape_.num_q_heads));
  DecodeStep decode{.q = rows_of(graph.q, num_rows, shape_.num_q_heads),
                    .new_k = rows_of(graph.k, num_rows, shape_.num_kv_heads),
                    .new_v = rows_of(graph.v, num_rows, shape_.num_kv_heads),
                    .kv = device_[static_cast<std::size_t>(layer)].view,
                    .block_table = step.table,
                    .cached_length = graph.cached_length,
                    .options = {.scale = shape_.attention_scale()}};
  const Result<AttentionPlan> plan =
      plan_decode_step(decode, {.max_context_length = options_.max_length,
                                .kernel = options_.decode_kernel,
                                .split_size = options_.split_size.value_or(options_.max_length)});
  RECTO_CHECK_EQ(plan.status(), Status::ok());
  graph.workspace.resize(static_cast<std::size_t>(plan.value().workspace_bytes));
  const AttentionOutputs outputs{
      .out = dense_rows<void*>(graph.out.data(), options_.rounding.type, num_rows,
                               shape_.num_q_heads, shape_.head_dim),
      .lse_ln = graph.lse_ln};
  const Workspace workspace{.data = graph.workspace.data(), .bytes = plan.value().workspace_bytes};
  RECTO_CHECK_EQ(graph.step.capture(plan.value(), decode, outputs, workspace), Status::ok());
}

Matrix KvStore::replay(std::int64_t layer, const StepRows& step, const ProjectedRows& rows) {
  const auto num_rows = static_cast<std::int64_t>(std::bit_ceil(step.context_length.size()));
  const auto [found, is_new] = graphs_.try_emplace({layer, num_rows});
  Graph& graph = found->second;
  if (is_new) capture(layer, step, num_rows, graph);
  encode_into(rows.q, options_.rounding.type, graph.q);
  encode_into(rows.k, options_.rounding.type, graph.k);
  encode_into(rows.v, options_.rounding.type, graph.v);
  if (is_new || options_.fault != EngineFault::kStaleGraph) {
    std::ranges::fill(graph.cached_length, -1);
    std::ranges::transform(step.context_length, graph.cached_length.begin(),
                           [](std::int32_t length) { return length - 1; });
  }
  RECTO_CHECK_EQ(graph.step.replay(), Status::ok());
  Matrix result(rows.q.rows(), shape_.q_size());
  reference::decode_row(graph.out.data(), options_.rounding.type,
                        std::span(result.data(), static_cast<std::size_t>(result.size())));
  return result;
}

std::optional<std::string> KvStore::why_unsupported() {
  const std::vector<std::int32_t> blocks = {0, 0};
  StepRows step{.slots = {0, 1},
                .query_start = {0, 2},
                .context_length = {2},
                .table = {.data = blocks.data(), .num_seqs = 1, .max_blocks = 2, .row_stride = 2}};
  std::vector<std::byte> q = encode(Matrix::Zero(2, shape_.q_size()), options_.rounding.type);
  if (const auto why = prefill_.why_unsupported(inputs(0, step, q))) return why;
  step.query_start = {0, 1};
  return decode_.why_unsupported(inputs(0, step, q));
}

}  // namespace recto::verify
