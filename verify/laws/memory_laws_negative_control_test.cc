// Negative controls for the laws of memory contents and placement: each law fails a faulty backend,
// and passes the correct ones on the same case.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/poison.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

// A pool of contiguous blocks, as read with offsets truncated to `Offset`.
template <typename Offset>
std::vector<float> pool_by(KvTensorView& pool) {
  const std::int64_t extent = pool.block_size * pool.num_kv_heads * pool.head_dim;
  const auto* const first = static_cast<const float*>(pool.data);
  std::vector<float> found;
  for (std::int64_t block = 0; block < pool.num_blocks; ++block) {
    const float* const at = first + static_cast<Offset>(block * pool.block_stride);
    found.insert(found.end(), at, at + extent);
  }
  pool.data = found.data();
  pool.block_stride = extent;
  return found;
}

template <typename Offset>
Backend with_offsets() {
  return wrong([](PagedAttentionInputs inputs) {
    const std::vector<float> k = pool_by<Offset>(inputs.kv.k);
    const std::vector<float> v = pool_by<Offset>(inputs.kv.v);
    return reference::paged_attention(inputs);
  });
}

TEST_CASE("offsets of 32 bits, signed or unsigned, are caught") {
  expect_caught_by("blocks beyond 2^31 elements", relocation_law(), small_case(),
                   with_offsets<std::int32_t>());
  expect_caught_by("blocks beyond 2^31 elements", relocation_law(), small_case(),
                   with_offsets<std::uint32_t>());
}

TEST_CASE("offsets of 64 bits pass") {
  const LawVerdict verdict =
      relocation_law().check(with_offsets<std::int64_t>(), small_case(), BoundKind::kWorstCase);
  CHECK(verdict.comparison.elements > 0);
  CHECK_FALSE(verdict.failed());
}

TEST_CASE("blocks lie beyond 2^31 elements and 2^32 bytes, whatever the type of the cache") {
  LawCase law_case = small_case();
  law_case.problem.shape.q_type = ElementType::kFp16;
  law_case.problem.shape.kv_type = ElementType::kE4m3;
  for (SequenceProblem& sequence : law_case.problem.sequences)
    for (std::vector<float>* values : {&sequence.q, &sequence.k, &sequence.v})
      for (float& value : *values) value = 1;
  std::int64_t furthest_bytes = 0;
  std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
  const Backend watching = wrong([&](const PagedAttentionInputs& inputs) {
    if (inputs.kv.k.block_stride > 1 << 20) {
      const std::int64_t id = inputs.block_table.data[0];
      nearest = id * inputs.kv.k.block_stride;
      furthest_bytes = (inputs.kv.k.num_blocks - 1) * inputs.kv.k.block_stride;
    }
    return reference::paged_attention(inputs);
  });
  CHECK_FALSE(relocation_law().check(watching, law_case, BoundKind::kWorstCase).failed());
  CHECK(nearest > std::int64_t{1} << 31);
  CHECK(nearest < std::numeric_limits<std::int64_t>::max());
  CHECK(furthest_bytes > std::int64_t{1} << 32);
}

TEST_CASE("a number that another sequence left behind a context is caught") {
  expect_caught_by(
      "after other sequences, 1", history_law(), small_case(),
      wrong_where([](const PagedAttentionInputs& inputs) {
        const KvTensorView& v = inputs.kv.v;
        const std::int64_t end = inputs.context_length[0];
        const std::int64_t block = inputs.block_table.data[end / v.block_size];
        return static_cast<const float*>(
                   v.data)[block * v.block_stride + end % v.block_size * v.slot_stride] != 0;
      }));
}

// Right, except that a row's sum starts from the previous memory contents, unless they are NaN.
Backend adding_to(const std::function<std::uint32_t(const CallOptions&)>& stale) {
  Backend backend = backend_of("naive-fp64");
  backend.capabilities.takes_stale_memory = true;
  backend.attend = [stale](const PagedAttentionInputs& inputs, const CallOptions& options) {
    reference::AttentionResult result = reference::paged_attention(inputs);
    const auto number = std::bit_cast<float>(stale(options));
    if (!std::isnan(number) && !result.lse_ln.empty()) result.lse_ln[0] += number;
    return Done{result};
  };
  return backend;
}

TEST_CASE("a result that depends on what memory for results held before is caught") {
  // Adding zeros changes nothing.
  expect_caught_by("ones of 16 bits in results and workspaces", history_law(), small_case(),
                   adding_to([](const CallOptions& options) { return options.stale_memory; }));
  const Backend right = adding_to([](const CallOptions&) { return kStaleNaN; });
  const LawVerdict verdict = history_law().check(right, small_case(), BoundKind::kWorstCase);
  CHECK_FALSE(verdict.failed());
  CHECK(verdict.skipped_parts.empty());
}

}  // namespace
}  // namespace recto::verify
