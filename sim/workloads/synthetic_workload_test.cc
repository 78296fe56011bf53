#include "sim/workloads/synthetic_workload.h"

#include <deque>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;

LengthDistribution lengths(const char* text) { return LengthDistribution::parse(text).value(); }

SyntheticOptions plain() {
  return {
      .prompts = lengths("lognormal:mean=161,cv=1.2"),
      .outputs = lengths("gamma:mean=338,shape=1.3"),
      .follow_ups = std::nullopt,
      .arrivals = parse_arrivals("poisson:2").value(),
      .sharing = {},
      .decoding = {},
      .request_count = 1000,
      .seed = 7,
      .max_context = std::nullopt,
  };
}

std::unique_ptr<SyntheticWorkload> workload(SyntheticOptions options) {
  return SyntheticWorkload::create(std::move(options)).value();
}

std::vector<Request> all_requests(SyntheticOptions options) {
  const auto source = workload(std::move(options));
  std::vector<Request> requests;
  while (std::optional<Request> request = source->next().value()) requests.push_back(*request);
  REQUIRE(source->exhausted());
  return requests;
}

std::string error_of(SyntheticOptions options) {
  const auto source = SyntheticWorkload::create(std::move(options));
  REQUIRE_FALSE(source.is_ok());
  return source.status().message();
}

TEST_CASE("an open loop gives its number of requests, numbered and in order of arrival") {
  const std::vector<Request> requests = all_requests(plain());
  REQUIRE(requests.size() == 1000);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    REQUIRE(requests[i].id == static_cast<std::int64_t>(i));
    REQUIRE((i == 0 || requests[i].arrival >= requests[i - 1].arrival));
    REQUIRE(requests[i].prompt_tokens >= TokenCount(1));
    REQUIRE(requests[i].output_tokens >= TokenCount(1));
    REQUIRE(requests[i].content == nullptr);
  }
}

TEST_CASE("changing one part leaves the draws of the others where they were") {
  const std::vector<Request> before = all_requests(plain());
  SyntheticOptions options = plain();
  options.arrivals = parse_arrivals("gamma:rate=9,cv=2").value();
  const std::vector<Request> other_arrivals = all_requests(options);
  options = plain();
  options.prompts = lengths("uniform:1,9");
  const std::vector<Request> other_prompts = all_requests(options);
  options = plain();
  options.outputs = lengths("zipf:n=100,s=1");
  const std::vector<Request> other_outputs = all_requests(options);
  options = plain();
  options.sharing = parse_prefix_sharing("templates:count=4,tokens=100").value();
  options.decoding = parse_decoding("beam:4").value();
  const std::vector<Request> other_sharing = all_requests(options);
  for (std::size_t i = 0; i < before.size(); ++i) {
    REQUIRE(other_arrivals[i].prompt_tokens == before[i].prompt_tokens);
    REQUIRE(other_arrivals[i].output_tokens == before[i].output_tokens);
    REQUIRE(other_prompts[i].arrival == before[i].arrival);
    REQUIRE(other_prompts[i].output_tokens == before[i].output_tokens);
    REQUIRE(other_outputs[i].arrival == before[i].arrival);
    REQUIRE(other_outputs[i].prompt_tokens == before[i].prompt_tokens);
    REQUIRE(other_sharing[i].arrival == before[i].arrival);
    REQUIRE(other_sharing[i].prompt_tokens == before[i].prompt_tokens + TokenCount(100));
    REQUIRE(other_sharing[i].output_tokens == before[i].output_tokens);
    REQUIRE(other_sharing[i].decoding == Decoding::kBeam);
    REQUIRE(other_sharing[i].width == 4);
  }
}

TEST_CASE("another seed gives other arrivals, prompts and outputs") {
  SyntheticOptions options = plain();
  options.seed = 8;
  const std::vector<Request> before = all_requests(plain());
  const std::vector<Request> after = all_requests(options);
  int same_arrivals = 0, same_prompts = 0, same_outputs = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    same_arrivals += before[i].arrival == after[i].arrival;
    same_prompts += before[i].prompt_tokens == after[i].prompt_tokens;
    same_outputs += before[i].output_tokens == after[i].output_tokens;
  }
  CHECK(same_arrivals == 0);
  CHECK(same_prompts < 30);
  CHECK(same_outputs < 30);
}

