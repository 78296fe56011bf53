// The numbers that fp8 caches are given to store: ties of the quotient and numbers next to them,
// which distinguish the right rounding from nearly right ones.

#include "verify/laws/cache_operations/kv_write_case.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"
#include "verify/drawn_cases.h"

namespace recto::verify {
namespace {

// Counts over the numbers that cases write.
struct Seen {
  int numbers = 0;
  int ties = 0;           // x / scale is halfway between two codes
  int close = 0;          // close to a tie
  int by_reciprocal = 0;  // x * (1 / scale) gives another code
  int through_fp16 = 0;   // x / scale, rounded to fp16 first, gives another code
};

void look_at(float x, float scale, ElementType type, Seen& seen) {
  const double quotient = x / scale;
  const double largest = reference::largest_finite(type);
  if (!(std::abs(quotient) < largest) || quotient == 0) return;
  const auto code_of = [type](double value) {
    return reference::encode(value, type, reference::Overflow::kSaturate);
  };
  const std::uint32_t right = reference::encode_fp8(x, scale, type);
  const double rounded = reference::decode(right, type);
  const bool is_above = std::abs(rounded) > std::abs(quotient);
  const double other = reference::decode(is_above ? right - 1 : right + 1, type);
  const double tie = (rounded + other) / 2;
  ++seen.numbers;
  seen.ties += quotient == tie;
  seen.close += quotient != tie && std::abs(quotient / tie - 1) < 0x1p-7;
  seen.by_reciprocal += code_of(x * (1.0F / scale)) != right;
  seen.through_fp16 += code_of(reference::round_to(quotient, ElementType::kFp16)) != right;
}

void look_at(const RowsView& rows, const KvTensorView& cache, Seen& seen) {
  std::vector<double> values(static_cast<std::size_t>(rows.num_rows * rows.row_stride));
  reference::decode_row(rows.data, rows.type, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t head = static_cast<std::int64_t>(i) % rows.row_stride / rows.head_stride;
    if (head >= rows.num_heads) continue;  // a gap
    const auto scale = static_cast<float>(reference::scale_of(cache, head));
    look_at(static_cast<float>(values[i]), scale, cache.type, seen);
  }
}

Seen seen_in(TypePair types, std::uint64_t count) {
  const DrawnCases cases{
      .name = "fp8 writes", .count = count, .domain = {.types = {types}, .num_rows_max = 12}};
  Seen seen;
  for (std::uint64_t number = 0; number < count; ++number) {
    const KvWriteCase write(drawn_case(cases, number).law_case);
    KvPools pools = write.before();
    const KvWriteInputs inputs = write.inputs(pools.over(write.kv()));
    look_at(inputs.k, write.kv().k, seen);
    look_at(inputs.v, write.kv().v, seen);
  }
  return seen;
}

TEST_CASE(
    "twenty cases of any fp8 type pair have ties, and tell the right rounding from similar ones") {
  for (const TypePair& types : kTypePairs) {
    if (!is_fp8(types.kv)) continue;
    CAPTURE(types.q, types.kv);
    const Seen seen = seen_in(types, 20);
    CHECK(seen.ties > seen.numbers / 50);
    CHECK(seen.close > seen.numbers / 50);
    CHECK(seen.by_reciprocal > 10);
    CHECK(seen.through_fp16 > 10);
  }
}

TEST_CASE("the other tokens of a write are as many, in other slots, each named once") {
  const DrawnCases cases{.name = "other writes", .count = 40};
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const LawCase law_case = drawn_case(cases, number).law_case;
    if (why_no_token(law_case)) continue;
    const KvWriteCase write(law_case);
    const KvWriteCase other(law_case, WrittenTokens::kOther);
    KvPools pools = write.before();
    const MutablePagedKvView kv = pools.over(write.kv());
    const KvWriteInputs inputs = write.inputs(kv);
    const KvWriteInputs others = other.inputs(kv);
    CHECK(others.k.num_rows == inputs.k.num_rows);
    CHECK(others.k.row_stride == inputs.k.row_stride);
    const std::vector<std::int64_t> before(inputs.slot_mapping.begin(), inputs.slot_mapping.end());
    std::vector<std::int64_t> slots(others.slot_mapping.begin(), others.slot_mapping.end());
    CHECK(slots.size() == before.size());
    if (kv.k.num_blocks * kv.k.block_size > 1) CHECK(slots != before);
    CHECK(std::ranges::count(slots, -1) == std::ranges::count(before, -1));
    std::erase(slots, -1);
    std::ranges::sort(slots);
    CHECK(std::ranges::adjacent_find(slots) == slots.end());
    CHECK(write.expected().k != other.expected().k);
  }
}

}  // namespace
}  // namespace recto::verify
