// Tests of both gates for gathering contexts into rows.

#include "core/attention_gate.h"
#include "core/attention_views.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::check_rules;
using testing::dense_rows;
using testing::kKAddress;
using testing::kNewKAddress;
using testing::kNewVAddress;
using testing::pool_at;
using testing::small_pool;

// Gathers contexts of 20, 0 and 48 tokens into 70 rows: the third context first, then an untouched
// row, then the first context.
struct GatherCall : testing::CallMemory {
  std::vector<std::int64_t> starts = {49, 70, 0};
  GatherInputs inputs{.kv = as_const(pool_at(small_pool())),
                      .block_table = block_table(),
                      .context_length = lengths,
                      .context_start = starts,
                      .k = dense_rows<void*>(kNewKAddress, 70, 2, 16),
                      .v = dense_rows<void*>(kNewVAddress, 70, 2, 8)};
  GateOptions gate;

  Status check() const { return check_shapes(inputs, gate); }
};

TEST_CASE("a valid gather passes the checks of shapes and of contents") {
  CHECK(GatherCall().check() == Status::ok());
  CHECK(check_contents(GatherCall().inputs) == Status::ok());
}

TEST_CASE("rows are the cache's in type, heads and dims, and as many of K as of V") {
  check_rules<GatherCall>({
      {[](auto&) {}, [](auto& c) { c.inputs.k.type = ElementType::kBf16; },
       "k.type: expected fp16 as in kv.k.type, got bf16"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.num_heads = 1; },
       "v.num_heads: expected 2 as in kv.v.num_kv_heads, got 1"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.head_dim = 7; },
       "v.head_dim: expected 8 as in kv.v.head_dim, got 7"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.num_rows = 69; },
       "v.num_rows: expected 70 as in k.num_rows, got 69"},
      {[](auto&) {}, [](auto& c) { c.inputs.context_start = {}; },
       "context_start.size: expected 3 as in block_table.num_seqs, got 0"},
      {[](auto&) {}, [](auto& c) { c.inputs.context_length = {}; },
       "context_length.size: expected 3 as in block_table.num_seqs, got 0"},
  });
}

TEST_CASE("gathered rows overlap neither the cache nor each other") {
  GatherCall call;
  call.inputs.k.data = testing::address(kKAddress + 2);
  CHECK(call.check().message().find("k.data: expected memory apart from kv.k at ") == 0);
  call.inputs.k.data = call.inputs.v.data;
  CHECK(call.check().message().find("v.data: expected memory apart from k at ") == 0);
}

TEST_CASE("contexts reach blocks of the cache, and rows of the output that no other takes") {
  check_rules<GatherCall>(
      {
          {[](auto& c) { c.starts[0] = 50; }, [](auto& c) { c.starts[0] = 51; },
           "context_start[0]: expected 0 ... k.num_rows - context_length[0] = 70 - 20, got 51"},
          {[](auto& c) { c.starts[1] = 0; }, [](auto& c) { c.starts[1] = -1; },
           "context_start[1]: expected 0 ... k.num_rows - context_length[1] = 70 - 0, got -1"},
          {[](auto& c) { c.starts[0] = 48; }, [](auto& c) { c.starts[0] = 47; },
           "context_start[0]: expected rows apart from those of sequence 2, 0 ... 47, got 47"},
          {[](auto&) {}, [](auto& c) { c.starts[2] = std::numeric_limits<std::int64_t>::max(); },
           "context_start[2]: expected 0 ... k.num_rows - context_length[2] = 70 - 48, got "
           "9223372036854775807"},
          {[](auto& c) { c.lengths[0] = 0; }, [](auto& c) { c.lengths[0] = -1; },
           "context_length[0]: expected at least 0, got -1"},
          {[](auto& c) { c.table[8] = 7; }, [](auto& c) { c.table[8] = 8; },
           "block_table[2][0]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "8"},
      },
      [](const GatherCall& call) { return check_contents(call.inputs); });
}

TEST_CASE("shapes are checked before contents") {
  GatherCall call;
  call.inputs.block_table.data = nullptr;
  CHECK_FALSE(call.check().is_ok());
  CHECK(check_contents(call.inputs) == call.check());
}

}  // namespace
}  // namespace recto
