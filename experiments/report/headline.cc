#include "experiments/report/headline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kRowsNamed = 8;

struct RankedRow {
  std::size_t row = 0;
  BlockSizeFigures figures;
};

using RankedRows = std::vector<RankedRow>;

RankedRows rows_of(const Json& rows, const std::vector<std::size_t>& which, Throughput throughput) {
  RankedRows made;
  for (const std::size_t row : which) {
    made.push_back({row, figures_of(0, rows[row]["metrics"], throughput)});
  }
  return made;
}

RankedRows served_of(const RankedRows& rows) {
  RankedRows served;
  std::ranges::copy_if(rows, std::back_inserter(served),
                       [](const RankedRow& one) { return one.figures.requests_finished.mean > 0; });
  return served;
}

// Of `rows`, which are not empty, those whose figure is within `tolerance` of the least one.
template <typename Figure>
RankedRows within(const RankedRows& rows, double tolerance, Figure figure) {
  const auto least = std::ranges::min_element(rows, {}, figure);
  const double limit = figure(*least) + tolerance * std::abs(figure(*least));
  RankedRows kept;
  std::ranges::copy_if(rows, std::back_inserter(kept),
                       [&](const RankedRow& one) { return figure(one) <= limit; });
  return kept;
}

// Of some seed without answers there is none.
double s_per_token(const BlockSizeFigures& figures) {
  return figures.s_per_token ? figures.s_per_token->mean : std::numeric_limits<double>::infinity();
}

// The best for `sign` 1, the worst for -1; the first of equals.
RankedRow extreme(const RankedRows& rows, double sign) {
  const RankedRows fewest = within(
      rows, 0, [&](const RankedRow& one) { return sign * one.figures.requests_rejected.mean; });
  const RankedRows quickest = within(fewest, kGoodRatio, [&](const RankedRow& one) {
    return -sign * one.figures.output_per_s.mean;
  });
  return *std::ranges::min_element(
      quickest, {}, [&](const RankedRow& one) { return sign * s_per_token(one.figures); });
}

// The row of each panel that it recommends; all rows of a panel that recommends none.
std::vector<std::size_t> competing_rows(const Json& rows, const Json& panels) {
  std::vector<std::size_t> competing;
  for (const Json& panel : panels) {
    const Json& recommended = panel["advice"]["recommended"];
    for (const Json& row : panel["rows"]) {
      const auto index = row.get<std::size_t>();
      if (recommended.is_null() || rows[index]["block_size"] == recommended) {
        competing.push_back(index);
      }
    }
  }
  return competing;
}

bool is_recommended(const Json& rows, const Json& panels, std::size_t row) {
  return std::ranges::any_of(panels, [&](const Json& panel) {
    return panel["advice"]["recommended"] == rows[row]["block_size"] &&
           std::ranges::find(panel["rows"], Json(row)) != panel["rows"].end();
  });
}

bool is_as_good(const BlockSizeFigures& a, const BlockSizeFigures& b) {
  return a.requests_rejected.mean == b.requests_rejected.mean &&
         !is_told_apart(a.output_per_s, b.output_per_s) &&
         !(a.s_per_token && b.s_per_token && is_told_apart(*a.s_per_token, *b.s_per_token));
}

// The row that is compared with `best`.
std::size_t worst_beside(const RankedRow& best, const RankedRows& rows) {
  RankedRows others;
  std::ranges::copy_if(rows, std::back_inserter(others),
                       [&](const RankedRow& one) { return one.row != best.row; });
  if (others.empty()) return best.row;
  const RankedRows served = served_of(others);
  return extreme(served.empty() ? others : served, -1).row;
}

}  // namespace

Json headline_json(const Json& rows, const std::vector<std::size_t>& mapped, const Json& panels,
                   Throughput throughput) {
  const RankedRows competing = served_of(rows_of(rows, competing_rows(rows, panels), throughput));
  std::optional<RankedRow> best;
  if (!competing.empty()) best = extreme(competing, 1);
  if (best && !is_recommended(rows, panels, best->row)) best.reset();
  Json not_told_apart = Json::array();
  if (best) {
    for (const RankedRow& one : competing) {
      if (one.row == best->row || !is_as_good(one.figures, best->figures)) continue;
      not_told_apart.push_back(one.row);
    }
  }
  const Json recommended = best ? Json(best->row) : Json();
  const RankedRows shown = rows_of(rows, mapped, throughput);
  if (shown.empty()) {
    return {{"recommended", recommended}, {"not_told_apart", not_told_apart}, {"compared", {0, 0}}};
  }
  const bool is_shown = best && std::ranges::find(mapped, best->row) != mapped.end();
  const RankedRows served = served_of(shown);
  if (!is_shown) best = extreme(served.empty() ? shown : served, 1);
  return {{"recommended", recommended},
          {"not_told_apart", not_told_apart},
          {"compared", {worst_beside(*best, shown), best->row}}};
}

std::string rejected_note(const Json& rows, std::int64_t seeds) {
  std::vector<std::string> texts;
  for (const Json& row : rows) {
    const BlockSizeFigures figures = figures_of(0, row["metrics"], Throughput::kTokens);
    const double rejected = figures.requests_rejected.mean;
    if (rejected <= 0) continue;
    texts.push_back(fmt::format("{} ({} of {})", row["label"].get<std::string>(),
                                count_text(rejected),
                                count_text(rejected + figures.requests_finished.mean)));
  }
  if (texts.empty()) return "";
  const std::size_t named = std::min(texts.size(), kRowsNamed);
  const std::string more =
      texts.size() > named ? fmt::format(" and {} more rows", texts.size() - named) : "";
  texts.resize(named);
  return fmt::format(
      "Requests were rejected, because they can never fit, and are in no other figure: {}{}{}.",
      fmt::join(texts, ", "), more, seeds > 1 ? fmt::format(", means over {} seeds", seeds) : "");
}

}  // namespace recto::experiments
