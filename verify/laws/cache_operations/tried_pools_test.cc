// KV-cache operations with 32-bit offsets fail in distant pools, and the report says where the
// writes went; those with 64-bit offsets pass.

#include "verify/laws/cache_operations/tried_pools.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_views.h"
#include "reference/kv_cache_ops.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"
#include "verify/laws/cache_operations/block_move_laws.h"
#include "verify/laws/cache_operations/gather_law.h"
#include "verify/laws/cache_operations/kv_append_law.h"
#include "verify/laws/cache_operations/kv_write_law.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// How a block's offset, in elements of fp32, is narrowed.
using Narrow = std::int64_t (*)(std::int64_t element);

std::int64_t wide(std::int64_t element) { return element; }
std::int64_t of_signed_elements(std::int64_t element) { return static_cast<std::int32_t>(element); }
std::int64_t of_elements(std::int64_t element) { return static_cast<std::uint32_t>(element); }
std::int64_t of_signed_bytes(std::int64_t element) {
  return static_cast<std::int32_t>(4 * element) / 4;
}
std::int64_t of_bytes(std::int64_t element) { return static_cast<std::uint32_t>(4 * element) / 4; }

struct Narrowing {
  Narrow narrow;
  const char* words;
};
constexpr Narrowing kNarrowings[] = {{of_signed_elements, " int32 of elements"},
                                     {of_elements, " uint32 of elements"},
                                     {of_signed_bytes, " int32 of bytes"},
                                     {of_bytes, " uint32 of bytes"}};

// A view with which a right function accesses the block where the narrow offset leads.
template <typename View>
View shifted(const View& kv, std::int64_t block, Narrow narrow) {
  View shifted = kv;
  for (auto* const tensor : {&shifted.k, &shifted.v}) {
    const std::int64_t right = block * tensor->block_stride;
    auto* const first = static_cast<const float*>(tensor->data) + (narrow(right) - right);
    tensor->data = const_cast<float*>(first);
  }
  return shifted;
}

RowsView row_of(RowsView rows, std::int64_t row) {
  rows.data = static_cast<const float*>(rows.data) + row * rows.row_stride;
  rows.num_rows = 1;
  return rows;
}

void write_token(const KvWriteInputs& inputs, std::int64_t token, std::int64_t slot,
                 Narrow narrow) {
  if (slot < 0) return;
  reference::write_kv({.k = row_of(inputs.k, token),
                       .v = row_of(inputs.v, token),
                       .slot_mapping = {&slot, 1},
                       .kv = shifted(inputs.kv, slot / inputs.kv.k.block_size, narrow)});
}

Law write_law(Narrow narrow) {
  return kv_write_law(
      {.backend = "tried", .write = done_after([narrow](const KvWriteInputs& inputs) {
                             for (std::int64_t token = 0; token < std::ssize(inputs.slot_mapping);
                                  ++token)
                               write_token(inputs, token, inputs.slot_mapping[token], narrow);
                           })});
}

void append(const KvAppendInputs& inputs, Narrow narrow) {
  const KvWriteInputs write{.k = inputs.k, .v = inputs.v, .kv = inputs.kv};
  const std::int64_t block_size = inputs.kv.k.block_size;
  for (std::int64_t s = 0; s < std::ssize(inputs.cached_length); ++s) {
    const std::int64_t length = inputs.cached_length[s];
    const std::int64_t block =
        length < 0
            ? -1
            : inputs.block_table.data[s * inputs.block_table.row_stride + length / block_size];
    inputs.context_length[s] = static_cast<std::int32_t>(std::max<std::int64_t>(length, 0));
    if (block < 0) continue;
    ++inputs.context_length[s];
    write_token(write, s, block * block_size + length % block_size, narrow);
  }
}

Law append_law(Narrow narrow) {
  return kv_append_law(
      {.backend = "tried",
       .append = done_after([narrow](const KvAppendInputs& inputs) { append(inputs, narrow); })});
}

// Source and destination have separate offsets.
struct Ends {
  Narrow source;
  Narrow destination;
};

void swap_blocks(const PagedKvView& from, const MutablePagedKvView& to,
                 std::span<const BlockPair> pairs, const Ends& ends) {
  for (const BlockPair& pair : pairs) {
    reference::swap_blocks(shifted(from, pair.source, ends.source),
                           shifted(to, pair.destination, ends.destination), {&pair, 1});
  }
}

Law copy_law_of(const Ends& ends) {
  return block_copy_law(
      "tried", done_after([ends](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
        swap_blocks(as_const(kv), kv, pairs, ends);
      }));
}

Law swap_law_of(const Ends& ends) {
  return block_swap_law(
      "tried",
      done_after([ends](const PagedKvView& from, const MutablePagedKvView& to,
                        std::span<const BlockPair> pairs) { swap_blocks(from, to, pairs, ends); }));
}

