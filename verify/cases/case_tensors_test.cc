#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "reference/rounding.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {
namespace {

CaseSpec some_case() {
  CaseSpec spec;
  spec.shape = {6, 2, 5, 7, ElementType::kFp16, ElementType::kFp16};
  spec.sequences = {{.num_rows = 3, .context_length = 11, .id = 0},
                    {.num_rows = 1, .context_length = 4, .id = 1},
                    {.num_rows = 2, .context_length = 0, .id = 2}};
  spec.q = spec.k = spec.v = FloatFamily::kUniform;
  spec.seed = 5;
  return spec;
}

struct TensorShape {
  std::int64_t heads, dim;
};

float at(const std::vector<float>& values, const TensorShape& shape, std::int64_t token,
         std::int64_t head, std::int64_t dim) {
  return values[static_cast<std::size_t>((token * shape.heads + head) * shape.dim + dim)];
}

// Whether the tensors agree in all elements that both have.
bool agree(const std::vector<float>& a, const TensorShape& shape_a, const std::vector<float>& b,
           const TensorShape& shape_b) {
  const auto tokens_of = [](const std::vector<float>& values, const TensorShape& shape) {
    return static_cast<std::int64_t>(values.size()) / (shape.heads * shape.dim);
  };
  for (std::int64_t t = 0; t < std::min(tokens_of(a, shape_a), tokens_of(b, shape_b)); ++t) {
    for (std::int64_t h = 0; h < std::min(shape_a.heads, shape_b.heads); ++h) {
      for (std::int64_t d = 0; d < std::min(shape_a.dim, shape_b.dim); ++d) {
        if (at(a, shape_a, t, h, d) != at(b, shape_b, t, h, d)) return false;
      }
    }
  }
  return true;
}

// Whether two cases agree in all numbers that both have, sequence by sequence.
bool agree(const CaseSpec& a, const CaseSpec& b) {
  const AttentionProblem one = make_problem(a);
  const AttentionProblem two = make_problem(b);
  bool all = true;
  for (std::size_t s = 0; s < std::min(one.sequences.size(), two.sequences.size()); ++s) {
    const SequenceProblem& x = one.sequences[s];
    const SequenceProblem& y = two.sequences[s];
    const ProblemShape& i = a.shape;
    const ProblemShape& j = b.shape;
    all = all && agree(x.q, {i.num_q_heads, i.head_dim_k}, y.q, {j.num_q_heads, j.head_dim_k});
    all = all && agree(x.k, {i.num_kv_heads, i.head_dim_k}, y.k, {j.num_kv_heads, j.head_dim_k});
    all = all && agree(x.v, {i.num_kv_heads, i.head_dim_v}, y.v, {j.num_kv_heads, j.head_dim_v});
  }
  return all;
}

TEST_CASE("a problem has the case's shape, and the same case gives the same problem") {
  const AttentionProblem problem = make_problem(some_case());
  CHECK(problem.shape == some_case().shape);
  REQUIRE(problem.sequences.size() == 3);
  CHECK(problem.num_rows() == 6);
  CHECK(problem.sequences[0].q.size() == 3 * 6 * 5);
  CHECK(problem.sequences[0].k.size() == 11 * 2 * 5);
  CHECK(problem.sequences[0].v.size() == 11 * 2 * 7);
  CHECK(problem.sequences[2].k.empty());
  CHECK(agree(some_case(), some_case()));
}

TEST_CASE("a smaller dimension leaves all other numbers as they are; another seed does not") {
  for (const FloatFamily family : kFloatFamilies) {
    if (family == FloatFamily::kDominatingKey || family == FloatFamily::kPeakedEnds) continue;
    CaseSpec whole = some_case();
    whole.v = family;
    if (family != FloatFamily::kHugeValues) whole.q = whole.k = family;
    if (family == FloatFamily::kOutlierDim) whole.options.scale = 0.125F;
    CAPTURE(family);
    const auto check_agrees = [&](const auto& change) {
      CaseSpec smaller = whole;
      change(smaller);
      CHECK(agree(whole, smaller));
    };
    check_agrees([](CaseSpec& spec) { spec.shape.head_dim_k = 4; });
    check_agrees([](CaseSpec& spec) { spec.shape.head_dim_v = 1; });
    check_agrees([](CaseSpec& spec) { spec.shape.num_q_heads = 4; });
    check_agrees([](CaseSpec& spec) { spec.shape.num_q_heads = spec.shape.num_kv_heads = 1; });
    check_agrees([](CaseSpec& spec) { spec.sequences[0].num_rows = 2; });
    check_agrees([](CaseSpec& spec) { spec.sequences[0].context_length = 7; });
    check_agrees([](CaseSpec& spec) { spec.sequences.pop_back(); });
    check_agrees([](CaseSpec& spec) { spec.placement.block_size = 16; });
    CaseSpec other = whole;
    other.seed = 6;
    CHECK(agree(whole, other) == (family == FloatFamily::kOnes));
  }
}

TEST_CASE("a sequence keeps its numbers when the sequences before it are removed") {
  CaseSpec alone = some_case();
  alone.sequences.erase(alone.sequences.begin());
  const AttentionProblem all = make_problem(some_case());
  const AttentionProblem rest = make_problem(alone);
  CHECK(rest.sequences[0].k == all.sequences[1].k);
  CHECK(rest.sequences[0].v == all.sequences[1].v);
  CHECK(rest.sequences[1].q == all.sequences[2].q);
  CHECK(all.sequences[0].k != all.sequences[1].k);
}

TEST_CASE("all sequences have the shared prefix in common, and no token more") {
  CaseSpec spec = some_case();
  spec.sequences[1].context_length = 9;
  spec.shared_prefix = 4;
  const AttentionProblem problem = make_problem(spec);
  const std::vector<float>& one = problem.sequences[0].v;
  const std::vector<float>& two = problem.sequences[1].v;
  constexpr std::ptrdiff_t kToken = 2 * 7;
  CHECK(std::equal(one.begin(), one.begin() + 4 * kToken, two.begin()));
  CHECK_FALSE(std::equal(one.begin(), one.begin() + 5 * kToken, two.begin()));
  CHECK(problem.sequences[0].q[0] != problem.sequences[1].q[0]);
}

TEST_CASE("tokens that are not varied are ones, and the others keep their numbers") {
  CaseSpec spec = some_case();
  const SequenceProblem whole = make_problem(spec).sequences[0];
  spec.varied_tokens = TokenRange{4, 6};
  const SequenceProblem flat = make_problem(spec).sequences[0];
  CHECK(flat.q == whole.q);
  for (std::size_t i = 0; i < whole.v.size(); ++i) {
    const std::size_t token = i / (2 * 7);
    REQUIRE(flat.v[i] == (token == 4 || token == 5 ? whole.v[i] : 1.0F));
  }
  CHECK(std::equal(flat.k.begin() + 4 * 2 * 5, flat.k.begin() + 6 * 2 * 5,
                   whole.k.begin() + 4 * 2 * 5));
  CHECK(std::count(flat.k.begin(), flat.k.end(), 1.0F) >= 9 * 2 * 5);
}

TEST_CASE("exact ties repeat four keys, all of which occur") {
  CaseSpec spec = some_case();
  spec.k = FloatFamily::kExactTies;
  spec.sequences[0].context_length = 100;
  const std::vector<float> k = make_problem(spec).sequences[0].k;
  std::set<std::vector<float>> keys;
  for (auto token = k.begin(); token != k.end(); token += 10) keys.emplace(token, token + 10);
  CHECK(keys.size() == 4);
}

// q.k in fp64, without scale.
double product(const AttentionProblem& problem, const SequenceProblem& sequence, std::int64_t row,
               std::int64_t head, std::int64_t token) {
  const ProblemShape& shape = problem.shape;
  double sum = 0.0;
  for (std::int64_t d = 0; d < shape.head_dim_k; ++d) {
    sum +=
        static_cast<double>(at(sequence.q, {shape.num_q_heads, shape.head_dim_k}, row, head, d)) *
        at(sequence.k, {shape.num_kv_heads, shape.head_dim_k}, token, head / shape.group(), d);
  }
  return sum;
}

TEST_CASE("one key of each head dominates all others for every query, and lies near an edge") {
  CaseSpec spec = some_case();
  spec.k = FloatFamily::kDominatingKey;
  spec.placement.block_size = 4;
  std::set<std::int64_t> positions;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    spec.seed = seed;
    const AttentionProblem problem = make_problem(spec);
    const SequenceProblem& sequence = problem.sequences[0];
    for (std::int64_t head = 0; head < 6; ++head) {
      std::set<std::int64_t> winners;
      for (std::int64_t row = 0; row < 3; ++row) {
        std::vector<double> products;
        for (std::int64_t token = 0; token < 11; ++token) {
          products.push_back(product(problem, sequence, row, head, token));
        }
        const auto best = std::ranges::max_element(products);
        winners.insert(best - products.begin());
        const double largest = *best;
        *best = 0.0;
        for (const double other : products) REQUIRE(largest >= kQueryKeyLimit * std::abs(other));
      }
      REQUIRE(winners.size() == 1);
      positions.insert(*winners.begin());
    }
  }
  CHECK(positions == std::set<std::int64_t>{0, 3, 4, 7, 8, 10});
}

