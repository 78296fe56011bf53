#include "sim/simulator.h"

#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "sim/request_list.h"
#include "sim/testing/recorder.h"
#include "sim/testing/scenario.h"

namespace recto::sim {
namespace {

using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

Request request(std::int64_t id, std::int64_t arrival, std::int64_t prompt, std::int64_t output) {
  return {.id = id,
          .arrival = SimTime(arrival),
          .prompt_tokens = TokenCount(prompt),
          .output_tokens = TokenCount(output)};
}

Scenario paged(std::int64_t slots, std::vector<Request> requests) {
  Scenario scenario;
  scenario.pool.slots = TokenCount(slots);
  scenario.pool.block_size = TokenCount(4);
  scenario.requests = std::move(requests);
  return scenario;
}

// A step takes 100 ns, plus 3 per prefilled token, 2 per decoding sequence and 1 per KV token read.
TEST_CASE("two requests have the times and states calculated by hand") {
  const Scenario scenario = paged(16, {request(0, 0, 5, 3), request(1, 10, 3, 2)});
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);

  // Steps of 100 + 15, 100 + 9 + 2 + 6, and 100 + 2 * 2 + 7 + 4.
  CHECK(seen.lines == Lines{"0 arrived 0", "0 admitted 0", "10 arrived 1", "115 first token 0",
                            "115 admitted 1", "232 first token 1", "347 finished 0",
                            "347 finished 1"});

  // Request 0 ends with a context of 7 in two blocks, request 1 with one of 4 in one block.
  GaugeValues at = seen.gauges_at(0);
  CHECK(at[Gauge::kUsed] == 0);
  CHECK(at[Gauge::kReserved] == 7);
  CHECK(at[Gauge::kTail] == 1);
  CHECK(at[Gauge::kFree] == 8);
  CHECK(seen.gauges_at(10)[Gauge::kWaitingRequests] == 1);
  at = seen.gauges_at(115);
  CHECK(at[Gauge::kUsed] == 5);
  CHECK(at[Gauge::kReserved] == 6);
  CHECK(at[Gauge::kTail] == 1);
  CHECK(at[Gauge::kFree] == 4);
  CHECK(at[Gauge::kRunningRequests] == 2);
  at = seen.gauges_at(232);
  CHECK(at[Gauge::kUsed] == 9);
  CHECK(at[Gauge::kReserved] == 2);
  CHECK(at[Gauge::kHeldBlocks] == 3);
  CHECK(seen.gauges_at(347)[Gauge::kFree] == 16);

