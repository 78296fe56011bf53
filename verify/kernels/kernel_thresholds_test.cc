// Dispatch thresholds of the attention kernels: tiles of keys and of rows, thread blocks per group,
// slots of a packed block that are read at once, windows. Below, at and above each threshold the
// grid is as expected, and the result right.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/launch_recorder.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kNoSplits = 100000;

CaseSpec spec_of(TypePair types, std::int64_t head_dim) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2,
                .num_kv_heads = 1,
                .head_dim_k = head_dim,
                .head_dim_v = head_dim,
                .q_type = types.q,
                .kv_type = types.kv};
  spec.options.scale = 0.25F;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.layout = KvLayout::kHeadMajor, .block_size = 16};
  return spec;
}

// Sequences of these contexts, each with as many query rows.
void set_contexts(CaseSpec& spec, const std::vector<std::int64_t>& contexts,
                  std::int64_t num_rows = 1) {
  spec.sequences.clear();
  for (const std::int64_t context : contexts) {
    spec.sequences.push_back({.num_rows = num_rows,
                              .context_length = context,
                              .id = static_cast<std::uint64_t>(context)});
  }
}

using BackendOf = Backend (*)(const KernelRun& how);

const std::vector<BackendOf> kDecode = {
    reference_decode_backend, [](const KernelRun& how) { return split_decode_backend(how, 48); },
    [](const KernelRun& how) { return gqa_decode_backend(how, kNoSplits); },
    [](const KernelRun& how) { return gqa_decode_backend(how, 48); },
    [](const KernelRun& how) { return tma_decode_backend(how, kNoSplits); }};

// What was launched, or that the inputs are not supported. On a GPU launches are not recorded: they
// count as right if the result is.
struct Launches {
  std::string text;

  friend bool operator==(const Launches& launches, const std::string& expected) {
    const bool has_record = !runs_on_gpu() || launches.text == "not served";
    return has_record ? launches.text == expected : expected != "not served";
  }
  friend std::ostream& operator<<(std::ostream& out, const Launches& launches) {
    return out << launches.text;
  }
};

Launches launches_of(BackendOf backend_of, const PagedAttentionInputs& inputs) {
  std::vector<RecordedLaunch> launches;
  const Backend backend = backend_of(recorded_run(launches));
  if (backend.why_unsupported(inputs)) return {"not served"};
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs));
  const Comparison comparison =
      compare(inputs, result_of(backend.call(inputs)), oracle.exact, oracle.probabilistic);
  INFO(backend.name << "\n" << comparison.text());
  CHECK(comparison.passed());
  return {text_of(launches)};
}

Launches launches_of(BackendOf backend_of, const CaseSpec& spec) {
  INFO(spec.text());
  REQUIRE(check_case(spec) == Status::ok());
  return launches_of(backend_of, PlacedProblem(make_problem(spec), spec.placement).inputs());
}

// Runs all decode kernels that support it, and returns how many do.
int expect_right(const CaseSpec& spec) {
  int served = 0;
  for (const BackendOf backend : kDecode) served += launches_of(backend, spec).text != "not served";
  return served;
}

constexpr TypePair kFp32 = {ElementType::kFp32, ElementType::kFp32};
constexpr TypePair kFp16 = {ElementType::kFp16, ElementType::kFp16};
constexpr TypePair kFp8 = {ElementType::kBf16, ElementType::kE4m3};

// A tile has 32 keys in reference decode and 16 in the GQA kernel (fp32: 8); four warps take
// stretches of whole tiles of 32.
TEST_CASE("contexts that end within tiles, with them, and with warps' stretches are right") {
  for (const TypePair& types : {kFp32, kFp16, kFp8}) {
    CaseSpec spec = spec_of(types, 64);
    set_contexts(spec, {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257});
    CHECK(expect_right(spec) == (types == kFp16 ? 5 : 4));
  }
}

TEST_CASE("windows that begin within tiles, with them, and before the context are right") {
  for (const std::int64_t window : {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 95, 96, 97}) {
    CaseSpec spec = spec_of(kFp16, 64);
    set_contexts(spec, {48, 63, 96, 100});
    spec.options.window = window;
    CHECK(expect_right(spec) == 5);
  }
}

TEST_CASE("a thread block of the group kernel takes sixteen heads of a group") {
  for (const std::int64_t group : {1, 15, 16, 17, 31, 32, 33}) {
    CaseSpec spec = spec_of(kFp16, 64);
    spec.shape.num_kv_heads = 2;
    spec.shape.num_q_heads = 2 * group;
    set_contexts(spec, {20, 50});
    const std::int64_t tiles = group <= 16 ? 1 : group <= 32 ? 2 : 3;
    CHECK(launches_of(kDecode[2], spec) == fmt::format("gqa_decode 2x{}x1", 2 * tiles));
    CHECK(launches_of(kDecode[3], spec) ==
          fmt::format("gqa_decode 2x{}x2, split_merge 2x{}x1", 2 * tiles, 2 * group));
    CHECK(launches_of(kDecode[0], spec) == fmt::format("reference_decode 2x{}x1", 2 * group));
  }
}

