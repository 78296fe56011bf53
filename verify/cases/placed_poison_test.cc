// The contents of unaddressed memory.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/rounding.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kHeadDims[] = {16, 3};  // of K, of V
constexpr std::int64_t kContexts[] = {9, 0, 4, 5};

// All values are 1, which differs from every poison.
AttentionProblem problem_of_ones(ElementType q_type, ElementType kv_type) {
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 2,
                   .num_kv_heads = 2,
                   .head_dim_k = kHeadDims[0],
                   .head_dim_v = kHeadDims[1],
                   .q_type = q_type,
                   .kv_type = kv_type};
  for (const std::int64_t context : kContexts) {
    const auto ones = [](std::int64_t count) {
      return std::vector<float>(static_cast<std::size_t>(count), 1.0F);
    };
    problem.sequences.push_back({.num_rows = 1,
                                 .context_length = context,
                                 .q = ones(2 * kHeadDims[0]),
                                 .k = ones(context * 2 * kHeadDims[0]),
                                 .v = ones(context * 2 * kHeadDims[1])});
  }
  return problem;
}

std::vector<double> decoded(const void* data, ElementType type, std::int64_t elements) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint32_t code = 0;
    std::memcpy(&code, static_cast<const char*>(data) + i * element_bytes(type),
                static_cast<std::size_t>(element_bytes(type)));
    values.push_back(reference::decode(code, type));
  }
  return values;
}

std::vector<double> pool_values(const KvTensorView& view) {
  return decoded(view.data, view.type, view.num_blocks * view.block_stride);
}

std::vector<double> query_values(const PagedAttentionInputs& inputs) {
  return decoded(inputs.q.data, inputs.q.type, inputs.q.num_rows * inputs.q.row_stride);
}

std::ptrdiff_t count_equal(const std::vector<double>& values, double wanted) {
  return std::ranges::count_if(values, [&](double value) {
    return std::isnan(wanted) ? std::isnan(value) : value == wanted;
  });
}

// Blocks of 4 slots, 6 of them held, 2 spare, 16 elements of padding after each; 18 tokens.
constexpr Placement kPlacement = {.block_size = 4, .block_padding = 16, .row_padding = 32};
constexpr std::ptrdiff_t kBlocks = 8;
constexpr std::ptrdiff_t kTokens = 18;

std::ptrdiff_t addressed(std::int64_t head_dim) { return kTokens * 2 * head_dim; }
std::ptrdiff_t unaddressed(std::int64_t head_dim) {
  return kBlocks * (4 * 2 * head_dim + 16) - addressed(head_dim);
}

// The value that represents a poison in a type.
double poison_value(Poison poison, ElementType type) {
  const bool lacks_infinity = type == ElementType::kE4m3;
  switch (poison) {
    case Poison::kZero:
      return 0.0;
    case Poison::kInfinity:
      if (!lacks_infinity) return std::numeric_limits<double>::infinity();
      [[fallthrough]];
    case Poison::kNaN:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return std::min(reference::round_to(1e4, type, reference::Overflow::kSaturate),
                      reference::largest_finite(type));
  }
}

TEST_CASE("all unaddressed slots, tails and padding hold the poison, and no others do") {
  using enum ElementType;
  for (const ElementType kv_type : kElementTypes) {
    const ElementType q_type = is_fp8(kv_type) ? kBf16 : kv_type;
    const AttentionProblem problem = problem_of_ones(q_type, kv_type);
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      for (const Poison poison :
           {Poison::kZero, Poison::kNaN, Poison::kInfinity, Poison::kTenThousand}) {
        CAPTURE(kv_type, layout, poison_name(poison));
        Placement placement = kPlacement;
        placement.layout = layout;
        placement.poison = poison;
        const PlacedProblem placed(problem, placement);
        const PagedKvView& kv = placed.inputs().kv;
        for (const KvTensorView* view : {&kv.k, &kv.v}) {
          const std::vector<double> values = pool_values(*view);
          CHECK(count_equal(values, 1.0) == addressed(view->head_dim));
          CHECK(count_equal(values, poison_value(poison, kv_type)) == unaddressed(view->head_dim));
        }
        const std::vector<double> queries = query_values(placed.inputs());
        CHECK(count_equal(queries, 1.0) == 4 * 2 * 16);
        CHECK(count_equal(queries, poison_value(poison, q_type)) == 4 * 32);
      }
    }
  }
}

