#include "sim/time/measured_curve.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/contract.h"

namespace recto::sim {
namespace {

std::vector<MeasuredPoint> merged(std::vector<MeasuredPoint> points) {
  // By time as well: a sum must not depend on the order in which points were given.
  std::ranges::sort(points, [](const MeasuredPoint& a, const MeasuredPoint& b) {
    return std::pair(a.work, a.ns) < std::pair(b.work, b.ns);
  });
  std::vector<MeasuredPoint> kept;
  for (std::size_t first = 0; first < points.size();) {
    double sum = 0;
    std::size_t last = first;
    for (; last < points.size() && points[last].work == points[first].work; ++last) {
      sum += points[last].ns;
    }
    kept.push_back({points[first].work, sum / static_cast<double>(last - first)});
    first = last;
  }
  return kept;
}

}  // namespace

MeasuredCurve::MeasuredCurve(std::vector<MeasuredPoint> points)
    : points_(merged(std::move(points))) {
  RECTO_CHECK(!points_.empty());
  RECTO_CHECK_GT(points_.front().work, 0.0);
  double longest = 0;
  for (MeasuredPoint& point : points_) {
    RECTO_CHECK_GT(point.ns, 0.0);
    longest = std::max(longest, point.ns);
    point.ns = longest;
  }
}

double MeasuredCurve::ns(double work) const {
  RECTO_CHECK_GE(work, 0.0);
  if (work == 0) return 0;
  const MeasuredPoint& last = points_.back();
  if (work >= last.work) return last.ns * (work / last.work);
  const auto above = std::ranges::upper_bound(points_, work, {}, &MeasuredPoint::work);
  if (above == points_.begin()) return above->ns;
  const MeasuredPoint& below = *(above - 1);
  const double share = (work - below.work) / (above->work - below.work);
  // Even with rounding, this form never decreases, and stays between both points.
  return std::min(below.ns + (above->ns - below.ns) * share, above->ns);
}

CurvePart MeasuredCurve::part(double work) const {
  RECTO_CHECK_GT(work, 0.0);
  const auto found = std::ranges::lower_bound(points_, work, {}, &MeasuredPoint::work);
  if (found == points_.end()) return CurvePart::kBeyondLast;
  if (found->work == work) return CurvePart::kAtPoint;
  return found == points_.begin() ? CurvePart::kBelowFirst : CurvePart::kBetween;
}

}  // namespace recto::sim
