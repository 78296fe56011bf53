// Kernels and the host API on block tables that a simulated engine had while it served a trace:
// with full pools, preempted and resumed sequences, forks, beams, and prefixes shared by requests.
// Where the public traces are missing, workloads replace them.

#include "verify/block_manager/trace_block_tables.h"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <utility>
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

std::vector<Backend> decode_backends() {
  constexpr std::int64_t kSplit = 256;
  constexpr std::int64_t kNoSplits = 100000;
  PlanOptions plain;
  plain.kernel = AttentionKernel::kReferenceDecode;
  PlanOptions invariant;
  invariant.batch_invariance = BatchInvariance::kRows;
  std::vector<Backend> backends = {
      reference_decode_backend({}),      split_decode_backend({}, kSplit),
      gqa_decode_backend({}, kNoSplits), gqa_decode_backend({}, kSplit),
      tma_decode_backend({}, kSplit),    host_api_backend({}, {}),
      host_api_backend({}, plain),       host_api_backend({}, invariant),
      host_api_step_backend({}, {})};
  backends[7].name += ", batch-invariant";
  return backends;
}

// Backends that take any number of rows.
std::vector<Backend> prefill_backends() {
  return {paged_prefill_backend({}), host_api_backend({}, {})};
}

// Layouts, types, heads and options, which snapshots get in turn.
TableCallShape shape_of(std::size_t number) {
  using enum KvLayout;
  using enum ElementType;
  static const TableCallShape kShapes[] = {
      {.layout = kHeadMajor, .q_type = kBf16, .kv_type = kBf16, .num_q_heads = 4},
      {.layout = kTokenMajor, .q_type = kFp16, .kv_type = kFp16, .num_kv_heads = 1},
      {.layout = kPacked, .q_type = kFp32, .kv_type = kFp32, .num_kv_heads = 1},
      {.layout = kHeadMajor, .q_type = kFp16, .kv_type = kFp16, .num_kv_heads = 1},
      {.layout = kTokenMajor, .q_type = kBf16, .kv_type = kE4m3},
      {.layout = kPacked, .q_type = kBf16, .kv_type = kBf16},
      {.layout = kHeadMajor, .q_type = kFp32, .kv_type = kFp32}};
  return kShapes[number % std::size(kShapes)];
}

AttentionOptions options_of(std::size_t number, std::int64_t num_q_heads) {
  static const std::vector<float> kSlopes = {0.25F, 0.0625F, 0.015625F, 0.00390625F};
  static const std::vector<float> kSinks = {0.5F, -1.0F, 3.0F, 0.0F};
  const auto heads = static_cast<std::size_t>(num_q_heads);
  AttentionOptions options = {.scale = 0.5F};
  if (number % 5 == 1) options.window = 300;
  if (number % 5 == 2) options.softcap = 2.0F;
  if (number % 5 == 3) options.alibi_slopes = std::span(kSlopes).first(heads);
  if (number % 5 == 4) options.sinks = std::span(kSinks).first(heads);
  return options;
}

// Traits and counts, summed over the snapshots of one traffic.
struct Seen {
  TableTraits traits = {};
  std::int64_t copied_slots = 0;
  std::map<std::string, std::int64_t> runs = {};  // by backend
};

// Computed once for all backends with the same numerics.
class Oracle {
 public:
  explicit Oracle(const PagedAttentionInputs& inputs) : inputs_(inputs) {}

  const reference::BoundedResult& of(const reference::KernelNumerics& numerics) {
    for (const auto& [known, result] : known_) {
      if (known == numerics) return result;
    }
    return known_.emplace_back(numerics, reference::bounded_attention(inputs_, numerics)).second;
  }

 private:
  const PagedAttentionInputs& inputs_;
  std::deque<std::pair<reference::KernelNumerics, reference::BoundedResult>> known_;
};

void expect_right(const PagedAttentionInputs& inputs, const std::vector<Backend>& backends,
                  Seen& seen) {
  REQUIRE(check_contents(inputs) == Status::ok());
  Oracle oracle(inputs);
  for (const Backend& backend : backends) {
    if (backend.why_unsupported(inputs)) continue;
    const reference::BoundedResult& right = oracle.of(backend.numerics(inputs));
    const Comparison comparison =
        compare(inputs, result_of(backend.call(inputs)), right.exact, right.probabilistic);
    INFO(backend.name << "\n" << comparison.text());
    CHECK(comparison.passed());
    ++seen.runs[backend.name];
  }
}

