#include "sim/workloads/workload_specs.h"

#include <string>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;

ArrivalSpec parsed(const char* text) { return parse_arrivals(text).value(); }

std::string error_of(const std::string& text) {
  const Result<ArrivalSpec> spec = parse_arrivals(text);
  CAPTURE(text);
  REQUIRE_FALSE(spec.is_ok());
  return spec.status().message();
}

TEST_CASE("every kind of arrivals is read from its text") {
  CHECK(parsed("poisson:2") == ArrivalSpec(PoissonArrivals{2}));
  CHECK(parsed("gamma:rate=2,cv=3") == ArrivalSpec(GammaArrivals{2, 3}));
  CHECK(parsed("onoff:rate=10,on_s=5,off_s=20") == ArrivalSpec(OnOffArrivals{10, 5, 20}));
  CHECK(parsed("constant:4") == ArrivalSpec(ConstantArrivals{4}));
  CHECK(parsed("closed:clients=32,think_s=1") == ArrivalSpec(ClosedLoopArrivals{32, 1}));
  CHECK(parsed("closed:32") == ArrivalSpec(ClosedLoopArrivals{32, 0}));
}

TEST_CASE("the description of arrivals parses back to them") {
  for (const char* text :
       {"poisson:2", "poisson:0.1", "gamma:rate=2,cv=3", "onoff:rate=10,on_s=5,off_s=20.5",
        "constant:4", "closed:clients=32,think_s=1"}) {
    CHECK(describe(parsed(text)) == text);
  }
}

TEST_CASE("arrivals that cannot be are refused by field") {
  CHECK_THAT(error_of("poisson:0"), ContainsSubstring("field rate: expected 1e-06 to"));
  CHECK_THAT(error_of("poisson:-2"), ContainsSubstring("field rate"));
  CHECK_THAT(error_of("poisson"), ContainsSubstring("field rate is missing"));
  CHECK_THAT(error_of("gamma:rate=2,cv=0"), ContainsSubstring("field cv"));
  CHECK_THAT(error_of("gamma:rate=2"), ContainsSubstring("field cv is missing"));
  CHECK_THAT(error_of("onoff:rate=2,on_s=1,off_s=0"), ContainsSubstring("field off_s"));
  CHECK_THAT(error_of("onoff:rate=0.001,on_s=0.1,off_s=1"), ContainsSubstring("field on_s"));
  CHECK_THAT(error_of("closed:clients=0"), ContainsSubstring("field clients"));
  CHECK_THAT(error_of("closed:clients=1,think_s=-1"), ContainsSubstring("field think_s"));
  CHECK_THAT(error_of("weekly:1"), ContainsSubstring("expected one of poisson:rate=R, gamma"));
}

TEST_CASE("the mean rate counts silent periods, and a closed loop has none") {
  CHECK(mean_rate_per_s(parsed("poisson:2")) == 2);
  CHECK(mean_rate_per_s(parsed("gamma:rate=2,cv=3")) == 2);
  CHECK(mean_rate_per_s(parsed("onoff:rate=10,on_s=5,off_s=20")) == 2);
  CHECK(mean_rate_per_s(parsed("constant:4")) == 4);
  CHECK_FALSE(mean_rate_per_s(parsed("closed:32")).has_value());
}

TEST_CASE("scaling the rate moves bursts nearer along with the arrivals in them") {
  CHECK(describe(scale_rate(parsed("poisson:2"), 1.5).value()) == "poisson:3");
  CHECK(describe(scale_rate(parsed("gamma:rate=2,cv=3"), 2).value()) == "gamma:rate=4,cv=3");
  CHECK(describe(scale_rate(parsed("onoff:rate=10,on_s=5,off_s=20"), 2).value()) ==
        "onoff:rate=20,on_s=2.5,off_s=10");
  CHECK_THAT(scale_rate(parsed("closed:32"), 2).status().message(),
             ContainsSubstring("a closed loop has no rate to scale"));
  CHECK_THAT(scale_rate(parsed("poisson:2"), 0).status().message(),
             ContainsSubstring("field factor"));
}

}  // namespace
}  // namespace recto::sim
