#include "sim/workloads/builtin_workloads.h"

#include <cmath>
#include <string>

#include "bazel/testing/catch.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

struct Means {
  double prompt = 0;
  double output = 0;
  double output_square = 0;
  double shared = 0;  // fraction of prompt tokens shared with earlier requests
};

constexpr std::int64_t kManyRequests = 400'000;

Means means_of(std::string_view name) {
  SyntheticOptions options = builtin_workload(name).value();
  options.request_count = kManyRequests;
  const auto source = SyntheticWorkload::create(options).value();
  Means sums;
  while (const std::optional<Request> request = source->next().value()) {
    REQUIRE(request->final_length() <= *options.max_context);
    sums.prompt += static_cast<double>(request->prompt_tokens.value());
    const double output = static_cast<double>(request->output_tokens.value());
    sums.output += output;
    sums.output_square += output * output;
    if (request->content == nullptr) continue;
    const TokenCount fresh = request->content->prompt_runs.back().length;
    sums.shared += static_cast<double>((request->prompt_tokens - fresh).value());
  }
  return {sums.prompt / kManyRequests, sums.output / kManyRequests,
          sums.output_square / kManyRequests, sums.shared / sums.prompt};
}

TEST_CASE("sharegpt-like and alpaca-like have the published means after truncation") {
  const Means sharegpt = means_of("sharegpt-like");
  CHECK(sharegpt.prompt == Catch::Approx(161.31).epsilon(0.01));
  CHECK(sharegpt.output == Catch::Approx(337.99).epsilon(0.01));
  CHECK(sharegpt.shared == 0);
  const Means alpaca = means_of("alpaca-like");
  CHECK(alpaca.prompt == Catch::Approx(19.31).epsilon(0.01));
  CHECK(alpaca.output == Catch::Approx(58.45).epsilon(0.01));
  CHECK(alpaca.shared == 0);
}

// A request that reserves its whole output holds on average o / 2 slots that it will use later, for
// a time proportional to o. Source, Fig. 2, Orca (Max): 13.3 of the 91.1 % of the pool that
// requests of 2,048 slots hold.
TEST_CASE("sharegpt-like outputs imply the reserved slots of their source within 5 %") {
  const Means sharegpt = means_of("sharegpt-like");
  const double reserved = sharegpt.output_square / (2 * sharegpt.output);
  CHECK(reserved == Catch::Approx(0.133 / 0.911 * 2048).epsilon(0.05));
}

TEST_CASE("sharegpt-like lasts an hour at its rate") {
  const SyntheticOptions options = builtin_workload("sharegpt-like").value();
  const double rate_per_s = mean_rate_per_s(options.arrivals).value();
  CHECK(static_cast<double>(options.request_count) / rate_per_s == 3600);
}

TEST_CASE("chat and agent share most prompt tokens, and have the means of their sources") {
  const Means chat = means_of("chat");
  // Two turns on average: half of all requests are second or later turns.
  CHECK(chat.output == Catch::Approx(214.5).epsilon(0.01));
  CHECK(chat.prompt == Catch::Approx(69.5 + (69.5 + 214.5)).epsilon(0.02));
  CHECK(chat.shared > 0.7);
  const Means agent = means_of("agent");
  CHECK(agent.prompt == Catch::Approx(8596).epsilon(0.02));
  CHECK(agent.output == Catch::Approx(182).epsilon(0.01));
  CHECK(agent.shared > 0.8);
}

TEST_CASE("every built-in workload has a description, a source, a rate and a count") {
  for (const BuiltinWorkload& builtin : builtin_workloads()) {
    CAPTURE(builtin.name);
    CHECK_FALSE(builtin.description.empty());
    CHECK(builtin.description.find('\n') == std::string_view::npos);
    CHECK_FALSE(builtin.source.empty());
    const SyntheticOptions options = builtin_workload(builtin.name).value();
    CHECK(mean_rate_per_s(options.arrivals).value() > 0);
    CHECK(options.request_count >= 1000);
    CHECK(SyntheticWorkload::create(options).is_ok());
  }
}

TEST_CASE("an unknown workload's error lists the known ones") {
  CHECK(builtin_workload("sharegpt").status().message() ==
        "workload 'sharegpt': expected one of sharegpt-like, alpaca-like, chat, agent");
}

std::uint64_t hash_of_first_thousand(const char* name) {
  const auto source = SyntheticWorkload::create(builtin_workload(name).value()).value();
  testing::GoldenHash hash;
  for (int i = 0; i < 1000; ++i) {
    const Request request = *source->next().value();
    hash.add(request.id);
    hash.add(request.arrival.value());
    hash.add(request.prompt_tokens.value());
    hash.add(request.output_tokens.value());
    if (request.content == nullptr) continue;
    for (const ContentRun& run : request.content->prompt_runs) {
      hash.add(run.content_id);
      hash.add(run.length.value());
    }
    hash.add(request.content->output_content_id.value_or(0));
  }
  return hash.value();
}

TEST_CASE("golden hashes: the first 1,000 requests are these on every machine") {
  CHECK(hash_of_first_thousand("sharegpt-like") == 0x860d215b4faee916u);
  CHECK(hash_of_first_thousand("alpaca-like") == 0x2fd2ad643b17b853u);
  CHECK(hash_of_first_thousand("chat") == 0xac2c8190c2535069u);
  CHECK(hash_of_first_thousand("agent") == 0xf10f9e5c3196dfa3u);
}

}  // namespace
}  // namespace recto::sim
