#include "verify/explanation/empty_row_hypotheses.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "verify/explanation/faulty_parts.h"
#include "verify/explanation/stale_results.h"

namespace recto::verify {
namespace {

using reference::BoundedResult;
using reference::Matrix;
using reference::SequenceRows;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Scores are nearer to 0, so that masks of finite numbers are at least as far from it.
constexpr double kFarFromScores = 1e4;

struct EmptyRow {
  std::int64_t sequence = 0;
  std::int64_t row = 0;       // within the sequence
  std::int64_t in_batch = 0;  // row of the batch
  std::int64_t position = 0;  // negative, unless the context is empty
};

// What a kernel returns as the lse of rows without keys, beside an output that is wrong.
enum class EmptyLseLn { kOfFault, kRight, kMinusInfinity, kZero, kNaN, kLargeNegative };

class EmptyRows {
 public:
  using Change = std::function<void(const EmptyRow& row, std::int64_t head, BoundedResult& faulty)>;

  explicit EmptyRows(HypothesisTrial& trial)
      : trial_(trial), sequences_(reference::sequences_of(trial.inputs())) {
    reference::HeadOptions masks;
    masks.causal = trial.inputs().options.causal;
    masks.window = trial.inputs().options.window;
    for (std::int64_t s = 0; s < std::ssize(sequences_); ++s) {
      const auto& [first, rows, keys, blocks] = sequences_[static_cast<std::size_t>(s)];
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t position = reference::position_of(row, rows, keys);
        if (reference::visible_keys(masks, row, rows, keys).size() == 0)
          rows_.push_back({s, row, first + row, position});
      }
    }
  }

  bool has_wrong() const {
    return has([&](std::int64_t row, std::int64_t head) { return !trial_.is_right(row, head); });
  }
  bool has_stale() const {
    return has([stale = trial_.stale()](std::int64_t row, std::int64_t head) {
      return stale != nullptr && stale->at(row, head).is_stale();
    });
  }
  std::int64_t num_heads() const { return trial_.inputs().q.num_heads; }
  const std::vector<SequenceRows>& sequences() const { return sequences_; }

  bool fits(const Change& change, EmptyLseLn lse_ln = EmptyLseLn::kOfFault) {
    return trial_.explains(with_lse_ln(changed(change), lse_ln));
  }
  // Of an output that the change makes wrong, whose row may have any of the usual lse.
  bool fits_with_usual_lse_ln(const Change& change) {
    const BoundedResult faulty = changed(change);
    if (faulty.exact.out == trial_.right().exact.out) return false;
    for (const EmptyLseLn lse_ln :
         {EmptyLseLn::kOfFault, EmptyLseLn::kRight, EmptyLseLn::kMinusInfinity, EmptyLseLn::kZero,
          EmptyLseLn::kNaN, EmptyLseLn::kLargeNegative})
      if (trial_.explains(with_lse_ln(faulty, lse_ln))) return true;
    return false;
  }

 private:
  template <typename Predicate>
  bool has(const Predicate& predicate) const {
    for (const EmptyRow& row : rows_)
      for (std::int64_t head = 0; head < num_heads(); ++head)
        if (predicate(row.in_batch, head)) return true;
    return false;
  }

  BoundedResult changed(const Change& change) const {
    BoundedResult faulty = trial_.right();
    for (const EmptyRow& row : rows_)
      for (std::int64_t head = 0; head < num_heads(); ++head) change(row, head, faulty);
    return faulty;
  }

  BoundedResult with_lse_ln(BoundedResult faulty, EmptyLseLn lse_ln) const {
    if (lse_ln == EmptyLseLn::kOfFault) return faulty;
    for (const EmptyRow& row : rows_)
      for (std::int64_t head = 0; head < num_heads(); ++head)
        faulty.exact.lse_ln_at(row.in_batch, head) = lse_ln_of(row, head, lse_ln);
    return faulty;
  }

