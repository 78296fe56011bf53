#pragma once

// Time by amount of work, through measured points. More work never takes less time, and no point is
// extrapolated to a speed that was not measured.

#include <cstdint>
#include <vector>

namespace recto::sim {

struct MeasuredPoint {
  double work = 0;  // bytes or operations, more than 0
  double ns = 0;    // more than 0
};

// Where an amount of work is relative to the points: only at a point is its time a measured one.
enum class CurvePart : std::uint8_t { kBelowFirst, kAtPoint, kBetween, kBeyondLast };

// Points of equal work are averaged; a point that took less time than one with less work gets that
// one's time. No work takes no time. Work up to the first point takes the first point's time, since
// a launch has a minimum cost; between points, time is linear; beyond the last point, it grows in
// proportion, at the last point's speed.
class MeasuredCurve {
 public:
  // At least one point, in any order. O(points log points).
  explicit MeasuredCurve(std::vector<MeasuredPoint> points);

  // `work` must be at least 0. O(log points).
  double ns(double work) const;

  // `work` must be above 0. O(log points).
  CurvePart part(double work) const;

 private:
  std::vector<MeasuredPoint> points_;  // work ascends, time does not descend
};

}  // namespace recto::sim
