// What each kernel of cuda/kernels does not serve it refuses by name, and a step inside the limit
// it does not. Nothing is launched here: batches are empty.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/dense_kv_view.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/paged_decode.h"
#include "cuda/kernels/split_decode.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

using namespace kernels;

// Rotary tables of one position.
RowsView table_of(std::int64_t pairs) {
  static constexpr float kEntries[16] = {};
  return {.data = kEntries, .num_rows = 1, .num_heads = 1, .head_dim = pairs, .row_stride = pairs};
}

// fp16, head-major, without a block.
MutablePagedKvView empty_cache() {
  return dense_kv_view({.layout = KvLayout::kHeadMajor,
                        .type = ElementType::kFp16,
                        .block_size = 4,
                        .num_kv_heads = 2,
                        .head_dim_k = 16,
                        .head_dim_v = 8},
                       nullptr, nullptr)
      .value();
}

RowsView no_rows(std::int64_t head_dim) {
  return {.type = ElementType::kFp16,
          .num_heads = 2,
          .head_dim = head_dim,
          .row_stride = 2 * head_dim,
          .head_stride = head_dim};
}

MutableRowsView no_results(std::int64_t head_dim) {
  return {.type = ElementType::kFp16,
          .num_heads = 2,
          .head_dim = head_dim,
          .row_stride = 2 * head_dim,
          .head_stride = head_dim};
}

// One change to what is served, and what is said to it.
template <typename Params>
struct Refused {
  std::function<void(Params&)> change;
  std::string error;
};

template <typename Params>
std::string error_of(KernelStatus (*launch)(const Params&, KernelStream), const Params& params) {
  simt::Executor executor({});
  simt::Stream stream(executor);
  const KernelStatus status = launch(params, &stream);
  return status.error == nullptr ? "" : status.error;
}

template <typename Params>
void expect_refused(KernelStatus (*launch)(const Params&, KernelStream), const Params& served,
                    const std::vector<Refused<Params>>& refused) {
  CHECK(error_of(launch, served) == "");
  for (const auto& [change, error] : refused) {
    Params params = served;
    change(params);
    CHECK(error_of(launch, params) == error);
  }
}

template <typename Pointer>
void make_packed(BasicKvTensorView<Pointer>& tensor, std::int64_t pack_width) {
  tensor.layout = KvLayout::kPacked;
  tensor.pack_width = pack_width;
}

const std::string kPacks = "kv.k.pack_width, kv.v.pack_width: expected powers of two";

TEST_CASE("KV write says what it does not serve") {
  using Params = KvWriteParams;
  const Params served = {.k = no_rows(16), .v = no_rows(8), .kv = empty_cache()};
  const std::string rows = "k.type, v.type: expected the same, fp32, fp16 or bf16";
  const std::string narrow =
      "kv.k.type: expected e4m3, e5m2 or that of the rows, which are not fp32";
  expect_refused<Params>(
      launch_kv_write, served,
      {{[](Params& params) { params.k.type = params.v.type = ElementType::kE4m3; }, rows},
       {[](Params& params) { params.v.type = ElementType::kBf16; }, rows},
       {[](Params& params) { params.kv.v.type = ElementType::kE4m3; },
        "kv.v.type: expected that of kv.k"},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kFp32; }, narrow},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kBf16; }, narrow},
       {[](Params& params) { make_packed(params.kv.k, 3); }, kPacks},
       {[](Params& params) { make_packed(params.kv.v, 0); }, kPacks},
       {[](Params& params) { make_packed(params.kv.k, 8); }, ""},
       {[](Params& params) { params.kv.k.type = params.kv.v.type = ElementType::kE5m2; }, ""},
       {[](Params& params) { params.k.type = params.v.type = ElementType::kFp32; }, ""}});
}

TEST_CASE("append says what it does not serve") {
  using Params = KvAppendParams;
  static const std::uint16_t kQuery = 0;
  Params served = {.k = no_rows(16), .v = no_rows(8), .kv = empty_cache()};
  served.q = no_rows(16);
  served.q.data = &kQuery;
  served.rotated_q = no_results(16);
  served.rotary = {.dim = 16, .cosines = table_of(8), .sines = table_of(8)};
  const std::string dim = "rotary.dim: expected an even number, at most kv.k.head_dim";
  const std::string table_types =
      "rotary.cosines.type, rotary.sines.type: expected the same, fp32, fp16 or bf16";
  const std::string pairs =
      "rotary.cosines.head_dim, rotary.sines.head_dim: expected rotary.dim / 2";
  const std::string tables =
      "rotary.cosines, rotary.sines: expected tables with rotary.dim above 0, got null";
  expect_refused<Params>(
      launch_kv_append, served,
      {{[](Params& params) { params.v.type = ElementType::kFp32; },
        "k.type, v.type: expected the same, fp32, fp16 or bf16"},
       {[](Params& params) { params.kv.v.type = ElementType::kFp32; },
        "kv.v.type: expected that of kv.k"},
       {[](Params& params) { make_packed(params.kv.v, 6); }, kPacks},
       {[](Params& params) { params.q.type = ElementType::kBf16; }, "q.type: expected k's"},
       {[](Params& params) { params.rotated_q.type = ElementType::kBf16; },
        "rotated_q.type: expected k's"},
       {[](Params& params) { params.rotary.dim = 18; }, dim},
       {[](Params& params) { params.rotary.dim = 15; }, dim},
       {[](Params& params) { params.rotary.dim = -2; }, dim},
       {[](Params& params) { params.rotary.cosines = {}; }, tables},
       {[](Params& params) { params.rotary.sines = {}; }, tables},
       {[](Params& params) { params.rotary.sines.type = ElementType::kBf16; }, table_types},
       {[](Params& params) {
          params.rotary.cosines.type = params.rotary.sines.type = ElementType::kE4m3;
        },
        table_types},
       {[](Params& params) { params.rotary.cosines.head_dim = 7; }, pairs},
       {[](Params& params) { params.rotary.dim = 14; }, pairs},
       {[](Params& params) { params.rotary.sines.num_rows = 2; },
        "rotary.sines.num_rows: expected that of rotary.cosines"},
       {[](Params& params) {
          params.rotary.cosines.type = params.rotary.sines.type = ElementType::kBf16;
        },
        ""},
       {[](Params& params) { params.rotary = {}; }, ""},
       {[](Params& params) { params.q = {}; }, ""}});
}