// With 96 keys, two splits of 48 are full; a window counts from its first visible key.
TEST_CASE("the longest context determines the number of splits, full or begun") {
  const auto launches = [](const std::vector<std::int64_t>& contexts) {
    CaseSpec spec = spec_of(kFp16, 64);
    set_contexts(spec, contexts);
    CHECK(expect_right(spec) == 5);
    return launches_of(kDecode[1], spec);
  };
  CHECK(launches({0}) == "split_decode 1x2x1, split_merge 1x2x1");
  CHECK(launches({47}) == "split_decode 1x2x1, split_merge 1x2x1");
  CHECK(launches({48}) == "split_decode 1x2x1, split_merge 1x2x1");
  CHECK(launches({49, 48, 1, 0}) == "split_decode 4x2x2, split_merge 4x2x1");
  CHECK(launches({95, 96}) == "split_decode 2x2x2, split_merge 2x2x1");
  CHECK(launches({97, 96, 95}) == "split_decode 3x2x3, split_merge 3x2x1");
}

// Four warps of 32 lanes with four dims each cover 128 dims of a row; the GQA kernels' tables have
// other limits.
TEST_CASE("the plain kernels serve head dims that fill lanes or end within them, up to 256") {
  for (const TypePair& types : {kFp32, kFp16}) {
    for (const std::int64_t head_dim : {1, 3, 4, 5, 15, 16, 17, 127, 128, 129, 255, 256}) {
      CaseSpec spec = spec_of(types, head_dim);
      set_contexts(spec, {33});
      CHECK(launches_of(kDecode[0], spec) == "reference_decode 1x2x1");
      CHECK(launches_of(kDecode[1], spec) == "split_decode 1x2x1, split_merge 1x2x1");
    }
    CaseSpec spec = spec_of(types, 257);
    set_contexts(spec, {33});
    CHECK(launches_of(kDecode[0], spec) == "not served");
  }
}

// Blocks of packed values hold whole chunks of 16 bytes, or are read element by element. Whole
// blocks are fetched for a part of a tile, for one tile, or for several.
TEST_CASE("blocks smaller than chunks and tiles, as large, and larger are right") {
  struct Chunked {
    TypePair types;
    std::int64_t chunk;  // slots per 16 bytes
  };
  for (const Chunked& each : {Chunked{kFp32, 4}, Chunked{kFp16, 8}, Chunked{kFp8, 16}}) {
    for (const KvLayout layout : {KvLayout::kPacked, KvLayout::kHeadMajor, KvLayout::kTokenMajor}) {
      for (const std::int64_t block_size :
           {each.chunk / 2, each.chunk, 2 * each.chunk, std::int64_t{16}, std::int64_t{32},
            std::int64_t{48}, std::int64_t{64}}) {
        CaseSpec spec = spec_of(each.types, 64);
        spec.placement.layout = layout;
        spec.placement.block_size = block_size;
        const std::int64_t b = block_size;
        set_contexts(spec, {b - 1, b, b + 1, 2 * b - 1, 2 * b, 2 * b + 1, 70});
        const bool is_bulk = each.types == kFp16 && layout != KvLayout::kPacked;
        CHECK(expect_right(spec) == (is_bulk ? 5 : 4));
      }
    }
  }
}

// A thread block of prefill has 64 rows, over all heads of a group, and tiles of 64 keys (fp32:
// 32), or half as many beyond head dim 128.
TEST_CASE("prefill takes 64 rows at a time, and tiles of keys") {
  const auto blocks = [](CaseSpec spec) {
    spec.placement.block_size = 8;  // not wide
    return launches_of(paged_prefill_backend, spec);
  };
  for (const TypePair& types : {kFp32, kFp16}) {
    for (const std::int64_t group : {1, 2, 3}) {
      for (const std::int64_t num_rows : {1, 20, 21, 22, 31, 32, 33, 63, 64, 65}) {
        CaseSpec spec = spec_of(types, 64);
        spec.shape.num_q_heads = group;
        set_contexts(spec, {num_rows + 5}, num_rows);
        CHECK(blocks(spec) == fmt::format("paged_prefill {}x1x1", (num_rows * group + 63) / 64));
      }
    }
    CaseSpec spec = spec_of(types, 128);
    set_contexts(spec, {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129}, 3);
    CHECK(blocks(spec) == "paged_prefill 1x1x12");
  }
  for (const std::int64_t head_dim : {80, 96, 128, 192, 256}) {
    CaseSpec spec = spec_of(kFp16, head_dim);
    set_contexts(spec, {15, 16, 17, 31, 32, 33, 63, 64, 65}, 2);
    CHECK(blocks(spec) == "paged_prefill 1x1x9");
  }
}

