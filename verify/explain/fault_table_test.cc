// ALiBi with a soft cap, in a kernel written here: a bias added too early is named, and nothing for
// the right kernel.

#include "verify/explain/explanation.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {
namespace {

enum class Added : std::uint8_t { kAfterCap, kBeforeCap };

double capped(double score, double cap) { return cap * std::tanh(score / cap); }

// The keys that a row of a head sees.
struct Seen {
  reference::Vector products;  // of q and each key
  reference::Matrix v;
  double slope = 0.0;
};

void attend_row(const Seen& seen, const AttentionOptions& options, Added added, double* out,
                double* lse_ln) {
  const std::int64_t keys = seen.products.size();
  const double cap = options.softcap;
  double sum = 0.0;
  for (std::int64_t key = 0; key < keys; ++key) {
    const double bias = seen.slope * static_cast<double>(key - (keys - 1));
    const double score = static_cast<double>(options.scale) * seen.products[key];
    const double weight = std::exp(added == Added::kBeforeCap ? capped(score + bias, cap)
                                                              : capped(score, cap) + bias);
    sum += weight;
    for (std::int64_t dim = 0; dim < seen.v.cols(); ++dim) out[dim] += weight * seen.v(key, dim);
  }
  for (std::int64_t dim = 0; dim < seen.v.cols(); ++dim) out[dim] /= sum;
  *lse_ln = std::log(sum);
}

// One sequence, causal.
Backend adding(Added added) {
  Backend backend;
  backend.name = "adding";
  backend.refusal = [](const PagedAttentionInputs&, const CallOptions&) { return std::nullopt; };
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  backend.attend = always_done([added](const PagedAttentionInputs& inputs) {
    const std::int64_t rows = inputs.q.num_rows;
    reference::AttentionResult result(rows, inputs.q.num_heads, inputs.kv.v.head_dim);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
        const std::int64_t seen = inputs.context_length[0] - rows + row + 1;
        const std::int32_t* const blocks = inputs.block_table.data;
        const auto k = reference::gather_head(inputs.kv.k, blocks, seen, head / 2);
        const auto v = reference::gather_head(inputs.kv.v, blocks, seen, head / 2);
        const Seen of_row{.products = k * reference::read_rows(inputs.q, head, row, 1).transpose(),
                          .v = v,
                          .slope = inputs.options.alibi_slopes[static_cast<std::size_t>(head)]};
        attend_row(of_row, inputs.options, added, &result.out_at(row, head, 0),
                   &result.lse_ln_at(row, head));
      }
    }
    return result;
  });
  return backend;
}

LawCase chunk(float softcap) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 8, .head_dim_v = 5};
  spec.sequences = {{.num_rows = 3, .context_length = 21}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.options.scale = 0.5F;
  spec.options.softcap = softcap;
  spec.options.alibi = AlibiFamily::kUsual;
  spec.placement.block_size = 8;
  return {make_problem(spec), spec.placement};
}

TEST_CASE("ALiBi before the soft cap is named, and after it is right") {
  for (const float softcap : {2.0F, 30.0F}) {
    CHECK_FALSE(
        explain(adding(Added::kAfterCap), chunk(softcap), BoundKind::kProbabilistic).is_wrong());
    const Explanation early =
        explain(adding(Added::kBeforeCap), chunk(softcap), BoundKind::kProbabilistic);
    INFO(explanation_text(early, chunk(softcap)));
    CHECK(early.is_wrong());
    // With the higher cap, even the worst row's error is too small.
    CHECK(early.diagnosis.step == (softcap == 2.0F ? Step::kScores : Step::kUnknown));
    CHECK(early.faults.fitting == std::vector<std::string>{"ALiBi is added before the soft cap"});
  }
}

}  // namespace
}  // namespace recto::verify
