#include "reference/online_softmax.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
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
  // A score of -0 is what a negative scale makes of a product of 0.
  const SoftmaxState of_tile = tile_state(Vector::Constant(1, -0.0), Matrix::Constant(1, 1, -0.0));
  CHECK(same_bits(merge(of_tile, SoftmaxState::identity(1)), of_tile));
}

TEST_CASE("a sum that is no number is not taken for a state without keys") {
  const SoftmaxState lost =
      tile_state(Vector::Constant(2, -kInfinity), Matrix::Constant(2, 1, 1.0));
  CHECK(std::isnan(lost.sum));
  CHECK(std::isnan(merge(lost, SoftmaxState::identity(1)).sum));
  CHECK(std::isnan(merge(SoftmaxState::identity(1), lost).sum));
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
    // Two products and two sums on each side; exp of arguments up to 200, off by 200 roundings.
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

// One tile size on one case: the worst error relative to the sum of both sides' bounds.
double worst_ratio(const BoundCase& problem, std::int64_t tile_size) {
  const PagedAttentionInputs& inputs = problem.inputs();
  const SequenceRows sequence = sequences_of(inputs).front();
  const std::int32_t* table = sequence.block_table_row;
  const Matrix k = gather_head(inputs.kv.k, table, sequence.context_length, 0);
  const Matrix v = gather_head(inputs.kv.v, table, sequence.context_length, 0);
  const std::int64_t tile = tile_size == 0 ? std::max<std::int64_t>(k.rows(), 1) : tile_size;
  const HeadErrorModel naive_model(k, v, fp64_numerics(std::max<std::int64_t>(k.rows(), 1)));
  const HeadErrorModel online_model(k, v, fp64_numerics(tile));
  double worst = 0;
  for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
    const Matrix q = read_rows(inputs.q, head, 0, sequence.num_rows);
    const HeadOptions options = head_options(inputs.options, head);
    const HeadOutput naive = dense_attention({q, k, v}, options);
    const HeadOutput online = online_attention({q, k, v}, options, tile);
    const Matrix allowed =
        naive_model.bound(q, options, naive).hard + online_model.bound(q, options, naive).hard;
    const Matrix errors = (naive.out - online.out).cwiseAbs();
    for (std::int64_t element = 0; element < errors.size(); ++element) {
      const double error = errors.data()[element];
      if (error != 0) worst = std::max(worst, error / allowed.data()[element]);
      CHECK(error <= allowed.data()[element]);
    }
  }
  return worst;
}

TEST_CASE("naive and online agree within the fp64 bound, whatever the tile size") {
  const RandomStream cases(4);
  double worst = 0;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    const BoundCase problem(cases.split(number));
    for (const std::int64_t tile : {1, 3, 16, 0}) {
      worst = std::max(worst, worst_ratio(problem, tile));
    }
  }
  CHECK(worst > 0.001);  // else nothing was compared
  WARN("largest difference of naive and online: " << worst << " of the bound");
}

}  // namespace
}  // namespace recto::reference
