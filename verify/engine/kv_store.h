#pragma once

// The memory of K and V, with one pool per layer on the device and one on the host, and the host
// API's calls on it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/batch.h"
#include "core/dense_kv_view.h"
#include "verify/backend.h"
#include "verify/engine/engine.h"
#include "verify/engine/host_model.h"

namespace recto::verify {

// The rows of a call, sequence by sequence. In a replayed graph each row is a sequence.
struct StepRows {
  std::vector<std::int64_t> slots = {};           // [rows]
  std::vector<std::int32_t> query_start = {};     // [sequences + 1]
  std::vector<std::int32_t> context_length = {};  // [sequences], including the step's tokens
  BlockTableView table = {};                      // [sequences, or rows of the graph, max_blocks]
};

class KvStore {
 public:
  // The pools are filled with NaN. `attend` breaks a contract if there is no kernel for the head
  // dim: see `why_unsupported`.
  KvStore(const ModelShape& shape, const EngineOptions& options);
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;
  ~KvStore();

  // The next three move blocks of all layers: within the device, to the host, and back.
  void copy(std::span<const BlockPair> pairs);
  void swap_out(std::span<const BlockPair> pairs);
  void swap_in(std::span<const BlockPair> pairs);

  // Rounds the rows, writes K and V, and returns the attention of q, [rows, q_size].
  reference::Matrix attend(std::int64_t layer, const StepRows& step, const ProjectedRows& rows);

  // The same by a graph of the host API's decode step. A graph is captured once for each layer and
  // number of rows, which may be padded. It is replayed while contexts grow and sequences come and
  // go. The graph reads step.table in place, so the table must be the same memory at each call,
  // with as many rows as the graph.
  reference::Matrix replay(std::int64_t layer, const StepRows& step, const ProjectedRows& rows);
  std::int64_t captured_graphs() const { return std::ssize(graphs_); }

  // The reason why the host API has no kernel for this model; nothing if it has one.
  std::optional<std::string> why_unsupported();

 private:
  struct Pool {
    Pool(const KvPoolShape& shape, const KvRounding& rounding);

    KvPools pools;
    std::vector<float> scales;  // of K and of V
    MutablePagedKvView view;
  };
  struct Graph;

  static void swap(std::span<const BlockPair> pairs, const std::vector<Pool>& from,
                   const std::vector<Pool>& to);
  RowsView rows_of(const std::vector<std::byte>& codes, std::int64_t num_rows,
                   std::int64_t heads) const;
  PagedAttentionInputs inputs(std::int64_t layer, const StepRows& step,
                              const std::vector<std::byte>& q) const;
  void capture(std::int64_t layer, const StepRows& step, std::int64_t num_rows, Graph& graph);

  const ModelShape shape_;
  const EngineOptions options_;
  Backend decode_;                                                 // for one row per sequence
  Backend prefill_;                                                // for any number of rows
  std::vector<Pool> device_;                                       // by layer
  std::vector<Pool> host_;                                         // by layer
  std::map<std::pair<std::int64_t, std::int64_t>, Graph> graphs_;  // by layer and rows
};

}  // namespace recto::verify
