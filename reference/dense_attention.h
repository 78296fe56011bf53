#pragma once

// Textbook attention: softmax(Q K^T) V in fp64, on contiguous matrices, for one query head.
// Prefill, chunked prefill and decode share this definition and differ only in the number of rows.

#include <Eigen/Core>
#include <cstdint>
#include <optional>

namespace recto::reference {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// The attention options of one head.
struct HeadOptions {
  double scale = 1.0;
  double softcap = 0.0;  // 0: none
  bool causal = true;
  std::optional<std::int64_t> window = {};
  double alibi_slope = 0.0;
  std::optional<double> sink = {};
};

// The half-open range of keys that a row may see.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};

// The position of row `row` of `num_rows` in a context of `context_length` keys: aligned bottom
// right. Negative if there are more rows than keys.
std::int64_t position_of(std::int64_t row, std::int64_t num_rows, std::int64_t context_length);

// The keys that a row sees; begin <= end.
KeyRange visible_keys(const HeadOptions& options, std::int64_t row, std::int64_t num_rows,
                      std::int64_t context_length);

struct HeadInputs {
  Eigen::Ref<const Matrix> q;  // [m, head_dim_k], the last m positions of the context
  Eigen::Ref<const Matrix> k;  // [n, head_dim_k]
  Eigen::Ref<const Matrix> v;  // [n, head_dim_v]
};

struct HeadOutput {
  Matrix out;     // [m, head_dim_v]; 0 where a row sees no key
  Vector lse_ln;  // [m]; -inf, or the sink, where a row sees no key
};

// The scores of one query row against consecutive keys: scale, softcap, then bias. The first key is
// `first_distance` positions after the row (before it, if negative).
//   q [head_dim_k], keys [n, head_dim_k] -> [n]
Vector score_keys(const Eigen::Ref<const Eigen::RowVectorXd>& q,
                  const Eigen::Ref<const Matrix>& keys, const HeadOptions& options,
                  std::int64_t first_distance);

// O(m n (head_dim_k + head_dim_v)).
HeadOutput dense_attention(const HeadInputs& inputs, const HeadOptions& options);

}  // namespace recto::reference
