// The host API's choices by head dims and cache layout: at each threshold, and next to it, it
// selects a kernel and instantiation that support the cache, and the results are right.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/kernels/gqa_decode.h"
#include "verify/kernels/access_name.h"
#include "verify/kernels/host_api/chosen_plan.h"

namespace recto::verify {
namespace {

using enum AttentionKernel;

TEST_CASE(
    "head dims in the table use the GQA kernel, and head dims beside them the reference kernel") {
  for (const auto& entry : kernels::gqa_decode_table()) {
    if (entry.q_type != ElementType::kFp16 || entry.kv_type != ElementType::kFp16) continue;
    for (const std::int64_t head_dim : {entry.head_dim - 8, entry.head_dim, entry.head_dim + 8}) {
      if (head_dim > 256) continue;
      CaseSpec spec = spec_of(40);
      spec.shape.head_dim_k = spec.shape.head_dim_v = head_dim;
      INFO("head dim " << head_dim);
      const Chosen chosen = choose(spec, {});
      CHECK(chosen.plan.starts_with(head_dim == entry.head_dim ? "GQA" : "reference"));
    }
    CaseSpec spec = spec_of(40);
    spec.shape.head_dim_k = entry.head_dim;
    spec.shape.head_dim_v = entry.head_dim - 8;
    CHECK(choose(spec, {}).plan == "reference decode, 1 splits of 256");
  }
}

TEST_CASE("each head dim launches its own entry of the table") {
  for (const auto& entry : kernels::gqa_decode_table()) {
    CaseSpec spec = spec_of(20);
    spec.shape.head_dim_k = spec.shape.head_dim_v = entry.head_dim;
    spec.shape.q_type = entry.q_type;
    spec.shape.kv_type = entry.kv_type;
    REQUIRE(check_case(spec) == Status::ok());
    const PlacedProblem placed(make_problem(spec), spec.placement);
    std::vector<RecordedLaunch> launches;
    result_of(host_api_backend(recorded_run(launches), {}).call(placed.inputs()));
    CHECK(launches.back().kernel == "gqa_decode");
    CHECK(static_cast<int>(launches.back().dynamic_shared_bytes) == entry.shared_bytes);
  }
}

TEST_CASE("the reference kernel serves head dims up to 256") {
  PlanOptions options;
  options.kernel = kReferenceDecode;
  for (const std::int64_t head_dim : {255, 256}) {
    CaseSpec spec = spec_of(40);
    spec.shape.head_dim_k = spec.shape.head_dim_v = head_dim;
    CHECK(choose(spec, options).launches == "reference_decode 1x2x1");
  }
  CaseSpec spec = spec_of(40);
  spec.shape.head_dim_k = spec.shape.head_dim_v = 257;
  const PlacedProblem placed(make_problem(spec), spec.placement);
  CHECK_FALSE(plan_attention(placed.inputs(), {.max_context_length = 40}).is_ok());
}

// Moves K and V: `shift` bytes after a multiple of 16, with `gap` more elements between blocks.
class MovedCache {
 public:
  MovedCache(const PagedKvView& kv, std::size_t shift, std::int64_t gap)
      : view_{moved(kv.k, shift, gap, k_), moved(kv.v, shift, gap, v_)} {}

  const PagedKvView& view() const { return view_; }

 private:
  static KvTensorView moved(const KvTensorView& from, std::size_t shift, std::int64_t gap,
                            std::vector<std::byte>& memory) {
    const auto element = static_cast<std::size_t>(element_bytes(from.type));
    const std::size_t block = static_cast<std::size_t>(from.block_stride) * element;
    KvTensorView view = from;
    view.block_stride += gap;
    const std::size_t stride = static_cast<std::size_t>(view.block_stride) * element;
    const auto num_blocks = static_cast<std::size_t>(from.num_blocks);
    memory.resize(shift + stride * num_blocks, std::byte{0xff});
    for (std::size_t i = 0; i < num_blocks; ++i) {
      std::memcpy(memory.data() + shift + i * stride,
                  static_cast<const std::byte*>(from.data) + i * block, block);
    }
    view.data = memory.data() + shift;
    return view;
  }

