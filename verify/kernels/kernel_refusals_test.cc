// Each kernel of cuda/kernels that moves K and V refuses unsupported calls by name, and accepts
// calls just inside the limit. (Attention: attention_refusals_test.cc.)

#include <cstdint>
#include <string>

#include "bazel/testing/catch.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"
#include "verify/kernels/kernel_refusals.h"

namespace recto::verify {
namespace {

using namespace kernels;

// Rotary tables of one position.
RowsView table_of(std::int64_t pairs) {
  static constexpr float kEntries[16] = {};
  return {.data = kEntries, .num_rows = 1, .num_heads = 1, .head_dim = pairs, .row_stride = pairs};
}

TEST_CASE("KV write refuses by name what it does not serve") {
  using Params = KvWriteParams;
  const Params served = {.k = no_rows(16), .v = no_rows(8), .kv = empty_cache()};
  const std::string narrow = "kv.k.type: expected e4m3, e5m2 or fp16 as in k.type, got ";
  expect_refused<Params>(
      launch_kv_write, served,
      {{[](Params& params) { params.k.type = params.v.type = ElementType::kE4m3; },
        "k.type: expected fp32, fp16 or bf16, got e4m3"},
       {[](Params& params) { params.v.type = ElementType::kBf16; },
        "v.type: expected fp16 as in k.type, got bf16"},
       {[](Params& params) { params.kv.v.type = ElementType::kE4m3; },
        "kv.v.type: expected fp16 as in kv.k.type, got e4m3"},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kFp32; },
        narrow + "fp32"},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kBf16; },
        narrow + "bf16"},
       {[](Params& params) { make_packed(params.kv.k, 3); }, packs("kv.k", 3)},
       {[](Params& params) { make_packed(params.kv.v, 0); }, packs("kv.v", 0)},
       {[](Params& params) { make_packed(params.kv.k, 8); }, ""},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kE5m2; }, ""},
       {[](Params& params) { params.k.type = params.v.type = ElementType::kFp32; }, ""}});
}

