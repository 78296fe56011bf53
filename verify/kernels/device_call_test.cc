// The memory that a call registers. An access of a kernel to other memory breaks a contract, with a
// message that names it. One query head attends to nine tokens of each of two sequences.

#include "verify/kernels/device_call.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/reference_decode.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<simt::Observer> checks(const simt::DeviceMemory& memory) {
  return std::make_shared<simt::AccessChecker>(memory, simt::AccessCheckerOptions{});
}

// The placement of K and V.
enum class Pools { kApart, kInterleaved };

class Attention {
 public:
  explicit Attention(Pools pools = Pools::kApart) {
    // V starts 16 elements after K, or after all of K.
    const std::int64_t slot_stride = pools == Pools::kInterleaved ? 32 : 16;
    const std::int64_t distance = pools == Pools::kInterleaved ? 16 : std::ssize(memory_) / 2;
    std::iota(memory_.begin(), memory_.end(), 0.0F);
    const auto view = [&](float* data) -> KvTensorView {
      return {.data = data,
              .num_blocks = 6,
              .block_size = 4,
              .num_kv_heads = 1,
              .head_dim = 16,
              .block_stride = 4 * slot_stride,
              .head_stride = slot_stride,
              .slot_stride = slot_stride};
    };
    params.q = {.data = q_.data(),
                .num_rows = 2,
                .num_heads = 1,
                .head_dim = 16,
                .row_stride = 16,
                .head_stride = 16};
    params.kv = {.k = view(memory_.data()), .v = view(memory_.data() + distance)};
    params.block_table = {.data = table.data(), .num_seqs = 2, .max_blocks = 3, .row_stride = 3};
    params.context_length = lengths.data();
    params.out = {.data = out.data(),
                  .num_rows = 2,
                  .num_heads = 1,
                  .head_dim = 16,
                  .row_stride = 16,
                  .head_stride = 16};
    params.lse_ln = lse_ln.data();
  }

  void add_all(DeviceCall& call) {
    call.add_read("q", params.q);
    call.add_contexts(params.kv, params.block_table, lengths, owners_in_turn(2, 2));
    call.add_write("out", params.out);
    call.add_write("lse_ln", std::span(lse_ln));
  }

  // The message of the broken contract, or nothing.
  std::string run(DeviceCall& call) {
    try {
      call.run(&checks, [this](simt::Stream& stream) {
        return kernels::launch_reference_decode(params, &stream);
      });
    } catch (const ContractFailure& failure) {
      return failure.what();
    }
    return "";
  }

  std::vector<std::int32_t> table = {5, 1, 3, 0, 2, 4};
  std::vector<std::int32_t> lengths = {9, 9};
  std::vector<float> out = std::vector<float>(32, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> lse_ln = std::vector<float>(2);
  kernels::ReferenceDecodeParams params;

  simt::Executor executor{simt::ExecutorOptions{}};

 private:
  std::vector<float> q_ = std::vector<float>(32, 0.0F);
  std::vector<float> memory_ = std::vector<float>(768);  // K and V: 0, 1, 2, ...
};

TEST_CASE("a kernel that accesses only its own memory passes") {
  for (const Pools pools : {Pools::kApart, Pools::kInterleaved}) {
    Attention attention(pools);
    DeviceCall call(attention.executor);
    attention.add_all(call);
    CHECK(attention.run(call) == "");
    // With q = 0 all keys have equal weight.
    for (const float lse_ln : attention.lse_ln) CHECK(lse_ln == std::log(9.0F));
  }
}

TEST_CASE("registered memory has names, and overlapping memory is one buffer") {
  const auto names = [](Pools pools) {
    Attention attention(pools);
    DeviceCall call(attention.executor);
    attention.add_all(call);
    attention.run(call);
    std::set<std::string> found;
    for (const auto& [address, buffer] : call.memory().buffers()) found.insert(buffer.name);
    return found;
  };
  CHECK(names(Pools::kApart) == std::set<std::string>{"block_table", "context_length", "k_cache",
                                                      "lse_ln", "out", "q", "v_cache"});
  CHECK(names(Pools::kInterleaved) == std::set<std::string>{"block_table", "context_length",
                                                            "k_cache, v_cache", "lse_ln", "out",
                                                            "q"});
}

TEST_CASE("a block of another sequence is found, though it is in the cache") {
  for (const Pools pools : {Pools::kApart, Pools::kInterleaved}) {
    Attention attention(pools);
    DeviceCall call(attention.executor);
    attention.add_all(call);
    attention.table[1] = 2;
    CHECK_THAT(attention.run(call),
               ContainsSubstring("logical bounds") && ContainsSubstring("k_cache"));
  }
}

// Writes one row of K and V for each of two tokens.
std::string write_tokens(Pools pools, const std::vector<std::int64_t>& slots,
                         const std::vector<std::vector<std::int64_t>>& blocks) {
  Attention attention(pools);
  std::vector<float> rows(2 * 16, 1.0F);
  const auto mutable_view = [](const KvTensorView& view) -> MutableKvTensorView {
    return {.data = const_cast<void*>(view.data),
            .num_blocks = view.num_blocks,
            .block_size = view.block_size,
            .num_kv_heads = view.num_kv_heads,
            .head_dim = view.head_dim,
            .block_stride = view.block_stride,
            .head_stride = view.head_stride,
            .slot_stride = view.slot_stride};
  };
  kernels::KvWriteParams params;
  params.k = params.v = {.data = rows.data(),
                         .num_rows = 2,
                         .num_heads = 1,
                         .head_dim = 16,
                         .row_stride = 16,
                         .head_stride = 16};
  params.slot_mapping = slots.data();
  params.kv = {.k = mutable_view(attention.params.kv.k), .v = mutable_view(attention.params.kv.v)};
  DeviceCall call(attention.executor);
  call.add_read("k", params.k);
  call.add_read("v", params.v);
  call.add_read("slot_mapping", std::span(slots));
  call.add_write(params.kv, blocks, owners_in_turn(2, 2));
  try {
    call.run(&checks,
             [&params](simt::Stream& stream) { return kernels::launch_kv_write(params, &stream); });
  } catch (const ContractFailure& failure) {
    return failure.what();
  }
  return "";
}

TEST_CASE("a write to another sequence's block is found, though it is in the cache") {
  for (const Pools pools : {Pools::kApart, Pools::kInterleaved}) {
    CHECK(write_tokens(pools, {5, 14}, {{1}, {3}}) == "");
    CHECK(write_tokens(pools, {5, -1}, {{1}, {}}) == "");
    CHECK_THAT(write_tokens(pools, {5, 14}, {{1}, {2}}),
               ContainsSubstring("logical bounds in kernel 'kv_write'") &&
                   ContainsSubstring("writes") && ContainsSubstring("k_cache") &&
                   ContainsSubstring("in piece 3 (of"));
  }
}

TEST_CASE("an access to unregistered memory is found") {
  Attention attention;
  DeviceCall call(attention.executor);
  call.add_read("q", attention.params.q);
  call.add_contexts(attention.params.kv, attention.params.block_table, attention.lengths,
                    owners_in_turn(2, 2));
  call.add_write("out", attention.params.out);
  CHECK_THAT(attention.run(call), ContainsSubstring("decode_block.cuh"));
}

TEST_CASE("a launch that is refused says why") {
  Attention attention;
  DeviceCall call(attention.executor);
  attention.params.kv.k.head_dim = 257;
  CHECK_THAT(attention.run(call),
             ContainsSubstring("kv.k.head_dim: expected at most 256, got 257"));
}

}  // namespace
}  // namespace recto::verify
