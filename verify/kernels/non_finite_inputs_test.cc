// A non-finite number in one key or value of one sequence affects the rows that see it, and no bit
// of the others: for every backend, at the edges of causal cuts, of windows and of chunks.

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/paged_attention.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

using Tensor = std::vector<float> SequenceProblem::*;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One dim of a key of the first sequence, in its second KV head.
constexpr std::int64_t kPlantedHead = 1;
// Odd and even dims are in different registers.
std::int64_t planted_dim(std::int64_t key) { return key % 2 == 0 ? 42 : 13; }
struct Plant {
  Tensor tensor;
  std::int64_t key;
  float value;

  std::string text() const {
    return fmt::format("{} in {} {}", value, tensor == &SequenceProblem::k ? "key" : "value", key);
  }
};

AttentionProblem planted(AttentionProblem problem, const Plant& plant) {
  const bool is_key = plant.tensor == &SequenceProblem::k;
  const std::int64_t dims = is_key ? problem.shape.head_dim_k : problem.shape.head_dim_v;
  const std::int64_t row = plant.key * problem.shape.num_kv_heads + kPlantedHead;
  (problem.sequences[0].*
   plant.tensor)[static_cast<std::size_t>(row * dims + planted_dim(plant.key))] = plant.value;
  return problem;
}

bool sees(const AttentionProblem& problem, const RowPlace& at, std::int64_t head,
          const Plant& plant) {
  if (at.sequence != 0 || head / problem.shape.group() != kPlantedHead) return false;
  const KeysSeen seen = keys_seen(problem.options, problem.sequences[0], at.row);
  return plant.key >= seen.begin && plant.key < seen.end;
}

// The results of planting a number: the exact result, and a backend's with and without it.
struct Outcome {
  reference::AttentionResult exact;
  reference::AttentionResult with;
  reference::AttentionResult without;
};

struct Count {
  int untouched = 0;
  int not_finite = 0;
};

void expect(bool is_touched, double exact, double with, double without, Count& count) {
  if (is_touched) {
    if (std::isfinite(exact) != std::isfinite(with)) FAIL(with << ", and exactly " << exact);
    count.not_finite += std::isfinite(with) ? 0 : 1;
  } else {
    if (std::memcmp(&with, &without, sizeof with) != 0) FAIL(with << ", without it " << without);
    ++count.untouched;
  }
}

Count check(const AttentionProblem& problem, const Plant& plant, const Outcome& seen) {
  const bool is_key = plant.tensor == &SequenceProblem::k;
  Count count;
  for (const RowPlace& at : all_rows(problem)) {
    for (std::int64_t head = 0; head < problem.shape.num_q_heads; ++head) {
      const bool is_seen = sees(problem, at, head, plant);
      INFO("sequence " << at.sequence << ", row " << at.row << ", head " << head);
      for (std::int64_t dim = 0; dim < problem.shape.head_dim_v; ++dim) {
        expect(is_seen && (is_key || dim == planted_dim(plant.key)),
               seen.exact.out_at(at.result_row, head, dim),
               seen.with.out_at(at.result_row, head, dim),
               seen.without.out_at(at.result_row, head, dim), count);
      }
      expect(is_seen && is_key, seen.exact.lse_ln_at(at.result_row, head),
             seen.with.lse_ln_at(at.result_row, head), seen.without.lse_ln_at(at.result_row, head),
             count);
    }
  }
  return count;
}

// Query rows, and keys in which to plant a number.
struct Scene {
  const char* name;
  std::vector<SequenceSpec> sequences;
  bool causal;
  std::optional<std::int64_t> window;
  std::vector<std::int64_t> keys;
};

CaseSpec spec_of(const Scene& scene, const TypePair& types, std::int64_t head_dim,
                 KvLayout layout) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4,
                .num_kv_heads = 2,
                .head_dim_k = head_dim,
                .head_dim_v = head_dim,
                .q_type = types.q,
                .kv_type = types.kv};
  spec.options.scale = 0.25F;
  spec.options.causal = scene.causal;
  spec.options.window = scene.window;
  spec.sequences = scene.sequences;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.layout = layout, .block_size = 16};
  return spec;
}

