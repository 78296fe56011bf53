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

TEST_CASE("invalid arrivals are refused by field") {
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

PrefixSharing parsed_sharing(const char* text) { return parse_prefix_sharing(text).value(); }

std::string sharing_error_of(const std::string& text) {
  const Result<PrefixSharing> sharing = parse_prefix_sharing(text);
  CAPTURE(text);
  REQUIRE_FALSE(sharing.is_ok());
  return sharing.status().message();
}

TEST_CASE("templates, sessions and agents are read from their text") {
  CHECK(parsed_sharing("none").shares_nothing());
  const PrefixSharing templates =
      parsed_sharing("templates:count=32,tokens=512,s=1.1,tokens_max=600");
  CHECK(templates.template_count == 32);
  CHECK(templates.template_tokens_min == TokenCount(512));
  CHECK(templates.template_tokens_max == TokenCount(600));
  CHECK(templates.template_s == 1.1);
  CHECK_FALSE(templates.has_sessions());
  const PrefixSharing sessions = parsed_sharing("sessions:turns=5,active=64");
  CHECK(sessions.turns_mean == 5);
  CHECK(sessions.active_sessions == 64);
  CHECK(sessions.template_count == 0);
  const PrefixSharing agent = parsed_sharing("agent:tokens=4096,turns=8,active=16");
  CHECK(agent.template_count == 1);
  CHECK(agent.template_tokens_max == TokenCount(4096));
  CHECK(agent.has_sessions());
}

TEST_CASE("the description of sharing parses back to it") {
  for (const char* text :
       {"none", "templates:count=32,tokens=512", "templates:count=2,tokens=5,tokens_max=9,s=0",
        "sessions:turns=5,active=64", "agent:tokens=4096,turns=8,active=64",
        "agent:tokens=9,turns=1.5,active=2,count=7,s=2,tokens_max=11"}) {
    CAPTURE(text);
    const PrefixSharing sharing = parsed_sharing(text);
    CHECK(parsed_sharing(describe(sharing).c_str()) == sharing);
  }
}

TEST_CASE("invalid sharing is refused by field") {
  CHECK_THAT(sharing_error_of("templates:count=0,tokens=512"), ContainsSubstring("field count"));
  CHECK_THAT(sharing_error_of("templates:count=3,tokens=0"), ContainsSubstring("field tokens"));
  CHECK_THAT(sharing_error_of("templates:count=3,tokens=9,tokens_max=8"),
             ContainsSubstring("field tokens_max: expected 9 to"));
  CHECK_THAT(sharing_error_of("templates:count=3,tokens=9,s=-1"), ContainsSubstring("field s"));
  CHECK_THAT(sharing_error_of("sessions:turns=0.5,active=1"), ContainsSubstring("field turns"));
  CHECK_THAT(sharing_error_of("sessions:turns=5"), ContainsSubstring("field active is missing"));
  CHECK_THAT(sharing_error_of("sessions:turns=5,active=0"), ContainsSubstring("field active"));
  CHECK_THAT(sharing_error_of("some"), ContainsSubstring("expected one of none, templates:"));
}

TEST_CASE("decoding is read from its text and described by it") {
  CHECK(parse_decoding("single").value() == DecodingSpec{Decoding::kSingle, 1});
  CHECK(parse_decoding("parallel:4").value() == DecodingSpec{Decoding::kParallel, 4});
  CHECK(parse_decoding("beam:width=6").value() == DecodingSpec{Decoding::kBeam, 6});
  for (const char* text : {"single", "parallel:4", "beam:6"}) {
    CHECK(describe(parse_decoding(text).value()) == text);
  }
}

TEST_CASE("invalid widths, unknown kinds, and a width for single decoding are refused") {
  for (const char* text : {"parallel:0", "beam:-1", "beam:1025", "beam:99999999999999", "beam",
                           "single:2", "greedy"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decoding(text).is_ok());
  }
  CHECK_FALSE(check_decoding({Decoding::kSingle, 2}).is_ok());
}

}  // namespace
}  // namespace recto::sim