TEST_CASE("slopes of ALiBi are the powers of two that the paper has") {
  CaseSpec spec = some_case();
  spec.options.alibi = AlibiFamily::kUsual;
  spec.shape.num_q_heads = 8;
  const std::vector<float> eight = make_problem(spec).options.alibi_slopes;
  REQUIRE(eight.size() == 8);
  for (int head = 0; head < 8; ++head) CHECK(eight[head] == std::ldexp(1.0F, -(head + 1)));
  for (const std::int64_t heads : {2, 6, 12, 40, 254}) {
    spec.shape.num_q_heads = heads;
    const std::vector<float> slopes = make_problem(spec).options.alibi_slopes;
    for (std::int64_t head = 0; head < heads; ++head) {
      const double exponent = -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads);
      const double expected = std::exp2(exponent);
      REQUIRE(std::abs(slopes[static_cast<std::size_t>(head)] / expected - 1) < 0x1.01p-24);
    }
  }
}

TEST_CASE("slopes may be negated, or negative, positive and zero in turn") {
  CaseSpec spec = some_case();
  CHECK(make_problem(spec).options.alibi_slopes.empty());
  const auto slopes = [&spec](AlibiFamily family) {
    spec.options.alibi = family;
    return make_problem(spec).options.alibi_slopes;
  };
  const std::vector<float> usual = slopes(AlibiFamily::kUsual);
  const std::vector<float> negative = slopes(AlibiFamily::kNegative);
  const std::vector<float> mixed = slopes(AlibiFamily::kMixed);
  const float signs[] = {-1.0F, 1.0F, 0.0F, -1.0F, 1.0F, 0.0F};
  for (std::size_t head = 0; head < 6; ++head) {
    CHECK(usual[head] > 0);
    CHECK(negative[head] == -usual[head]);
    CHECK(mixed[head] == signs[head] * usual[head]);
  }
}

