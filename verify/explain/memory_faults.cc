// Fault models: rows that are not written, or are computed from previous memory contents; and rows
// without a key to attend to that hold something other than zeros and the sink.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The scores' magnitudes are smaller, and finite numbers used as masks are at least this large.
constexpr double kFarFromScores = 1e4;

struct RowCount {
  std::int64_t all = 0;
  std::int64_t stale = 0;

  std::string text(const char* what) const {
    return stale == all ? fmt::format("rows {}", what)
                        : fmt::format("{} of {} rows {}", stale, all, what);
  }
};

// Counts stale parts, separately for rows with and without keys.
std::string stale_text(const FailedCase& of) {
  RowCount empty;
  RowCount keyed;
  bool has_out = false;
  bool has_lse_ln = false;
  bool is_unwritten = true;
  std::optional<std::int64_t> dims;  // of each stale row that has some; 0 if the number varies
  of.for_each_row([&](const HeadRow& at) {
    const StaleRow row = of.stale_at(at);
    RowCount& rows = of.is_empty(at) ? empty : keyed;
    ++rows.all;
    if (!row.is_stale()) return;
    ++rows.stale;
    has_out |= !row.dims.empty();
    has_lse_ln |= row.has_lse_ln;
    is_unwritten &= row.is_unwritten;
    const std::int64_t count = std::ssize(row.dims);
    if (count > 0) dims = dims.value_or(count) == count ? count : 0;
  });
  std::vector<std::string> counts;
  if (empty.stale > 0) counts.push_back(empty.text("without keys"));
  if (keyed.stale > 0) counts.push_back(keyed.text("with keys"));
  const std::string rows = fmt::format("{}", fmt::join(counts, " and "));
  const bool is_one = empty.stale + keyed.stale == 1 && rows.starts_with("1 of");
  const std::string what = has_out && has_lse_ln ? rows + (is_one ? " is " : " are ")
                           : has_out             ? "out of " + rows + " is "
                                                 : "the lse of " + rows + " is ";
  const std::int64_t head_dim = of.seen.head_dim;
  const std::int64_t some = dims.value_or(head_dim);
  const std::string where =
      some == 0 || some == head_dim ? "" : fmt::format(" in {} of {} dims", some, head_dim);
  return what + (is_unwritten ? "not written" : "derived from what memory held before") + where;
}

// The lse that faulty kernels return for rows without keys.
using EmptyLseLn = double (*)(const AttentionRow& row);
double of_fault(const AttentionRow& row) { return row.result->exact.lse_ln; }
double right(const AttentionRow& row) { return row.right().exact.lse_ln; }
double minus_infinity(const AttentionRow& /*row*/) { return -kInfinity; }
double zero(const AttentionRow& /*row*/) { return 0.0; }
double no_number(const AttentionRow& /*row*/) { return kNaN; }
// The exact number depends on the type and on the number of keys.
double large_negative(const AttentionRow& row) {
  if (!row.of.has_lse_ln()) return right(row);
  const double seen = row.of.lse_ln_at(row.at).seen;
  return std::isfinite(seen) && seen <= -kFarFromScores ? seen : right(row);
}

// Applies to rows without keys, which begin as zeros and the sink.
RowChange of_empty_rows(const RowChange& change) {
  return [change](AttentionRow& row) {
    return row.of.is_empty(row.at) ? change(row) : row.keep_right_result();
  };
}

RowChange holding(double out, EmptyLseLn lse_ln) {
  return of_empty_rows([=](AttentionRow& row) { row.set_result(out, lse_ln(row)); });
}

// Adds a fault of the output, combined with each of the usual wrong lse.
void add_with_usual_lse_ln(const FailedCase& of, const std::string& name, const RowChange& change,
                           FaultFamily& family) {
  bool changes_out = false;
  evaluate(of, of_empty_rows(change), [&](const AttentionRow& row) {
    changes_out = !row.keeps_right_result && row.result->exact.out != row.right().exact.out;
    return !changes_out;
  });
  if (!changes_out) return;
  for (const EmptyLseLn lse_ln :
       {of_fault, right, minus_infinity, zero, no_number, large_negative}) {
    const auto with_lse_ln = [=](AttentionRow& row) {
      change(row);
      row.finish();
      if (std::exchange(row.keeps_right_result, false)) row.result = row.right();
      row.result->exact.lse_ln = lse_ln(row);
    };
    family.models.push_back({name, of_empty_rows(with_lse_ln)});
  }
}

// Requires a context with keys.
void attend_to_first(AttentionRow& row, std::int64_t keys) {
  if (keys == 0) return row.keep_right_result();
  row.keys = {0, keys};
}

