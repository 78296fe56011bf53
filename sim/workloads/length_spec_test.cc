#include "sim/workloads/length_spec.h"

#include <string>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string error_of(const std::string& text) {
  const Result<LengthSpec> spec = parse_length_spec(text);
  CAPTURE(text);
  REQUIRE_FALSE(spec.is_ok());
  return spec.status().message();
}

TEST_CASE("every kind of length is read from its text") {
  const auto parsed = [](const char* text) { return parse_length_spec(text).value(); };
  CHECK(parsed("constant:512") == LengthSpec(ConstantLength{TokenCount(512)}));
  CHECK(parsed("uniform:16,1024") == LengthSpec(UniformLength{TokenCount(16), TokenCount(1024)}));
  CHECK(parsed("lognormal:mean=161,cv=1.2,max=2048") ==
        LengthSpec(LogNormalLength{161, 1.2, TokenCount(2048)}));
  CHECK(parsed("lognormal:mean=161,cv=1.2") == LengthSpec(LogNormalLength{161, 1.2}));
  CHECK(parsed("gamma:mean=338,shape=1.3,max=2048") ==
        LengthSpec(GammaLength{338, 1.3, TokenCount(2048)}));
  CHECK(parsed("zipf:n=2048,s=1.1") == LengthSpec(ZipfLength{2048, 1.1}));
  CHECK(parsed("empirical:16x3,20") ==
        LengthSpec(EmpiricalLength{{{TokenCount(16), 3}, {TokenCount(20), 1}}}));
}

TEST_CASE("a mixture is read part by part") {
  const auto parsed = [](const char* text) { return parse_length_spec(text).value(); };
  const MixtureLength expected = {
      {{0.6, LogNormalLength{12, 0.2}}, {0.4, LogNormalLength{30.275, 0.7}}}, TokenCount(1024)};
  CHECK(parsed("mixture:max=1024,0.6xlognormal:mean=12,cv=0.2+0.4xlognormal:mean=30.275,cv=0.7") ==
        LengthSpec(expected));
  // The last max belongs to the last part.
  CHECK(parsed("mixture:3xconstant:5+1xgamma:mean=30,shape=2,max=99") ==
        LengthSpec(MixtureLength{
            {{3, ConstantLength{TokenCount(5)}}, {1, GammaLength{30, 2, TokenCount(99)}}}}));
  CHECK(parsed("mixture:1e+0xzipf:9,1+2xuniform:2,3+1e-3xgamma:mean=3e+1,shape=2") ==
        LengthSpec(MixtureLength{{{1, ZipfLength{9, 1}},
                                  {2, UniformLength{TokenCount(2), TokenCount(3)}},
                                  {1e-3, GammaLength{30, 2}}}}));
}

TEST_CASE("the description of a length parses back to it") {
  for (const char* text :
       {"constant:512", "uniform:min=16,max=1024", "lognormal:mean=161.31,cv=1.2",
        "lognormal:mean=161,cv=0.1,max=2048", "gamma:mean=338,shape=1.3,max=2048",
        "zipf:n=2048,s=1.1", "empirical:16x3,20x1",
        "mixture:0.6xconstant:12+0.4xuniform:min=16,max=99",
        "mixture:max=1025,3xlognormal:mean=12,cv=0.2,max=90+0.001xgamma:mean=30.275,shape=0.7+"
        "2xzipf:n=2048,s=1.1"}) {
    CHECK(describe(parse_length_spec(text).value()) == text);
  }
}

TEST_CASE("the range of a length is what can be drawn") {
  const auto range = [](const char* text) {
    const LengthRange lengths = length_range(parse_length_spec(text).value());
    return std::pair(lengths.min.value(), lengths.max.value());
  };
  CHECK(range("constant:512") == std::pair<std::int64_t, std::int64_t>(512, 512));
  CHECK(range("uniform:16,1024") == std::pair<std::int64_t, std::int64_t>(16, 1024));
  CHECK(range("lognormal:50,1,max=99") == std::pair<std::int64_t, std::int64_t>(1, 99));
  CHECK(range("gamma:50,1,max=99") == std::pair<std::int64_t, std::int64_t>(1, 99));
  CHECK(range("zipf:77,1") == std::pair<std::int64_t, std::int64_t>(1, 77));
  CHECK(range("empirical:20x1,16x3,18x2") == std::pair<std::int64_t, std::int64_t>(16, 20));
  CHECK(range("mixture:1xconstant:7+1xuniform:5,20") ==
        std::pair<std::int64_t, std::int64_t>(5, 20));
  CHECK(range("mixture:max=18,1xconstant:7+1xuniform:5,20") ==
        std::pair<std::int64_t, std::int64_t>(5, 18));
}

