// Tests of check_shapes() for attention over a cache.

#include "core/attention_gate.h"

#include <limits>

#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::address;
using testing::AttentionCall;
using testing::check_rules;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void use_types(AttentionCall& call, ElementType q, ElementType cache) {
  call.inputs.q.type = q;
  call.outputs.out.type = q;
  call.inputs.kv.k.type = cache;
  call.inputs.kv.v.type = cache;
}

TEST_CASE("the valid call that the tests modify passes, with and without outputs") {
  const AttentionCall call;
  CHECK(call.check() == Status::ok());
  CHECK(check_shapes(call.inputs) == Status::ok());
}

TEST_CASE("queries of invalid size, stride or alignment are refused by field") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.inputs.q.data = address(0x10010); },
       [](auto& c) { c.inputs.q.data = nullptr; }, "q.data: expected an address, got null"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.num_rows = -1; },
       "q.num_rows: expected at least 0, got -1"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.num_heads = 0; },
       "q.num_heads: expected at least 1, got 0"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.head_dim = 0; },
       "q.head_dim: expected at least 1, got 0"},
      {[](auto& c) { c.inputs.q.row_stride = 0; }, [](auto& c) { c.inputs.q.row_stride = -1; },
       "q.row_stride: expected at least 0, got -1"},
      {[](auto& c) { c.inputs.q.head_stride = 0; }, [](auto& c) { c.inputs.q.head_stride = -8; },
       "q.head_stride: expected at least 0, got -8"},
      {[](auto& c) { c.inputs.q.data = address(0x10002); },
       [](auto& c) { c.inputs.q.data = address(0x10001); },
       "q.data: expected a multiple of 2 bytes, got 0x10001"},
      {[](auto& c) { c.gate.alignment_bytes = 2; }, [](auto& c) { c.gate.alignment_bytes = 3; },
       "alignment_bytes: expected 0 or a power of two, got 3"},
      {[](auto&) {}, [](auto& c) { c.gate.alignment_bytes = -16; },
       "alignment_bytes: expected 0 or a power of two, got -16"},
      {[](auto& c) { c.gate.alignment_bytes = 16; },
       [](auto& c) {
         c.gate.alignment_bytes = 16;
         c.inputs.q.data = address(0x10008);
       },
       "q.data: expected a multiple of 16 bytes, got 0x10008"},
      {[](auto& c) { c.inputs.q.row_stride = 68; },
       [](auto& c) {
         c.gate.alignment_bytes = 16;
         c.inputs.q.row_stride = 68;
       },
       "q.row_stride: expected a multiple of 8 elements (16 bytes), got 68"},
      {[](auto& c) { c.inputs.q.row_stride = 1 << 20; },
       [](auto& c) { c.inputs.q.row_stride = std::int64_t{1} << 60; },
       "q.row_stride: expected an extent below 2^63 bytes, got 5 x 1152921504606846976 elements of "
       "2 bytes"},
  });
}

TEST_CASE("a batch may be empty, its arrays null") {
  AttentionCall call;
  call.inputs.q.num_rows = 0;
  call.inputs.q.data = nullptr;
  call.outputs.out.num_rows = 0;
  call.outputs.out.data = nullptr;
  call.outputs.lse_ln = {};
  CHECK(call.check() == Status::ok());
  call.inputs.block_table = {};
  call.inputs.context_length = {};
  call.inputs.query_start = call.inputs.query_start.first(1);
  CHECK(call.check() == Status::ok());
  call.inputs.query_start = {};
  CHECK(call.check() == Status::ok());
}

TEST_CASE("without query_start, sequences have one row each") {
  AttentionCall call;
  call.inputs.query_start = {};
  CHECK(call.check() ==
        Status::invalid_input("q.num_rows: expected 3 as in block_table.num_seqs, got 5"));
  call.inputs.q.num_rows = 3;
  CHECK(check_contents(call.inputs) == Status::ok());
}

TEST_CASE("queries fit the cache in type, head dim and group") {
  check_rules<AttentionCall>({
      {[](auto& c) { use_types(c, ElementType::kBf16, ElementType::kBf16); },
       [](auto& c) { use_types(c, ElementType::kFp16, ElementType::kBf16); },
       "kv.k.type: expected one of fp16, e4m3, e5m2 as q.type is fp16, got bf16"},
      {[](auto& c) { use_types(c, ElementType::kFp32, ElementType::kFp32); },
       [](auto& c) { use_types(c, ElementType::kFp32, ElementType::kE4m3); },
       "kv.k.type: expected one of fp32 as q.type is fp32, got e4m3"},
      {[](auto& c) { use_types(c, ElementType::kBf16, ElementType::kE5m2); },
       [](auto& c) { use_types(c, ElementType::kE5m2, ElementType::kE5m2); },
       "q.type: expected fp32, fp16 or bf16, got e5m2"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.type = static_cast<ElementType>(5); },
       "q.type: expected an enumerator below 5, got 5"},
      {[](auto&) {}, [](auto& c) { c.inputs.q.head_dim = 15; },
       "q.head_dim: expected 16 as in kv.k.head_dim, got 15"},
      {[](auto& c) {
         c.inputs.q.num_heads = 2;
         c.inputs.options.alibi_slopes = {};
         c.inputs.options.sinks = c.inputs.options.sinks.first(2);
         c.outputs.out.num_heads = 2;
         c.outputs.lse_ln = {};
       },
       [](auto& c) { c.inputs.q.num_heads = 3; },
       "q.num_heads: expected a multiple of kv.k.num_kv_heads = 2, got 3"},
  });
}