void run_snapshot(const TableSnapshot& snapshot, std::size_t number, Seen& seen) {
  const TableTraits traits = traits_of(snapshot);
  std::cout << fmt::format(
      "  {:3} step {:5} {:17} {:3} sequences {:6} tokens {:4} shared blocks {:3} unordered tables "
      "{:3} preempted\n",
      number, snapshot.step, snapshot.moment, traits.sequences, traits.tokens, traits.shared_blocks,
      traits.unordered, traits.preempted);
  INFO("snapshot " << number);
  const Poison poison = number % 2 == 0 ? Poison::kNaN : Poison::kInfinity;
  const auto run = [&](const TableSnapshot& batch, const std::vector<Backend>& backends) {
    if (batch.sequences.empty()) return;
    const TableCallShape shape = shape_of(number);
    Batch placed = place_tables(batch, shape, poison, kTrafficSeed + number);
    placed.inputs.options = options_of(number, shape.num_q_heads);
    expect_right(placed.inputs, backends, seen);
  };
  run(decoding_part(snapshot), decode_backends());
  run(snapshot, prefill_backends());
  seen.traits.sequences += traits.sequences;
  seen.traits.tokens += traits.tokens;
  seen.traits.shared_blocks += traits.shared_blocks;
  seen.traits.unordered += traits.unordered;
  seen.traits.preempted += traits.preempted;
}

Seen run_traffic(const Traffic& traffic) {
  const TracedTables traced = serve(traffic, std::cout);
  Seen seen = {.copied_slots = traced.copied_slots};
  for (std::size_t i = 0; i < traced.snapshots.size(); ++i) {
    run_snapshot(traced.snapshots[i], i, seen);
  }
  CHECK(traced.snapshots.size() >= 6);
  for (const auto& [backend, runs] : seen.runs)
    std::cout << "  " << backend << ": " << runs << "\n";
  CHECK(seen.runs.size() == 9 + 1);
  CHECK(seen.traits.unordered > 0);
  return seen;
}

// Negative control: a comparison that cannot fail would prove nothing.
TEST_CASE("a wrong block in a table is caught") {
  const TableSnapshot batch = {
      .moment = "by hand",
      .num_blocks = 8,
      .block_size = 16,
      .max_blocks = 4,
      .entries = {5, 1, 3, 6, 5, 4, 2, -1},
      .sequences = {{.context_length = 41, .num_rows = 1}, {.context_length = 48, .num_rows = 1}}};
  CHECK(traits_of(batch).shared_blocks == 1);
  CHECK(traits_of(batch).unordered == 2);
  for (const Backend& backend : decode_backends()) {
    const Batch placed = place_tables(batch, shape_of(0), Poison::kNaN, kTrafficSeed);
    const PagedAttentionInputs right = placed.inputs;
    const reference::BoundedResult oracle =
        reference::bounded_attention(right, backend.numerics(right));
    INFO(backend.name);
    CHECK(compare(right, result_of(backend.call(right)), oracle.exact, oracle.worst_case).passed());
    // Block 4 belongs to the other sequence; block 6 lies beyond every context.
    for (const std::int32_t block : {4, 6}) {
      std::vector<std::int32_t> table = batch.entries;
      table[1] = block;
      PagedAttentionInputs wrong = right;
      wrong.block_table.data = table.data();
      CHECK_FALSE(
          compare(right, result_of(backend.call(wrong)), oracle.exact, oracle.worst_case).passed());
    }
  }
}

TEST_CASE("kernels are right on the block tables of a real trace whose pool runs full") {
  for (const Traffic& traffic : kFullPools) {
    CHECK(run_traffic(traffic).traits.preempted > 0);
    if (is_full_run()) continue;
    std::cout << "SKIPPED: all traffic but the first; RECTO_FULL=1 has it\n";
    break;
  }
}

TEST_CASE("kernels are right on the block tables of a real trace with shared prefixes") {
  const Seen seen = run_traffic(kSharedPrefixes);
  CHECK(seen.traits.shared_blocks > 0);
  CHECK(seen.traits.preempted > 0);
}

TEST_CASE("kernels are right on the block tables of beams, samples of one prompt, and chats") {
  const Seen beams = run_traffic(kBeams);
  CHECK(beams.traits.shared_blocks > 0);
  CHECK(beams.copied_slots > 0);
  CHECK(beams.traits.preempted > 0);
  const Seen samples = run_traffic(kSamples);
  CHECK(samples.traits.shared_blocks > 0);
  CHECK(samples.traits.preempted > 0);
  CHECK(run_traffic(kChats).traits.shared_blocks > 0);
}

}  // namespace
}  // namespace recto::verify