void attend_equally(AttentionRow& row) {
  attend_to_first(row, row.context_length);
  if (row.keeps_right_result) return;
  row.options.alibi_slope = 0.0;
  row.options.sink.reset();
  row.read();
  row.q.setZero();
}

// The neighbour of a row's sequence in direction `step` that has both rows and keys, if there is
// one.
const reference::SequenceRows* neighbour(const AttentionRow& row, std::int64_t step) {
  const auto& all = row.of.sequences;
  for (std::int64_t s = row.at.sequence + step; s >= 0 && s < std::ssize(all); s += step) {
    const reference::SequenceRows& found = all[static_cast<std::size_t>(s)];
    if (found.num_rows > 0 && found.context_length > 0) return &found;
  }
  return nullptr;
}

void hold_row_of_neighbour(AttentionRow& row, std::int64_t step) {
  const reference::SequenceRows* const other = neighbour(row, step);
  if (other == nullptr) return row.keep_right_result();
  const std::int64_t nearest = step > 0 ? 0 : other->num_rows - 1;
  row.result = result_at(row.of.right, other->first_row + nearest, row.at.head);
}

void attend_to_neighbour(AttentionRow& row, std::int64_t step) {
  const reference::SequenceRows* const other = neighbour(row, step);
  if (other == nullptr) return row.keep_right_result();
  row.read_sequence(*other);
  row.keys = {0, row.context_length};
  row.origin = row.context_length - 1;
}

}  // namespace

FaultFamily unwritten_rows(const FailedCase& of) {
  if (of.stale == nullptr) return {};
  return {.models = {{stale_text(of), [](AttentionRow& row) {
                        const StaleRow stale = row.of.stale_at(row.at);
                        row.result = row.right();
                        for (const std::int64_t dim : stale.dims) row.result->exact.out[dim] = kNaN;
                        if (stale.has_lse_ln) row.result->exact.lse_ln = kNaN;
                      }}}};
}

FaultFamily empty_row_faults(const FailedCase& of) {
  bool has_wrong = false;
  bool has_stale = false;
  of.for_each_row([&](const HeadRow& at) {
    if (!of.is_empty(at)) return;
    has_wrong |= of.count_wrong(at) > 0;
    has_stale |= of.stale_at(at).is_stale();
  });
  if (!has_wrong) return {};
  FaultFamily family{.what = "faults of rows without keys"};
  const auto add = [&](const std::string& name, const RowChange& change) {
    add_with_usual_lse_ln(of, name, change, family);
  };
  const auto add_holding = [&](const std::string& name, double out, EmptyLseLn lse_ln) {
    family.models.push_back({name, holding(out, lse_ln)});
  };
  // Stale memory is reported separately if the backend accepts stale contents; otherwise NaN may
  // mean either.
  if (of.stale == nullptr) {
    const std::string name = "rows without keys are not written, or only added to";
    add_holding(name, kNaN, no_number);
    add_holding(name, kNaN, right);
    add_holding(name, 0.0, no_number);
  }
  if (!has_stale) add("rows without keys are divided by their sum, 0 / 0", holding(kNaN, right));
  const std::string lse_ln = "the lse of rows without keys is ";
  add_holding(of.inputs.options.sinks.empty() ? lse_ln + "-inf"
                                              : "the sink is left out of rows without keys",
              0.0, minus_infinity);
  add_holding(lse_ln + "0", 0.0, zero);
  if (!has_stale) add_holding(lse_ln + "NaN", 0.0, no_number);
  add_holding(lse_ln + "a large negative number", 0.0, large_negative);
  const std::string see = "rows before the first key of their context see ";
  add(see + "all its keys", [](AttentionRow& row) { attend_to_first(row, row.context_length); });
  add(see + "its first key", [](AttentionRow& row) {
    attend_to_first(row, std::min<std::int64_t>(1, row.context_length));
    row.origin = 0;
  });
  // Added to such a number, all scores become equal.
  add("rows without keys get the mean of V, as with a large negative number for a mask",
      attend_equally);
  for (const std::int64_t step : {-1, 1}) {
    const std::string sequence = step < 0 ? "sequence before theirs" : "sequence after theirs";
    add("rows without keys hold the result of a row of the " + sequence,
        [=](AttentionRow& row) { hold_row_of_neighbour(row, step); });
    add("rows without keys attend to the keys of the " + sequence,
        [=](AttentionRow& row) { attend_to_neighbour(row, step); });
  }
  return family;
}

}  // namespace recto::verify
