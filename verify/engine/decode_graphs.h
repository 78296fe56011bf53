#pragma once

// Decode steps as graphs: captured once for each layer and batch size, then replayed while contexts
// grow and sequences come and go. Everything that changes is in memory that the graph reads; a
// batch that does not fill its graph is padded.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/paged_kv_view.h"
#include "cuda/attention_plan.h"
#include "reference/dense_attention.h"
#include "verify/engine/model_shape.h"

namespace recto::verify {

// A deliberate fault in the replay, for tests of the law.
enum class GraphFault : std::uint8_t {
  kNone,
  kStaleLengths,  // those of the first step that the graph served
};

struct DecodeGraphOptions {
  std::int64_t max_length = 0;  // of any context, the step's token included
  std::optional<AttentionKernel> kernel = {};
  std::optional<std::int64_t> split_size = {};  // else one split
  GraphFault fault = GraphFault::kNone;
};

// Rows as codes of the rows' type. A sequence with drafts has several rows; each acts as a sequence
// of its own, one token longer than the one before. All K and V are appended before any row
// attends.
struct DecodeRows {
  std::span<const std::byte> q;                  // [rows, num_q_heads, head_dim]
  std::span<const std::byte> k;                  // [rows, num_kv_heads, head_dim]
  std::span<const std::byte> v;                  // [rows, num_kv_heads, head_dim]
  std::span<const std::int32_t> context_length;  // [rows], with each row's token
  std::span<const std::int32_t> table;           // [rows, max_blocks], -1: no block
  std::int64_t max_blocks = 0;
};

class DecodeGraphs {
 public:
  DecodeGraphs(const ModelShape& shape, const KvRounding& rounding,
               const DecodeGraphOptions& options);
  DecodeGraphs(const DecodeGraphs&) = delete;
  DecodeGraphs& operator=(const DecodeGraphs&) = delete;
  ~DecodeGraphs();

  // Appends K and V to the layer's cache, which must not move between calls, and returns the
  // attention of q, [rows, q_size]. A graph that cannot be captured, or fails, is a broken
  // contract.
  reference::Matrix decode(std::int64_t layer, const MutablePagedKvView& kv,
                           const DecodeRows& rows);

  std::int64_t captured() const { return std::ssize(graphs_); }
  std::int64_t replayed() const { return replayed_; }

 private:
  struct Graph;
  using Key = std::pair<std::int64_t, std::int64_t>;  // layer, rows

  Graph& graph_of(std::int64_t layer, const MutablePagedKvView& kv, const DecodeRows& rows);

  const ModelShape shape_;
  const KvRounding rounding_;
  const DecodeGraphOptions options_;
  std::map<Key, Graph> graphs_;
  std::int64_t replayed_ = 0;
};

}  // namespace recto::verify
