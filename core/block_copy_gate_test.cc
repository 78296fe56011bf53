// Tests of check_contents() for block copies and swaps.

#include <string>
#include <vector>

#include "core/attention_gate.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::address;
using testing::pool_at;
using testing::small_pool;

Status copying(const std::vector<BlockPair>& copies) {
  KvPoolShape shape = small_pool();
  shape.num_blocks = 10;
  return check_contents(pool_at(shape), copies);
}

Status swapping(const std::vector<BlockPair>& copies) {
  KvPoolShape device = small_pool();
  device.num_blocks = 10;
  KvPoolShape host = device;
  host.num_blocks = 20;
  return check_contents(as_const(pool_at(device)),
                        dense_kv_view(host, address(0x80000), address(0x90000)).value(), copies);
}

Status refused(const std::string& message) { return Status::invalid_input(message); }

TEST_CASE("copied blocks must be the cache's") {
  CHECK(copying({}) == Status::ok());
  CHECK(copying({{0, 9}, {8, 1}}) == Status::ok());
  CHECK(copying({{0, 9}, {10, 1}}) ==
        refused("copies[1].source: expected a block id of at least 0, below kv.k.num_blocks = 10, "
                "got 10"));
  CHECK(copying({{0, -1}}) ==
        refused("copies[0].destination: expected a block id of at least 0, below kv.k.num_blocks "
                "= 10, got -1"));
}

TEST_CASE("a block may be the source of several copies, or the destination of one") {
  CHECK(copying({{0, 1}, {0, 2}}) == Status::ok());
  CHECK(copying({{0, 1}, {2, 1}}) ==
        refused("copies[1].destination: expected a block other than that of copies[0], got 1"));
  CHECK(copying({{0, 1}, {2, 3}, {1, 4}}) ==
        refused("copies[2].source: expected a block that no copy writes (copies[0] writes it), got "
                "1"));
  CHECK(copying({{5, 5}}) ==
        refused("copies[0].source: expected a block that no copy writes (copies[0] writes it), got "
                "5"));
}

// Swaps between two fp8 pools with the given scales.
Status swapping_scaled(const KvScale& from_scale, const KvScale& to_scale) {
  KvPoolShape shape = small_pool();
  shape.type = ElementType::kE4m3;
  MutablePagedKvView from = pool_at(shape);
  MutablePagedKvView to = dense_kv_view(shape, address(0x80000), address(0x90000)).value();
  from.k.scale = from_scale;
  to.k.scale = to_scale;
  const std::vector<BlockPair> copies = {{0, 0}};
  return check_contents(as_const(from), to, copies);
}

TEST_CASE("blocks are swapped only between caches with equal scales") {
  const std::vector<float> scales = {0.5F, 2.0F};
  const std::vector<float> equal = scales;
  const std::vector<float> others = {0.5F, 3.0F};
  const std::vector<float> invalid = {0.5F, 0.0F};
  const auto per_head = [](const std::vector<float>& values) {
    return KvScale{ScaleKind::kPerKvHead, values.data()};
  };
  const auto per_tensor = [](const std::vector<float>& values) {
    return KvScale{ScaleKind::kPerTensor, values.data()};
  };
  CHECK(swapping_scaled({}, {}) == Status::ok());
  CHECK(swapping_scaled(per_head(scales), per_head(equal)) == Status::ok());
  CHECK(swapping_scaled(per_head(scales), per_head(others)) ==
        refused("to.k.scale[1]: expected 2 as in from.k.scale[1], got 3"));
  CHECK(swapping_scaled(per_tensor(scales), per_tensor(others)) == Status::ok());
  CHECK(swapping_scaled(per_tensor(scales), per_head(others)) ==
        refused("to.k.scale.kind: expected 1 as in from.k.scale.kind, got 2"));
  CHECK(swapping_scaled(per_head(scales), {}) ==
        refused("to.k.scale.kind: expected 2 as in from.k.scale.kind, got 0"));
  CHECK(swapping_scaled(per_head(invalid), per_head(invalid)) ==
        refused("from.k.scale[1]: expected a finite number above 0, got 0"));
}

TEST_CASE("source and destination of a swap are block ids of their own caches") {
  CHECK(swapping({{9, 19}, {8, 9}}) == Status::ok());
  CHECK(swapping({{10, 0}}) ==
        refused("copies[0].source: expected a block id of at least 0, below from.k.num_blocks = "
                "10, got 10"));
  CHECK(swapping({{9, 20}}) ==
        refused("copies[0].destination: expected a block id of at least 0, below to.k.num_blocks "
                "= 20, got 20"));
  CHECK(swapping({{9, 3}, {8, 3}}) ==
        refused("copies[1].destination: expected a block other than that of copies[0], got 3"));
}

}  // namespace
}  // namespace recto