  double lse_ln_of(const EmptyRow& row, std::int64_t head, EmptyLseLn lse_ln) const {
    const double right = trial_.right().exact.lse_ln_at(row.in_batch, head);
    if (lse_ln == EmptyLseLn::kMinusInfinity) return -kInfinity;
    if (lse_ln == EmptyLseLn::kZero) return 0.0;
    if (lse_ln == EmptyLseLn::kNaN) return kNaN;
    if (lse_ln == EmptyLseLn::kRight || trial_.seen().lse_ln.empty()) return right;
    // Which one depends on the type and on the number of keys.
    const double seen = trial_.seen().lse_ln_at(row.in_batch, head);
    return std::isfinite(seen) && seen <= -kFarFromScores ? seen : right;
  }

  HypothesisTrial& trial_;
  std::vector<SequenceRows> sequences_;
  std::vector<EmptyRow> rows_;
};

void set_out(const EmptyRow& row, std::int64_t head, double value, BoundedResult& faulty) {
  for (std::int64_t dim = 0; dim < faulty.exact.head_dim; ++dim)
    faulty.exact.out_at(row.in_batch, head, dim) = value;
}

// What follows stale memory is told by itself, where the backend can be handed such memory;
// elsewhere NaN may be either.
void add_no_numbers(HypothesisTrial& trial, EmptyRows& rows) {
  if (rows.has_stale()) return;
  const auto with_nan = [&](bool is_out, bool is_lse_ln) {
    return rows.fits([&](const EmptyRow& row, std::int64_t head, BoundedResult& faulty) {
      if (is_out) set_out(row, head, kNaN, faulty);
      if (is_lse_ln) faulty.exact.lse_ln_at(row.in_batch, head) = kNaN;
    });
  };
  if (trial.stale() == nullptr &&
      (with_nan(true, true) || with_nan(true, false) || with_nan(false, true)))
    trial.name("rows without keys are not written, or only added to");
  if (rows.fits_with_usual_lse_ln([](const EmptyRow& row, std::int64_t head,
                                     BoundedResult& faulty) { set_out(row, head, kNaN, faulty); }))
    trial.name("rows without keys are divided by their sum, 0 / 0");
}

void add_lse_ln_alone(HypothesisTrial& trial, EmptyRows& rows) {
  const EmptyRows::Change none = [](const EmptyRow&, std::int64_t, BoundedResult&) {};
  const char* const minus_infinity = trial.inputs().options.sinks.empty()
                                         ? "the lse of rows without keys is -inf"
                                         : "the sink is left out of rows without keys";
  const std::initializer_list<std::pair<EmptyLseLn, const char*>> faults = {
      {EmptyLseLn::kMinusInfinity, minus_infinity},
      {EmptyLseLn::kZero, "the lse of rows without keys is 0"},
      {EmptyLseLn::kNaN, "the lse of rows without keys is NaN"},
      {EmptyLseLn::kLargeNegative, "the lse of rows without keys is a large negative number"}};
  for (const auto& [lse_ln, what] : faults) {
    if (lse_ln == EmptyLseLn::kNaN && rows.has_stale()) continue;
    if (rows.fits(none, lse_ln)) trial.name(what);
  }
}

// Of the head's first keys, `count` of them.
RowParts parts_of(const PagedAttentionInputs& inputs, const SequenceRows& sequence,
                  std::int64_t head, std::int64_t count) {
  const std::int64_t kv_head = head / (inputs.q.num_heads / inputs.kv.k.num_kv_heads);
  return {.q = Eigen::RowVectorXd::Zero(inputs.q.head_dim),
          .k = reference::gather_head(inputs.kv.k, sequence.block_table_row, count, kv_head),
          .v = reference::gather_head(inputs.kv.v, sequence.block_table_row, count, kv_head),
          .options = reference::head_options(inputs.options, head)};
}

// Rows that stand before the first key, and attend to keys behind them.
void add_attended_keys(HypothesisTrial& trial, EmptyRows& rows) {
  const PagedAttentionInputs& inputs = trial.inputs();
  const auto attending = [&](bool is_first_alone) {
    return [&inputs, &rows, &trial, is_first_alone](const EmptyRow& row, std::int64_t head,
                                                    BoundedResult& faulty) {
      const SequenceRows& own = rows.sequences()[static_cast<std::size_t>(row.sequence)];
      if (own.context_length == 0) return;
      RowParts parts = parts_of(inputs, own, head, is_first_alone ? 1 : own.context_length);
      parts.q = reference::read_rows(inputs.q, head, row.in_batch, 1).row(0);
      parts.first_distance = is_first_alone ? 0 : -row.position;
      store_row(parts, trial.numerics(), row.in_batch, head, faulty);
    };
  };
  const std::string stand = "rows that stand before the first key of their context see ";
  if (rows.fits_with_usual_lse_ln(attending(false))) trial.name(stand + "all its keys");
  if (rows.fits_with_usual_lse_ln(attending(true))) trial.name(stand + "its first key");
  // Beside such a number all scores are equal.
  if (rows.fits_with_usual_lse_ln(
          [&](const EmptyRow& row, std::int64_t head, BoundedResult& faulty) {
            const SequenceRows& own = rows.sequences()[static_cast<std::size_t>(row.sequence)];
            if (own.context_length == 0) return;
            RowParts parts = parts_of(inputs, own, head, own.context_length);
            parts.options.alibi_slope = 0.0;
            parts.options.sink.reset();
            store_row(parts, trial.numerics(), row.in_batch, head, faulty);
          }))
    trial.name("rows without keys get the mean of V, as of a mask of a large negative number");
}

// The sequence before or after a row's that has both rows and keys, if `step` leads to one.
std::optional<SequenceRows> neighbour(const std::vector<SequenceRows>& all, const EmptyRow& row,
                                      std::int64_t step) {
  for (std::int64_t s = row.sequence + step; s >= 0 && s < std::ssize(all); s += step) {
    const SequenceRows& found = all[static_cast<std::size_t>(s)];
    if (found.num_rows > 0 && found.context_length > 0) return found;
  }
  return std::nullopt;
}

struct Direction {
  std::int64_t step;
  const char* name;
};
constexpr Direction kDirections[] = {{-1, "before"}, {1, "after"}};

void copy_row(std::int64_t from, std::int64_t to, std::int64_t head, BoundedResult& faulty) {
  for (reference::AttentionResult* part : {&faulty.exact, &faulty.hard, &faulty.sharp}) {
    for (std::int64_t dim = 0; dim < part->head_dim; ++dim)
      part->out_at(to, head, dim) = part->out_at(from, head, dim);
    part->lse_ln_at(to, head) = part->lse_ln_at(from, head);
  }
}

void add_neighbours(HypothesisTrial& trial, EmptyRows& rows) {
  const PagedAttentionInputs& inputs = trial.inputs();
  for (const auto& [step, name] : kDirections) {
    if (rows.fits_with_usual_lse_ln(
            [&, step = step](const EmptyRow& row, std::int64_t head, BoundedResult& faulty) {
              const auto other = neighbour(rows.sequences(), row, step);
              if (!other) return;
              const std::int64_t last = other->first_row + other->num_rows - 1;
              copy_row(step < 0 ? last : other->first_row, row.in_batch, head, faulty);
            }))
      trial.name(std::string("rows without keys hold what a row of the sequence ") + name +
                 " theirs should");
    if (rows.fits_with_usual_lse_ln(
            [&, step = step](const EmptyRow& row, std::int64_t head, BoundedResult& faulty) {
              const auto other = neighbour(rows.sequences(), row, step);
              if (!other) return;
              RowParts parts = parts_of(inputs, *other, head, other->context_length);
              parts.q = reference::read_rows(inputs.q, head, row.in_batch, 1).row(0);
              parts.first_distance = 1 - other->context_length;
              store_row(parts, trial.numerics(), row.in_batch, head, faulty);
            }))
      trial.name(std::string("rows without keys attend to the keys of the sequence ") + name +
                 " theirs");
  }
}

}  // namespace

void add_empty_rows(HypothesisTrial& trial) {
  EmptyRows rows(trial);
  if (!rows.has_wrong()) return;
  constexpr std::int64_t kWays = 10;
  if (!trial.affords("faults of rows without keys", kWays)) return;
  add_no_numbers(trial, rows);
  add_lse_ln_alone(trial, rows);
  add_attended_keys(trial, rows);
  add_neighbours(trial, rows);
}

}  // namespace recto::verify
