#pragma once

// Reads the inputs of a call for a canary, by address arithmetic of its own, which can have a
// paging fault. A wrong address is wrapped into the pool, so that it gives wrong numbers instead of
// a crash. Only the decoding of codes is the reference's (reference/rounding.h).

#include <cstdint>

#include "core/attention_views.h"
#include "reference/dense_attention.h"
#include "verify/qa/canary.h"

namespace recto::verify {

class CanaryReader {
 public:
  // `inputs` must outlive it.
  CanaryReader(const PagedAttentionInputs& inputs, Fault fault) : inputs_(inputs), fault_(fault) {}

  Eigen::RowVectorXd query(std::int64_t row, std::int64_t head) const;  // [head_dim_k]

  // Tokens 0 to count - 1 of a sequence: [count, head_dim].
  reference::Matrix keys(std::int64_t sequence, std::int64_t count, std::int64_t kv_head) const;
  reference::Matrix values(std::int64_t sequence, std::int64_t count, std::int64_t kv_head) const;

 private:
  // A view, and the strides with which it is read.
  struct StridedView {
    const KvTensorView& view;
    KvTensorView strides;
  };

  reference::Matrix read(const StridedView& tensor, std::int64_t sequence, std::int64_t count,
                         std::int64_t kv_head) const;
  std::int64_t block_of(std::int64_t sequence, std::int64_t logical) const;
  std::int64_t slot_of(std::int64_t token, std::int64_t block_size) const;
  std::int64_t offset_of_dim(const KvTensorView& strides, std::int64_t dim) const;
  double scale_of(const KvScale& scale, std::int64_t kv_head) const;

  const PagedAttentionInputs& inputs_;
  Fault fault_;
};

}  // namespace recto::verify
