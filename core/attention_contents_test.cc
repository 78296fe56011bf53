// Tests of check_contents().

#include <limits>

#include "core/attention_gate.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::AttentionCall;
using testing::check_rules;
using testing::DecodeCall;
using testing::WriteCall;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename Call>
Status check(const Call& call) {
  return check_contents(call.inputs);
}

template <typename Call>
void use_scales(Call& call) {
  call.inputs.kv.k.type = call.inputs.kv.v.type = ElementType::kE4m3;
  call.inputs.kv.k.scale = {ScaleKind::kPerKvHead, call.scales.data()};
  call.inputs.kv.v.scale = {ScaleKind::kPerTensor, call.scales.data()};
}

TEST_CASE("valid calls pass, with garbage beyond their contexts") {
  CHECK(check(AttentionCall()) == Status::ok());
  CHECK(check(DecodeCall()) == Status::ok());
  CHECK(check(WriteCall()) == Status::ok());
}

TEST_CASE("shapes are checked before contents, so that no invalid view is read") {
  AttentionCall attention;
  attention.inputs.block_table.data = nullptr;
  CHECK(check(attention) == attention.check());
  CHECK_FALSE(check(attention).is_ok());
  DecodeCall decode;
  decode.inputs.cached_length = {};
  CHECK(check(decode) == decode.check());
  CHECK_FALSE(check(decode).is_ok());
  WriteCall write;
  write.inputs.slot_mapping = {static_cast<const std::int64_t*>(nullptr), 4};
  CHECK(check(write) == write.check());
  CHECK_FALSE(check(write).is_ok());
}

// Calls whose results would overlap another tensor of the call.
template <typename Call>
void check_aliasing() {
  Call call;
  CHECK(check_contents(call.inputs, call.outputs) == Status::ok());
  call.outputs.out.data = const_cast<void*>(call.inputs.q.data);
  CHECK(check(call) == Status::ok());
  CHECK_FALSE(check_contents(call.inputs, call.outputs).is_ok());
  CHECK(check_contents(call.inputs, call.outputs) == call.check());
  Call garbage;
  garbage.lengths[0] = -1;
  CHECK(check_contents(garbage.inputs, garbage.outputs) == check(garbage));
  CHECK_FALSE(check(garbage).is_ok());
}

TEST_CASE("check_contents refuses outputs that overlap an input, and still checks contents") {
  check_aliasing<AttentionCall>();
  check_aliasing<DecodeCall>();
}

TEST_CASE("query rows ascend from 0 to their number") {
  check_rules<AttentionCall>(
      {
          {[](auto& c) {
             c.query_start = {0, 0, 0, 5};
           },
           [](auto& c) { c.query_start[0] = 1; }, "query_start[0]: expected 0, got 1"},
          {[](auto& c) {
             c.query_start = {0, 5, 5, 5};
           },
           [](auto& c) {
             c.query_start = {0, 5, 4, 5};
           },
           "query_start[2]: expected at least 5 (the entry before it), got 4"},
          {[](auto&) {},
           [](auto& c) {
             c.query_start = {0, -1, 4, 5};
           },
           "query_start[1]: expected at least 0 (the entry before it), got -1"},
          {[](auto&) {}, [](auto& c) { c.query_start[3] = 4; },
           "query_start[3]: expected q.num_rows = 5 at the end, got 4"},
          {[](auto&) {}, [](auto& c) { c.query_start[3] = 6; },
           "query_start[3]: expected q.num_rows = 5 at the end, got 6"},
      },
      check);
}

TEST_CASE("a sequence may have more query rows than context, or no rows") {
  AttentionCall call;
  call.lengths = {1, 0, 0};
  CHECK(check(call) == Status::ok());
  call.query_start = {0, 0, 5, 5};
  CHECK(check(call) == Status::ok());
}