TEST_CASE("poison in keys only leaves zeros in V, and the other way round") {
  const AttentionProblem problem = problem_of_ones(ElementType::kFp16, ElementType::kFp16);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const PoisonedTensors poisoned : kPoisonedTensors) {
    CAPTURE(poisoned_tensors_name(poisoned));
    Placement placement = kPlacement;
    placement.poisoned = poisoned;
    const PlacedProblem placed(problem, placement);
    const bool in_k = poisoned != PoisonedTensors::kValuesOnly;
    const bool in_v = poisoned != PoisonedTensors::kKeysOnly;
    const std::vector<double> k = pool_values(placed.inputs().kv.k);
    const std::vector<double> v = pool_values(placed.inputs().kv.v);
    CHECK(count_equal(k, in_k ? kNaN : 0.0) == unaddressed(kHeadDims[0]));
    CHECK(count_equal(v, in_v ? kNaN : 0.0) == unaddressed(kHeadDims[1]));
    CHECK(count_equal(query_values(placed.inputs()), kNaN) == 4 * 32);
  }
}

TEST_CASE("garbage is finite, of both signs, and spreads over the codes") {
  for (const ElementType kv_type : kElementTypes) {
    CAPTURE(kv_type);
    const ElementType q_type = is_fp8(kv_type) ? ElementType::kFp16 : kv_type;
    Placement placement = kPlacement;
    placement.poison = Poison::kGarbage;
    placement.spare_blocks = 100;
    const PlacedProblem placed(problem_of_ones(q_type, kv_type), placement);
    std::vector<double> values = pool_values(placed.inputs().kv.k);
    CHECK(std::ranges::all_of(values, [](double value) { return std::isfinite(value); }));
    CHECK(std::ranges::min(values) < -0.5 * reference::largest_finite(kv_type));
    CHECK(std::ranges::max(values) > 0.5 * reference::largest_finite(kv_type));
    std::ranges::sort(values);
    const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
    CHECK(distinct > (is_fp8(kv_type) ? 240 : 5000));
  }
}

std::vector<std::byte> pool_bytes(const KvTensorView& view) {
  const auto* bytes = static_cast<const std::byte*>(view.data);
  return {bytes, bytes + view.num_blocks * view.block_stride * element_bytes(view.type)};
}

TEST_CASE("one input gives the same bytes; another seed changes none that is addressed") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    CAPTURE(layout);
    const AttentionProblem problem = problem_of_ones(ElementType::kFp16, ElementType::kE4m3);
    Placement placement = kPlacement;
    placement.layout = layout;
    placement.order = BlockOrder::kDescending;
    placement.poison = Poison::kGarbage;
    placement.seed = 1;
    const PlacedProblem one(problem, placement);
    const PlacedProblem again(problem, placement);
    placement.seed = 2;
    const PlacedProblem other(problem, placement);
    placement.poison = Poison::kZero;  // identifies the addressed bytes: those that are not zero
    const PlacedProblem map(problem, placement);
    for (const auto member : {&PagedKvView::k, &PagedKvView::v}) {
      const std::vector<std::byte> bytes = pool_bytes(one.inputs().kv.*member);
      const std::vector<std::byte> changed = pool_bytes(other.inputs().kv.*member);
      const std::vector<std::byte> used = pool_bytes(map.inputs().kv.*member);
      CHECK(bytes == pool_bytes(again.inputs().kv.*member));
      std::ptrdiff_t differences = 0;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] == changed[i]) continue;
        ++differences;
        REQUIRE(used[i] == std::byte{0});
      }
      // Among 254 finite codes, the other drawing nearly always differs.
      CHECK(differences > unaddressed((one.inputs().kv.*member).head_dim) * 9 / 10);
    }
  }
}

// The block table's entries beyond each sequence's blocks.
std::vector<std::int32_t> beyond_blocks(const PagedAttentionInputs& inputs) {
  const BlockTableView& table = inputs.block_table;
  std::vector<std::int32_t> ids;
  for (std::int64_t s = 0; s < table.num_seqs; ++s) {
    const std::int64_t held = (kContexts[s] + 3) / 4;
    const std::int32_t* row = table.data + s * table.row_stride;
    ids.insert(ids.end(), row + held, row + table.row_stride);
  }
  return ids;
}

TEST_CASE(
    "table entries beyond a sequence's blocks hold garbage, in range and out of it, or zeros") {
  const AttentionProblem problem = problem_of_ones(ElementType::kFp32, ElementType::kFp32);
  Placement placement = kPlacement;
  placement.table_padding = 101;
  const PlacedProblem placed(problem, placement);
  CHECK(placed.inputs().block_table.max_blocks == 3 + 51);
  CHECK(placed.inputs().block_table.row_stride == 3 + 101);
  const std::vector<std::int32_t> ids = beyond_blocks(placed.inputs());
  CHECK(ids.size() == 4 * 104 - 6);
  for (const std::int32_t id : {-1, std::numeric_limits<std::int32_t>::max(),
                                std::numeric_limits<std::int32_t>::min(), 0, 7, 8, 15}) {
    CAPTURE(id);
    CHECK(std::ranges::count(ids, id) > 0);
  }
  placement.garbage_beyond_table = false;
  const PlacedProblem plain(problem, placement);
  CHECK(std::ranges::count(beyond_blocks(plain.inputs()), 0) == 4 * 104 - 6);
}

}  // namespace
}  // namespace recto::verify