TEST_CASE("invalid lengths are refused by field") {
  CHECK_THAT(error_of("constant:0"), ContainsSubstring("field tokens: expected 1 to"));
  CHECK_THAT(error_of("constant:-5"), ContainsSubstring("field tokens: expected 1 to"));
  CHECK_THAT(error_of("constant:9999999999"), ContainsSubstring("field tokens"));
  CHECK_THAT(error_of("uniform:20,10"), ContainsSubstring("field max: expected 20 to"));
  CHECK_THAT(error_of("lognormal:mean=0.5,cv=1"), ContainsSubstring("field mean"));
  CHECK_THAT(error_of("lognormal:mean=161,cv=0"), ContainsSubstring("field cv"));
  CHECK_THAT(error_of("gamma:mean=338,shape=0"), ContainsSubstring("field shape"));
  CHECK_THAT(error_of("zipf:n=0,s=1"), ContainsSubstring("field n"));
  CHECK_THAT(error_of("zipf:n=10,s=-1"), ContainsSubstring("field s"));
  CHECK_THAT(error_of("empirical:16x"), ContainsSubstring("expected LENGTHxTIMES, got"));
  CHECK_THAT(error_of("empirical:16x0"), ContainsSubstring("field times"));
  CHECK_THAT(error_of("empirical"), ContainsSubstring("at least one length"));
}

TEST_CASE("a maximum below the mean is refused, since most draws would be thrown away") {
  CHECK_THAT(error_of("lognormal:mean=161,cv=1,max=16"),
             ContainsSubstring("field max: expected at least the mean 161, got 16"));
  CHECK_THAT(error_of("gamma:mean=338,shape=1.3,max=337"), ContainsSubstring("field max"));
}

TEST_CASE("invalid mixtures are refused by part and field") {
  CHECK_THAT(error_of("mixture"), ContainsSubstring("at least two parts, joined by '+', got 0"));
  CHECK_THAT(error_of("mixture:max=9"), ContainsSubstring("at least two parts"));
  CHECK_THAT(error_of("mixture:1xconstant:5"), ContainsSubstring("joined by '+', got 1"));
  CHECK_THAT(error_of("mixture:1xconstant:5+"), ContainsSubstring("part 2: expected WEIGHTxPART"));
  CHECK_THAT(error_of("mixture:constant:5+1xconstant:6"),
             ContainsSubstring("part 1: expected WEIGHTxPART with a number as weight, got "
                               "'constant:5'"));
  CHECK_THAT(error_of("mixture:1xconstant:5+max=9"), ContainsSubstring("part 2: expected WEIGHT"));
  CHECK_THAT(error_of("mixture:1xconstant:5+0xconstant:6"),
             ContainsSubstring("part 2: field weight: expected 1e-09 to"));
  CHECK_THAT(error_of("mixture:-1xconstant:5+1xconstant:6"),
             ContainsSubstring("part 1: field weight"));
  CHECK_THAT(error_of("mixture:1xconstant:5+1xgamma:mean=9"),
             ContainsSubstring("part 2: 'gamma:mean=9': field shape is missing"));
  CHECK_THAT(error_of("mixture:1xconstant:5+1xgamma:mean=9,shape=0"),
             ContainsSubstring("part 2: field shape: expected"));
  CHECK_THAT(error_of("mixture:max=x,1xconstant:5+1xconstant:6"),
             ContainsSubstring("field max: expected a whole number, got 'x'"));
  CHECK(parse_length_spec("mixture:1xconstant:5+1e-9xconstant:6").is_ok());
}

TEST_CASE("mixtures do not nest and have no empirical parts") {
  CHECK_THAT(error_of("mixture:1xconstant:5+1xempirical:16x3"),
             ContainsSubstring("part 2: 'empirical:16x3': unknown kind 'empirical'; expected one "
                               "of constant:TOKENS"));
  CHECK_THAT(error_of("mixture:1xconstant:5+1xmixture:1xconstant:5"),
             ContainsSubstring("unknown kind 'mixture'"));
}

TEST_CASE("a mixture's maximum is at least the middle of each part") {
  CHECK(parse_length_spec("mixture:max=30,9xconstant:5+1xgamma:mean=30,shape=2").is_ok());
  CHECK_THAT(error_of("mixture:max=29,9xconstant:5+1xgamma:mean=30,shape=2"),
             ContainsSubstring("part 2: field max of the mixture: expected at least 30, the middle "
                               "of this part, got 29"));
  CHECK(parse_length_spec("mixture:max=15,1xuniform:10,20+1xzipf:29,0").is_ok());
  CHECK_THAT(error_of("mixture:max=14,1xuniform:10,20+1xzipf:27,0"), ContainsSubstring("part 1"));
  CHECK_THAT(error_of("mixture:max=15,1xuniform:10,20+1xzipf:30,0"), ContainsSubstring("part 2"));
  CHECK_THAT(error_of("mixture:max=4,1xconstant:4+1xconstant:5"), ContainsSubstring("part 2"));
}

}  // namespace
}  // namespace recto::sim
