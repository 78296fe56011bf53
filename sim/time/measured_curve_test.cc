#include "sim/time/measured_times.h"

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

TEST_CASE("points are met, and time is linear between them") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(100) == 10);
  CHECK(curve.ns(150) == 20);
  CHECK(curve.ns(200) == 30);
}

TEST_CASE("nothing takes no time, a little what the first point took") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(0) == 0);
  CHECK(curve.ns(1) == 10);
  CHECK(curve.ns(99) == 10);
}

TEST_CASE("beyond the last point its speed goes on") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(400) == 60);
  CHECK(MeasuredCurve({{7, 5}}).ns(14) == 10);
}

TEST_CASE("points of equal work count by their mean, a faster one with more work not at all") {
  CHECK(MeasuredCurve({{100, 10}, {100, 20}}).ns(100) == 15);
  const MeasuredCurve noisy({{100, 10}, {200, 8}, {300, 20}});
  CHECK(noisy.ns(200) == 10);
  CHECK(noisy.ns(250) == 15);
}

TEST_CASE("only at a point is a time one that was measured") {
  const MeasuredCurve curve({{100, 10}, {200, 30}, {300, 40}});
  CHECK(curve.part(99) == CurvePart::kBelowFirst);
  CHECK(curve.part(100) == CurvePart::kAtPoint);
  CHECK(curve.part(101) == CurvePart::kBetween);
  CHECK(curve.part(200) == CurvePart::kAtPoint);
  CHECK(curve.part(300) == CurvePart::kAtPoint);
  CHECK(curve.part(301) == CurvePart::kBeyondLast);
  CHECK_THROWS(curve.part(0));
}

TEST_CASE("no points, and points of nothing, are a defect") {
  CHECK_THROWS(MeasuredCurve({}));
  CHECK_THROWS(MeasuredCurve({{0, 1}}));
  CHECK_THROWS(MeasuredCurve({{1, 0}}));
}

TEST_CASE("more work never takes less time, whatever was measured, in whatever order") {
  property("monotone, and the same for each order", [](Draw& draw) {
    std::vector<MeasuredPoint> points;
    for (int i = draw.growing<int>(1, 11); i > 0; --i) {
      points.push_back({static_cast<double>(draw.growing<int>(1, 49)),
                        static_cast<double>(draw.growing<int>(1, 999))});
    }
    const MeasuredCurve curve(points);
    const MeasuredCurve backwards({points.rbegin(), points.rend()});
    double before = 0;
    for (int half = 0; half < 120; ++half) {
      const double work = half / 2.0;
      const double now = curve.ns(work);
      RECTO_REQUIRE(now >= before);
      RECTO_REQUIRE(now == backwards.ns(work));
      before = now;
    }
  });
}

}  // namespace
}  // namespace recto::sim
