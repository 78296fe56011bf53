// Faulty writes, copies, swaps and gathers: the law reports the first wrong slot, and its contents.

#include "verify/laws/cache_operations/slot_contents.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "verify/cases/case_spec.h"
#include "verify/law_runner.h"
#include "verify/laws/cache_operations/block_move_laws.h"
#include "verify/laws/cache_operations/gather_law.h"
#include "verify/laws/cache_operations/kv_append_law.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// Two sequences in blocks of four, with distinct numbers.
LawCase small_case() {
  CaseSpec spec;
  spec.shape = {.head_dim_k = 4, .head_dim_v = 4};
  spec.sequences = {{.num_rows = 2, .context_length = 6, .id = 0},
                    {.num_rows = 1, .context_length = 3, .id = 1}};
  spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 4;
  spec.placement.spare_blocks = 2;
  return {make_problem(spec), spec.placement};
}

std::string found_by(const Law& law) {
  Backend backend;
  backend.name = "tried";
  return verdict_of(law, backend, small_case(), BoundKind::kProbabilistic)
      .found.value_or("nothing");
}

// Maps each slot of a new token to the slot that is written instead.
using Shift = std::int64_t (*)(std::int64_t slot);

std::string appended(const Shift shift) {
  const auto append = [shift](const KvAppendInputs& inputs) {
    std::vector<std::int64_t> slots;
    for (std::size_t s = 0; s < inputs.cached_length.size(); ++s) {
      const std::int64_t position = inputs.cached_length[s];
      const std::int64_t block_size = inputs.kv.k.block_size;
      const auto row = static_cast<std::int64_t>(s) * inputs.block_table.row_stride;
      const bool is_padding =
          position < 0 || inputs.block_table.data[row + position / block_size] < 0;
      inputs.context_length[s] =
          static_cast<std::int32_t>(position < 0 ? 0 : position) + (is_padding ? 0 : 1);
      slots.push_back(
          is_padding ? -1
                     : shift(inputs.block_table.data[row + position / block_size] * block_size +
                             position % block_size));
    }
    reference::write_kv({.k = inputs.k, .v = inputs.v, .slot_mapping = slots, .kv = inputs.kv});
  };
  return found_by(kv_append_law({.backend = "tried", .append = done_after(append)}));
}

TEST_CASE("a wrong append is reported with what was not written, and what went where") {
  CHECK(appended([](std::int64_t slot) { return slot; }) == "nothing");
  CHECK_THAT(appended([](std::int64_t) -> std::int64_t { return -1; }),
             ContainsSubstring("first in block 1, slot 0, head 0, dim 0: ") &&
                 ContainsSubstring("\n  it is unchanged: nothing was written\n"));
  CHECK_THAT(appended([](std::int64_t slot) { return slot - 1; }),
             ContainsSubstring("first in block 0, slot 3, head 0, dim 0: ") &&
                 ContainsSubstring("\n  nothing should be written there; it holds the expected "
                                   "contents of block 1, slot 0, head 0\n"));
}

TEST_CASE("a wrong copy is reported with the block that came in place of another, or is stray") {
  const auto copied = [](const auto& copy) {
    return found_by(block_copy_law("tried", done_after(copy)));
  };
  CHECK(copied(reference::copy_blocks) == "nothing");
  CHECK_THAT(copied([](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
               std::vector<BlockPair> turned(pairs.begin(), pairs.end());
               for (std::size_t i = 0; i < turned.size(); ++i)
                 turned[i].destination = pairs[(i + 1) % pairs.size()].destination;
               reference::copy_blocks(kv, turned);
             }),
             ContainsSubstring("\n  it holds the expected contents of block "));
  CHECK_THAT(
      copied([](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
        reference::copy_blocks(kv, pairs);
        static_cast<float*>(kv.v.data)[0] = 77.0F;
      }),
      ContainsSubstring("it holds neither the expected nor the previous contents of any slot"));
}

TEST_CASE("a wrong gather is reported with the row that came in place of another") {
  const auto gathered = [](void (*gather)(const GatherInputs&)) {
    return found_by(gather_law({.backend = "tried", .gather = done_after(gather)}));
  };
  CHECK(gathered(reference::gather_kv) == "nothing");
  CHECK_THAT(gathered([](const GatherInputs&) {}),
             ContainsSubstring("k: wrong, first in row 0, head 0, dim 0 of ") &&
                 ContainsSubstring("it is unchanged: nothing was written\n"));
  CHECK_THAT(gathered([](const GatherInputs& inputs) {
               std::vector<std::int64_t> starts;
               for (const std::int64_t start : inputs.context_start)
                 starts.push_back(start > 0 ? start - 1 : start);
               GatherInputs wrong = inputs;
               wrong.context_start = starts;
               reference::gather_kv(wrong);
             }),
             ContainsSubstring("first in row 3, head 0, dim 0 of ") &&
                 ContainsSubstring("\n  nothing should be written there; it holds the expected "
                                   "contents of row 4, head 0\n"));
  CHECK_THAT(gathered([](const GatherInputs& inputs) {
               reference::gather_kv(inputs);
               static_cast<float*>(inputs.k.data)[inputs.k.head_dim] = 77.0F;
             }),
             ContainsSubstring("row 0, head 0, a gap 4 elements on of ") &&
                 ContainsSubstring("\n  a write beyond the dims of all slots"));
}

}  // namespace
}  // namespace recto::verify
