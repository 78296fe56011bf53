#include "verify/cases/case_spec.h"

#include <limits>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a plain case prints its shape, sequences, values and placement, and nothing else") {
  CHECK(CaseSpec{}.text() ==
        "shape      1 q heads, 1 KV heads, head dim 1 of q and k, 1 of v, fp32 / fp32\n"
        "sequences    rows  context   id\n"
        "                1        0    0\n"
        "values     q ones, k ones, v ones, seed 0\n"
        "placement  token-major, block size 1");
}

TEST_CASE("a case prints everything that differs from the plain case") {
  CaseSpec spec;
  spec.shape = {6, 2, 16, 7, ElementType::kFp16, ElementType::kE4m3};
  spec.options = {.scale = 0.1F,
                  .softcap = 30.0F,
                  .causal = false,
                  .window = 5,
                  .alibi = AlibiFamily::kMixed,
                  .sinks = SinkFamily::kNegligible,
                  .k_scales = ScaleKind::kPerTensor,
                  .v_scales = ScaleKind::kPerKvHead};
  spec.sequences = {{.num_rows = 3, .context_length = 1017, .id = 0}, {1, 5, 12}};
  spec.shared_prefix = 4;
  spec.varied_tokens = TokenRange{7, 9};
  spec.q = FloatFamily::kNormal;
  spec.k = FloatFamily::kExactTies;
  spec.v = FloatFamily::kDenormals;
  spec.seed = 99;
  spec.placement = {.layout = KvLayout::kPacked,
                    .block_size = 32,
                    .order = BlockOrder::kHighIds,
                    .spare_blocks = 9,
                    .block_padding = 16,
                    .row_padding = 48,
                    .gaps = {.q_rows = 64, .v_heads = 16},
                    .table_padding = 3,
                    .garbage_beyond_table = true,
                    .shares_prefixes = true,
                    .poison = Poison::kTenThousand,
                    .poisoned = PoisonedTensors::kKeysOnly,
                    .seed = 8};
  CHECK(spec.text() ==
        "shape      6 q heads, 2 KV heads, head dim 16 of q and k, 7 of v, fp16 / e4m3\n"
        "options    scale 0.100000001, softcap 30, not causal, window 5, alibi mixed, "
        "sinks negligible,\n"
        "           one k scale, per-head v scale\n"
        "sequences    rows  context   id\n"
        "                3     1017    0\n"
        "                1        5   12\n"
        "prefix     4 tokens in common\n"
        "values     q normal, k exact-ties, v denormals, seed 99\n"
        "           k and v of tokens from 7 on, before 9, else ones\n"
        "placement  packed, block size 32, high-ids, spare blocks 9, block padding 16, "
        "row padding 48,\n"
        "           table padding 3, gap of q_rows 64, gap of v_heads 16, garbage beyond table,\n"
        "           shared prefixes, poison ten-thousand, poison of keys-only, seed 8");
  CHECK(check_case(spec) == Status::ok());
}

// A case to which every rule applies.
CaseSpec valid_case() {
  CaseSpec spec;
  spec.shape = {4, 2, 16, 3, ElementType::kFp16, ElementType::kE4m3};
  spec.sequences = {{.num_rows = 0, .context_length = 0}, {.num_rows = 2, .context_length = 1}};
  spec.options.window = 1;
  spec.options.k_scales = ScaleKind::kPerTensor;
  spec.options.v_scales = ScaleKind::kPerKvHead;
  spec.placement.layout = KvLayout::kPacked;
  spec.placement.block_size = 48;
  spec.placement.block_padding = 16;
  spec.placement.row_padding = 32;
  return spec;
}

template <typename Change>
void check_refused(const char* message, const Change& change) {
  CaseSpec spec = valid_case();
  change(spec);
  CAPTURE(spec);
  CHECK(check_case(spec).code() == StatusCode::kInvalidInput);
  CHECK_THAT(check_case(spec).message(), ContainsSubstring(message));
}

TEST_CASE("a case at the limits is valid") { CHECK(check_case(valid_case()) == Status::ok()); }

TEST_CASE("shapes out of range are refused") {
  check_refused("shape.num_q_heads: expected a multiple of 2, found 5",
                [](CaseSpec& spec) { spec.shape.num_q_heads = 5; });
  check_refused("num_kv_heads: expected 1 ... 16777216, found 0",
                [](CaseSpec& spec) { spec.shape.num_kv_heads = 0; });
  check_refused("head_dim_k: expected a multiple of 16, found 24",
                [](CaseSpec& spec) { spec.shape.head_dim_k = 24; });
  check_refused("head_dim_v", [](CaseSpec& spec) { spec.shape.head_dim_v = 0; });
  check_refused("kv_type: expected a partner of fp16, found bf16",
                [](CaseSpec& spec) { spec.shape.kv_type = ElementType::kBf16; });
}

TEST_CASE("a head dim of K that is no multiple of a pack is refused where K is packed only") {
  CaseSpec spec = valid_case();
  spec.shape.head_dim_k = 24;
  spec.placement.layout = KvLayout::kHeadMajor;
  CHECK(check_case(spec) == Status::ok());
}