TEST_CASE("block copy says what it does not serve") {
  using Params = BlockCopyParams;
  const Params served = {.from = as_const(empty_cache()), .to = empty_cache()};
  const std::string types = "to.k.type, to.v.type: expected from's";
  const std::string sizes = "to.k.block_size, to.v.block_size: expected from's";
  const std::string heads = "to.k.num_kv_heads, to.v.num_kv_heads: expected from's";
  const std::string dims = "to.k.head_dim, to.v.head_dim: expected from's";
  expect_refused<Params>(launch_block_copy, served,
                         {{[](Params& params) { params.from.v.type = ElementType::kBf16; },
                           "from.v.type: expected that of from.k"},
                          {[](Params& params) { params.to.k.type = ElementType::kBf16; }, types},
                          {[](Params& params) { params.to.v.type = ElementType::kBf16; }, types},
                          {[](Params& params) { params.to.k.block_size = 8; }, sizes},
                          {[](Params& params) { params.to.v.block_size = 8; }, sizes},
                          {[](Params& params) { params.to.k.num_kv_heads = 1; }, heads},
                          {[](Params& params) { params.to.v.num_kv_heads = 1; }, heads},
                          {[](Params& params) { params.to.k.head_dim = 8; }, dims},
                          {[](Params& params) { params.to.v.head_dim = 16; }, dims},
                          {[](Params& params) { make_packed(params.from.k, 12); }, kPacks},
                          {[](Params& params) { make_packed(params.to.v, 12); }, kPacks},
                          {[](Params& params) { make_packed(params.to.v, 4); }, ""}});
}

TEST_CASE("gather says what it does not serve") {
  using Params = GatherParams;
  const Params served = {.kv = as_const(empty_cache()), .k = no_results(16), .v = no_results(8)};
  const std::string types = "k.type, v.type: expected the cache's";
  expect_refused<Params>(launch_gather, served,
                         {{[](Params& params) { params.k.type = ElementType::kBf16; }, types},
                          {[](Params& params) { params.v.type = ElementType::kBf16; }, types},
                          {[](Params& params) { make_packed(params.kv.k, 5); }, kPacks}});
}

TEST_CASE("decode says what it does not serve, in one pass or in splits") {
  using Params = PagedDecodeParams;
  const Params served = {.q = no_rows(16), .kv = as_const(empty_cache()), .out = no_results(8)};
  const std::string types = "kv.k.type: expected q's, or e4m3 or e5m2 for q in fp16 or bf16";
  const auto store_as = [](ElementType type) {
    return [type](Params& params) { params.kv.k.type = params.kv.v.type = type; };
  };
  const std::vector<Refused<Params>> refused = {
      {[](Params& params) { params.q.type = ElementType::kE5m2; },
       "q.type: expected fp32, fp16 or bf16"},
      {[](Params& params) { params.kv.v.type = ElementType::kE4m3; },
       "kv.v.type: expected that of kv.k"},
      {store_as(ElementType::kBf16), types},
      {[](Params& params) {
         params.q.type = params.out.type = ElementType::kFp32;
         params.kv.k.type = params.kv.v.type = ElementType::kE4m3;
       },
       types},
      {store_as(ElementType::kE4m3), ""},
      {store_as(ElementType::kE5m2), ""},
      {[](Params& params) { params.out.type = ElementType::kFp32; }, "out.type: expected q's"},
      {[](Params& params) { make_packed(params.kv.k, 3); }, kPacks},
      {[](Params& params) { params.kv.k.head_dim = 257; },
       "kv.k.head_dim, kv.v.head_dim: expected at most 256"},
      {[](Params& params) { params.kv.v.head_dim = 257; },
       "kv.k.head_dim, kv.v.head_dim: expected at most 256"},
      {[](Params& params) { params.kv.k.head_dim = 256; }, ""}};
  expect_refused<Params>(launch_paged_decode, served, refused);
  for (const auto launch : {launch_split_decode, launch_split_merge}) {
    const SplitDecodeParams whole = {.decode = served, .split_size = 8, .num_splits = 1};
    expect_refused<SplitDecodeParams>(
        launch, whole,
        {{[](SplitDecodeParams& params) { params.split_size = 0; },
          "split_size: expected at least 1"},
         {[](SplitDecodeParams& params) { params.num_splits = 0; },
          "num_splits: expected at least 1"},
         {[&](SplitDecodeParams& params) { refused[0].change(params.decode); }, refused[0].error}});
  }
}

}  // namespace
}  // namespace recto::verify
