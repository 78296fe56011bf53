#include "verify/engine/decode_graphs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/contract.h"
#include "core/units.h"
#include "cuda/decode_step.h"
#include "reference/rounding.h"
#include "verify/engine/attention_flow.h"
#include "verify/host_api/captured_step.h"

namespace recto::verify {
namespace {

using reference::Matrix;

void put(std::span<const std::byte> from, std::vector<std::byte>& to) {
  RECTO_CHECK_LE(from.size(), to.size());
  std::ranges::copy(from, to.begin());
}

}  // namespace

// A captured step, and all memory that it reads and writes except the cache.
struct DecodeGraphs::Graph {
  std::vector<std::byte> q;                 // [rows, num_q_heads, head_dim]
  std::vector<std::byte> k;                 // [rows, num_kv_heads, head_dim]
  std::vector<std::byte> v;                 // [rows, num_kv_heads, head_dim]
  std::vector<std::int32_t> table;          // [rows, max_blocks]
  std::vector<std::int32_t> cached_length;  // [rows], -1: padding
  std::int64_t max_blocks = 0;
  std::vector<std::byte> out;     // [rows, num_q_heads, head_dim]
  std::vector<float> lse_ln;      // [rows, num_q_heads]
  std::vector<std::byte> memory;  // workspace
  CapturedStep step;
  bool has_run = false;

  void fill(const DecodeRows& rows, GraphFault fault) {
    put(rows.q, q);
    put(rows.k, k);
    put(rows.v, v);
    const bool keeps_lengths = fault == GraphFault::kStaleLengths && has_run;
    for (std::size_t row = 0; row < cached_length.size(); ++row) {
      const bool is_padding = row >= rows.context_length.size();
      std::int32_t* const entries = table.data() + static_cast<std::int64_t>(row) * max_blocks;
      std::fill_n(entries, max_blocks, -1);
      if (!is_padding) {
        RECTO_CHECK_LE(rows.max_blocks, max_blocks);
        std::copy_n(rows.table.data() + static_cast<std::int64_t>(row) * rows.max_blocks,
                    rows.max_blocks, entries);
      }
      if (!keeps_lengths) cached_length[row] = is_padding ? -1 : rows.context_length[row] - 1;
    }
    has_run = true;
  }
};

DecodeGraphs::DecodeGraphs(const ModelShape& shape, const KvRounding& rounding,
                           const DecodeGraphOptions& options)
    : shape_(shape), rounding_(rounding), options_(options) {}

DecodeGraphs::~DecodeGraphs() = default;

DecodeGraphs::Graph& DecodeGraphs::graph_of(std::int64_t layer, const MutablePagedKvView& kv,
                                            const DecodeRows& rows) {
  const auto num_rows = static_cast<std::int64_t>(std::bit_ceil(rows.context_length.size()));
  const auto [found, is_new] = graphs_.try_emplace({layer, num_rows});
  Graph& graph = found->second;
  if (!is_new) return graph;
  // Resizes the codes and returns a view over all of them.
  const auto over = [&](std::vector<std::byte>& codes, std::int64_t heads, auto view) {
    const std::int64_t elements = num_rows * heads * shape_.head_dim;
    codes.resize(static_cast<std::size_t>(elements * element_bytes(rounding_.type)));
    view.data = codes.data();
    view.type = rounding_.type;
    view.num_rows = num_rows;
    view.num_heads = heads;
    view.head_dim = shape_.head_dim;
    view.row_stride = heads * shape_.head_dim;
    view.head_stride = shape_.head_dim;
    return view;
  };
  graph.max_blocks = ceil_div(options_.max_length, kv.k.block_size);
  graph.table.assign(static_cast<std::size_t>(num_rows * graph.max_blocks), -1);
  graph.cached_length.assign(static_cast<std::size_t>(num_rows), -1);
  graph.lse_ln.resize(static_cast<std::size_t>(num_rows * shape_.num_q_heads));
  const DecodeStep step{.q = over(graph.q, shape_.num_q_heads, RowsView{}),
                        .new_k = over(graph.k, shape_.num_kv_heads, RowsView{}),
                        .new_v = over(graph.v, shape_.num_kv_heads, RowsView{}),
                        .kv = kv,
                        .block_table = {.data = graph.table.data(),
                                        .num_seqs = num_rows,
                                        .max_blocks = graph.max_blocks,
                                        .row_stride = graph.max_blocks},
                        .cached_length = graph.cached_length,
                        .options = {.scale = attention_scale(shape_)}};
  const Result<AttentionPlan> plan =
      plan_decode_step(step, {.max_context_length = options_.max_length,
                              .kernel = options_.kernel,
                              .split_size = options_.split_size.value_or(options_.max_length)});
  RECTO_CHECK_EQ(plan.status(), Status::ok());
  graph.memory.resize(static_cast<std::size_t>(plan.value().workspace_bytes));
  const AttentionOutputs outputs{.out = over(graph.out, shape_.num_q_heads, MutableRowsView{}),
                                 .lse_ln = graph.lse_ln};
  const Workspace workspace{.data = graph.memory.data(), .bytes = plan.value().workspace_bytes};
  RECTO_CHECK_EQ(graph.step.capture(plan.value(), step, outputs, workspace), Status::ok());
  return graph;
}

Matrix DecodeGraphs::decode(std::int64_t layer, const MutablePagedKvView& kv,
                            const DecodeRows& rows) {
  Graph& graph = graph_of(layer, kv, rows);
  graph.fill(rows, options_.fault);
  RECTO_CHECK_EQ(graph.step.replay(), Status::ok());
  ++replayed_;
  Matrix result(std::ssize(rows.context_length), shape_.q_size());
  reference::decode_row(graph.out.data(), rounding_.type,
                        std::span(result.data(), static_cast<std::size_t>(result.size())));
  return result;
}

}  // namespace recto::verify