TEST_CASE("a launch that no device supports fails with its kernel's name") {
  static const std::int64_t kNoSlot = -1;
  KvWriteParams params = {
      .k = no_rows(16), .v = no_rows(8), .slot_mapping = &kNoSlot, .kv = empty_cache()};
  simt::Executor executor({});
  simt::Stream stream(executor);
  params.k.num_rows = params.v.num_rows = 1;
  CHECK(launch_kv_write(params, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  params.k.num_rows = params.v.num_rows = std::int64_t{1} << 31;  // one thread block too many
  const Status refused = launch_kv_write(params, &stream);
  CHECK(refused.code() == StatusCode::kFailed);
  CHECK(refused.message() == "kv_write: invalid configuration argument");
}

TEST_CASE("append refuses by name what it does not serve") {
  using Params = KvAppendParams;
  static const std::uint16_t kQuery = 0;
  Params served = {.k = no_rows(16), .v = no_rows(8), .kv = empty_cache()};
  served.q = no_rows(16);
  served.q.data = &kQuery;
  served.rotated_q = no_results(16);
  served.rotary = {.dim = 16, .cosines = table_of(8), .sines = table_of(8)};
  const std::string dim = "rotary.dim: expected an even number, at most kv.k.head_dim = 16, got ";
  expect_refused<Params>(
      launch_kv_append, served,
      {{[](Params& params) { params.v.type = ElementType::kFp32; },
        "v.type: expected fp16 as in k.type, got fp32"},
       {[](Params& params) { params.kv.v.type = ElementType::kFp32; },
        "kv.v.type: expected fp16 as in kv.k.type, got fp32"},
       {[](Params& params) { make_packed(params.kv.v, 6); }, packs("kv.v", 6)},
       {[](Params& params) { params.q.type = ElementType::kBf16; },
        "q.type: expected fp16 as in k.type, got bf16"},
       {[](Params& params) { params.rotated_q.type = ElementType::kBf16; },
        "rotated_q.type: expected fp16 as in k.type, got bf16"},
       {[](Params& params) { params.rotary.dim = 18; }, dim + "18"},
       {[](Params& params) { params.rotary.dim = 15; }, dim + "15"},
       {[](Params& params) { params.rotary.dim = -2; }, dim + "-2"},
       {[](Params& params) { params.rotary.cosines = {}; },
        "rotary.cosines.data: expected a table with rotary.dim above 0, got null"},
       {[](Params& params) { params.rotary.sines = {}; },
        "rotary.sines.data: expected a table with rotary.dim above 0, got null"},
       {[](Params& params) { params.rotary.sines.type = ElementType::kBf16; },
        "rotary.sines.type: expected fp32 as in rotary.cosines.type, got bf16"},
       {[](Params& params) {
          params.rotary.cosines.type = params.rotary.sines.type = ElementType::kE4m3;
        },
        "rotary.cosines.type: expected fp32, fp16 or bf16, got e4m3"},
       {[](Params& params) { params.rotary.cosines.head_dim = 7; },
        "rotary.cosines.head_dim: expected rotary.dim / 2 = 8, got 7"},
       {[](Params& params) { params.rotary.sines.head_dim = 9; },
        "rotary.sines.head_dim: expected rotary.dim / 2 = 8, got 9"},
       {[](Params& params) { params.rotary.dim = 14; },
        "rotary.cosines.head_dim: expected rotary.dim / 2 = 7, got 8"},
       {[](Params& params) { params.rotary.sines.num_rows = 2; },
        "rotary.sines.num_rows: expected 1 as in rotary.cosines.num_rows, got 2"},
       {[](Params& params) {
          params.rotary.cosines.type = params.rotary.sines.type = ElementType::kBf16;
        },
        ""},
       {[](Params& params) { params.rotary = {}; }, ""},
       {[](Params& params) { params.q = {}; }, ""}});
}

TEST_CASE("block copy refuses by name what it does not serve") {
  using Params = BlockCopyParams;
  const Params served = {.from = as_const(empty_cache()), .to = empty_cache()};
  expect_refused<Params>(
      launch_block_copy, served,
      {{[](Params& params) { params.from.v.type = ElementType::kBf16; },
        "from.v.type: expected fp16 as in from.k.type, got bf16"},
       {[](Params& params) { params.to.k.type = ElementType::kBf16; },
        "to.k.type: expected fp16 as in from.k.type, got bf16"},
       {[](Params& params) { params.to.v.type = ElementType::kBf16; },
        "to.v.type: expected fp16 as in from.v.type, got bf16"},
       {[](Params& params) { params.to.k.block_size = 8; },
        "to.k.block_size: expected 4 as in from.k.block_size, got 8"},
       {[](Params& params) { params.to.v.block_size = 8; },
        "to.v.block_size: expected 4 as in from.v.block_size, got 8"},
       {[](Params& params) { params.to.k.num_kv_heads = 1; },
        "to.k.num_kv_heads: expected 2 as in from.k.num_kv_heads, got 1"},
       {[](Params& params) { params.to.v.num_kv_heads = 1; },
        "to.v.num_kv_heads: expected 2 as in from.v.num_kv_heads, got 1"},
       {[](Params& params) { params.to.k.head_dim = 8; },
        "to.k.head_dim: expected 16 as in from.k.head_dim, got 8"},
       {[](Params& params) { params.to.v.head_dim = 16; },
        "to.v.head_dim: expected 8 as in from.v.head_dim, got 16"},
       {[](Params& params) { make_packed(params.from.k, 12); }, packs("from.k", 12)},
       {[](Params& params) { make_packed(params.to.v, 12); }, packs("to.v", 12)},
       {[](Params& params) { make_packed(params.to.v, 4); }, ""}});
}

TEST_CASE("gather refuses by name what it does not serve") {
  using Params = GatherParams;
  const Params served = {.kv = as_const(empty_cache()), .k = no_results(16), .v = no_results(8)};
  expect_refused<Params>(launch_gather, served,
                         {{[](Params& params) { params.k.type = ElementType::kBf16; },
                           "k.type: expected fp16 as in kv.k.type, got bf16"},
                          {[](Params& params) { params.v.type = ElementType::kE5m2; },
                           "v.type: expected fp16 as in kv.k.type, got e5m2"},
                          {[](Params& params) { make_packed(params.kv.k, 5); }, packs("kv.k", 5)}});
}

}  // namespace
}  // namespace recto::verify
