#include "reference/online_softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "reference/testing/bound_case.h"

namespace recto::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::uint64_t> bits_of(const SoftmaxState& state) {
  std::vector<std::uint64_t> bits = {std::bit_cast<std::uint64_t>(state.maximum),
                                     std::bit_cast<std::uint64_t>(state.sum)};
  for (const double value : state.weighted) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

bool same_bits(const SoftmaxState& a, const SoftmaxState& b) { return bits_of(a) == bits_of(b); }

SoftmaxState random_state(RandomStream& stream) {
  const std::int64_t keys = static_cast<std::int64_t>(stream.next_below(4));
  const Vector scores =
      Vector::NullaryExpr(keys, [&stream] { return 200 * (stream.next_unit() - 0.5); });
  const Matrix values =
      Matrix::NullaryExpr(keys, 3, [&stream] { return stream.next_unit() - 0.5; });
  return tile_state(scores, values);
}

TEST_CASE("merging with the identity changes no bit, and is not NaN even for two of them") {
  const SoftmaxState identity = SoftmaxState::identity(3);
  const SoftmaxState both = merge(identity, identity);
  CHECK(both.maximum == -kInfinity);
  CHECK(both.sum == 0);
  CHECK(both.weighted == Vector::Zero(3));
  RandomStream stream(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const SoftmaxState state = random_state(stream);
    CHECK(same_bits(merge(state, identity), state));
    CHECK(same_bits(merge(identity, state), state));
  }
}

TEST_CASE("merging commutes bit for bit") {
  RandomStream stream(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const SoftmaxState a = random_state(stream);
    const SoftmaxState b = random_state(stream);
    CHECK(same_bits(merge(a, b), merge(b, a)));
  }
}

TEST_CASE(
    "zeros keep their sign: +0 and -0 as maxima commute, and the identity leaves -0 as it is") {
  const auto state = [](double maximum, double weighted) {
    return SoftmaxState{.maximum = maximum, .sum = 1.0, .weighted = Vector::Constant(1, weighted)};
  };
  const SoftmaxState positive = state(0.0, 3.0);
  const SoftmaxState negative = state(-0.0, -0.0);
  CHECK(same_bits(merge(positive, negative), merge(negative, positive)));
  CHECK_FALSE(std::signbit(merge(negative, positive).maximum));
  CHECK(same_bits(merge(negative, SoftmaxState::identity(1)), negative));
  CHECK(same_bits(merge(SoftmaxState::identity(1), negative), negative));
  // A negative scale times a product of 0 gives a score of -0.
  const SoftmaxState of_tile = tile_state(Vector::Constant(1, -0.0), Matrix::Constant(1, 1, -0.0));
  CHECK(same_bits(merge(of_tile, SoftmaxState::identity(1)), of_tile));
}

TEST_CASE("a NaN sum is not taken for a state without keys") {
  const SoftmaxState lost =
      tile_state(Vector::Constant(2, -kInfinity), Matrix::Constant(2, 1, 1.0));
  CHECK(std::isnan(lost.sum));
  CHECK(std::isnan(merge(lost, SoftmaxState::identity(1)).sum));
  CHECK(std::isnan(merge(SoftmaxState::identity(1), lost).sum));
}

TEST_CASE("a tile has as many scores as values") {
  CHECK_NOTHROW(tile_state(Vector::Zero(2), Matrix::Zero(2, 1)));
  CHECK_THROWS_AS(tile_state(Vector::Zero(2), Matrix::Zero(3, 1)), ContractFailure);
}

TEST_CASE("merging is associative within rounding") {
  RandomStream stream(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const SoftmaxState a = random_state(stream);
    const SoftmaxState b = random_state(stream);
    const SoftmaxState c = random_state(stream);
    const SoftmaxState left = merge(merge(a, b), c);
    const SoftmaxState right = merge(a, merge(b, c));
    CHECK(left.maximum == right.maximum);
    // Two products and two sums on each side; arguments of exp up to 200 are off by 200 roundings.
    CHECK(std::abs(left.sum - right.sum) <= 210 * 0x1p-52 * left.sum);
  }
}

TEST_CASE("a state without keys finishes as zero, and minus infinity or the sink") {
  const RowOutput row = finish(SoftmaxState::identity(2), std::nullopt);
  CHECK(row.out == Vector::Zero(2));
  CHECK(row.lse_ln == -kInfinity);
  CHECK(finish(SoftmaxState::identity(2), 5.0).lse_ln == 5);
}

TEST_CASE("the sink enters once, whether it is larger or smaller than the scores") {
  Vector scores(2);
  scores << 1, 3;
  const Matrix values = Matrix::Ones(2, 1);
  for (const double sink : {-700.0, 2.0, 40.0, 700.0}) {
    const RowOutput row = finish(tile_state(scores, values), sink);
    const double keys = std::exp(1 - sink) + std::exp(3 - sink);
    CHECK(row.out[0] == Approx(keys / (1 + keys)).epsilon(1e-13));
    CHECK(row.lse_ln == Approx(sink + std::log1p(keys)).epsilon(1e-13));
  }
}

// The largest differences of naive and online results, relative to the sum of both sides' bounds.
struct Worst {
  double out = 0;
  double lse_ln = 0;
};

// Compares two results of one element; infinities (of rows without keys) must be equal.
void compare(double naive, double online, double allowed, double& worst) {
  if (naive == online) return;
  const double error = std::abs(naive - online);
  CHECK(error <= allowed);
  worst = std::max(worst, error / allowed);
}

// Compares one tile size (0: the whole context) on all query heads of one KV head.
void compare_tiled(const PagedAttentionInputs& inputs, const KvHeadContext& context,
                   std::int64_t tile_size, Worst& worst) {
  const std::int64_t whole = std::max<std::int64_t>(context.k.rows(), 1);
  const std::int64_t tile = tile_size == 0 ? whole : tile_size;
  const HeadErrorModel naive_model(context.k, context.v, fp64_numerics(whole));
  const HeadErrorModel online_model(context.k, context.v, fp64_numerics(tile));
  for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
    const Matrix q = read_rows(inputs.q, head, context.first_row, context.num_rows);
    const HeadOptions options = head_options(inputs.options, head);
    const HeadOutput naive = dense_attention({q, context.k, context.v}, options);
    const HeadOutput online = online_attention({q, context.k, context.v}, options, tile);
    const HeadBound of_naive = naive_model.bound(q, options, naive);
    const HeadBound of_online = online_model.bound(q, options, naive);
    for (std::int64_t row = 0; row < naive.out.rows(); ++row) {
      for (std::int64_t dim = 0; dim < naive.out.cols(); ++dim) {
        compare(naive.out(row, dim), online.out(row, dim),
                of_naive.worst_case(row, dim) + of_online.worst_case(row, dim), worst.out);
      }
      compare(naive.lse_ln[row], online.lse_ln[row],
              of_naive.lse_ln_worst_case[row] + of_online.lse_ln_worst_case[row], worst.lse_ln);
    }
  }
}

