#include "verify/explanation/unwritten_hypotheses.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "verify/explanation/stale_results.h"

namespace recto::verify {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows of heads, by whether they have keys.
struct Counted {
  std::int64_t all = 0;
  std::int64_t stale = 0;
};

struct Found {
  Counted empty;
  Counted keyed;
  bool has_out = false;
  bool has_lse_ln = false;
  bool is_unwritten = true;
  std::optional<std::int64_t> dims = {};  // of each stale row that has some; 0 if that varies

  void add(const StaleRow& row, Counted& kind) {
    ++kind.all;
    if (!row.is_stale()) return;
    ++kind.stale;
    has_out |= !row.dims.empty();
    has_lse_ln |= row.has_lse_ln;
    is_unwritten &= row.is_unwritten;
    if (row.dims.empty()) return;
    const std::int64_t count = std::ssize(row.dims);
    dims = dims.value_or(count) == count ? count : 0;
  }
};

std::string rows_text(const Counted& rows, std::string_view what) {
  if (rows.stale == rows.all) return fmt::format("rows {}", what);
  return fmt::format("{} of {} rows {}", rows.stale, rows.all, what);
}

std::string text_of(const Found& found, std::int64_t head_dim) {
  const std::string empty = rows_text(found.empty, "without keys");
  const std::string keyed = rows_text(found.keyed, "with keys");
  const std::string rows = found.keyed.stale == 0   ? empty
                           : found.empty.stale == 0 ? keyed
                                                    : empty + " and " + keyed;
  const bool is_both = found.has_out && found.has_lse_ln;
  const bool is_one = found.empty.stale + found.keyed.stale == 1 && rows.starts_with("1 of");
  const std::string what = is_both         ? rows + (is_one ? " is " : " are ")
                           : found.has_out ? "out of " + rows + " is "
                                           : "the lse of " + rows + " is ";
  const std::int64_t dims = found.dims.value_or(head_dim);
  const std::string where =
      dims == 0 || dims == head_dim ? "" : fmt::format(" in {} of {} dims", dims, head_dim);
  return what + (found.is_unwritten ? "not written" : "made of what memory held before") + where;
}

}  // namespace

void add_unwritten(HypothesisTrial& trial) {
  const StaleResults* const stale = trial.stale();
  if (stale == nullptr) return;
  reference::BoundedResult faulty = trial.right();
  reference::HeadOptions masks;
  masks.causal = trial.inputs().options.causal;
  masks.window = trial.inputs().options.window;
  Found found;
  for (const auto& [first, rows, keys, blocks] : reference::sequences_of(trial.inputs())) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const bool is_empty = reference::visible_keys(masks, row, rows, keys).size() == 0;
      for (std::int64_t head = 0; head < trial.inputs().q.num_heads; ++head) {
        const StaleRow at = stale->at(first + row, head);
        found.add(at, is_empty ? found.empty : found.keyed);
        for (const std::int64_t dim : at.dims) faulty.exact.out_at(first + row, head, dim) = kNaN;
        if (at.has_lse_ln) faulty.exact.lse_ln_at(first + row, head) = kNaN;
      }
    }
  }
  if (trial.explains(faulty)) trial.name(text_of(found, faulty.exact.head_dim));
}

}  // namespace recto::verify
