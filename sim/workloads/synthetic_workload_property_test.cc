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

std::string any_length() {
  const int low = *rc::gen::inRange(1, 300);
  const int more = *rc::gen::inRange(0, 300);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return fmt::format("constant:{}", low);
    case 1:
      return fmt::format("uniform:{},{}", low, low + more);
    default:
      return fmt::format("gamma:mean={},shape=1.3,max={}", low, low + more);
  }
}

std::string any_sharing() {
  const int tokens = *rc::gen::inRange(1, 300);
  const int turns = *rc::gen::inRange(1, 8);
  const int active = *rc::gen::inRange(1, 20);
  switch (*rc::gen::inRange(0, 4)) {
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

SyntheticOptions any_options() {
  constexpr TokenCount kRoomForAny(1500);  // 300 template + 600 + 600
  return {
      .prompts = parsed(LengthDistribution::parse(any_length())),
      .outputs = parsed(LengthDistribution::parse(any_length())),
      .follow_ups = parsed(LengthDistribution::parse(any_length())),
      .arrivals = parsed(parse_arrivals(*rc::gen::element<std::string>(
          "poisson:3", "gamma:rate=3,cv=2", "onoff:rate=9,on_s=1,off_s=2", "constant:1",
          "closed:clients=5,think_s=2", "closed:clients=3"))),
      .sharing = parsed(parse_prefix_sharing(any_sharing())),
      .decoding = {},
      .request_count = *rc::gen::inRange(1, 200),
      .seed = *rc::gen::arbitrary<std::uint64_t>(),
      .max_context = kRoomForAny,
  };
}

// Each request is answered a while after it came.
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
  rc::prop("repeat with the seed", [] {
    const SyntheticOptions options = any_options();
    const std::vector<Request> first = all_requests(options);
    const std::vector<Request> second = all_requests(options);
    RC_ASSERT(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) RC_ASSERT(same(first[i], second[i]));
  });

  rc::prop("come as many as asked for, in order, within the maximal context", [] {
    const SyntheticOptions options = any_options();
    const std::vector<Request> requests = all_requests(options);
    RC_ASSERT(requests.size() == static_cast<std::size_t>(options.request_count));
    SimTime before;
    for (const Request& request : requests) {
      RC_ASSERT(request.arrival >= before);
      before = request.arrival;
      RC_ASSERT(request.prompt_tokens >= TokenCount(1));
      RC_ASSERT(request.output_tokens >= TokenCount(1));
      RC_ASSERT(request.final_length() <= *options.max_context);
    }
  });

  rc::prop("have runs that cover their prompt exactly", [] {
    for (const Request& request : all_requests(any_options())) {
      if (request.content == nullptr) continue;
      TokenCount covered;
      for (const ContentRun& run : request.content->prompt_runs) covered += run.length;
      RC_ASSERT(covered == request.prompt_tokens);
    }
  });

  rc::prop("do not depend on how many more are to come", [] {
    SyntheticOptions options = any_options();
    const std::vector<Request> all = all_requests(options);
    options.request_count = (options.request_count + 1) / 2;
    const std::vector<Request> half = all_requests(options);
    for (std::size_t i = 0; i < half.size(); ++i) RC_ASSERT(same(all[i], half[i]));
  });
}

}  // namespace
}  // namespace recto::sim