TEST_CASE("naive and online agree within the fp64 bound, whatever the tile size") {
  const RandomStream cases(4);
  Worst worst;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    const BoundCase problem(cases.split(number));
    INFO(problem.text());
    for_each_kv_head(problem.inputs(), [&](const KvHeadContext& context) {
      for (const std::int64_t tile : {1, 3, 16, 0}) {
        compare_tiled(problem.inputs(), context, tile, worst);
      }
    });
  }
  CHECK(worst.out > 0.001);  // fails if nothing was compared
  CHECK(worst.lse_ln > 0.001);
  WARN("largest difference of naive and online: " << worst.out << " of the bound of out, "
                                                  << worst.lse_ln << " of that of lse");
}

TEST_CASE("paged attention agrees within the fp64 bound, gathered and over its blocks") {
  const RandomStream cases(5);
  Worst worst;
  std::int64_t many_blocks = 0;
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const BoundCase problem(cases.split(number));
    INFO(problem.text());
    const PagedAttentionInputs& inputs = problem.inputs();
    many_blocks += inputs.block_table.max_blocks > 1 ? 1 : 0;
    const std::int32_t longest = *std::ranges::max_element(inputs.context_length);
    const AttentionResult over_blocks = paged_attention_over_blocks(inputs);
    const BoundedResult of_naive = bounded_attention(inputs, fp64_numerics(std::max(1, longest)));
    const BoundedResult of_blocks =
        bounded_attention(inputs, fp64_numerics(inputs.kv.k.block_size));
    for (std::size_t i = 0; i < over_blocks.out.size(); ++i) {
      compare(of_naive.exact.out[i], over_blocks.out[i],
              of_naive.worst_case.out[i] + of_blocks.worst_case.out[i], worst.out);
    }
    for (std::size_t i = 0; i < over_blocks.lse_ln.size(); ++i) {
      compare(of_naive.exact.lse_ln[i], over_blocks.lse_ln[i],
              of_naive.worst_case.lse_ln[i] + of_blocks.worst_case.lse_ln[i], worst.lse_ln);
    }
  }
  CHECK(worst.out > 0.001);
  CHECK(worst.lse_ln > 0.001);
  CHECK(many_blocks > 500);
}

}  // namespace
}  // namespace recto::reference
