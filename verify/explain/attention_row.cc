#include "verify/explain/attention_row.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "reference/coherence.h"
#include "reference/kv_cache_reader.h"
#include "reference/online_softmax.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;
using reference::Matrix;
using reference::RowOutput;
using reference::Vector;

void store(const RowResult& row, const AttentionRow& of, BoundedResult& result) {
  const std::int64_t at = of.of.row_of(of.at);
  const std::int64_t head = of.at.head;
  result.exact.store(at, head, {row.out.transpose(), Vector::Constant(1, row.lse_ln)});
  result.worst_case.store(at, head,
                          {row.bound.worst_case, Vector::Constant(1, row.bound.lse_ln_worst_case)});
  result.probabilistic.store(
      at, head, {row.bound.probabilistic, Vector::Constant(1, row.bound.lse_ln_probabilistic)});
}

}  // namespace

RowResult result_at(const BoundedResult& result, std::int64_t row, std::int64_t head) {
  return {out_of(result.exact, row, head),
          result.exact.lse_ln_at(row, head),
          {out_of(result.worst_case, row, head), out_of(result.probabilistic, row, head),
           result.worst_case.lse_ln_at(row, head), result.probabilistic.lse_ln_at(row, head)}};
}

AttentionRow::AttentionRow(const FailedCase& the_case, const HeadRow& place, ReadCache& cache)
    : of(the_case),
      at(place),
      context(the_case.sequence_of(place)),
      k_head(place.head / the_case.group()),
      v_head(k_head),
      options(reference::head_options(the_case.inputs.options, place.head)),
      numerics(the_case.numerics),
      cache_(cache) {}

std::int64_t AttentionRow::position() const {
  return reference::position_of(at.row, context.num_rows, context.context_length);
}

reference::KeyRange AttentionRow::visible() const {
  return reference::visible_keys(options, at.row, context.num_rows, context.context_length);
}

std::int64_t AttentionRow::first_distance() const {
  return keys->begin - origin.value_or(position());
}

void AttentionRow::read(const CacheChange& change) {
  if (q.size() > 0) return;
  const PagedKvView& kv = of.inputs.kv;
  const std::int32_t* const blocks = context.block_table_row;
  const std::tuple source(blocks, context.context_length, k_head, v_head);
  if (cache_.source != source) {
    cache_ = {.source = source,
              .k = reference::gather_head(kv.k, blocks, context.context_length, k_head),
              .v = reference::gather_head(kv.v, blocks, context.context_length, v_head),
              .value_coherence = Vector(kv.v.head_dim)};
    if (change) change(cache_.k, cache_.v);
    cache_.key_coherence = reference::key_coherence(cache_.k);
    for (std::int64_t dim = 0; dim < kv.v.head_dim; ++dim) {
      const Vector values = cache_.v.col(dim);
      cache_.value_coherence[dim] = static_cast<double>(
          reference::multiplicity({values.data(), static_cast<std::size_t>(values.size())}));
    }
  }
  if (!keys) keys = visible();
  q = reference::read_rows(of.inputs.q, at.head, of.row_of(at), 1).row(0);
  k = cache_.k.middleRows(keys->begin, keys->size());
  v = cache_.v.middleRows(keys->begin, keys->size());
}

void AttentionRow::weigh() {
  read();
  scores = reference::score_keys(q, k, options, first_distance());
  if (scores.size() == 0) return leave();
  weights = (scores.array() - scores.maxCoeff()).exp();
  weights_of_out = weights;
  weights_of_sum = weights;
}

void AttentionRow::finish() {
  if (is_left || result) return;
  read();
  result = weights.size() == 0 ? as_read() : as_weighed();
}

RowResult AttentionRow::as_read() const {
  const Vector own_scores = reference::score_keys(q, k, options, first_distance());
  const RowOutput exact = reference::finish(reference::tile_state(own_scores, v), options.sink);
  if (k.rows() == 0) {
    const auto bound = reference::HeadErrorModel(k, v, numerics).bound(q, options, {});
    return {exact.out,
            exact.lse_ln,
            {bound.worst_case.row(0), bound.probabilistic.row(0), bound.lse_ln_worst_case[0],
             bound.lse_ln_probabilistic[0]}};
  }
  const auto coherence = cache_.key_coherence.segment(keys->begin, keys->size());
  const reference::ScoreErrors errors =
      reference::score_errors(q, {k, coherence, first_distance()}, options, numerics);
  return {exact.out, exact.lse_ln,
          row_bound({v, cache_.value_coherence, exact.out.transpose(), exact.lse_ln},
                    reference::weight_errors(errors, options, numerics), numerics)};
}

RowResult AttentionRow::as_weighed() const {
  const std::int64_t dims = v.cols();
  Matrix values(v.rows(), 2 * dims);  // beside the values, their magnitudes
  values << v, v.cwiseAbs();
  const auto output = [&](const Vector& of_out, const Vector& of_sum) {
    return reference::finish({scores.maxCoeff(), of_sum.sum(), values.transpose() * of_out},
                             options.sink);
  };
  const Vector right_magnitudes = output(weights, weights).out.tail(dims);
  const RowOutput output_seen = output(weights_of_out, weights_of_sum);
  const Vector magnitudes = output_seen.out.tail(dims);
  RowResult grown = right();
  grown.out = output_seen.out.head(dims);
  grown.lse_ln = output_seen.lse_ln;
  const auto grow = [&](Eigen::RowVectorXd& of_out, double& of_sum) {
    of_sum += 8.0 * numerics.unit_roundoff;
    for (std::int64_t dim = 0; dim < dims; ++dim) {
      const double growth =
          right_magnitudes[dim] > 0.0 ? magnitudes[dim] / right_magnitudes[dim] : 1.0;
      // Errors common to all weights cancel in a mean, but a fault may not be a mean.
      of_out[dim] = of_out[dim] * std::max(1.0, growth) + of_sum * magnitudes[dim];
    }
  };
  grow(grown.bound.worst_case, grown.bound.lse_ln_worst_case);
  grow(grown.bound.probabilistic, grown.bound.lse_ln_probabilistic);
  return grown;
}

BoundedResult evaluate(const FailedCase& of, const RowChange& change) {
  BoundedResult faulty = of.right;
  ReadCache cache;
  of.for_each_row([&](const HeadRow& at) {
    AttentionRow row(of, at, cache);
    change(row);
    row.finish();
    if (row.result && !row.is_left) store(*row.result, row, faulty);
  });
  return faulty;
}

}  // namespace recto::verify
