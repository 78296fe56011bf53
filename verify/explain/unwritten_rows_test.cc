// Kernels that leave previous memory contents in some rows or dims: the report counts these, and
// names no other fault.

#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/explanation.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using reference::AttentionResult;

// What a kernel does not write, by row of the batch, head and dim; dim -1 is the lse.
using IsLeft = std::function<bool(std::int64_t row, std::int64_t head, std::int64_t dim)>;
enum class Leaves : std::uint8_t { kAsItWas, kAddedTo };

void leave(const IsLeft& is_left, Leaves how, double before, AttentionResult& result) {
  const auto change = [&](double& value) {
    value = how == Leaves::kAddedTo ? value + before : before;
  };
  for (std::int64_t row = 0; row < result.num_rows; ++row) {
    for (std::int64_t head = 0; head < result.num_heads; ++head) {
      for (std::int64_t dim = 0; dim < result.head_dim; ++dim)
        if (is_left(row, head, dim)) change(result.out_at(row, head, dim));
      if (is_left(row, head, -1)) change(result.lse_ln_at(row, head));
    }
  }
}

Backend leaving(const IsLeft& is_left, Leaves how, double before) {
  Backend backend = canary_backend("leaving", Fault::kNone);
  backend.attend = always_done([=, right = backend](const PagedAttentionInputs& inputs) {
    AttentionResult result = result_of(right.call(inputs));
    leave(is_left, how, before, result);
    return result;
  });
  return backend;
}

Backend leaving(const IsLeft& is_left, Leaves how = Leaves::kAsItWas) {
  Backend backend = leaving(is_left, how, std::numeric_limits<double>::quiet_NaN());
  backend.capabilities.takes_stale_memory = true;
  backend.attend = [=](const PagedAttentionInputs& inputs, const CallOptions& options) {
    return leaving(is_left, how, std::bit_cast<float>(options.stale_memory)).call(inputs);
  };
  return backend;
}

// Decode of four sequences, two of them without keys (second and third): eight rows of heads.
LawCase decode() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 3};
  spec.sequences = {{.num_rows = 1, .context_length = 5, .id = 0},
                    {.num_rows = 1, .context_length = 0, .id = 1},
                    {.num_rows = 1, .context_length = 0, .id = 2},
                    {.num_rows = 1, .context_length = 7, .id = 3}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 4;
  spec.seed = 3;
  return {make_problem(spec), spec.placement};
}

// The diagnosis; checks that only the fault `named` is named.
Diagnosis diagnosed(const Backend& backend, const std::string& named) {
  const Explanation explanation = explain(backend, decode(), BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, decode()));
  CHECK(explanation.is_wrong());
  CHECK(explanation.faults.fitting == std::vector<std::string>{named});
  CHECK_FALSE(explanation.probe);
  return explanation.diagnosis;
}

bool is_empty(std::int64_t row) { return row == 1 || row == 2; }

TEST_CASE("rows without keys that are not written are counted") {
  diagnosed(leaving([](auto row, auto, auto) { return is_empty(row); }),
            "rows without keys are not written");
  diagnosed(leaving([](auto row, auto head, auto) { return row == 2 && head == 1; }),
            "1 of 4 rows without keys is not written");
  diagnosed(leaving([](auto row, auto, auto dim) { return is_empty(row) && dim < 0; }),
            "the lse of rows without keys is not written");
}

TEST_CASE("rows with keys that are not written are reported as such, and counted") {
  const Diagnosis whole = diagnosed(leaving([](auto row, auto, auto) { return row == 3; }),
                                    "2 of 4 rows with keys are not written");
  CHECK(whole.step == Step::kOutput);
  CHECK(whole.why ==
        "out and lse_ln are what memory held before the call: nothing is written there");
  const Diagnosis dim =
      diagnosed(leaving([](auto row, auto, auto dim) { return !is_empty(row) && dim == 2; }),
                "out of rows with keys is not written in 1 of 3 dims");
  CHECK(dim.step == Step::kOutput);
  CHECK_THAT(dim.why, ContainsSubstring("out in 1 of 3 dims, the first of them 2, is what"));
  const Diagnosis sum =
      diagnosed(leaving([](auto row, auto, auto dim) { return row == 0 && dim < 0; }),
                "the lse of 2 of 4 rows with keys is not written");
  CHECK(sum.step == Step::kSum);
  CHECK_THAT(sum.why, ContainsSubstring("lse_ln is what memory held before the call"));
  diagnosed(leaving([](auto row, auto, auto) { return row > 0; }),
            "rows without keys and 2 of 4 rows with keys are not written");
}

TEST_CASE("a sum with stale memory is distinguished from outputs that are not written") {
  const Diagnosis added = diagnosed(
      leaving([](auto, auto head, auto dim) { return head == 0 && dim >= 0; }, Leaves::kAddedTo),
      "out of 2 of 4 rows without keys and 2 of 4 rows with keys is derived from what memory held "
      "before");
  CHECK(added.step != Step::kOutput);
  CHECK_FALSE(
      explain(leaving([](auto, auto, auto) { return false; }), decode(), BoundKind::kProbabilistic)
          .is_wrong());
}

}  // namespace
}  // namespace recto::verify
