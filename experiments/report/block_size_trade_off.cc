#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

std::string changed_points(double from, double to) {
  const double change = (to - from) * 100;
  if (std::abs(change) < 0.05) return "the same";
  return fmt::format("{:.1f} points {}", std::abs(change), change > 0 ? "up" : "down");
}

std::string changed_ratio(double from, double to) {
  if (from <= 0) return to > 0 ? "up from nothing" : "the same";
  const double ratio = to / from;
  if (ratio >= 1.5 || ratio <= 1 / 1.5) return "x " + short_number(std::rint(ratio * 100) / 100);
  if (std::abs(ratio - 1) < 0.0005) return "the same";
  return fmt::format("{} % {}", percent(std::abs(ratio - 1)), ratio > 1 ? "up" : "down");
}

// Empty if nothing is rejected.
std::string changed_rejections(const SeedMean& from, const SeedMean& to) {
  if (from.mean == 0 && to.mean == 0) return "";
  if (from.mean == to.mean) {
    return fmt::format("as many requests rejected, {}", count_text(to.mean));
  }
  return fmt::format("{} {} rejected instead of {}", count_text(to.mean),
                     to.mean == 1 ? "request" : "requests", count_text(from.mean));
}

// Empty if one of the two lacks the figure, or if both figures are zero.
std::string changed(const BlockSizeCriterion& criterion, const BlockSizeFigures& from,
                    const BlockSizeFigures& to) {
  const std::optional<SeedMean> before = criterion.figure(from);
  const std::optional<SeedMean> after = criterion.figure(to);
  if (!before || !after || (before->mean == 0 && after->mean == 0)) return "";
  const std::string what = criterion.name + std::string(" ");
  if (before->mean == after->mean) return what + "the same";
  if (!is_told_apart(*before, *after)) return what + "not distinguished";
  return what + (criterion.difference == Difference::kPoints
                     ? changed_points(before->mean, after->mean)
                     : changed_ratio(before->mean, after->mean));
}

}  // namespace

std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to) {
  if (to.requests_finished.mean == 0) {
    return fmt::format("Block {} instead: all {} requests rejected.", to.block_size,
                       count_text(to.requests_rejected.mean));
  }
  std::vector<std::string> changes;
  const auto add = [&](std::string text) {
    if (!text.empty()) changes.push_back(std::move(text));
  };
  add(changed_rejections(from.requests_rejected, to.requests_rejected));
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    if (criterion.difference != Difference::kCount) add(changed(criterion, from, to));
  }
  return fmt::format("Block {} instead: {}.", to.block_size, fmt::join(changes, ", "));
}

}  // namespace recto::experiments