TEST_CASE("wide prefill takes 128 rows at a time, and tiles of 64 keys") {
  const auto blocks = [](const CaseSpec& spec) { return launches_of(paged_prefill_backend, spec); };
  for (const std::int64_t group : {1, 2, 3}) {
    for (const std::int64_t num_rows : {1, 42, 43, 63, 64, 65, 127, 128, 129}) {
      CaseSpec spec = spec_of(kFp16, 64);
      spec.shape.num_q_heads = group;
      set_contexts(spec, {num_rows + 5}, num_rows);
      CHECK(blocks(spec) ==
            fmt::format("paged_prefill_wide {}x1x1", (num_rows * group + 127) / 128));
    }
  }
  for (const std::int64_t block_size : {16, 48, 64}) {
    CaseSpec spec = spec_of(kFp16, 128);
    spec.placement.block_size = block_size;
    set_contexts(spec, {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129}, 3);
    CHECK(blocks(spec) == "paged_prefill_wide 1x1x12");
  }
}

// The lanes of a warp look up as many tiles of 64 keys at once.
TEST_CASE("wide prefill looks up 32 tiles at a time") {
  CaseSpec spec = spec_of(kFp16, 64);
  set_contexts(spec, {2047, 2048, 2049, 2200}, 3);
  CHECK(launches_of(paged_prefill_backend, spec) == "paged_prefill_wide 1x1x4");
}

TEST_CASE("calls with unusual options, layouts or gaps use ordinary prefill, not the wide one") {
  CaseSpec usual = spec_of(kFp16, 64);
  set_contexts(usual, {40}, 8);
  CHECK(launches_of(paged_prefill_backend, usual) == "paged_prefill_wide 1x1x1");
  const auto expect_not_wide = [&](const auto& change) {
    CaseSpec spec = usual;
    change(spec);
    CHECK(launches_of(paged_prefill_backend, spec) == "paged_prefill 1x1x1");
  };
  expect_not_wide([](CaseSpec& spec) { spec.placement.block_size = 8; });
  expect_not_wide([](CaseSpec& spec) { spec.placement.layout = KvLayout::kPacked; });
  expect_not_wide([](CaseSpec& spec) { spec.options.softcap = 20.0F; });
  expect_not_wide([](CaseSpec& spec) { spec.options.alibi = AlibiFamily::kUsual; });
  expect_not_wide([](CaseSpec& spec) { spec.options.scale = -0.25F; });
  expect_not_wide([](CaseSpec& spec) { spec.placement.gaps.q_rows = 1; });
  expect_not_wide([](CaseSpec& spec) { spec.placement.gaps.q_heads = 4; });
  expect_not_wide([](CaseSpec& spec) { spec.placement.gaps.k_slots = 8; });
  expect_not_wide([](CaseSpec& spec) { spec.placement.gaps.v_blocks = 8; });
  AttentionProblem huge = make_problem(usual);  // its factor of exp2 would be infinite
  huge.options.scale = 3e38F;
  std::ranges::fill(huge.sequences[0].q, 0.0F);
  CHECK(launches_of(paged_prefill_backend, PlacedProblem(huge, usual.placement).inputs()) ==
        "paged_prefill 1x1x1");
}

// Prefill treats windows of 2^40 and more as 2^40. Without a mask, rows at negative positions, from
// which the largest number cannot be subtracted, see keys, too.
TEST_CASE("windows that end within contexts, with them, and far beyond are right") {
  constexpr std::int64_t kInt = std::int64_t{1} << 31;
  constexpr std::int64_t kWidest = std::int64_t{1} << 40;
  CaseSpec rows = spec_of(kFp16, 64);
  set_contexts(rows, {0, 2, 40}, 8);
  CaseSpec row = rows;
  set_contexts(row, {0, 2, 40});
  const PlacedProblem prefill(make_problem(rows), rows.placement);
  const PlacedProblem decode(make_problem(row), row.placement);
  for (const std::int64_t window :
       {std::int64_t{1}, std::int64_t{39}, std::int64_t{40}, std::int64_t{41}, kInt - 1, kInt,
        kInt + 1, kWidest - 1, kWidest, kWidest + 1, INT64_MAX - 1, INT64_MAX}) {
    INFO("window " << window);
    PagedAttentionInputs inputs = prefill.inputs();
    inputs.options.window = window;
    for (const bool causal : {true, false}) {
      inputs.options.causal = causal;
      CHECK(launches_of(paged_prefill_backend, inputs) == "paged_prefill_wide 1x1x3");
    }
    inputs = decode.inputs();
    inputs.options.window = window;
    CHECK(launches_of(kDecode[0], inputs) == "reference_decode 3x2x1");
    CHECK(launches_of(kDecode[2], inputs) == "gqa_decode 3x1x1");
  }
}

}  // namespace
}  // namespace recto::verify
