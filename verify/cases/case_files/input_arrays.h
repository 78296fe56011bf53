#pragma once

// The inputs of attention as another program has them, in arrays: the names, shapes and types of
// case_arrays.h, whatever wrote them.

#include <memory>
#include <span>
#include <utility>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/cases/npz/npz_archive.h"

namespace recto::verify {

// Owns the arrays; inputs() points into them.
class InputArrays {
 public:
  // Takes q_type, kv_type, layout, q, k_cache, v_cache, block_table and context_length; optionally
  // query_start (else one row per sequence), scale, softcap, causal, window, alibi_slopes, sinks,
  // k_scale and v_scale. Other arrays are left alone. Invalid input names the array and what was
  // expected; sizes and contents pass the gates of core/.
  static Result<std::unique_ptr<InputArrays>> read(NpzArrays arrays);

  const PagedAttentionInputs& inputs() const { return inputs_; }

 private:
  explicit InputArrays(NpzArrays arrays) : arrays_(std::move(arrays)) {}

  Status read_rows(ElementType type);
  Status read_caches(ElementType type);
  Status read_lists();
  Status read_options();
  Status read_heads(const char* name, float none, std::span<const float>& values);
  Status read_scale(const char* name, KvTensorView& cache);

  NpzArrays arrays_;
  PagedAttentionInputs inputs_ = {};
};

}  // namespace recto::verify
