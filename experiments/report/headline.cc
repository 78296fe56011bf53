#include "experiments/report/headline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kRowsNamed = 8;

using Rows = std::vector<std::size_t>;
using Figures = std::vector<BlockSizeFigures>;  // of every row of the page

bool contains(const Rows& rows, std::size_t row) {
  return std::ranges::find(rows, row) != rows.end();
}

// The rows whose figure is within `tolerance` of the least one. `rows` is not empty.
template <typename Figure>
Rows within(const Rows& rows, double tolerance, Figure figure) {
  const double least = figure(*std::ranges::min_element(rows, {}, figure));
  return filtered(
      rows, [&](std::size_t row) { return figure(row) <= least + tolerance * std::abs(least); });
}

// The best row for `sign` 1, the worst for -1; the first of equal rows. A row without answers under
// some seed has no time per token.
std::size_t extreme(const Figures& figures, const Rows& rows, double sign) {
  const Rows fewest =
      within(rows, 0, [&](std::size_t row) { return sign * figures[row].requests_rejected.mean; });
  const Rows quickest = within(
      fewest, kGoodRatio, [&](std::size_t row) { return -sign * figures[row].output_per_s.mean; });
  return *std::ranges::min_element(quickest, {}, [&](std::size_t row) {
    const std::optional<SeedMean>& time = figures[row].s_per_token;
    return sign * (time ? time->mean : std::numeric_limits<double>::infinity());
  });
}

bool is_as_good(const BlockSizeFigures& a, const BlockSizeFigures& b) {
  return a.requests_rejected.mean == b.requests_rejected.mean &&
         !is_told_apart(a.output_per_s, b.output_per_s) &&
         !(a.s_per_token && b.s_per_token && is_told_apart(*a.s_per_token, *b.s_per_token));
}

}  // namespace

Json headline_json(const Json& rows, const Rows& mapped, const Json& panels,
                   Throughput throughput) {
  Figures figures;
  for (const Json& row : rows) figures.push_back(figures_of(0, row["metrics"], throughput));
  const auto is_serving = [&](std::size_t row) { return figures[row].requests_finished.mean > 0; };
  // Among rows that served requests; among all rows if none did.
  const auto extreme_of = [&](const Rows& of, double sign) {
    const Rows served = filtered(of, is_serving);
    return extreme(figures, served.empty() ? of : served, sign);
  };
  Rows advised;    // each panel's recommended row
  Rows competing;  // and all rows of panels that recommend none
  for (const Json& panel : panels) {
    const Json& recommended = panel["advice"]["recommended"];
    for (const std::size_t row : panel["rows"].get<Rows>()) {
      const bool is_advised = rows[row]["block_size"] == recommended;
      if (is_advised) advised.push_back(row);
      if (is_advised || recommended.is_null()) competing.push_back(row);
    }
  }
  competing = filtered(competing, is_serving);
  Rows best;  // one row, or none
  if (!competing.empty()) best = {extreme(figures, competing, 1)};
  best = filtered(best, [&](std::size_t row) { return contains(advised, row); });
  const Rows as_good = filtered(competing, [&](std::size_t other) {
    return std::ranges::any_of(best, [&](std::size_t row) {
      return row != other && is_as_good(figures[other], figures[row]);
    });
  });
  Json headline = {{"recommended", best.empty() ? Json() : Json(best.front())},
                   {"not_told_apart", as_good}};
  headline["compared"] = {0, 0};
  if (mapped.empty()) return headline;
  const Rows shown_best = filtered(best, [&](std::size_t row) { return contains(mapped, row); });
  const std::size_t shown = shown_best.empty() ? extreme_of(mapped, 1) : shown_best.front();
  const Rows others = filtered(mapped, [&](std::size_t row) { return row != shown; });
  headline["compared"] = {others.empty() ? shown : extreme_of(others, -1), shown};
  return headline;
}

std::vector<std::string> notes_on(const Json& rows, std::int64_t seeds) {
  std::vector<std::string> texts;
  for (const Json& row : rows) {
    const BlockSizeFigures figures = figures_of(0, row["metrics"], Throughput::kTokens);
    const double rejected = figures.requests_rejected.mean;
    if (rejected <= 0) continue;
    texts.push_back(fmt::format("{} ({} of {})", row["label"].get<std::string>(),
                                count_text(rejected),
                                count_text(rejected + figures.requests_finished.mean)));
  }
  if (texts.empty()) return {};
  const std::size_t named = std::min(texts.size(), kRowsNamed);
  const std::string more =
      texts.size() > named ? fmt::format(" and {} more rows", texts.size() - named) : "";
  texts.resize(named);
  return {fmt::format(
      "Requests were rejected, because they can never fit, and are in no other figure: {}{}{}.",
      fmt::join(texts, ", "), more, seeds > 1 ? fmt::format(", means over {} seeds", seeds) : "")};
}

}  // namespace recto::experiments
