#include "verify/engine/padded_gather.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/element_type.h"
#include "core/units.h"
#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

using reference::Matrix;

SequenceWork largest(const std::vector<SequenceWork>& step) {
  SequenceWork most;
  for (const SequenceWork& sequence : step) {
    most.rows = std::max(most.rows, sequence.rows);
    most.context = std::max(most.context, sequence.context);
  }
  return most;
}

// One head of a padded sequence.
struct PaddedHead {
  Matrix k;  // [longest, head_dim]
  Matrix v;
  double scale = 1;
};

// One row over the whole padded context: keys after its position are masked, but computed all the
// same.
Eigen::RowVectorXd attend_row(const PaddedHead& head, const Eigen::RowVectorXd& q,
                              std::int64_t position, AttentionWork& work) {
  reference::Vector scores = head.k * q.transpose() * head.scale;
  work.operations += 2 * head.k.size();
  const std::int64_t visible = position + 1;
  for (std::int64_t key = visible; key < scores.size(); ++key) scores[key] = -HUGE_VAL;
  const double shift = scores.maxCoeff();
  reference::Vector weights =
      scores.unaryExpr([shift](double score) { return std::exp(score - shift); });
  weights /= weights.sum();
  work.operations += 2 * head.v.size();
  return weights.transpose() * head.v;
}

}  // namespace

AttentionWork& AttentionWork::operator+=(const AttentionWork& other) {
  gathered_bytes += other.gathered_bytes;
  read_bytes += other.read_bytes;
  operations += other.operations;
  return *this;
}

AttentionWork paged_work(const WorkShape& shape, const std::vector<SequenceWork>& step) {
  const std::int64_t slot = 2 * shape.num_kv_heads * shape.head_dim * shape.element_bytes;
  AttentionWork work;
  for (const SequenceWork& sequence : step) {
    const std::int64_t blocks = ceil_div(sequence.context, shape.block_size);
    work.read_bytes += sequence.context * slot;
    work.read_bytes += blocks * static_cast<std::int64_t>(sizeof(std::int32_t));
    const std::int64_t before = sequence.context - sequence.rows;
    const std::int64_t pairs = sequence.rows * before + sequence.rows * (sequence.rows + 1) / 2;
    work.operations += 4 * pairs * shape.num_q_heads * shape.head_dim;
  }
  return work;
}

AttentionWork padded_gather_work(const WorkShape& shape, const std::vector<SequenceWork>& step) {
  const std::int64_t slot = 2 * shape.num_kv_heads * shape.head_dim * shape.element_bytes;
  const SequenceWork most = largest(step);
  AttentionWork work;
  for (const SequenceWork& sequence : step) {
    work.gathered_bytes += (sequence.context + most.context) * slot;
    work.read_bytes += most.context * slot;
    work.operations += 4 * most.rows * most.context * shape.num_q_heads * shape.head_dim;
  }
  return work;
}

PaddedGather padded_gather_attention(const PagedAttentionInputs& inputs) {
  const std::int64_t dim = inputs.kv.k.head_dim;
  RECTO_CHECK_EQ(inputs.kv.v.head_dim, dim);
  PaddedGather run{{inputs.q.num_rows, inputs.q.num_heads, dim}, {}};
  std::vector<SequenceWork> step;
  for (const reference::SequenceRows& rows : reference::sequences_of(inputs)) {
    step.push_back({rows.num_rows, rows.context_length});
  }
  const SequenceWork most = largest(step);
  const std::int64_t bytes = element_bytes(inputs.kv.k.type);
  reference::for_each_kv_head(inputs, [&](const reference::KvHeadContext& context) {
    PaddedHead head{Matrix::Zero(most.context, dim), Matrix::Zero(most.context, dim),
                    inputs.options.scale};
    head.k.topRows(context.k.rows()) = context.k;
    head.v.topRows(context.v.rows()) = context.v;
    run.work.gathered_bytes +=
        (context.k.size() + context.v.size() + head.k.size() + head.v.size()) * bytes;
    run.work.read_bytes += (head.k.size() + head.v.size()) * bytes;
    for (std::int64_t q_head = context.q_head_begin; q_head < context.q_head_end; ++q_head) {
      const Matrix q = reference::read_rows(inputs.q, q_head, context.first_row, context.num_rows);
      for (std::int64_t row = 0; row < most.rows; ++row) {
        // Padding rows are computed, too.
        const bool is_padding = row >= context.num_rows;
        const std::int64_t position =
            is_padding ? most.context - 1 : context.k.rows() - context.num_rows + row;
        const Eigen::RowVectorXd out =
            attend_row(head, is_padding ? Eigen::RowVectorXd::Zero(dim).eval() : q.row(row).eval(),
                       position, run.work);
        for (std::int64_t d = 0; d < dim && !is_padding; ++d) {
          run.result.out_at(context.first_row + row, q_head, d) = out[d];
        }
      }
    }
  });
  return run;
}

}  // namespace recto::verify
