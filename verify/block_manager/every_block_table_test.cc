// Runs decode kernels on every block table of a trace's steps, as the simulator and as the
// production block manager make them. Equal tables run once: a step that begins no block has the
// tables of the step before. By default the test runs a short window of steps, and prints what it
// leaves out; RECTO_FULL=1 runs all steps.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "reference/error_bound.h"
#include "verify/block_manager/placed_tables.h"
#include "verify/block_manager/traced_traffic.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/kernels/kernel_backends.h"

namespace recto::verify {
namespace {

bool is_full_run() { return std::getenv("RECTO_FULL") != nullptr; }

// In steps. The short window begins when most pools have run full.
SnapshotOptions window() {
  SnapshotOptions options;
  options.of_each_moment = 0;
  options.window_begin = is_full_run() ? 1 : 150;
  options.window_end = is_full_run() ? std::numeric_limits<std::int64_t>::max() : 170;
  return options;
}

// Each batch runs on one of them, in turn.
std::vector<Backend> decode_backends() {
  return {reference_decode_backend({}), split_decode_backend({}, 256), gqa_decode_backend({}, 256),
          host_api_backend({}, {})};
}

TableCallShape shape_of(std::size_t number) {
  using enum KvLayout;
  static constexpr KvLayout kLayouts[] = {kTokenMajor, kHeadMajor, kPacked};
  const ElementType type = number % 2 == 0 ? ElementType::kBf16 : ElementType::kFp16;
  return {.layout = kLayouts[number % 3], .q_type = type, .kv_type = type, .num_kv_heads = 1};
}

// The sequences whose tables, as far as their contexts reach, occurred in no earlier step. Each
// computes the last token of its context.
class NewTables {
 public:
  TableSnapshot of(const TableSnapshot& step) {
    TableSnapshot batch = step.part([&](std::size_t i) {
      const std::span<const std::int32_t> blocks = step.reached(i);
      return seen_.emplace(blocks.begin(), blocks.end()).second;
    });
    for (TracedSequence& sequence : batch.sequences) sequence.num_rows = 1;
    return batch;
  }
  std::size_t count() const { return seen_.size(); }

 private:
  std::set<std::vector<std::int32_t>> seen_;
};

void expect_right(const TableSnapshot& batch, std::size_t number,
                  const std::vector<Backend>& backends) {
  Batch placed = place_tables(batch, shape_of(number), Poison::kNaN, kTrafficSeed + number);
  placed.inputs.options = {.scale = 0.5F};
  const PagedAttentionInputs& inputs = placed.inputs;
  REQUIRE(check_contents(inputs) == Status::ok());
  const Backend& backend = backends[number % backends.size()];
  REQUIRE_FALSE(backend.why_unsupported(inputs));
  const reference::BoundedResult right =
      reference::bounded_attention(inputs, backend.numerics(inputs));
  const Comparison comparison =
      compare(inputs, result_of(backend.call(inputs)), right.exact, right.probabilistic);
  INFO("step " << batch.step << ", " << backend.name << "\n" << comparison.text());
  CHECK(comparison.passed());
}

void run_every_table(const Traffic& traffic, TableProducer producer) {
  const auto begin = std::chrono::steady_clock::now();
  const TracedTables traced =
      serve(traffic, std::cout, {.producer = producer, .snapshots = window()});
  const std::vector<Backend> backends = decode_backends();
  NewTables tables;
  std::int64_t seen = 0;
  std::size_t batches = 0;
  for (const TableSnapshot& step : traced.snapshots) {
    seen += std::ssize(step.sequences);
    const TableSnapshot batch = tables.of(step);
    if (!batch.sequences.empty()) expect_right(batch, batches++, backends);
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format(
      "  {} of {} tables, all of steps {} to {} of {}: {} different ones ran, in {} batches and "
      "{:.1f} s\n",
      seen, traced.tables, window().window_begin, std::min(window().window_end - 1, traced.steps),
      traced.steps, tables.count(), batches, passed.count());
  if (is_full_run()) CHECK(seen == traced.tables);
  CHECK(std::ssize(traced.snapshots) > 0);
  CHECK(batches > 0);
}

TEST_CASE("every block table that a scheduler's step has drives a decode kernel") {
  if (!is_full_run()) {
    std::cout << "SKIPPED: all tables but those of a short window of steps; RECTO_FULL=1 has all "
                 "steps\n";
  }
  for (const TableProducer producer : {TableProducer::kSimulator, TableProducer::kProduction}) {
    for (const Traffic& traffic : kFullPools) run_every_table(traffic, producer);
    for (const Traffic& traffic : {kSharedPrefixes, kBeams, kSamples, kChats}) {
      run_every_table(traffic, producer);
    }
  }
}

}  // namespace
}  // namespace recto::verify
