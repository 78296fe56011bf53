// Writes with one common fault: the law's text names that fault, with the slots of the case, and no
// other; for a right write it is empty.

#include "verify/laws/cache_operations/write_fault_models.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "verify/cases/case_spec.h"
#include "verify/law_runner.h"
#include "verify/laws/cache_operations/kv_write_law.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using Slots = std::vector<std::int64_t>;

// Two sequences in blocks of four; slots 0 and 31 are unaddressed.
LawCase two_sequences() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim_k = 4, .head_dim_v = 4};
  spec.sequences = {{.num_rows = 7, .context_length = 11, .id = 0},
                    {.num_rows = 4, .context_length = 9, .id = 1}};
  spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 4;
  spec.placement.spare_blocks = 2;
  return {make_problem(spec), spec.placement};
}

// The law's text for a write; "nothing" if it passes.
std::string said_of(const std::function<void(KvWriteInputs)>& write) {
  const Law law = kv_write_law({.backend = "tried", .write = done_after(write)});
  Backend backend;
  backend.name = "tried";
  return verdict_of(law, backend, two_sequences(), BoundKind::kProbabilistic)
      .found.value_or("nothing");
}

std::string said_of_slots(const std::function<void(Slots&, std::int64_t num_slots)>& change) {
  return said_of([&change](KvWriteInputs inputs) {
    Slots slots(inputs.slot_mapping.begin(), inputs.slot_mapping.end());
    change(slots, inputs.kv.k.num_blocks * inputs.kv.k.block_size);
    inputs.slot_mapping = slots;
    reference::write_kv(inputs);
  });
}

// Checks that only this fault is named.
void check_named(const std::string& said, const std::string& what) {
  INFO(said);
  CHECK_THAT(said, ContainsSubstring(" tried that would change this case; 1 fits\n  " + what));
  CHECK_THAT(said, ContainsSubstring("\nslots      of 16 tokens: "));
}

TEST_CASE("a right write has no explanation") {
  CHECK(said_of([](const KvWriteInputs& inputs) { reference::write_kv(inputs); }) == "nothing");
}

TEST_CASE("a write that ends at the first slot -1 is named") {
  check_named(said_of_slots([](Slots& slots, std::int64_t) {
                std::fill(std::ranges::find(slots, -1), slots.end(), -1);
              }),
              "tokens after the first slot -1 are not written");
}

TEST_CASE("tokens of slot -1 that are written are named with where they went") {
  check_named(said_of_slots([](Slots& slots, std::int64_t) { std::ranges::replace(slots, -1, 0); }),
              "tokens of slot -1 are written to slot 0");
  check_named(said_of_slots([](Slots& slots, std::int64_t num_slots) {
                std::ranges::replace(slots, std::int64_t{-1}, num_slots - 1);
              }),
              "tokens of slot -1 are written to the last slot of the pool");
  check_named(said_of_slots([](Slots& slots, std::int64_t) {
                const std::size_t size = slots.size();
                std::erase(slots, -1);
                slots.resize(size, -1);
              }),
              "rows of K and V are counted without those of slot -1");
}

TEST_CASE("slots that are off by one, or whose block is left out, are named") {
  const auto moved = [](const std::function<std::int64_t(std::int64_t)>& find) {
    return said_of_slots([&find](Slots& slots, std::int64_t num_slots) {
      for (std::int64_t& slot : slots)
        if (slot >= 0) slot = find(slot) < num_slots ? find(slot) : -1;
    });
  };
  check_named(moved([](std::int64_t slot) { return slot + 1; }),
              "each token is written to the slot after its own");
  check_named(moved([](std::int64_t slot) { return slot - 1; }),
              "each token is written to the slot before its own");
  check_named(moved([](std::int64_t slot) { return slot + 4; }),
              "each token is written to the same slot of the block after its own");
  check_named(moved([](std::int64_t slot) { return slot / 4 * 4; }),
              "each token is written to the first slot of its block");
}

TEST_CASE("K and V that are exchanged, and one of them not written, are named") {
  check_named(said_of([](KvWriteInputs inputs) {
                std::swap(inputs.k, inputs.v);
                reference::write_kv(inputs);
              }),
              "K and V are exchanged");
  check_named(said_of([](KvWriteInputs inputs) {
                inputs.v = inputs.k;
                reference::write_kv(inputs);
              }),
              "K is written in place of V, too");
}

TEST_CASE("tokens that are left out at the end are named, and a fault of no kind is not") {
  check_named(said_of_slots([](Slots& slots, std::int64_t) { slots.back() = -1; }),
              "the last token is not written");
  check_named(said_of_slots([](Slots& slots, std::int64_t) {
                std::fill(slots.begin() + 8, slots.end(), -1);
              }),
              "only the first 8 tokens are written");
  const std::string other =
      said_of_slots([](Slots& slots, std::int64_t) { std::swap(slots[0], slots[3]); });
  INFO(other);
  CHECK_THAT(other, ContainsSubstring(" tried that would change this case; 0 fit"));
}

TEST_CASE("slots are printed in runs, and of many runs the first ones") {
  CHECK(slots_text(Slots{7}) == "slots      of 1 token: 7\n");
  CHECK(slots_text(Slots{4, 5, 6, -1, -1, 9, 10}) ==
        "slots      of 7 tokens: 4 to 6, -1 (2 times), 9, 10\n");
  Slots many;
  for (std::int64_t slot = 0; slot < 40; slot += 2) many.push_back(slot);
  CHECK(slots_text(many) ==
        "slots      of 20 tokens: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 and 4 "
        "more\n");
}

}  // namespace
}  // namespace recto::verify
