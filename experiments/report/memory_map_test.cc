// Maps of small runs of every kind. The recorder itself checks that each picture sums up to the
// account.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/report/map_json.h"
#include "experiments/report/map_recorder.h"
#include "experiments/report/series_data.h"
#include "experiments/support/run.h"

namespace recto::experiments {
namespace {

RunConfig small_run(const std::string& allocator) {
  RunConfig config;
  config.allocator = allocator;
  config.requests = 120;
  config.pool_slots = 6000;
  config.arrivals = "poisson:4";
  return config;
}

struct Mapped {
  sim::Report report;
  MemoryMap map;
};

Mapped mapped(const RunConfig& config) {
  const Result<RunOutcome> outcome = run(config);
  REQUIRE(outcome.status() == Status::ok());
  const sim::Report& report = outcome.value().report;
  Result<MemoryMap> map = record_map(config, report, SimTime(), SingleBlocks::kFromBegin);
  REQUIRE(map.status() == Status::ok());
  return {report, std::move(map).value()};
}

std::int64_t marks_of(const MemoryMap& map, MapMark mark) {
  std::int64_t sum = 0;
  for (const MapColumn& column : map.columns) sum += column.marks[static_cast<std::size_t>(mark)];
  return sum;
}

// No two stretches overlap in place and time; shared blocks are one stretch.
void check_segments(const MemoryMap& map) {
  std::map<std::int64_t, std::vector<MapSegment>> by_place;
  for (const MapSegment& segment : map.detail.segments) {
    CHECK(segment.begin < segment.end);
    CHECK(segment.place >= 0);
    CHECK(segment.stay < static_cast<std::int64_t>(map.detail.stays.size()));
    by_place[segment.place].push_back(segment);
  }
  for (auto& [place, segments] : by_place) {
    std::ranges::sort(segments, {}, &MapSegment::begin);
    for (std::size_t i = 1; i < segments.size(); ++i) {
      CHECK(segments[i - 1].end <= segments[i].begin);
    }
  }
  for (const MapStay& stay : map.detail.stays) {
    CHECK(stay.begin <= stay.decode);
    CHECK(stay.decode <= stay.end);
    CHECK(stay.context_begin <= stay.context_decode);
    CHECK(stay.context_decode <= stay.context_end);
    CHECK(stay.context_end <= stay.final_context);
  }
}

TEST_CASE("Every allocator has a map, whose stretches of one place never overlap") {
  for (const char* allocator : {"contiguous-max", "contiguous-oracle", "paged", "prefix-cached"}) {
    const Mapped run = mapped(small_run(allocator));
    INFO(allocator);
    CHECK(!run.map.columns.empty());
    CHECK(!run.map.detail.segments.empty());
    check_segments(run.map);
    CHECK(marks_of(run.map, MapMark::kPreempted) ==
          run.report.counters.preemptions_recompute + run.report.counters.preemptions_swap);
  }
}

TEST_CASE("Copies on write are marked, as many as the report counts") {
  RunConfig config = small_run("paged");
  config.decoding = "beam:4";
  config.beam_switch_probability = 0.05;
  const Mapped run = mapped(config);
  CHECK(run.report.counters.copied_slots > 0);
  CHECK(marks_of(run.map, MapMark::kCopied) * run.map.block_size ==
        run.report.counters.copied_slots);
  check_segments(run.map);
}

TEST_CASE("A sequence whose only block is copied on write stays, and keeps its tokens") {
  RunConfig config = small_run("paged");
  config.decoding = "parallel:4";
  config.prompts = "constant:5";
  config.outputs = "constant:4";
  for (const char* manager : {"simulator", "production"}) {
    INFO(manager);
    config.manager = manager;
    const Mapped run = mapped(config);
    CHECK(marks_of(run.map, MapMark::kCopied) == *config.requests * 3);
    CHECK(run.map.detail.stays.size() == static_cast<std::size_t>(*config.requests * 4));
    check_segments(run.map);
    CHECK(std::ranges::all_of(run.map.detail.stays, [](const MapStay& stay) {
      return stay.context_end == stay.final_context;
    }));
  }
}

TEST_CASE("Regions that are copied for forks are marked, where they lie") {
  RunConfig config = small_run("contiguous-oracle");
  config.decoding = "parallel:3";
  const Mapped run = mapped(config);
  // Two copies of each prompt. Requests that are preempted fork no more.
  CHECK(run.report.counters.copied_slots > 0);
  CHECK(marks_of(run.map, MapMark::kCopied) == 2 * run.report.counters.requests_finished);
  std::set<std::int64_t> places;
  for (const MapSegment& segment : run.map.detail.segments) places.insert(segment.place);
  std::int64_t events = 0;
  for (const MapEvent& event : run.map.detail.events) {
    if (event.mark != MapMark::kCopied) continue;
    ++events;
    CHECK(places.contains(event.place));
  }
  CHECK(events == marks_of(run.map, MapMark::kCopied));
  check_segments(run.map);
}

TEST_CASE("Shared prefixes are one stretch with several references, and are evicted in the end") {
  RunConfig config = small_run("prefix-cached");
  config.workload = "agent";
  config.arrivals.clear();
  config.pool_slots = 20'000;
  config.max_length = 16'384;
  config.model = "Llama-3.1-8B";
  const Mapped run = mapped(config);
  check_segments(run.map);
  CHECK(run.report.counters.prefix_hit_tokens > 0);
  CHECK(marks_of(run.map, MapMark::kEvicted) > 0);
  CHECK(std::ranges::any_of(run.map.detail.segments,
                            [](const MapSegment& segment) { return segment.references > 1; }));
  CHECK(std::ranges::any_of(run.map.detail.segments,
                            [](const MapSegment& segment) { return segment.stay < 0; }));
}

TEST_CASE("Swaps and windows appear in the map") {
  RunConfig swap = small_run("paged");
  swap.preemption = "swap";
  swap.host_gib = 8;
  swap.pool_slots = 3000;
  const Mapped swapped = mapped(swap);
  CHECK(swapped.report.counters.preemptions_swap > 0);
  check_segments(swapped.map);
  CHECK(std::ranges::any_of(swapped.map.detail.stays,
                            [](const MapStay& stay) { return stay.how == MapStay::End::kSwap; }));
  RunConfig window = small_run("paged");
  window.window = 64;
  const Mapped windowed = mapped(window);
  CHECK(windowed.map.window == 64);
  check_segments(windowed.map);
}

TEST_CASE("A map has all single blocks unless they are too many, and else those from a time on") {
  for (const std::int64_t requests : {120, 1500}) {
    INFO(requests);
    RunConfig config = small_run("paged");
    config.requests = requests;
    config.block_size = 4;
    const Mapped run = mapped(config);
    const SimTime middle = SimTime((end_of(run.report) - SimTime()).value() / 2);
    const Result<MemoryMap> map =
        record_map(config, run.report, middle, SingleBlocks::kWholeRunIfFew);
    REQUIRE(map.status() == Status::ok());
    const bool is_small = requests == 120;
    CHECK((run.map.detail.end == run.map.end) == is_small);
    CHECK(map.value().detail.begin == (is_small ? SimTime() : middle));
    CHECK((map.value().detail.end == map.value().end) == is_small);
    check_segments(map.value());
  }
}

TEST_CASE("A close look has a picture every 150 ms of a minute, and none after the run's end") {
  const RunConfig config = small_run("paged");
  const Mapped whole = mapped(config);
  const std::int64_t end_ns = (whole.map.end - SimTime()).value();
  const auto pictures_from = [&](std::int64_t begin_ns) {
    const auto map = record_map(config, whole.report, SimTime(begin_ns), SingleBlocks::kFromBegin);
    REQUIRE(map.status() == Status::ok());
    const auto rows = static_cast<std::size_t>(map.value().rows);
    CHECK(map.value().close_look.states.size() % rows == 0);
    return map.value().close_look.states.size() / rows;
  };
  CHECK(pictures_from(end_ns / 3) == 400);
  CHECK(pictures_from(end_ns - 10 * kCloseLookStep.value()) == 11);
  CHECK(pictures_from(end_ns + 1) == 0);
  // The first picture is the first one of the whole run.
  for (std::int64_t row = 0; row < whole.map.rows; ++row) {
    const MapCell& cell = whole.map.columns[0].cells[static_cast<std::size_t>(row)];
    const bool is_used =
        whole.map.close_look.states[static_cast<std::size_t>(row)] == RowState::kUsed;
    CHECK(is_used == (2 * cell.used > 15));
  }
}

TEST_CASE("Equal runs give equal maps") {
  const RunConfig config = small_run("paged");
  CHECK(json_text(to_json(mapped(config).map)) == json_text(to_json(mapped(config).map)));
}

TEST_CASE("Maps of the production manager have as many marks and stays as the simulator's own") {
  RunConfig beams = small_run("paged");
  beams.decoding = "beam:4";
  beams.beam_switch_probability = 0.05;
  RunConfig swaps = small_run("paged");
  swaps.preemption = "swap";
  swaps.host_gib = 8;
  swaps.pool_slots = 3000;
  RunConfig agents = small_run("prefix-cached");
  agents.workload = "agent";
  agents.arrivals.clear();
  agents.pool_slots = 20'000;
  agents.max_length = 16'384;
  agents.model = "Llama-3.1-8B";
  for (RunConfig config : {small_run("paged"), small_run("prefix-cached"), beams, swaps, agents}) {
    INFO(config.allocator << ' ' << config.decoding << ' ' << config.preemption);
    const Mapped own = mapped(config);
    config.manager = "production";
    const Mapped managed = mapped(config);
    check_segments(managed.map);
    CHECK(managed.map.detail.stays.size() == own.map.detail.stays.size());
    REQUIRE(managed.map.columns.size() == own.map.columns.size());
    for (const MapMark mark : {MapMark::kPreempted, MapMark::kCopied, MapMark::kEvicted}) {
      CHECK(marks_of(managed.map, mark) == marks_of(own.map, mark));
    }
    // If blocks are only allocated and freed, both managers allocate the same ones, by separate
    // code.
    if (config.allocator != "paged" || config.preemption == "swap") continue;
    const bool are_alike = json_text(to_json(managed.map)) == json_text(to_json(own.map));
    CHECK(are_alike);
  }
}

}  // namespace
}  // namespace recto::experiments