TEST_CASE("sinks of each family differ from each other and lie near the family's value") {
  CaseSpec spec = some_case();
  const auto sinks = [&](SinkFamily family) {
    spec.options.sinks = family;
    return make_problem(spec).options.sinks;
  };
  CHECK(sinks(SinkFamily::kNone).empty());
  CHECK(sinks(SinkFamily::kZero) == std::vector<float>(6, 0.0F));
  for (const auto& [family, centre] :
       {std::pair(SinkFamily::kNormal, 0.0F), std::pair(SinkFamily::kNegligible, -1000.0F),
        std::pair(SinkFamily::kDominating, 100.0F), std::pair(SinkFamily::kLowest, -9990.0F),
        std::pair(SinkFamily::kComparable, 7.0F)}) {
    const std::vector<float> values = sinks(family);
    CHECK(std::set<float>(values.begin(), values.end()).size() == 6);
    for (const float value : values) CHECK(std::abs(value - centre) < 8.0F);
  }
}

TEST_CASE("scales are none, one, or one of each KV head, between their limits") {
  CaseSpec spec = some_case();
  spec.shape.kv_type = ElementType::kE5m2;
  CHECK(make_problem(spec).k_scales.empty());
  spec.options.k_scales = ScaleKind::kPerTensor;
  spec.options.v_scales = ScaleKind::kPerKvHead;
  const AttentionProblem problem = make_problem(spec);
  CHECK(problem.k_scales.size() == 1);
  CHECK(problem.v_scales.size() == 2);
  for (const float scale : {problem.k_scales[0], problem.v_scales[0], problem.v_scales[1]}) {
    CHECK(scale >= kScaleMin);
    CHECK(scale <= kScaleMax);
  }
  CHECK(problem.v_scales[0] != problem.v_scales[1]);
  CHECK(problem.v_scales[0] != problem.k_scales[0]);
}

TEST_CASE("an invalid case is a broken contract") {
  CaseSpec spec = some_case();
  CHECK_NOTHROW(make_problem(spec));
  spec.shape.num_q_heads = 5;
  CHECK_THROWS_AS(make_problem(spec), ContractFailure);
}

}  // namespace
}  // namespace recto::verify
