// Tests that check_shapes() refuses small inputs that imply huge results through strides of 0.

#include "core/attention_gate.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::AttentionCall;

TEST_CASE("a result that no memory could hold is refused, whatever the strides") {
  const auto rows = [](std::int64_t num_rows) {
    AttentionCall call;
    call.inputs.options.alibi_slopes = {};
    call.inputs.options.sinks = {};
    call.inputs.q.row_stride = call.inputs.q.head_stride = 0;
    call.inputs.q.num_heads = std::int64_t{1} << 20;
    call.inputs.q.num_rows = num_rows;
    return check_shapes(call.inputs);
  };
  CHECK(rows(std::int64_t{1} << 36) == Status::ok());
  CHECK(rows(std::int64_t{1} << 37) ==
        Status::invalid_input(
            "q.num_rows: expected below 2^63 bytes in q.num_rows x q.num_heads x kv.v.head_dim x "
            "8, got 137438953472 x 1048576 x 8 x 8"));
}

}  // namespace
}  // namespace recto