TEST_CASE("all pairs of types that exist pass, all others do not") {
  int passed = 0;
  for (const ElementType q : kElementTypes) {
    for (const ElementType cache : kElementTypes) {
      AttentionCall call;
      use_types(call, q, cache);
      passed += call.check().is_ok() ? 1 : 0;
    }
  }
  CHECK(passed == 7);
}

TEST_CASE("block tables and lengths of invalid size or stride are refused by field") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.inputs.block_table.row_stride = 3; },
       [](auto& c) { c.inputs.block_table.row_stride = 2; },
       "block_table.row_stride: expected at least block_table.max_blocks = 3, got 2"},
      {[](auto& c) {
         c.inputs.block_table.max_blocks = 0;
         c.inputs.block_table.data = nullptr;
       },
       [](auto& c) { c.inputs.block_table.data = nullptr; },
       "block_table.data: expected an address, got null"},
      {[](auto& c) { c.inputs.block_table.max_blocks = 0; },
       [](auto& c) { c.inputs.block_table.max_blocks = -1; },
       "block_table.max_blocks: expected at least 0, got -1"},
      {[](auto&) {}, [](auto& c) { c.inputs.block_table.num_seqs = -1; },
       "block_table.num_seqs: expected at least 0, got -1"},
      {[](auto&) {}, [](auto& c) { c.inputs.block_table.row_stride = std::int64_t{1} << 61; },
       "block_table.row_stride: expected an extent below 2^63 bytes, got 3 x 2305843009213693952 "
       "elements of 4 bytes"},
      {[](auto&) {}, [](auto& c) { c.inputs.context_length = c.inputs.context_length.first(2); },
       "context_length.size: expected 3 as in block_table.num_seqs, got 2"},
      {[](auto&) {}, [](auto& c) { c.inputs.query_start = c.inputs.query_start.first(3); },
       "query_start.size: expected 4 as in block_table.num_seqs + 1, got 3"},
      {[](auto&) {},
       [](auto& c) {
         c.inputs.query_start = {static_cast<const std::int32_t*>(nullptr), 4};
       },
       "query_start.data: expected an address, got null"},
      {[](auto&) {},
       [](auto& c) {
         c.inputs.context_length = {static_cast<const std::int32_t*>(nullptr), 3};
       },
       "context_length.data: expected an address, got null"},
  });
}

TEST_CASE("options are finite and in range, with one value for each query head") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.inputs.options.scale = -1e30F; },
       [](auto& c) { c.inputs.options.scale = kNaN; },
       "options.scale: expected a finite number, got nan"},
      {[](auto& c) { c.inputs.options.scale = 0; },
       [](auto& c) { c.inputs.options.scale = -kInfinity; },
       "options.scale: expected a finite number, got -inf"},
      {[](auto& c) { c.inputs.options.softcap = 0; },
       [](auto& c) { c.inputs.options.softcap = -1e-30F; },
       "options.softcap: expected at least 0, got -1e-30"},
      {[](auto& c) { c.inputs.options.softcap = 1e30F; },
       [](auto& c) { c.inputs.options.softcap = kInfinity; },
       "options.softcap: expected a finite number, got inf"},
      {[](auto& c) { c.inputs.options.window = 1; }, [](auto& c) { c.inputs.options.window = 0; },
       "options.window: expected at least 1, got 0"},
      {[](auto& c) { c.inputs.options.alibi_slopes = {}; },
       [](auto& c) { c.inputs.options.alibi_slopes = c.inputs.options.alibi_slopes.first(3); },
       "options.alibi_slopes.size: expected 4 as in q.num_heads, got 3"},
      {[](auto& c) { c.inputs.options.sinks = {}; },
       [](auto& c) { c.inputs.options.sinks = c.inputs.options.sinks.first(1); },
       "options.sinks.size: expected 4 as in q.num_heads, got 1"},
      {[](auto&) {},
       [](auto& c) {
         c.inputs.options.sinks = {static_cast<const float*>(nullptr), 4};
       },
       "options.sinks.data: expected an address, got null"},
      {[](auto& c) {
         c.inputs.options.alibi_slopes = {static_cast<float*>(address(4)), 4};
       },
       [](auto& c) {
         c.inputs.options.alibi_slopes = {static_cast<float*>(address(2)), 4};
       },
       "options.alibi_slopes.data: expected a multiple of 4 bytes, got 0x2"},
  });
}

