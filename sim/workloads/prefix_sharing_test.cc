#include "sim/workloads/workload_specs.h"

#include <string>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;

PrefixSharing parsed(const char* text) { return parse_prefix_sharing(text).value(); }

std::string error_of(const std::string& text) {
  const Result<PrefixSharing> sharing = parse_prefix_sharing(text);
  CAPTURE(text);
  REQUIRE_FALSE(sharing.is_ok());
  return sharing.status().message();
}

TEST_CASE("templates, sessions and agents are read from their text") {
  CHECK(parsed("none").shares_nothing());
  const PrefixSharing templates = parsed("templates:count=32,tokens=512,s=1.1,tokens_max=600");
  CHECK(templates.template_count == 32);
  CHECK(templates.template_tokens_min == TokenCount(512));
  CHECK(templates.template_tokens_max == TokenCount(600));
  CHECK(templates.template_s == 1.1);
  CHECK_FALSE(templates.has_sessions());
  const PrefixSharing sessions = parsed("sessions:turns=5,active=64");
  CHECK(sessions.turns_mean == 5);
  CHECK(sessions.active_sessions == 64);
  CHECK(sessions.template_count == 0);
  const PrefixSharing agent = parsed("agent:tokens=4096,turns=8,active=16");
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
    const PrefixSharing sharing = parsed(text);
    CHECK(parsed(describe(sharing).c_str()) == sharing);
  }
}

TEST_CASE("sharing that cannot be is refused by field") {
  CHECK_THAT(error_of("templates:count=0,tokens=512"), ContainsSubstring("field count"));
  CHECK_THAT(error_of("templates:count=3,tokens=0"), ContainsSubstring("field tokens"));
  CHECK_THAT(error_of("templates:count=3,tokens=9,tokens_max=8"),
             ContainsSubstring("field tokens_max: expected 9 to"));
  CHECK_THAT(error_of("templates:count=3,tokens=9,s=-1"), ContainsSubstring("field s"));
  CHECK_THAT(error_of("sessions:turns=0.5,active=1"), ContainsSubstring("field turns"));
  CHECK_THAT(error_of("sessions:turns=5"), ContainsSubstring("field active is missing"));
  CHECK_THAT(error_of("sessions:turns=5,active=0"), ContainsSubstring("field active"));
  CHECK_THAT(error_of("some"), ContainsSubstring("expected one of none, templates:"));
}

}  // namespace
}  // namespace recto::sim
