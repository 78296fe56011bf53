#include <fmt/format.h>

#include <string>
#include <vector>

#include "bazel/testing/property.h"
#include "sim/workloads/synthetic_workload.h"

namespace recto::sim {
namespace {

template <typename T>
T parsed(Result<T> result) {
  return std::move(result).value();
}

std::string draw_length(Draw& draw) {
  const int low = draw.growing<int>(1, 299);
  const int more = draw.growing<int>(0, 299);
  switch (draw.growing<int>(0, 2)) {
    case 0:
      return fmt::format("constant:{}", low);
    case 1:
      return fmt::format("uniform:{},{}", low, low + more);
    default:
      return fmt::format("gamma:mean={},shape=1.3,max={}", low, low + more);
  }
}

std::string draw_sharing(Draw& draw) {
  const int tokens = draw.growing<int>(1, 299);
  const int turns = draw.growing<int>(1, 7);
  const int active = draw.growing<int>(1, 19);
  switch (draw.growing<int>(0, 3)) {
    case 0:
      return "none";
    case 1:
      return fmt::format("templates:count={},tokens={}", active, tokens);
    case 2:
      return fmt::format("sessions:turns={},active={}", turns, active);
    default:
      return fmt::format("agent:tokens={},turns={},active={}", tokens, turns, active);
  }
}

SyntheticOptions draw_options(Draw& draw) {
  constexpr TokenCount kRoomForAny(1500);  // 300 template + 600 + 600
  return {
      .prompts = parsed(LengthDistribution::parse(draw_length(draw))),
      .outputs = parsed(LengthDistribution::parse(draw_length(draw))),
      .follow_ups = parsed(LengthDistribution::parse(draw_length(draw))),
      .arrivals = parsed(parse_arrivals(draw.element<std::string>(
          {"poisson:3", "gamma:rate=3,cv=2", "onoff:rate=9,on_s=1,off_s=2", "constant:1",
           "closed:clients=5,think_s=2", "closed:clients=3"}))),
      .sharing = parsed(parse_prefix_sharing(draw_sharing(draw))),
      .decoding = {},
      .request_count = draw.growing(1, 199),
      .seed = draw.seed(),
      .max_context = kRoomForAny,
  };
}

// Each request is answered some time after its arrival.
std::vector<Request> all_requests(const SyntheticOptions& options) {
  const auto source = parsed(SyntheticWorkload::create(options));
  std::vector<Request> requests;
  std::size_t answered = 0;
  while (!source->exhausted()) {
    std::optional<Request> request = source->next().value();
    if (request) {
      requests.push_back(*request);
    } else {
      const Request& oldest = requests[answered++];
      source->finish(oldest.id, requests.back().arrival + SimDuration(1'000'000));
    }
  }
  return requests;
}

bool same(const Request& a, const Request& b) {
  const bool same_content = (a.content == nullptr) == (b.content == nullptr) &&
                            (a.content == nullptr || *a.content == *b.content);
  return a.id == b.id && a.arrival == b.arrival && a.prompt_tokens == b.prompt_tokens &&
         a.output_tokens == b.output_tokens && same_content;
}

TEST_CASE("requests of any synthetic workload") {
  property("repeat with the seed", [](Draw& draw) {
    const SyntheticOptions options = draw_options(draw);
    const std::vector<Request> first = all_requests(options);
    const std::vector<Request> second = all_requests(options);
    RECTO_REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) RECTO_REQUIRE(same(first[i], second[i]));
  });

  property("come as many as asked for, in order, within the maximal context", [](Draw& draw) {
    const SyntheticOptions options = draw_options(draw);
    const std::vector<Request> requests = all_requests(options);
    RECTO_REQUIRE(requests.size() == static_cast<std::size_t>(options.request_count));
    SimTime before;
    for (const Request& request : requests) {
      RECTO_REQUIRE(request.arrival >= before);
      before = request.arrival;
      RECTO_REQUIRE(request.prompt_tokens >= TokenCount(1));
      RECTO_REQUIRE(request.output_tokens >= TokenCount(1));
      RECTO_REQUIRE(request.final_length() <= *options.max_context);
    }
  });

  property("have runs that cover their prompt exactly", [](Draw& draw) {
    for (const Request& request : all_requests(draw_options(draw))) {
      if (request.content == nullptr) continue;
      TokenCount covered;
      for (const ContentRun& run : request.content->prompt_runs) covered += run.length;
      RECTO_REQUIRE(covered == request.prompt_tokens);
    }
  });

  property("do not depend on how many more are to come", [](Draw& draw) {
    SyntheticOptions options = draw_options(draw);
    const std::vector<Request> all = all_requests(options);
    options.request_count = (options.request_count + 1) / 2;
    const std::vector<Request> half = all_requests(options);
    for (std::size_t i = 0; i < half.size(); ++i) RECTO_REQUIRE(same(all[i], half[i]));
  });
}

}  // namespace
}  // namespace recto::sim