TEST_CASE("outputs have the queries' rows and type, and V's head dim") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.outputs.out.data = address(0x40002); },
       [](auto& c) { c.outputs.out.data = nullptr; }, "out.data: expected an address, got null"},
      {[](auto& c) { use_types(c, ElementType::kBf16, ElementType::kE4m3); },
       [](auto& c) { c.outputs.out.type = ElementType::kBf16; },
       "out.type: expected fp16 as in q.type, got bf16"},
      {[](auto&) {}, [](auto& c) { c.outputs.out.num_rows = 4; },
       "out.num_rows: expected 5 as in q.num_rows, got 4"},
      {[](auto&) {}, [](auto& c) { c.outputs.out.num_heads = 5; },
       "out.num_heads: expected 4 as in q.num_heads, got 5"},
      {[](auto&) {}, [](auto& c) { c.outputs.out.head_dim = 16; },
       "out.head_dim: expected 8 as in kv.v.head_dim, got 16"},
      {[](auto& c) { c.outputs.lse_ln = {}; },
       [](auto& c) { c.outputs.lse_ln = c.outputs.lse_ln.first(19); },
       "lse_ln.size: expected 0 or q.num_rows x q.num_heads = 5 x 4, got 19"},
      {[](auto& c) { c.outputs.out.row_stride = 32; },
       [](auto& c) { c.outputs.out.row_stride = 31; },
       "out.row_stride: expected at least 32 (the inner dimensions' extent), got 31"},
      {[](auto& c) {  // [heads, rows, dims]
         c.outputs.out.row_stride = 8;
         c.outputs.out.head_stride = 40;
       },
       [](auto& c) { c.outputs.out.head_stride = 7; },
       "out.head_stride: expected at least 8 (the inner dimensions' extent), got 7"},
  });
}

// K is [0x20000, 0x22000), q and out are 640 and 320 bytes.
TEST_CASE("outputs overlap nothing that the call touches") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.outputs.out.data = address(0x10280); },
       [](auto& c) { c.outputs.out.data = address(0x1027e); },
       "out.data: expected memory apart from q at [0x10000, 0x10280), got [0x1027e, 0x103be)"},
      {[](auto& c) { c.inputs.kv.v.head_dim = c.outputs.out.head_dim = 8; },
       [](auto& c) {  // exactly q's memory
         c.inputs.kv.v.head_dim = c.outputs.out.head_dim = 16;
         c.inputs.kv.v.block_stride = c.inputs.kv.k.block_stride;
         c.inputs.kv.v.slot_stride = c.inputs.kv.k.slot_stride;
         c.inputs.kv.v.head_stride = c.inputs.kv.k.head_stride;
         c.outputs.out = testing::dense_rows<void*>(testing::kQAddress, 5, 4, 16);
       },
       "out.data: expected memory apart from q at [0x10000, 0x10280), got [0x10000, 0x10280)"},
      {[](auto& c) { c.outputs.out.data = address(0x22000); },
       [](auto& c) { c.outputs.out.data = address(0x21ffe); },
       "out.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x21ffe, 0x2213e)"},
      {[](auto& c) { c.outputs.out.data = address(0x30000 - 320); },
       [](auto& c) { c.outputs.out.data = address(0x30000 - 318); },
       "out.data: expected memory apart from kv.v at [0x30000, 0x31000), got [0x2fec2, 0x30002)"},
      {[](auto& c) {  // q and out are slices of rows of 96
         c.inputs.q.row_stride = c.outputs.out.row_stride = 96;
         c.outputs.out.data = address(0x10000 + 128);
       },
       [](auto& c) {
         c.inputs.q.row_stride = c.outputs.out.row_stride = 96;
         c.outputs.out.data = address(0x10000 + 126);
       },
       "out.data: expected memory apart from q at [0x10000, 0x10380), got [0x1007e, 0x103be)"},
      {[](auto& c) {
         c.outputs.lse_ln = {static_cast<float*>(address(0x40140)), 20};
       },
       [](auto& c) {
         c.outputs.lse_ln = {static_cast<float*>(address(0x4013c)), 20};
       },
       "lse_ln.data: expected memory apart from out at [0x40000, 0x40140), got [0x4013c, 0x4018c)"},
      {[](auto& c) {
         c.outputs.lse_ln = {static_cast<float*>(address(0x1fff0 - 64)), 20};
       },
       [](auto& c) {
         c.outputs.lse_ln = {static_cast<float*>(address(0x1fff0 - 60)), 20};
       },
       "lse_ln.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x1ffb4, "
       "0x20004)"},
  });
  AttentionCall call;
  call.outputs.out.data = call.table.data();
  CHECK(call.check().message().find("memory apart from block_table") != std::string::npos);
  call.outputs.out.data = call.sinks.data() + 3;
  CHECK_FALSE(call.check().is_ok());
}

TEST_CASE("inputs that are only read may overlap each other") {
  AttentionCall call;
  call.inputs.kv.v.data = call.inputs.kv.k.data;  // V as a slice of K
  call.inputs.q.data = call.inputs.kv.k.data;
  call.inputs.q.row_stride = 0;
  call.inputs.options.sinks = call.inputs.options.alibi_slopes;
  CHECK(call.check() == Status::ok());
}

}  // namespace
}  // namespace recto
