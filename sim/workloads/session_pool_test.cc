#include "sim/workloads/synthetic_workload.h"

#include <map>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

constexpr TokenCount kOwn(10);
constexpr TokenCount kOutput(20);

SessionPool pool(const char* sharing, std::optional<std::int64_t> clients = std::nullopt) {
  return SessionPool({.sharing = parse_prefix_sharing(sharing).value(), .clients = clients},
                     RandomStream(2026));
}

TokenCount sum(const std::vector<ContentRun>& runs) {
  TokenCount total;
  for (const ContentRun& run : runs) total += run.length;
  return total;
}

TEST_CASE("requests that share nothing have no content") {
  SessionPool sessions = pool("none");
  Session& session = sessions.pick(0, std::nullopt);
  CHECK(sessions.add_turn(session, {0, kOwn, kOutput}) == nullptr);
}

TEST_CASE("a later turn's prompt is the previous prompt, its output, and new tokens") {
  SessionPool sessions = pool("sessions:turns=4,active=8");
  std::map<const Session*, TokenContent> before;
  std::map<const Session*, std::int64_t> request_before;
  int later_turns = 0;
  for (std::int64_t request = 0; request < 2000; ++request) {
    Session& session = sessions.pick(request, std::nullopt);
    const bool is_first = session.turns_done == 0;
    const TokenCount history = session.history;
    const TokenCount own(1 + request % 7);
    const auto content = sessions.add_turn(session, {request, own, kOutput});
    REQUIRE(sum(content->prompt_runs) == history + own);
    if (is_first) {
      REQUIRE(content->prompt_runs.size() == 1);
    } else {
      const TokenContent& previous = before[&session];
      std::vector<ContentRun> expected = previous.prompt_runs;
      expected.push_back({*previous.output_content_id, kOutput});
      expected.push_back({content->prompt_runs.back().content_id, own});
      REQUIRE(content->prompt_runs == expected);
      REQUIRE(request - request_before[&session] >= 4);
      ++later_turns;
    }
    before[&session] = *content;
    request_before[&session] = request;
  }
  // Geometric with mean 4: three of four turns are later turns.
  CHECK(later_turns / 2000.0 == Catch::Approx(0.75).margin(0.08));
}

TEST_CASE("the new tokens and the output of each request have content ids of their own") {
  SessionPool sessions = pool("agent:tokens=100,turns=3,active=5,count=4");
  std::set<std::uint64_t> seen;
  for (std::int64_t request = 0; request < 500; ++request) {
    Session& session = sessions.pick(request, std::nullopt);
    const auto content = sessions.add_turn(session, {request, kOwn, kOutput});
    REQUIRE(seen.insert(content->prompt_runs.back().content_id).second);
    REQUIRE(seen.insert(*content->output_content_id).second);
    REQUIRE_FALSE(seen.contains(content->prompt_runs.front().content_id));
  }
}

TEST_CASE("templates are chosen by Zipf's law and keep their length") {
  SessionPool sessions = pool("templates:count=5,tokens=100,s=1,tokens_max=200");
  std::map<std::uint64_t, TokenCount> length_of;
  std::map<std::uint64_t, double> times;
  constexpr int kRequests = 50'000;
  for (std::int64_t request = 0; request < kRequests; ++request) {
    Session& session = sessions.pick(request, std::nullopt);
    REQUIRE(session.turns_done == 0);
    const auto content = sessions.add_turn(session, {request, kOwn, kOutput});
    REQUIRE(content->prompt_runs.size() == 2);
    REQUIRE_FALSE(content->output_content_id.has_value());
    const ContentRun& first = content->prompt_runs.front();
    REQUIRE(first.length >= TokenCount(100));
    REQUIRE(first.length <= TokenCount(200));
    REQUIRE(length_of.emplace(first.content_id, first.length).first->second == first.length);
    ++times[first.content_id];
  }
  // Template ids grow with the template's rank.
  constexpr double kHarmonic = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5;
  std::vector<double> observed, expected;
  for (const auto& [id, count] : times) {
    observed.push_back(count);
    expected.push_back(kRequests / kHarmonic / static_cast<double>(observed.size()));
  }
  REQUIRE(observed.size() == 5);
  CHECK(testing::chi_square(observed, expected) < testing::chi_square_bound(4));
}

TEST_CASE("an agent's sessions all begin with the one system prompt") {
  SessionPool sessions = pool("agent:tokens=4096,turns=5,active=3");
  std::set<std::uint64_t> first_ids;
  for (std::int64_t request = 0; request < 100; ++request) {
    Session& session = sessions.pick(request, std::nullopt);
    const auto content = sessions.add_turn(session, {request, kOwn, kOutput});
    first_ids.insert(content->prompt_runs.front().content_id);
    REQUIRE(content->prompt_runs.front().length == TokenCount(4096));
  }
  CHECK(first_ids.size() == 1);
}

TEST_CASE("each client of a closed loop has a session of its own") {
  SessionPool sessions = pool("sessions:turns=1000,active=1", 3);
  std::set<const Session*> distinct;
  for (std::int64_t client = 0; client < 3; ++client) {
    Session& session = sessions.pick(client, client);
    sessions.add_turn(session, {client, kOwn, kOutput});
    distinct.insert(&session);
  }
  CHECK(distinct.size() == 3);
  CHECK(sessions.pick(3, 1).turns_done == 1);
}

TEST_CASE("sessions interleave without strict rotation, and none is forgotten") {
  SessionPool sessions = pool("sessions:turns=10000,active=10");
  std::map<const Session*, std::int64_t> last;
  std::set<std::int64_t> distances;
  for (std::int64_t request = 0; request < 5000; ++request) {
    Session& session = sessions.pick(request, std::nullopt);
    if (last.contains(&session)) distances.insert(request - last[&session]);
    last[&session] = request;
  }
  CHECK(last.size() == 10);
  CHECK(*distances.begin() == 6);  // the five most recent sessions rest
  CHECK(distances.size() > 10);
  for (const auto& [session, request] : last) CHECK(request > 4900);
}

}  // namespace
}  // namespace recto::sim