Law copy_law(Narrow narrow) { return copy_law_of({wide, narrow}); }
Law copy_from_law(Narrow narrow) { return copy_law_of({narrow, wide}); }
Law swap_law(Narrow narrow) { return swap_law_of({wide, narrow}); }
Law swap_from_law(Narrow narrow) { return swap_law_of({narrow, wide}); }

// Gathers block by block.
void gather(const GatherInputs& inputs, Narrow narrow) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  for (std::int64_t s = 0; s < inputs.block_table.num_seqs; ++s) {
    for (std::int64_t i = 0; i * block_size < inputs.context_length[s]; ++i) {
      const std::int32_t* const block =
          inputs.block_table.data + s * inputs.block_table.row_stride + i;
      const auto length = static_cast<std::int32_t>(
          std::min(block_size, inputs.context_length[s] - i * block_size));
      const std::int64_t start = inputs.context_start[s] + i * block_size;
      GatherInputs one = inputs;
      one.kv = shifted(inputs.kv, *block, narrow);
      one.block_table = {.data = block, .num_seqs = 1, .max_blocks = 1, .row_stride = 1};
      one.context_length = {&length, 1};
      one.context_start = {&start, 1};
      reference::gather_kv(one);
    }
  }
}

Law gathering_law(Narrow narrow) {
  return gather_law({.backend = "tried", .gather = done_after([narrow](const GatherInputs& inputs) {
                                           gather(inputs, narrow);
                                         })});
}

LawReport report_of(const Law& law) {
  Backend tried;
  tried.name = "tried";
  DrawnCases cases{.name = "small", .count = 10};
  cases.domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  return run_laws({law}, {tried}, drawn_cases(cases, {}),
                  {.failures_kept = 1, .shrinking_trials = 20});
}

using LawOf = Law (*)(Narrow narrow);
constexpr LawOf kLawsOfWrites[] = {write_law, append_law, copy_law, swap_law};

TEST_CASE("offsets of 64 bits keep the laws in distant pools") {
  for (const LawOf law : {write_law, append_law, copy_law, swap_law, gathering_law}) {
    const LawReport report = report_of(law(wide));
    INFO(report.table());
    CHECK(report.failed() == 0);
    CHECK(report.counts[0].held >= 8);
    CHECK(report.counts[0].skipped_parts.empty());
  }
}

TEST_CASE("writes by offsets of 32 bits break the laws, and are found where they went") {
  for (const LawOf law : kLawsOfWrites) {
    for (const auto& [narrow, words] : kNarrowings) {
      const LawReport report = report_of(law(narrow));
      REQUIRE(report.failures.size() == 1);
      INFO(report.failures[0]);
      CHECK_THAT(report.failures[0],
                 ContainsSubstring("blocks beyond 2^31 elements and 2^32 bytes\n"));
      CHECK_THAT(report.failures[0], ContainsSubstring(words));
    }
  }
}

TEST_CASE("reads by offsets of 32 bits break the laws") {
  for (const LawOf law : {gathering_law, copy_from_law, swap_from_law}) {
    for (const auto& [narrow, words] : kNarrowings) {
      const LawReport report = report_of(law(narrow));
      REQUIRE(report.failures.size() == 1);
      INFO(report.failures[0]);
      CHECK_THAT(report.failures[0],
                 ContainsSubstring("blocks beyond 2^31 elements and 2^32 bytes\n"));
    }
  }
}

TEST_CASE("distant pools hold the same blocks as near ones, beyond 32 bits") {
  std::vector<float> codes(3 * 64, 1.0F);
  const KvTensorView tensor{.data = codes.data(),
                            .num_blocks = 3,
                            .block_size = 8,
                            .num_kv_heads = 1,
                            .head_dim = 8,
                            .block_stride = 64,
                            .head_stride = 8,
                            .slot_stride = 8};
  const PagedKvView near{.k = tensor, .v = tensor};
  const KvPools contents = copied_pools(near);
  for (const PoolDistance distance : {PoolDistance::kNear, PoolDistance::kDistant}) {
    Result<TriedPools> pools = TriedPools::create(distance, near, contents);
    REQUIRE(pools.is_ok());
    const MutableKvTensorView& k = pools.value().kv().k;
    CHECK((2 * k.block_stride > std::int64_t{1} << 32) == (distance == PoolDistance::kDistant));
    static_cast<float*>(k.data)[2 * k.block_stride + 5] = 7;
    CHECK(pools.value().stray_writes().empty());
    KvPools expected = contents;
    const float seven = 7;
    std::memcpy(expected.k.data() + (2 * 64 + 5) * sizeof(float), &seven, sizeof(float));
    CHECK(pools.value().contents().k == expected.k);
    CHECK(pools.value().contents().v == expected.v);
  }
}

}  // namespace
}  // namespace recto::verify