TEST_CASE("contexts fit their table and reach blocks of the cache alone") {
  check_rules<AttentionCall>(
      {
          {[](auto& c) { c.lengths[0] = 0; }, [](auto& c) { c.lengths[0] = -1; },
           "context_length[0]: expected at least 0, got -1"},
          {[](auto& c) { c.lengths[2] = 48; }, [](auto& c) { c.lengths[2] = 49; },
           "context_length[2]: expected at most block_table.max_blocks x kv.k.block_size = 3 x 16, "
           "got 49"},
          {[](auto& c) { c.lengths[0] = 32; }, [](auto& c) { c.lengths[0] = 33; },
           "block_table[0][2]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "-1"},
          // The last block of a context that ends at the block's end.
          {[](auto& c) { c.lengths[0] = 16; },
           [](auto& c) {
             c.lengths[0] = 32;
             c.table[1] = -1;
           },
           "block_table[0][1]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "-1"},
          {[](auto& c) { c.table[10] = 7; }, [](auto& c) { c.table[10] = 8; },
           "block_table[2][2]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "8"},
          {[](auto& c) { c.lengths[1] = 0; }, [](auto& c) { c.lengths[1] = 1; },
           "block_table[1][0]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "-5"},
          {[](auto& c) { c.table[8] = 7; }, [](auto& c) { c.table[8] = 8; },
           "block_table[2][0]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "8"},
          {[](auto& c) {
             c.inputs.kv.k.num_blocks = c.inputs.kv.v.num_blocks = 0;
             c.lengths = {0, 0, 0};
           },
           [](auto& c) {
             c.inputs.kv.k.num_blocks = c.inputs.kv.v.num_blocks = 0;
             c.lengths = {0, 0, 1};
           },
           "block_table[2][0]: expected a block id of at least 0, below kv.k.num_blocks = 0, got "
           "3"},
      },
      check);
}

// One block of 2^20 slots, for every entry of a table of zeros.
void use_long_block(PagedKvView& kv) {
  for (KvTensorView* tensor : {&kv.k, &kv.v}) {
    tensor->num_blocks = 1;
    tensor->block_size = 1 << 20;
  }
}

TEST_CASE("the longest context of 32 bits passes, if its table is long enough") {
  AttentionCall call;
  std::vector<std::int32_t> table(2048);
  use_long_block(call.inputs.kv);
  call.inputs.block_table = {table.data(), 3, 2048, 2048};
  call.lengths = {std::numeric_limits<std::int32_t>::max(), 0, 0};
  table.resize(std::size_t{3} * 2048);
  call.inputs.block_table.data = table.data();
  CHECK(check(call) == Status::ok());
  call.inputs.block_table.max_blocks = 2047;
  CHECK(check(call) ==
        Status::invalid_input("context_length[0]: expected at most block_table.max_blocks x "
                              "kv.k.block_size = 2047 x 1048576, got 2147483647"));
  DecodeCall step;
  use_long_block(step.inputs.kv);
  step.inputs.block_table = {table.data(), 3, 2048, 2048};
  step.lengths = {std::numeric_limits<std::int32_t>::max() - 1, 0, 0};
  CHECK(check(step) == Status::ok());
  ++step.lengths[0];
  CHECK(check(step) == Status::invalid_input("cached_length[0]: expected at most 2147483646, so "
                                             "that 1 more fit in 32 bits, got 2147483647"));
}

TEST_CASE("a decode step's cached tokens fit the table, its new ones need not") {
  check_rules<DecodeCall>(
      {
          {[](auto& c) { c.lengths[2] = 48; }, [](auto& c) { c.lengths[2] = 49; },
           "cached_length[2]: expected at most block_table.max_blocks x kv.k.block_size = 3 x 16, "
           "got 49"},
          {[](auto& c) { c.lengths[0] = 0; }, [](auto& c) { c.lengths[0] = -2; },
           "cached_length[0]: expected at least 0, got -2"},
          {[](auto& c) { c.table[1] = 7; }, [](auto& c) { c.table[1] = -1; },
           "block_table[0][1]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "-1"},
          {[](auto& c) { c.table[10] = 7; }, [](auto& c) { c.table[10] = 8; },
           "block_table[2][2]: expected a block id of at least 0, below kv.k.num_blocks = 8, got "
           "8"},
          {[](auto& c) { use_scales(c); },
           [](auto& c) {
             use_scales(c);
             c.scales[1] = 0;
           },
           "kv.k.scale[1]: expected a finite number above 0, got 0"},
          {[](auto&) {}, [](auto& c) { c.sinks[0] = kNaN; },
           "options.sinks[0]: expected a finite number or -inf, got nan"},
      },
      check);
}

TEST_CASE("scales are finite and above 0") {
  for (const float scale : {1e-45F, 1.0F, 3e38F}) {
    AttentionCall call;
    use_scales(call);
    call.scales = {scale, scale};
    CHECK(check(call) == Status::ok());
  }
  const auto refuse = [](float scale, const char* got) {
    AttentionCall call;
    use_scales(call);
    call.scales[1] = scale;
    CHECK(check(call) ==
          Status::invalid_input("kv.k.scale[1]: expected a finite number above 0, got " +
                                std::string(got)));
    call.inputs.kv.k.scale.kind = ScaleKind::kPerTensor;
    CHECK(check(call) == Status::ok());
    call.inputs.kv.v.scale.data = &call.scales[1];
    CHECK(check(call) ==
          Status::invalid_input("kv.v.scale[0]: expected a finite number above 0, got " +
                                std::string(got)));
  };
  refuse(0.0F, "0");
  refuse(-0.0F, "-0");
  refuse(-1e-30F, "-1e-30");
  refuse(kInfinity, "inf");
  refuse(-kInfinity, "-inf");
  refuse(kNaN, "nan");
}

TEST_CASE("slopes are finite, sinks finite or absent") {
  check_rules<AttentionCall>(
      {
          {[](auto& c) { c.slopes[3] = -3e38F; }, [](auto& c) { c.slopes[3] = -kInfinity; },
           "options.alibi_slopes[3]: expected a finite number, got -inf"},
          {[](auto&) {}, [](auto& c) { c.slopes[0] = kNaN; },
           "options.alibi_slopes[0]: expected a finite number, got nan"},
          {[](auto& c) { c.sinks[0] = -kInfinity; }, [](auto& c) { c.sinks[0] = kInfinity; },
           "options.sinks[0]: expected a finite number or -inf, got inf"},
          {[](auto& c) { c.sinks[3] = 3e38F; }, [](auto& c) { c.sinks[3] = kNaN; },
           "options.sinks[3]: expected a finite number or -inf, got nan"},
      },
      check);
}

TEST_CASE("slots are the cache's, or -1") {
  check_rules<WriteCall>(
      {
          {[](auto& c) { c.slots[0] = 127; }, [](auto& c) { c.slots[0] = 128; },
           "slot_mapping[0]: expected -1, or a slot id below kv.k.num_blocks x kv.k.block_size = "
           "8 x 16, got 128"},
          {[](auto& c) { c.slots[3] = -1; }, [](auto& c) { c.slots[3] = -2; },
           "slot_mapping[3]: expected -1, or a slot id below kv.k.num_blocks x kv.k.block_size = "
           "8 x 16, got -2"},
          {[](auto& c) { use_scales(c); },
           [](auto& c) {
             use_scales(c);
             c.scales[0] = -1;
           },
           "kv.k.scale[0]: expected a finite number above 0, got -1"},
      },
      check);
}

}  // namespace
}  // namespace recto