TEST_CASE("options out of range are refused") {
  for (const float scale : {0.0F, -0.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    check_refused("scale: expected a number other than 0",
                  [&](CaseSpec& spec) { spec.options.scale = scale; });
  }
  CaseSpec negative = valid_case();
  negative.options.scale = -1.0F;
  CHECK(check_case(negative) == Status::ok());
  check_refused("softcap", [](CaseSpec& spec) { spec.options.softcap = -0.5F; });
  check_refused("window", [](CaseSpec& spec) { spec.options.window = 0; });
  check_refused("options.k_scales: expected none (only fp8 is scaled), found fp16",
                [](CaseSpec& spec) { spec.shape.kv_type = ElementType::kFp16; });
}

TEST_CASE("sequences and values out of range are refused") {
  check_refused("sequences", [](CaseSpec& spec) { spec.sequences.clear(); });
  check_refused("sequences[0].num_rows: expected 0 ... 16777216, found -1",
                [](CaseSpec& spec) { spec.sequences[0].num_rows = -1; });
  check_refused("context_length", [](CaseSpec& spec) { spec.sequences[1].context_length = -1; });
  check_refused("context_length",
                [](CaseSpec& spec) { spec.sequences[1].context_length = (1 << 24) + 1; });
  check_refused("sequences, rows of all of them: expected 0 ... 16777216, found 16777217",
                [](CaseSpec& spec) { spec.sequences[0].num_rows = (1 << 24) - 1; });
  check_refused("shared_prefix", [](CaseSpec& spec) { spec.shared_prefix = -1; });
  check_refused("values.v: expected a family for any tensor, found dominating-key",
                [](CaseSpec& spec) { spec.v = FloatFamily::kDominatingKey; });
  check_refused("varied_tokens.end: expected 5 ... 16777216, found 4", [](CaseSpec& spec) {
    spec.varied_tokens = TokenRange{5, 4};
  });
  check_refused("varied_tokens: expected none (k and v are ones)", [](CaseSpec& spec) {
    spec.k = spec.v = FloatFamily::kOnes;
    spec.varied_tokens = TokenRange{0, 1};
  });
  check_refused("values.k: expected a family for any tensor, found huge-values",
                [](CaseSpec& spec) { spec.k = FloatFamily::kHugeValues; });
  check_refused("shared_prefix: expected 0", [](CaseSpec& spec) {
    spec.k = FloatFamily::kDominatingKey;
    spec.shared_prefix = 1;
  });
}

TEST_CASE("placements out of range are refused") {
  for (const std::int64_t size : {0, 3, 24, 40}) {
    check_refused("block_size", [&](CaseSpec& spec) { spec.placement.block_size = size; });
  }
  check_refused("block_padding: expected a multiple of 16, found 8",
                [](CaseSpec& spec) { spec.placement.block_padding = 8; });
  check_refused("row_padding", [](CaseSpec& spec) { spec.placement.row_padding = 17; });
  check_refused("table_padding", [](CaseSpec& spec) { spec.placement.table_padding = -1; });
  for (const GapField& field : kGapFields) {
    const std::string name = std::string("placement.gaps.") + field.name;
    check_refused((name + ": expected 0 ... 16777216, found -1").c_str(),
                  [&](CaseSpec& spec) { spec.placement.gaps.*field.gap = -1; });
    CaseSpec odd;
    odd.placement.gaps.*field.gap = 1;
    CHECK(check_case(odd) == Status::ok());
  }
  check_refused("spare_blocks", [](CaseSpec& spec) { spec.placement.spare_blocks = -1; });
}

TEST_CASE("scores may reach ten thousand, by scale, offsets and distance, and no further") {
  CaseSpec spec;
  spec.shape.head_dim_k = 100;
  spec.q = FloatFamily::kSmallIntegers;  // up to 4
  spec.k = FloatFamily::kLargeOffset;    // up to 9
  spec.options.scale = 2.0F;
  spec.sequences[0].context_length = 2800;
  CHECK(score_bound(spec) == 7200.0);
  spec.options.alibi = AlibiFamily::kNegative;
  CHECK(score_bound(spec) == 10000.0);
  CHECK(check_case(spec) == Status::ok());
  spec.sequences[0].context_length = 2801;
  CHECK_THAT(check_case(spec).message(), ContainsSubstring("scores within 10000"));
  spec.options.alibi = AlibiFamily::kNone;
  CHECK(check_case(spec) == Status::ok());
  spec.shape.q_type = ElementType::kFp16;
  spec.shape.kv_type = ElementType::kE4m3;
  spec.options.k_scales = ScaleKind::kPerTensor;
  CHECK(score_bound(spec) == 14400.0);
  spec.options.scale = -2.0F;
  CHECK(score_bound(spec) == 14400.0);
  spec.options = OptionsSpec();
  spec.options.scale = -0.125F;
  spec.k = FloatFamily::kOutlierDim;  // 256 once, else up to 1
  CHECK(score_bound(spec) == 0.125 * (4 * 256 + 99 * 4));
  spec.q = FloatFamily::kOutlierDim;
  CHECK(score_bound(spec) == 0.125 * (65536 + 99));
}

}  // namespace
}  // namespace recto::verify