  CHECK(report.counters.steps == 3);
  CHECK(report.counters.prefill_tokens == 8);
  CHECK(report.counters.decode_tokens == 3);
  CHECK(report.counters.output_tokens == 5);
  CHECK(report.makespan == SimDuration(347));
  CHECK(report.ttft.mean_ns == (115.0 + 222.0) / 2);
  CHECK(report.tpot.mean_ns == (116.0 + 115.0) / 2);
  CHECK(report.queueing.max_ns == 105);
  CHECK(report.time_spent.total() == SimDuration(347));
  // From the first admission to the last arrival.
  CHECK(report.covered == SimDuration(10));
  CHECK(report.gauge(Gauge::kReserved).mean == 7);
}

TEST_CASE("Orca (Max) on OPT-13B with 12 GiB holds 7 requests and leaves 8.85 % unallocated") {
  const ByteCount per_token = kv_bytes_per_token(find_model("OPT-13B").value(), {});
  REQUIRE(per_token == ByteCount(819'200));
  const std::int64_t slots = (std::int64_t{12} << 30) / per_token.value();
  REQUIRE(slots == 15'728);

  Scenario scenario;
  scenario.pool = {.kind = AllocatorKind::kContiguousMax, .slots = TokenCount(slots)};
  for (std::int64_t id = 0; id < 50; ++id) scenario.requests.push_back(request(id, 0, 161, 338));
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);

  const GaugeValues full = seen.gauges_at(0);
  CHECK(full[Gauge::kRunningRequests] == 7);
  CHECK(full[Gauge::kFree] == slots - 7 * 2048);
  CHECK(100.0 * static_cast<double>(full[Gauge::kFree]) / static_cast<double>(slots) ==
        Catch::Approx(8.85).margin(0.005));
  CHECK(full[Gauge::kRounding] == 0);
  CHECK(full[Gauge::kOverReservation] == 7 * (2048 - (161 + 338 - 1)));
  CHECK(full[Gauge::kHeldBlocks] == 7);
  CHECK(full[Gauge::kTableEntries] == 0);     // a region needs no table
  CHECK(full[Gauge::kUnplaceableFree] == 0);  // too little is free in total
  CHECK(report.counters.requests_finished == 50);
}

TEST_CASE("a request for one output token ends with its prefill, in the slots of its prompt") {
  const Scenario scenario = paged(4, {request(0, 0, 4, 1)});
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(seen.lines == Lines{"0 arrived 0", "0 admitted 0", "112 first token 0", "112 finished 0"});
  CHECK(seen.gauges_at(0)[Gauge::kReserved] == 4);  // the whole pool, exactly
  CHECK(seen.gauges_at(0)[Gauge::kFree] == 0);
  CHECK(report.counters.decode_tokens == 0);
  CHECK(report.counters.output_tokens == 1);
}

TEST_CASE("a request that can never fit is rejected, counted and named; the others go on") {
  const Scenario scenario = paged(16, {request(0, 0, 16, 1), request(1, 0, 16, 2),
                                       request(2, 0, 2048, 1), request(3, 0, 2, 2)});
  const Report report = run_scenario(scenario, nullptr);
  CHECK(report.counters.requests_arrived == 4);
  CHECK(report.counters.requests_finished == 2);
  CHECK(report.counters.requests_rejected == 2);
  CHECK(report.rejected_ids == std::vector<std::int64_t>{1, 2});
}

// A client that sends its next request when the last one is answered.
class OneClient final : public RequestSource {
 public:
  explicit OneClient(std::int64_t count) : count_(count) {}
  Result<std::optional<SimTime>> next_arrival() override {
    if (!may_send_ || exhausted()) return std::optional<SimTime>();
    return std::optional(SimTime(now_));
  }
  Result<std::optional<Request>> next() override {
    if (!may_send_ || exhausted()) return std::optional<Request>();
    may_send_ = false;
    return std::optional<Request>(request(sent_++, now_, 4, 1));
  }
  bool exhausted() const override { return sent_ == count_; }
  void finish(std::int64_t, SimTime now) override {
    now_ = now.value();
    may_send_ = true;
  }

 private:
  std::int64_t count_;
  std::int64_t sent_ = 0;
  std::int64_t now_ = 0;
  bool may_send_ = true;
};

// Two clients: the first sends at 0 and, once answered, again at 10'000; the second sends at 50 and
// again at its answer.
class SlowAndFastClient final : public RequestSource {
 public:
  Result<std::optional<SimTime>> next_arrival() override {
    if (times_.empty()) return std::optional<SimTime>();
    return std::optional(SimTime(*times_.begin()));
  }
  Result<std::optional<Request>> next() override {
    const std::int64_t time = *times_.begin();
    times_.erase(times_.begin());
    return std::optional<Request>(request(sent_++, time, 4, 1));
  }
  bool exhausted() const override { return sent_ == 4; }
  void finish(std::int64_t id, SimTime now) override {
    if (id == 0) times_.insert(10'000);
    if (id == 1) times_.insert(now.value());
  }

 private:
  std::int64_t sent_ = 0;
  std::set<std::int64_t> times_{0, 50};
};

TEST_CASE("a client that is ready early does not wait for one that arrives late") {
  const Scenario scenario = paged(64, {});
  const auto allocator = make_allocator(scenario.pool);
  SlowAndFastClient clients;
  Recorder seen;
  REQUIRE(simulate(clients, *allocator, scenario_time_model(), scenario.options, &seen).is_ok());
  // Steps of 112 ns: request 1 is answered at 224, and request 2 is its client's next.
  CHECK(seen.lines == Lines{"0 arrived 0", "0 admitted 0", "50 arrived 1", "112 first token 0",
                            "112 finished 0", "112 admitted 1", "224 first token 1",
                            "224 finished 1", "224 arrived 2", "224 admitted 2",
                            "336 first token 2", "336 finished 2", "10000 arrived 3",
                            "10000 admitted 3", "10112 first token 3", "10112 finished 3"});
}

TEST_CASE("a closed loop goes on at the answer, also after a rejection") {
  for (const std::int64_t slots : {16, 3}) {
    Scenario scenario = paged(slots, {});
    scenario.pool.block_size = TokenCount(1);
    const auto allocator = make_allocator(scenario.pool);
    OneClient client(3);
    Recorder seen;
    const Report report =
        simulate(client, *allocator, scenario_time_model(), scenario.options, &seen).value();
    CHECK(report.counters.requests_arrived == 3);
    if (slots == 3) {
      CHECK(seen.lines == Lines{"0 rejected 0", "0 rejected 1", "0 rejected 2"});
    } else {
      CHECK(report.makespan == SimDuration(3 * 112));
      CHECK(seen.lines.back() == "336 finished 2");
    }
  }
}

TEST_CASE("a run without requests gives an empty report") {
  const Report report = run_scenario(paged(16, {}), nullptr);
  CHECK(report.counters == Counters());
  CHECK(report.makespan == SimDuration(0));
}

std::string complaint(const Scenario& scenario) {
  const auto allocator = make_allocator(scenario.pool);
  RequestList source(scenario.requests);
  return simulate(source, *allocator, scenario_time_model(), scenario.options).status().message();
}

TEST_CASE("invalid requests are refused by id and field") {
  CHECK(complaint(paged(16, {request(7, 0, 0, 1)})) ==
        "request 7: prompt_tokens is 0, expected at least 1");
  CHECK(complaint(paged(16, {request(7, 0, 1, 0)})) ==
        "request 7: output_tokens is 0, expected at least 1");
  CHECK_THAT(complaint(paged(16, {request(0, 9, 1, 1), request(1, 8, 1, 1)})),
             ContainsSubstring("request 1: arrival is 8"));
}

TEST_CASE("rules that contradict each other are refused") {
  Scenario scenario = paged(16, {request(0, 0, 4, 1)});
  scenario.options.scheduler.max_batched_tokens = TokenCount(100);
  CHECK_THAT(complaint(scenario), ContainsSubstring("max_batched_tokens"));
  scenario.options.scheduler.max_sequences = 0;
  CHECK(complaint(scenario) == "max_sequences: expected at least 1");

  scenario = paged(16, {request(0, 0, 4, 1)});
  scenario.options.scheduler.window = TokenCount(8);
  CHECK(complaint(scenario).empty());
  scenario.pool.kind = AllocatorKind::kPrefixCached;
  CHECK_THAT(complaint(scenario), ContainsSubstring("window"));

  scenario = paged(16, {request(0, 0, 4, 1)});
  scenario.requests[0].width = 2;
  scenario.options.batching = Batching::kStatic;
  CHECK_THAT(complaint(scenario), ContainsSubstring("width is 2"));
}

}  // namespace
}  // namespace recto::sim
