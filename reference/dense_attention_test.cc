#include "reference/dense_attention.h"

#include <cmath>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Keys whose scores against q = (1) are the given numbers; their values are 1, 2, 4, ...
struct OneRow {
  Matrix q = Matrix::Ones(1, 1);
  Matrix k;
  Matrix v;

  explicit OneRow(std::initializer_list<double> scores) : k(scores.size(), 1), v(scores.size(), 1) {
    std::int64_t key = 0;
    for (const double score : scores) {
      k(key, 0) = score;
      v(key, 0) = std::exp2(static_cast<double>(key));
      ++key;
    }
  }
  HeadOutput attend(const HeadOptions& options) const {
    return dense_attention({q, k, v}, options);
  }
};

bool sees(const HeadOptions& options, std::int64_t row, std::int64_t key) {
  const KeyRange range = visible_keys(options, row, 3, 5);
  return range.begin <= key && key < range.end;
}

TEST_CASE("the causal mask is aligned bottom right") {
  // Three rows are at positions 2, 3 and 4 of five.
  CHECK(sees({}, 0, 2));
  CHECK_FALSE(sees({}, 0, 3));
  CHECK(sees({}, 2, 4));
  CHECK(sees({.causal = false}, 0, 4));
}

TEST_CASE("a window of w sees the row's own token and w - 1 before it") {
  const HeadOptions two{.window = 2};
  CHECK_FALSE(sees(two, 2, 2));
  CHECK(sees(two, 2, 3));
  CHECK(sees(two, 2, 4));
  CHECK(sees({.window = 5}, 2, 0));
  CHECK(sees({.window = std::numeric_limits<std::int64_t>::max()}, 2, 0));
  // Without the causal mask, later keys stay visible.
  CHECK(sees({.causal = false, .window = 1}, 0, 4));
  CHECK_FALSE(sees({.causal = false, .window = 1}, 0, 1));
}

TEST_CASE("rows that stand before the first key see nothing") {
  CHECK(visible_keys({}, 0, 3, 2).size() == 0);
  CHECK(visible_keys({}, 1, 3, 2).size() == 1);
  CHECK(visible_keys({.window = 1}, 0, 3, 2).size() == 0);
  CHECK(visible_keys({.causal = false}, 0, 3, 2).size() == 2);
  CHECK(visible_keys({}, 0, 3, 0).size() == 0);
}

TEST_CASE("equal scores give the mean") {
  const HeadOutput output = OneRow({3, 3, 3, 3}).attend({});
  CHECK(output.out(0, 0) == Approx(15.0 / 4).epsilon(1e-15));
  CHECK(output.lse_ln[0] == Approx(3 + std::log(4)).epsilon(1e-15));
}

TEST_CASE("weights are the softmax of scaled scores") {
  const HeadOutput output = OneRow({1, 2}).attend({.scale = 0.5});
  const double first = std::exp(0.5);
  const double second = std::exp(1.0);
  CHECK(output.out(0, 0) == Approx((first + 2 * second) / (first + second)).epsilon(1e-15));
}

TEST_CASE("the softcap comes after the scale and before the bias") {
  // One row at position 1: distances -1 and 0.
  const HeadOutput output =
      OneRow({4, 4}).attend({.scale = 0.5, .softcap = 3, .alibi_slope = 0.25});
  const double capped = 3 * std::tanh(2.0 / 3);
  const double first = std::exp(capped - 0.25);
  const double second = std::exp(capped);
  CHECK(output.lse_ln[0] == Approx(std::log(first + second)).epsilon(1e-15));
  CHECK(output.out(0, 0) == Approx((first + 2 * second) / (first + second)).epsilon(1e-15));
}

TEST_CASE("a sink joins the denominator, neither scaled nor capped") {
  const HeadOutput output = OneRow({0}).attend({.scale = 7, .softcap = 1, .sink = 2.0});
  CHECK(output.out(0, 0) == Approx(1 / (1 + std::exp(2))).epsilon(1e-15));
  CHECK(output.lse_ln[0] == Approx(std::log(1 + std::exp(2))).epsilon(1e-15));
  const HeadOutput none = OneRow({0}).attend({.sink = -kInfinity});
  CHECK(none.out(0, 0) == 1);
  CHECK(none.lse_ln[0] == 0);
}

TEST_CASE("a row without keys gives zero, and minus infinity or the sink") {
  const Matrix q = Matrix::Ones(2, 1);
  const Matrix nothing(0, 1);
  const HeadOutput output = dense_attention({q, nothing, nothing}, {});
  CHECK(output.out.rows() == 2);
  CHECK(output.out(1, 0) == 0);
  CHECK(output.lse_ln[1] == -kInfinity);
  CHECK(dense_attention({q, nothing, nothing}, {.sink = -3.0}).lse_ln[0] == -3);
}

TEST_CASE("scores of +-1e4 neither overflow nor lose the largest") {
  const HeadOutput output = OneRow({-1e4, 1e4, -1e4}).attend({});
  CHECK(output.out(0, 0) == 2);
  CHECK(output.lse_ln[0] == 1e4);
  CHECK(OneRow({-1e4, -1e4}).attend({}).out(0, 0) == 1.5);
}

TEST_CASE("a key that is not a number reaches only the rows that see it") {
  OneRow problem({1, 2, 3});
  problem.q = Matrix::Ones(2, 1);
  problem.k(2, 0) = std::numeric_limits<double>::quiet_NaN();
  const HeadOutput output = problem.attend({});
  CHECK_FALSE(std::isnan(output.out(0, 0)));
  CHECK(std::isnan(output.out(1, 0)));
}

TEST_CASE("matrices that do not match are refused") {
  const Matrix q = Matrix::Ones(1, 2);
  const Matrix k = Matrix::Ones(3, 2);
  CHECK_NOTHROW(dense_attention({q, k, Matrix::Ones(3, 5)}, {}));
  CHECK_THROWS_AS(dense_attention({q, k, Matrix::Ones(4, 5)}, {}), ContractFailure);
  CHECK_THROWS_AS(dense_attention({q, Matrix::Ones(3, 1), k}, {}), ContractFailure);
}

}  // namespace
}  // namespace recto::reference