  std::vector<std::byte> k_;
  std::vector<std::byte> v_;
  PagedKvView view_;
};

TEST_CASE("caches aligned to 16 bytes use the GQA kernel, others the reference kernel") {
  struct Place {
    ElementType type;
    std::size_t shift;  // bytes
    std::int64_t gap;   // elements
    const char* kernel;
    const char* access;  // access policy of the plain kernel
  };
  using enum ElementType;
  const Place places[] = {
      {kFp16, 0, 0, "GQA", "fours"},          {kFp16, 2, 0, "reference", "singles"},
      {kFp16, 4, 0, "reference", "singles"},  {kFp16, 6, 0, "reference", "singles"},
      {kFp16, 8, 0, "reference", "fours"},    {kFp16, 10, 0, "reference", "singles"},
      {kFp16, 14, 0, "reference", "singles"}, {kFp16, 16, 0, "GQA", "fours"},
      {kFp16, 0, 1, "reference", "singles"},  {kFp16, 0, 3, "reference", "singles"},
      {kFp16, 0, 4, "reference", "fours"},    {kFp16, 0, 7, "reference", "singles"},
      {kFp16, 0, 8, "GQA", "fours"},          {kFp16, 0, 12, "reference", "fours"},
      {kFp32, 4, 0, "reference", "singles"},  {kFp32, 12, 0, "reference", "singles"},
      {kFp32, 16, 0, "GQA", "fours"},         {kFp32, 0, 3, "reference", "singles"},
      {kFp32, 0, 4, "GQA", "fours"},          {kFp32, 0, 5, "reference", "singles"}};
  for (const Place& place : places) {
    INFO(place.type << " " << place.shift << " bytes, gaps of " << place.gap);
    CaseSpec spec = spec_of(40);
    spec.shape.q_type = spec.shape.kv_type = place.type;
    const PlacedProblem placed(make_problem(spec), spec.placement);
    PagedAttentionInputs inputs = placed.inputs();
    const MovedCache cache(inputs.kv, place.shift, place.gap);
    inputs.kv = cache.view();
    CHECK(choose(inputs, {}).plan.starts_with(place.kernel));
    CHECK(access_name(inputs.kv.k, inputs.kv.v) == place.access);
  }
}

// A token-major cache of two heads, whose slots are not contiguous; with one head they are.
TEST_CASE("TMA decode serves only blocks whose slots are contiguous") {
  PlanOptions options;
  options.kernel = kTmaDecode;
  const auto placed = [](KvLayout layout, std::int64_t block_size) {
    CaseSpec spec = spec_of(40);
    spec.shape.num_kv_heads = 2;
    spec.placement.layout = layout;
    spec.placement.block_size = block_size;
    return PlacedProblem(make_problem(spec), spec.placement);
  };
  const auto why_not = [&](const PlacedProblem& problem) {
    return host_api_backend({}, options).why_unsupported(problem.inputs()).has_value();
  };
  for (const std::int64_t block_size : {1, 2, 8, 16, 32}) {
    INFO("block size " << block_size);
    const PlacedProblem head_major = placed(KvLayout::kHeadMajor, block_size);
    CHECK(choose(head_major.inputs(), options).plan == "TMA decode, 1 splits of 64");
    CHECK(why_not(placed(KvLayout::kTokenMajor, block_size)) == (block_size > 1));
    CHECK(why_not(placed(KvLayout::kPacked, block_size)));
  }
  CHECK(choose(placed(KvLayout::kTokenMajor, 1).inputs(), options).plan ==
        "TMA decode, 1 splits of 64");
}

}  // namespace
}  // namespace recto::verify