// Tries every key of the scene. Returns how many backends support it.
int expect_kept_apart(const CaseSpec& spec, const Scene& scene,
                      const std::vector<Backend>& backends) {
  INFO(scene.name << "\n" << spec.text());
  REQUIRE(check_case(spec) == Status::ok());
  const AttentionProblem problem = make_problem(spec);
  const PlacedProblem sound(problem, spec.placement);
  int served = 0;
  for (const Backend& backend : backends) {
    if (backend.why_unsupported(sound.inputs())) continue;
    INFO(backend.name);
    ++served;
    const reference::AttentionResult without = result_of(backend.call(sound.inputs()));
    Count sum;
    for (const std::int64_t key : scene.keys) {
      for (const Tensor tensor : {&SequenceProblem::k, &SequenceProblem::v}) {
        for (const float value : {kNaN, kInfinity, -kInfinity}) {
          if (std::isinf(value) && spec.shape.kv_type == ElementType::kE4m3) continue;
          const Plant plant = {tensor, key, value};
          INFO(plant.text());
          const PlacedProblem spoilt(planted(problem, plant), spec.placement);
          const Count count = check(problem, plant,
                                    {reference::paged_attention(spoilt.inputs()),
                                     result_of(backend.call(spoilt.inputs())), without});
          sum.untouched += count.untouched;
          sum.not_finite += count.not_finite;
        }
      }
    }
    CHECK(sum.untouched > 0);
    CHECK(sum.not_finite > 0);
  }
  return served;
}

// For each chunk, thread blocks of prefill have 64 rows: 32 queries of two heads.
const std::vector<SequenceSpec> kChunk = {{.num_rows = 40, .context_length = 150, .id = 1},
                                          {.num_rows = 3, .context_length = 70, .id = 2}};
const std::vector<SequenceSpec> kFirstChunk = {{.num_rows = 70, .context_length = 70, .id = 1},
                                               {.num_rows = 1, .context_length = 9, .id = 2}};
const std::vector<SequenceSpec> kSteps = {{.num_rows = 1, .context_length = 100, .id = 1},
                                          {.num_rows = 1, .context_length = 33, .id = 2}};

const std::vector<Scene> kChunks = {
    {"a chunk behind a prefix", kChunk, true, {}, {109, 110, 111, 128, 142, 149}},
    {"a chunk with a window", kChunk, true, 50, {60, 61, 64, 93, 101, 149}},
    {"a window over all that follows", kChunk, false, 50, {61, 93, 101, 149}},
    {"a first chunk", kFirstChunk, true, {}, {1, 32, 63, 69}}};

const std::vector<KvLayout> kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                        KvLayout::kPacked};

TEST_CASE("NaN and infinities reach the rows of a chunk that see them, and no others") {
  std::size_t turn = 0;
  for (const TypePair& types : kTypePairs) {
    for (const Scene& scene : kChunks) {
      const KvLayout layout = kLayouts[turn++ % kLayouts.size()];
      CHECK(expect_kept_apart(spec_of(scene, types, 64, layout), scene,
                              {paged_prefill_backend({})}) == 1);
    }
  }
}

TEST_CASE(
    "NaN and infinities reach only the rows that see them, in tiles of any head dim and layout") {
  const Scene scene = {"a chunk with a window", kChunk, true, 50, {97, 143}};
  for (const std::int64_t head_dim : {80, 96, 128, 192, 256}) {
    const TypePair types = head_dim % 64 == 0 ? kTypePairs[2] : kTypePairs[1];
    for (const KvLayout layout : kLayouts) {
      CHECK(expect_kept_apart(spec_of(scene, types, head_dim, layout), scene,
                              {paged_prefill_backend({})}) == 1);
    }
  }
  for (const KvLayout layout : kLayouts) {
    CHECK(expect_kept_apart(spec_of(scene, kTypePairs[0], 128, layout), scene,
                            {paged_prefill_backend({})}) == 1);
  }
}

TEST_CASE(
    "NaN and infinities reach the heads and sequences of decode that see them, and no others") {
  const std::vector<Scene> scenes = {
      {"steps", kSteps, true, {}, {0, 15, 16, 98, 99}},
      {"steps with a window", kSteps, true, 37, {62, 63, 64, 95, 99}}};
  const std::vector<Backend> backends = {reference_decode_backend({}), split_decode_backend({}, 40),
                                         gqa_decode_backend({}, 40), gqa_decode_backend({}, 1000),
                                         tma_decode_backend({}, 40)};
  std::size_t turn = 0;
  for (const TypePair& types : kTypePairs) {
    for (const KvLayout layout : kLayouts) {
      const Scene& scene = scenes[turn++ % scenes.size()];
      const bool is_bulk =
          types.q == types.kv && element_bytes(types.q) == 2 && layout == KvLayout::kHeadMajor;
      CHECK(expect_kept_apart(spec_of(scene, types, 64, layout), scene, backends) ==
            (is_bulk ? 5 : 4));
    }
  }
}

}  // namespace
}  // namespace recto::verify
