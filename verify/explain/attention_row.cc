#include "verify/explain/attention_row.h"

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "reference/kv_cache_reader.h"
#include "reference/output_error.h"

namespace recto::verify {
using reference::Matrix;
using reference::RowOutput;
using reference::Vector;

RowResult result_at(const reference::BoundedResult& result, std::int64_t row, std::int64_t head) {
  return {row_output(result.exact, row, head), row_output(result.worst_case, row, head),
          row_output(result.probabilistic, row, head)};
}

AttentionRow::AttentionRow(const FailedCase& the_case, const HeadRow& place, ReadCache& cache)
    : of(the_case),
      at(place),
      k_head(place.head / the_case.group()),
      v_head(k_head),
      options(reference::head_options(the_case.inputs.options, place.head)),
      numerics(the_case.numerics),
      cache_(cache) {
  read_sequence(of.sequence_of(at));
}

void AttentionRow::set_result(double out, double lse_ln) {
  result = right();
  result->exact.out.setConstant(out);
  result->exact.lse_ln = lse_ln;
}

std::int64_t AttentionRow::position() const {
  return reference::position_of(at.row, num_rows, context_length);
}

reference::KeyRange AttentionRow::visible() const {
  return reference::visible_keys(options, at.row, num_rows, context_length);
}

std::int64_t AttentionRow::first_distance() const {
  return keys->begin - origin.value_or(position());
}

void AttentionRow::read_sequence(const reference::SequenceRows& sequence) {
  num_rows = sequence.num_rows;
  context_length = sequence.context_length;
  const std::int32_t* const ids = sequence.block_table_row;
  blocks.assign(ids, ids + ceil_div(context_length, block_size()));
}

void AttentionRow::read_blocks(std::vector<std::int32_t> ids) {
  if (ids == blocks) return keep_right_result();
  blocks = std::move(ids);
}

void AttentionRow::read_kv_head(std::int64_t kv_head) {
  if (kv_head == k_head) return keep_right_result();
  k_head = kv_head;
  v_head = kv_head;
}

void AttentionRow::read(const CacheChange& change) {
  if (q.size() > 0) return;
  const PagedKvView& kv = of.inputs.kv;
  const ReadCache::Source source(blocks, context_length, k_head, v_head);
  if (cache_.source != source) {
    cache_ = {.source = source,
              .k = reference::gather_head(kv.k, blocks.data(), context_length, k_head),
              .v = reference::gather_head(kv.v, blocks.data(), context_length, v_head)};
    if (change) change(cache_.k, cache_.v);
    cache_.key_coherence = reference::key_coherence(cache_.k);
    cache_.value_coherence = reference::value_coherence(cache_.v);
  }
  if (!keys) keys = visible();
  q = reference::read_rows(of.inputs.q, at.head, of.row_of(at), 1).row(0);
  k = cache_.k.middleRows(keys->begin, keys->size());
  v = cache_.v.middleRows(keys->begin, keys->size());
}

void AttentionRow::weigh() {
  read();
  scores = reference::score_keys(q, k, options, first_distance());
  if (scores.size() == 0) return keep_right_result();
  weights = (scores.array() - scores.maxCoeff()).exp();
  weights_of_out = weights;
  weights_of_sum = weights;
}

void AttentionRow::finish() {
  if (keeps_right_result || result) return;
  read();
  result = weights.size() == 0 ? as_read() : as_weighed();
}

RowResult AttentionRow::as_read() const {
  const Vector own_scores = reference::score_keys(q, k, options, first_distance());
  const RowOutput exact = reference::finish(reference::tile_state(own_scores, v), options.sink);
  if (k.rows() == 0) {
    const auto bound = reference::HeadErrorModel(k, v, numerics).bound(q, options, {});
    return {exact,
            {bound.worst_case.row(0).transpose(), bound.lse_ln_worst_case[0]},
            {bound.probabilistic.row(0).transpose(), bound.lse_ln_probabilistic[0]}};
  }
  const auto coherence = cache_.key_coherence.segment(keys->begin, keys->size());
  const reference::ScoreErrors errors =
      reference::score_errors(q, {k, coherence, first_distance()}, options, numerics);
  const reference::RowBound bound =
      row_bound({v, cache_.value_coherence, exact.out.transpose(), exact.lse_ln},
                reference::weight_errors(errors, options, numerics), numerics);
  return {exact,
          {bound.worst_case.transpose(), bound.lse_ln_worst_case},
          {bound.probabilistic.transpose(), bound.lse_ln_probabilistic}};
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
  const RowOutput faulty = output(weights_of_out, weights_of_sum);
  const Vector magnitudes = faulty.out.tail(dims);
  RowResult grown = right();
  grown.exact = {faulty.out.head(dims), faulty.lse_ln};
  for (RowOutput* const bound : {&grown.worst_case, &grown.probabilistic}) {
    bound->lse_ln += 8.0 * numerics.unit_roundoff;
    for (std::int64_t dim = 0; dim < dims; ++dim) {
      const double growth =
          right_magnitudes[dim] > 0.0 ? magnitudes[dim] / right_magnitudes[dim] : 1.0;
      // Errors common to all weights cancel in a mean, but a fault may not be a mean.
      bound->out[dim] = bound->out[dim] * std::max(1.0, growth) + bound->lse_ln * magnitudes[dim];
    }
  }
  return grown;
}

void evaluate(const FailedCase& of, const RowChange& change, const RowVisit& visit) {
  ReadCache cache;
  bool is_going_on = true;
  of.for_each_row([&](const HeadRow& at) {
    if (!is_going_on) return;
    AttentionRow row(of, at, cache);
    change(row);
    row.finish();
    is_going_on = visit(row);
  });
}

}  // namespace recto::verify
