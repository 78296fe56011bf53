#pragma once

// The memory of K and V, one pool per layer on the device and one on the host, and the host API's
// calls on it: everything that the kernels do for the engine.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dense_kv_view.h"
#include "cuda/attention_plan.h"
#include "cuda/cache/block_manager.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "verify/backend.h"
#include "verify/engine/decode_graphs.h"
#include "verify/engine/model_shape.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

struct KvStoreOptions {
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t num_blocks = 0;
  std::int64_t host_blocks = 0;
  std::int64_t block_size = 16;
  std::optional<AttentionKernel> decode_kernel = {};  // for one row a sequence; else by the rule
  std::optional<std::int64_t> split_size = {};        // the same
  std::optional<DecodeGraphOptions> graphs = {};      // for `decode`
  KernelRun how = {};
};

// The rows of a step, sequence after sequence.
struct StepRows {
  std::vector<std::int64_t> slots;           // [rows]
  std::vector<std::int32_t> query_start;     // [sequences + 1]
  std::vector<std::int32_t> context_length;  // [sequences], with the step's tokens
  std::vector<std::int32_t> table;           // [sequences, max_blocks], -1 where there is no block
  std::int64_t max_blocks = 0;

  std::int64_t num_sequences() const { return std::ssize(context_length); }
};

class KvStore {
 public:
  // The pools are filled with NaN. There must be kernels for the head dim, or `attend` breaks a
  // contract: see `why_unsupported`.
  KvStore(const ModelShape& shape, const KvRounding& rounding, const KvStoreOptions& options);
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;

  // These move blocks of all layers.
  void copy(std::span<const cache::BlockCopy> copies);
  void swap_out(std::span<const cache::SwapCopy> copies);
  void swap_in(std::span<const cache::SwapCopy> copies);

  // write() rounds rows of K and V [rows, kv_size] and writes them; attend() rounds q [rows,
  // q_size] and returns its attention, [rows, q_size].
  void write(std::int64_t layer, const StepRows& step, const reference::Matrix& k,
             const reference::Matrix& v);
  reference::Matrix attend(std::int64_t layer, const StepRows& step, const reference::Matrix& q);

  // Both at once, by a replayed graph, for decoding sequences with their drafts. The store's
  // options must have `graphs`.
  reference::Matrix decode(std::int64_t layer, const StepRows& step, const reference::Matrix& q,
                           const reference::Matrix& k, const reference::Matrix& v);
  std::int64_t captured_graphs() const { return graphs_ ? graphs_->captured() : 0; }

  // The reason if the host API has no kernel for this model.
  std::optional<std::string> why_unsupported();

 private:
  struct Pool {
    explicit Pool(const KvPoolShape& shape, const KvRounding& rounding);

    std::vector<std::byte> k;
    std::vector<std::byte> v;
    std::vector<float> scales;  // of K and of V
    MutablePagedKvView view;
  };

  enum class Direction : std::uint8_t { kOut, kIn };
  void swap(std::span<const BlockPair> pairs, Direction direction);
  RowsView rows(const std::vector<std::byte>& codes, std::int64_t num_rows,
                std::int64_t heads) const;
  std::vector<std::byte> encode(const reference::Matrix& values) const;
  PagedAttentionInputs inputs(std::int64_t layer, const StepRows& step,
                              const std::vector<std::byte>& q) const;

  const ModelShape shape_;
  const KvRounding rounding_;
  const KernelRun how_;
  Backend decode_;            // one row a sequence
  Backend prefill_;           // any
  std::vector<Pool> device_;  // by layer
  std::vector<Pool> host_;    // by layer
  std::optional<DecodeGraphs> graphs_;
};

// The kernels that the host API's rule may choose for one row. `split_size` 0: in one split.
std::vector<reference::KernelNumerics> kernels_of(const ModelShape& shape,
                                                  const KvRounding& rounding,
                                                  std::int64_t split_size);

}  // namespace recto::verify