TEST_CASE("no request is longer than the maximal context, and short ones are not touched") {
  SyntheticOptions options = plain();
  options.max_context = TokenCount(600);
  const std::vector<Request> unlimited = all_requests(plain());
  const std::vector<Request> limited = all_requests(options);
  int redrawn = 0;
  for (std::size_t i = 0; i < limited.size(); ++i) {
    REQUIRE(limited[i].final_length() <= TokenCount(600));
    if (unlimited[i].final_length() > TokenCount(600)) {
      ++redrawn;
    } else {
      REQUIRE(limited[i].prompt_tokens == unlimited[i].prompt_tokens);
      REQUIRE(limited[i].output_tokens == unlimited[i].output_tokens);
    }
  }
  CHECK(redrawn > 100);
}

TEST_CASE("sessions end at the maximal context and begin anew") {
  SyntheticOptions options = plain();
  options.prompts = lengths("constant:100");
  options.outputs = lengths("constant:100");
  options.follow_ups = lengths("constant:50");
  options.sharing = parse_prefix_sharing("sessions:turns=10000,active=4").value();
  options.max_context = TokenCount(500);
  // Turns of 100 + 100, then 50 + 100 each: 200, 350, 500 tokens, and no further turn.
  int of_turn[3] = {};
  for (const Request& request : all_requests(options)) {
    REQUIRE(request.final_length() <= TokenCount(500));
    const std::size_t runs = request.content->prompt_runs.size();
    REQUIRE(runs <= 5);
    ++of_turn[runs / 2];
    REQUIRE(request.prompt_tokens == TokenCount(100 + 150 * static_cast<int>(runs / 2)));
  }
  CHECK(of_turn[0] == Catch::Approx(1000 / 3.0).margin(4));
  CHECK(of_turn[2] == Catch::Approx(1000 / 3.0).margin(4));
}

TEST_CASE("a closed loop has one request per client open and goes on when one is answered") {
  SyntheticOptions options = plain();
  options.arrivals = parse_arrivals("closed:clients=3").value();
  options.sharing = parse_prefix_sharing("sessions:turns=50,active=1").value();
  options.request_count = 100;
  const auto source = workload(options);
  std::deque<Request> open;
  std::int64_t seen = 0;
  SimTime now;
  while (!source->exhausted()) {
    while (std::optional<Request> request = source->next().value()) {
      REQUIRE(request->id == seen++);
      REQUIRE(request->arrival == now);
      open.push_back(*request);
    }
    REQUIRE((open.size() == 3 || source->exhausted()));
    now += SimDuration(1000);
    // The client's next prompt repeats the answered prompt and its output.
    source->finish(open.front().id, now);
    if (source->exhausted()) break;
    const Request next = *source->next().value();
    REQUIRE(next.id == seen++);
    const std::vector<ContentRun>& runs = next.content->prompt_runs;
    const std::vector<ContentRun>& earlier = open.front().content->prompt_runs;
    if (runs.size() > 1) {
      REQUIRE(std::vector<ContentRun>(runs.begin(), runs.end() - 2) == earlier);
    }
    open.pop_front();
    open.push_back(next);
  }
  CHECK(seen == 100);
  CHECK_FALSE(source->next().value().has_value());
}

TEST_CASE("parts that contradict each other are refused by name") {
  SyntheticOptions options = plain();
  options.sharing = parse_prefix_sharing("sessions:turns=5,active=64").value();
  options.decoding = parse_decoding("parallel:2").value();
  CHECK_THAT(error_of(options), ContainsSubstring("decoding: expected single with sharing"));

  options = plain();
  options.prompts = lengths("constant:2000");
  options.outputs = lengths("constant:49");
  options.max_context = TokenCount(2048);
  CHECK_THAT(error_of(options), ContainsSubstring("field max_context: expected at least 2049") &&
                                    ContainsSubstring("prompts constant:2000") &&
                                    ContainsSubstring("got 2048"));

  options = plain();
  options.request_count = 0;
  CHECK_THAT(error_of(options), ContainsSubstring("field requests"));
  options = plain();
  options.arrivals = PoissonArrivals{-1};
  CHECK_THAT(error_of(options), ContainsSubstring("arrivals: field rate"));
  options = plain();
  options.decoding = {Decoding::kBeam, 0};
  CHECK_THAT(error_of(options), ContainsSubstring("decoding: field width"));
}

TEST_CASE("lengths that hardly ever fit are an error with the request's number, not a hang") {
  SyntheticOptions options = plain();
  options.prompts = lengths("gamma:mean=1000,shape=50");
  options.outputs = lengths("gamma:mean=1000,shape=50");
  options.max_context = TokenCount(100);
  const auto source = workload(options);
  CHECK_THAT(source->next().status().message(),
             ContainsSubstring("request 0: no prompt of gamma:mean=1000,shape=50"));
}

}  // namespace
}  // namespace recto::sim
