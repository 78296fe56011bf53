// Each attention kernel refuses unsupported calls by name, and accepts calls just inside the limit.

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/split_decode.h"
#include "cuda/kernels/tma_decode.h"
#include "verify/kernels/kernel_refusals.h"

namespace recto::verify {
namespace {

using namespace kernels;

std::vector<Refused<SplitDecodeParams>> refused_splits() {
  return {{[](SplitDecodeParams& params) { params.split_size = 0; },
           "split_size: expected at least 1, got 0"},
          {[](SplitDecodeParams& params) { params.split_size = std::int64_t{1} << 31; },
           "split_size: expected at most 2147483647, got 2147483648"},
          {[](SplitDecodeParams& params) { params.split_size = INT32_MAX; }, ""},
          {[](SplitDecodeParams& params) { params.num_splits = 0; },
           "num_splits: expected at least 1, got 0"}};
}

TEST_CASE("decode refuses by name what it does not serve, in one pass or in splits") {
  using Params = ReferenceDecodeParams;
  const Params served = {.q = no_rows(16), .kv = as_const(empty_cache()), .out = no_results(8)};
  const auto store_as = [](ElementType type) {
    return [type](Params& params) { params.kv.k.type = params.kv.v.type = type; };
  };
  const std::vector<Refused<Params>> refused = {
      {[](Params& params) { params.q.type = ElementType::kE5m2; },
       "q.type: expected fp32, fp16 or bf16, got e5m2"},
      {[](Params& params) { params.kv.v.type = ElementType::kE4m3; },
       "kv.v.type: expected fp16 as in kv.k.type, got e4m3"},
      {store_as(ElementType::kBf16),
       "kv.k.type: expected fp16 as in q.type, e4m3 or e5m2, got bf16"},
      {[](Params& params) {
         params.q.type = params.out.type = ElementType::kFp32;
         params.kv.k.type = params.kv.v.type = ElementType::kE4m3;
       },
       "kv.k.type: expected fp32 as in q.type, got e4m3"},
      {store_as(ElementType::kE4m3), ""},
      {store_as(ElementType::kE5m2), ""},
      {[](Params& params) { params.out.type = ElementType::kFp32; },
       "out.type: expected fp16 as in q.type, got fp32"},
      {[](Params& params) { make_packed(params.kv.k, 3); }, packs("kv.k", 3)},
      {[](Params& params) { params.kv.k.head_dim = 257; },
       "kv.k.head_dim: expected at most 256, got 257"},
      {[](Params& params) { params.kv.v.head_dim = 300; },
       "kv.v.head_dim: expected at most 256, got 300"},
      {[](Params& params) { params.kv.k.head_dim = 256; }, ""}};
  expect_refused<Params>(launch_reference_decode, served, refused);
  for (const auto launch : {launch_split_decode, launch_split_merge}) {
    const SplitDecodeParams whole = {.decode = served, .split_size = 8, .num_splits = 1};
    std::vector<Refused<SplitDecodeParams>> splits = refused_splits();
    splits.push_back(
        {[&](SplitDecodeParams& params) { refused[0].change(params.decode); }, refused[0].error});
    expect_refused<SplitDecodeParams>(launch, whole, splits);
  }
}

// fp16, head-major, of two heads with 64 dims, without a block.
PagedKvView streamed_cache() {
  PagedKvView cache = as_const(dense_kv_view({.layout = KvLayout::kHeadMajor,
                                              .type = ElementType::kFp16,
                                              .block_size = 4,
                                              .num_kv_heads = 2,
                                              .head_dim_k = 64,
                                              .head_dim_v = 64},
                                             nullptr, nullptr)
                                   .value());
  return cache;
}

template <typename Params>
void pack(Params& params) {
  make_packed(params.kv.k, 8);
  make_packed(params.kv.v, 1);
  params.kv.k.pack_stride = params.kv.v.pack_stride = 32;
  params.kv.k.slot_stride = 8;
  params.kv.v.slot_stride = 1;
}

constexpr const char* kBy = ": expected a multiple of 8, of 16 bytes, got ";

// For kernels that read packed keys for several rows at once.
template <typename Params>
std::vector<Refused<Params>> refused_packs() {
  const std::string by = kBy;
  return {{[](Params& params) {
             pack(params);
             params.kv.k.pack_width = 4;
           },
           "kv.k.pack_width: expected 8, got 4"},
          {[](Params& params) {
             pack(params);
             params.kv.v.pack_width = 8;
           },
           "kv.v.pack_width: expected 1, got 8"},
          {[](Params& params) {
             pack(params);
             params.kv.k.pack_stride = 36;
           },
           "kv.k.pack_stride" + by + "36"},
          {[](Params& params) {
             pack(params);
             params.kv.k.slot_stride = 12;
             params.kv.k.pack_stride = 48;
           },
           "kv.k.slot_stride" + by + "12"},
          {[](Params& params) {
             pack(params);
             params.kv.k.slot_stride = 16;
             params.kv.k.pack_stride = 64;
           },
           ""},
          {[](Params& params) {
             pack(params);
             params.kv.k.block_size = params.kv.v.block_size = 8;
             params.kv.v.block_stride += 4;
           },
           "kv.v.block_stride" + by + "516"},
          // Values in blocks smaller than a chunk are copied one by one, at any address.
          {[](Params& params) {
             pack(params);
             params.kv.v.pack_stride = 4;
           },
           ""}};
}

// For all kernels that read keys for several rows at once: base parameters, and changes to them.
template <typename Params>
std::vector<Refused<Params>> refused_streams() {
  const std::string by = kBy;
  const std::string at = ".data: expected an address at a multiple of 16 bytes, got ";
  static constexpr std::byte kBytes[32] = {};
  const auto* aligned =
      reinterpret_cast<const std::byte*>((reinterpret_cast<std::uintptr_t>(kBytes) + 15) / 16 * 16);
  return {
      {[](Params& params) { params.out.type = ElementType::kFp32; },
       "out.type: expected fp16 as in q.type, got fp32"},
      {[](Params& params) { params.kv.v.type = ElementType::kE4m3; },
       "kv.v.type: expected fp16 as in kv.k.type, got e4m3"},
      {[](Params& params) { params.kv.v.head_dim = 48; },
       "kv.v.head_dim: expected 64 as in kv.k.head_dim, got 48"},
      {[=](Params& params) { params.kv.k.data = aligned + 6; }, "kv.k" + at + "6 bytes behind one"},
      {[=](Params& params) { params.kv.v.data = aligned + 15; },
       "kv.v" + at + "15 bytes behind one"},
      {[=](Params& params) { params.kv.v.data = aligned + 16; }, ""},
      {[](Params& params) { params.kv.k.block_stride += 4; }, "kv.k.block_stride" + by + "516"},
      {[](Params& params) { params.kv.k.block_stride += 8; }, ""},
      {[](Params& params) { params.kv.v.head_stride += 1; }, "kv.v.head_stride" + by + "257"},
      {[](Params& params) { params.kv.k.slot_stride += 7; }, "kv.k.slot_stride" + by + "71"}};
}

// The named table, for types and head dims that it lacks.
template <typename Params>
std::vector<Refused<Params>> refused_by_table(const std::string& table) {
  const std::string expected =
      "q.type, kv.k.type, kv.k.head_dim: expected a row of " + table + ", got ";
  return {{[](Params& params) {
             params.kv.k.head_dim = params.kv.v.head_dim = 48;
             params.kv.k.slot_stride = params.kv.v.slot_stride = 48;
           },
           expected + "fp16/fp16 with 48"},
          {[](Params& params) { params.q.type = params.out.type = ElementType::kBf16; },
           expected + "bf16/fp16 with 64"}};
}

ReferenceDecodeParams streamed_decode() {
  return {.q = no_rows(64), .kv = streamed_cache(), .out = no_results(64)};
}

// Refusals of the decode parameters within a split.
std::vector<Refused<SplitDecodeParams>> in_splits(
    const std::vector<Refused<ReferenceDecodeParams>>& refused) {
  std::vector<Refused<SplitDecodeParams>> splits;
  for (const Refused<ReferenceDecodeParams>& each : refused) {
    splits.push_back(
        {[each](SplitDecodeParams& params) { each.change(params.decode); }, each.error});
  }
  return splits;
}

TEST_CASE("GQA decode refuses by name what it does not serve") {
  const SplitDecodeParams served = {.decode = streamed_decode(), .split_size = 8, .num_splits = 1};
  expect_refused(launch_gqa_decode, served, refused_splits());
  expect_refused(launch_gqa_decode, served, in_splits(refused_streams<ReferenceDecodeParams>()));
  expect_refused(launch_gqa_decode, served, in_splits(refused_packs<ReferenceDecodeParams>()));
  expect_refused(launch_gqa_decode, served,
                 in_splits(refused_by_table<ReferenceDecodeParams>("gqa_decode_table()")));
}

TEST_CASE("TMA decode refuses by name what it does not serve") {
  const SplitDecodeParams served = {.decode = streamed_decode(), .split_size = 8, .num_splits = 1};
  expect_refused(launch_tma_decode, served, refused_splits());
  expect_refused(launch_tma_decode, served,
                 in_splits(refused_by_table<ReferenceDecodeParams>("tma_decode_table()")));
  expect_refused<SplitDecodeParams>(
      launch_tma_decode, served,
      {{[](SplitDecodeParams& params) { params.decode.kv.v.head_dim = 48; },
        "kv.v.head_dim: expected 64 as in kv.k.head_dim, got 48"},
       {[](SplitDecodeParams& params) { pack(params.decode); },
        "kv.k.layout: expected token-major or head-major, got packed"},
       {[](SplitDecodeParams& params) { params.decode.kv.k.slot_stride = 128; },
        "kv.k.slot_stride: expected 64 as in kv.k.head_dim, got 128"},
       {[](SplitDecodeParams& params) { params.decode.kv.v.slot_stride = 72; },
        "kv.v.slot_stride: expected 64 as in kv.v.head_dim, got 72"},
       {[](SplitDecodeParams& params) {
          params.decode.kv.k.block_size = params.decode.kv.v.block_size = 1;
          params.decode.kv.v.slot_stride = 72;
        },
        ""}});
}

TEST_CASE("prefill refuses by name what it does not serve") {
  const PagedPrefillParams served = {
      .q = no_rows(64), .kv = streamed_cache(), .max_query_length = 3, .out = no_results(64)};
  expect_refused(launch_paged_prefill, served, refused_streams<PagedPrefillParams>());
  expect_refused(launch_paged_prefill, served, refused_packs<PagedPrefillParams>());
  expect_refused(launch_paged_prefill, served,
                 refused_by_table<PagedPrefillParams>("paged_prefill_table()"));
  expect_refused<PagedPrefillParams>(
      launch_paged_prefill, served,
      {{[](PagedPrefillParams& params) { params.max_query_length = -1; },
        "max_query_length: expected at least 0, got -1"},
       {[](PagedPrefillParams& params) { params.max_query_length = 0; }, ""}});
}

}  // namespace
}  // namespace recto::verify
