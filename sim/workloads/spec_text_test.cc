#include "sim/workloads/spec_text.h"

#include <string>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Point {
  double x = 0;
  std::int64_t n = 0;
};

Point read_point(SpecReader& reader) {
  const double x = reader.number("x");
  return {x, reader.count_or("n", 7)};
}
Point read_origin(SpecReader&) { return {}; }
Status check_point(const Point& point) { return check_count("n", point.n, {1, 9}); }

constexpr SpecForm<Point> kForms[] = {
    {"point", "point:x=X[,n=N]", read_point},
    {"origin", "origin", read_origin},
};

Result<Point> parse(const std::string& text) {
  return read_spec<Point>(text, kForms, [](const Point& point) {
    return point.n == 0 ? Status::ok() : check_point(point);
  });
}

std::string error_of(const std::string& text) {
  const Result<Point> point = parse(text);
  REQUIRE_FALSE(point.is_ok());
  CHECK(point.status().code() == StatusCode::kInvalidInput);
  return point.status().message();
}

TEST_CASE("values are read by name, in any order, or by position") {
  CHECK(parse("point:x=1.5,n=3").value().x == 1.5);
  CHECK(parse("point:n=3,x=1.5").value().n == 3);
  CHECK(parse("point:1.5,3").value().n == 3);
  CHECK(parse("point:n=3,1.5").value().x == 1.5);
  CHECK(parse("point:x=-2e-3").value().x == -2e-3);
  CHECK(parse("point:x=1").value().n == 7);
  CHECK(parse("origin").is_ok());
}

TEST_CASE("errors quote the text, name the field and show the form") {
  CHECK(error_of("point:x=abc") ==
        "'point:x=abc': field x: expected a number, got 'abc'; the form is point:x=X[,n=N]");
  CHECK_THAT(error_of("point:x=1,n=0.5"), ContainsSubstring("field n: expected a whole number"));
  CHECK_THAT(error_of("point:x=1,n=10"), ContainsSubstring("field n: expected 1 to 9, got 10"));
  CHECK_THAT(error_of("point:n=3"), ContainsSubstring("field x is missing"));
  CHECK_THAT(error_of("point"), ContainsSubstring("field x is missing"));
  CHECK_THAT(error_of("point:x=1,y=2"), ContainsSubstring("unknown or repeated field 'y'"));
  CHECK_THAT(error_of("point:x=1,x=2"), ContainsSubstring("unknown or repeated field 'x'"));
  CHECK_THAT(error_of("point:1,2,3"), ContainsSubstring("too many values at '3'"));
  CHECK_THAT(error_of("origin:1"), ContainsSubstring("too many values at '1'"));
}

TEST_CASE("an unknown kind lists the forms") {
  CHECK(error_of("line:1") ==
        "'line:1': unknown kind 'line'; expected one of point:x=X[,n=N], origin");
  CHECK_THAT(error_of(""), ContainsSubstring("unknown kind ''"));
}

TEST_CASE("a text that is no list of fields is read whole, and counts as read") {
  SpecReader reader("sum:1xpoint:x=2+3xorigin");
  CHECK(reader.whole() == "1xpoint:x=2+3xorigin");
  CHECK(reader.finish().is_ok());
  CHECK(SpecReader("sum").whole().empty());
}

TEST_CASE("broken syntax and numbers out of range are errors, never crashes") {
  for (const char* text : {"point:", "point:,", "point:x=1,", "point:=1", "point:x=", "point:x==1",
                           "point:x=inf", "point:x=nan", "point:x=1e999", "point:x=1 ",
                           "point:x=1,n=99999999999999999999", "point:x=+1", ":", "point:x=0x10"}) {
    CAPTURE(text);
    CHECK_FALSE(parse(text).is_ok());
  }
}

}  // namespace
}  // namespace recto::sim
