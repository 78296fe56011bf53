#include "sim/time/measured_times.h"

#include <string>

#include "bazel/testing/catch.h"
#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

TEST_CASE("a curve passes through its points, and is linear between them") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(100) == 10);
  CHECK(curve.ns(150) == 20);
  CHECK(curve.ns(200) == 30);
}

TEST_CASE("no work takes no time, and less work than the first point's takes its time") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(0) == 0);
  CHECK(curve.ns(1) == 10);
  CHECK(curve.ns(99) == 10);
}

TEST_CASE("work beyond the last point runs at the last point's speed") {
  const MeasuredCurve curve({{100, 10}, {200, 30}});
  CHECK(curve.ns(400) == 60);
  CHECK(MeasuredCurve({{7, 5}}).ns(14) == 10);
}

TEST_CASE("points of equal work are averaged, and drops in time are flattened") {
  CHECK(MeasuredCurve({{100, 10}, {100, 20}}).ns(100) == 15);
  const MeasuredCurve noisy({{100, 10}, {200, 8}, {300, 20}});
  CHECK(noisy.ns(200) == 10);
  CHECK(noisy.ns(250) == 15);
}

TEST_CASE("a curve says whether work is below, at, between or beyond its points") {
  const MeasuredCurve curve({{100, 10}, {200, 30}, {300, 40}});
  CHECK(curve.part(99) == CurvePart::kBelowFirst);
  CHECK(curve.part(100) == CurvePart::kAtPoint);
  CHECK(curve.part(101) == CurvePart::kBetween);
  CHECK(curve.part(200) == CurvePart::kAtPoint);
  CHECK(curve.part(300) == CurvePart::kAtPoint);
  CHECK(curve.part(301) == CurvePart::kBeyondLast);
  CHECK_THROWS(curve.part(0));
}

TEST_CASE("a curve without points, or with a point of no work or time, breaks the contract") {
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

constexpr const char* kSynthetic = "sim/time/testdata/synthetic-not-measured/attention.json";

constexpr const char* kGood = R"({
  "context": {"gpu": "X", "recto_commit": "abc", "date": "2000-01-01"},
  "benchmarks": [
    {"name": "kv_write/block:16", "median_us": "of no concern"},
    {"name": "decode/a", "group": 4, "head_dim": 128, "kv_element_bytes": 2, "block_size": 16,
     "contiguous": 0, "kv_bytes": 4096, "flops": 8192, "median_us": 2.5,
     "copy_GB_per_s": 1000, "matrix_TFLOP_per_s": 100}]})";

std::string failure(const std::string& text) {
  const Status status = parse_measured_times(text, "m.json").status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(status.message().starts_with("m.json"));
  return status.message();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST_CASE("card, rates and decode times are read, and other benchmarks are ignored") {
  const MeasuredTimes times = parse_measured_times(kGood, "m.json").value();
  CHECK(times.gpu == "X");
  CHECK(times.commit == "abc");
  CHECK(times.copied_bytes_per_s == 1e12);
  CHECK(times.matrix_flops_per_s == 1e14);
  REQUIRE(times.attention.size() == 1);
  const MeasuredAttention& decode = times.attention.front();
  CHECK(decode.stage == MeasuredStage::kDecode);
  CHECK(decode.block_size == 16);
  CHECK_FALSE(decode.is_contiguous);
  CHECK(decode.ns == 2500);
}

TEST_CASE("a file with all stages and a skipped case is read") {
  const Result<MeasuredTimes> times = load_measured_times(kSynthetic);
  REQUIRE(times.is_ok());
  CHECK(times.value().gpu == "SYNTHETIC: no card, nothing here was measured");
  CHECK(times.value().attention.size() == 17);
}

TEST_CASE("missing and wrong values are reported with benchmark and field") {
  CHECK(has(failure(replaced(kGood, "\"kv_bytes\": 4096, ", "")),
            "m.json, benchmark 1 'decode/a', field 'kv_bytes': missing; expected a number"));
  CHECK(has(failure(replaced(kGood, "2.5", "\"2.5\"")), "field 'median_us': is string"));
  CHECK(has(failure(replaced(kGood, "2.5", "0")), "field 'median_us': is 0"));
  CHECK(has(failure(replaced(kGood, "4096", "-1")), "field 'kv_bytes': is -1"));
  CHECK(has(failure(replaced(kGood, "4096", "1e200")), "field 'kv_bytes'"));
  CHECK(has(failure(replaced(kGood, "\"block_size\": 16", "\"block_size\": 1.5")),
            "field 'block_size': is 1.5"));
  CHECK(has(failure(replaced(kGood, "\"gpu\": \"X\", ", "")),
            "m.json, 'context', field 'gpu': missing; expected a string"));
  CHECK(has(failure(replaced(kGood, "\"name\": \"decode/a\"", "\"name\": 7")),
            "benchmark 1, field 'name': is number"));
}

TEST_CASE("JSON without the expected structure is refused") {
  CHECK(has(failure("[]"), "expected an object of measurements, not array"));
  CHECK(has(failure("{\n\"context\": }"), "line 2: not valid JSON"));
  CHECK(has(failure("{}"), "field 'context'"));
  CHECK(has(failure(R"({"context": {"gpu": "", "recto_commit": "", "date": ""}})"),
            "field 'benchmarks': expected a list"));
  CHECK(
      has(failure(R"({"context": {"gpu": "", "recto_commit": "", "date": ""}, "benchmarks": [3]})"),
          "benchmark 0: is number; expected an object"));
  CHECK(has(failure(replaced(kGood, "decode/a", "decode_tma/a")), "found no measured"));
  CHECK(has(failure(replaced(kGood, "\"decode/a\",", "\"decode/a\", \"error_occurred\": true,")),
            "found no measured"));
  CHECK(
      has(load_measured_times("nowhere.json").status().message(), "nowhere.json: cannot be read"));
}

}  // namespace
}  // namespace recto::sim
