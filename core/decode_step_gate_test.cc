// Tests of check_shapes() for decode steps whose new tokens are outside the cache.

#include "core/attention_gate.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::address;
using testing::check_rules;
using testing::DecodeCall;

TEST_CASE("the valid step that the tests modify passes, with and without outputs") {
  const DecodeCall step;
  CHECK(step.check() == Status::ok());
  CHECK(check_shapes(step.inputs) == Status::ok());
}

TEST_CASE("a decode step has one query row, one K and one V for each sequence") {
  check_rules<DecodeCall>({
      {[](auto&) {}, [](auto& c) { c.inputs.q.num_rows = 2; },
       "q.num_rows: expected 3 as in block_table.num_seqs, got 2"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_k.num_rows = 4; },
       "new_k.num_rows: expected 3 as in block_table.num_seqs, got 4"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_v.num_rows = 2; },
       "new_v.num_rows: expected 3 as in block_table.num_seqs, got 2"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_k.num_heads = 4; },
       "new_k.num_heads: expected 2 as in kv.k.num_kv_heads, got 4"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_v.num_heads = 1; },
       "new_v.num_heads: expected 2 as in kv.v.num_kv_heads, got 1"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_k.head_dim = 8; },
       "new_k.head_dim: expected 16 as in kv.k.head_dim, got 8"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_v.head_dim = 16; },
       "new_v.head_dim: expected 8 as in kv.v.head_dim, got 16"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_k.type = ElementType::kBf16; },
       "new_k.type: expected fp16 as in q.type, got bf16"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_v.type = ElementType::kE4m3; },
       "new_v.type: expected fp16 as in q.type, got e4m3"},
      {[](auto& c) { c.inputs.new_k.row_stride = 0; },
       [](auto& c) { c.inputs.new_k.row_stride = -1; },
       "new_k.row_stride: expected at least 0, got -1"},
      {[](auto&) {}, [](auto& c) { c.inputs.new_v.data = nullptr; },
       "new_v.data: expected an address, got null"},
      {[](auto&) {}, [](auto& c) { c.inputs.cached_length = c.inputs.cached_length.first(1); },
       "cached_length.size: expected 3 as in block_table.num_seqs, got 1"},
      {[](auto&) {},
       [](auto& c) {
         c.inputs.cached_length = {static_cast<const std::int32_t*>(nullptr), 3};
       },
       "cached_length.data: expected an address, got null"},
      {[](auto& c) { c.outputs.out.data = address(0x50000 - 192); },
       [](auto& c) { c.outputs.out.data = address(0x50000 - 190); },
       "out.data: expected memory apart from new_k at [0x50000, 0x500c0), got [0x4ff42, 0x50002)"},
      {[](auto& c) { c.outputs.out.data = address(0x60060); },
       [](auto& c) { c.outputs.out.data = address(0x6005e); },
       "out.data: expected memory apart from new_v at [0x60000, 0x60060), got [0x6005e, 0x6011e)"},
  });
}

TEST_CASE("inputs of a step that appends may not overlap the cache") {
  check_rules<DecodeCall>({
      {[](auto& c) { c.inputs.new_k.data = address(0x20000); },
       [](auto& c) {
         c.inputs.new_k.data = address(0x20000);
         c.gate.step_cache = Access::kWrite;
       },
       "new_k.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x20000, 0x200c0)"},
      {[](auto& c) { c.inputs.q.data = address(0x31000 - 2); },
       [](auto& c) {
         c.inputs.q.data = address(0x31000 - 2);
         c.gate.step_cache = Access::kWrite;
       },
       "kv.v.data: expected memory apart from q at [0x30ffe, 0x3117e), got [0x30000, 0x31000)"},
  });
}

TEST_CASE("a call's extra rows are checked as rows, and its workspace overlaps nothing else") {
  static NamedRows table[] = {{"table", testing::dense_rows(0x70000, 5, 1, 8)}};
  const auto beside = [](auto& c, std::uintptr_t at, std::int64_t bytes) {
    c.gate.workspace = {static_cast<std::byte*>(address(at)), static_cast<std::size_t>(bytes)};
  };
  DecodeCall call;
  call.gate.read_rows = table;
  beside(call, 0x70050, 64);
  CHECK(call.check() == Status::ok());
  beside(call, 0x7004f, 64);
  CHECK(call.check() ==
        Status::invalid_input("workspace.data: expected memory apart from table at [0x70000, "
                              "0x70050), got [0x7004f, 0x7008f)"));
  beside(call, 0x40000, 1);
  CHECK(call.check() ==
        Status::invalid_input("workspace.data: expected memory apart from out at [0x40000, "
                              "0x400c0), got [0x40000, 0x40001)"));
  call.gate.workspace = {};
  table[0].view.type = static_cast<ElementType>(77);
  CHECK(call.check() ==
        Status::invalid_input("table.type: expected an enumerator below 5, got 77"));
  table[0].view = testing::dense_rows(0x20000, 5, 1, 8);
  CHECK(call.check() == Status::ok());  // read-only, like the cache
  call.gate.step_cache = Access::kWrite;
  CHECK(call.check() ==
        Status::invalid_input(
            "table.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x20000, "
            "0x20050)"));
}

TEST_CASE("a step's queries, cache, table, options and outputs follow the rules of all attention") {
  check_rules<DecodeCall>({
      {[](auto&) {}, [](auto& c) { c.inputs.q.data = nullptr; },
       "q.data: expected an address, got null"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.head_dim = 17; },
       "q.head_dim: expected 16 as in kv.k.head_dim, got 17"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.num_heads = 5; },
       "q.num_heads: expected a multiple of kv.k.num_kv_heads = 2, got 5"},
      {[](auto& c) { c.inputs.kv.k.type = c.inputs.kv.v.type = ElementType::kE5m2; },
       [](auto& c) { c.inputs.kv.k.type = c.inputs.kv.v.type = ElementType::kFp32; },
       "kv.k.type: expected one of fp16, e4m3, e5m2 as q.type is fp16, got fp32"},
      {[](auto&) {}, [](auto& c) { c.inputs.kv.v.num_blocks = 7; },
       "kv.v.num_blocks: expected 8 as in kv.k.num_blocks, got 7"},
      {[](auto&) {}, [](auto& c) { c.inputs.block_table.row_stride = 2; },
       "block_table.row_stride: expected at least block_table.max_blocks = 3, got 2"},
      {[](auto& c) { c.inputs.options.window = 1; }, [](auto& c) { c.inputs.options.window = -1; },
       "options.window: expected at least 1, got -1"},
      {[](auto&) {}, [](auto& c) { c.outputs.out.num_rows = 2; },
       "out.num_rows: expected 3 as in q.num_rows, got 2"},
      {[](auto&) {}, [](auto& c) { c.outputs.lse_ln = c.outputs.lse_ln.first(11); },
       "lse_ln.size: expected 0 or q.num_rows x q.num_heads = 3 x 4, got 11"},
  });
}

}  // namespace
}  // namespace recto
