#pragma once

// Time by amount of work, through points that were measured. More work never takes less time, and
// no point is extrapolated to a speed that nobody saw.

#include <cstdint>
#include <vector>

namespace recto::sim {

struct MeasuredPoint {
  double work = 0;  // bytes or operations, more than 0
  double ns = 0;    // more than 0
};

// Where work lies: only at a point is its time one that was measured.
enum class CurvePart : std::uint8_t { kBelowFirst, kAtPoint, kBetween, kBeyondLast };

// Of points of equal work the mean counts; a point that took less time than one with less work,
// takes that one's time. No work takes no time. Up to the first point all work takes the first
// one's time, as a launch takes what it takes; between points time is linear; beyond the last one
// it grows in proportion, at the last one's speed.
class MeasuredCurve {
 public:
  // At least one point, in any order. O(points log points).
  explicit MeasuredCurve(std::vector<MeasuredPoint> points);

  // `work` is at least 0. O(log points).
  double ns(double work) const;

  // Likewise, of work above 0.
  CurvePart part(double work) const;

 private:
  std::vector<MeasuredPoint> points_;  // work ascends, time does not descend
};

}  // namespace recto::sim
