#include "verify/laws/testing/faulty_backends.h"

#include <algorithm>
#include <utility>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::Matrix;
using reference::SoftmaxState;

std::vector<float> random_values(std::int64_t count, RandomStream stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(2 * stream.next_unit() - 1);
  return values;
}

SequenceProblem random_sequence(const ProblemShape& shape, std::int64_t num_rows,
                                std::int64_t context, const RandomStream& stream) {
  return {.num_rows = num_rows,
          .context_length = context,
          .q = random_values(num_rows * shape.num_q_heads * shape.head_dim_k, stream.split("q")),
          .k = random_values(context * shape.num_kv_heads * shape.head_dim_k, stream.split("k")),
          .v = random_values(context * shape.num_kv_heads * shape.head_dim_v, stream.split("v"))};
}

AttentionResult attend_in_splits(const PagedAttentionInputs& inputs, const Merge& merge,
                                 std::int64_t split_size) {
  AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  const auto attend = [&](const reference::KvHeadContext& context, std::int64_t head) {
    const std::int64_t n = context.k.rows();
    const reference::HeadOptions options = reference::head_options(inputs.options, head);
    const Matrix q = reference::read_rows(inputs.q, head, context.first_row, context.num_rows);
    for (std::int64_t row = 0; row < context.num_rows; ++row) {
      const std::int64_t position = reference::position_of(row, context.num_rows, n);
      const reference::KeyRange seen = reference::visible_keys(options, row, context.num_rows, n);
      const std::int64_t step = split_size > 0 ? split_size : std::max<std::int64_t>(1, n);
      SoftmaxState state = SoftmaxState::identity(context.v.cols());
      for (std::int64_t first = seen.begin; first < seen.end; first += step) {
        const std::int64_t keys = std::min(step, seen.end - first);
        const reference::Vector scores = reference::score_keys(
            q.row(row), context.k.middleRows(first, keys), options, first - position);
        state = merge(state, reference::tile_state(scores, context.v.middleRows(first, keys)));
      }
      const reference::RowOutput output = reference::finish(state, options.sink);
      result.store(context.first_row + row, head,
                   {output.out.transpose(), reference::Vector::Constant(1, output.lse_ln)});
    }
  };
  reference::for_each_kv_head(inputs, [&](const reference::KvHeadContext& context) {
    for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head)
      attend(context, head);
  });
  return result;
}

}  // namespace

LawCase small_case() {
  LawCase law_case;
  AttentionProblem& problem = law_case.problem;
  problem.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 8, .head_dim_v = 4};
  problem.options.scale = 2.0F;
  const RandomStream root(1);
  problem.sequences = {random_sequence(problem.shape, 3, 21, root.split(0)),
                       random_sequence(problem.shape, 1, 5, root.split(1))};
  law_case.placement.block_size = 4;
  law_case.placement.order = BlockOrder::kAscending;
  law_case.placement.poison = Poison::kZero;
  return law_case;
}

LawCase with_sinks(LawCase law_case) {
  law_case.problem.options.sinks = {0.5F, -1.0F, 2.0F, 0.0F};
  return law_case;
}

Backend backend_of(const std::string& name) {
  for (Backend& backend : reference_backends())
    if (backend.name == name) return std::move(backend);
  FAIL("no backend " << name);
  return {};
}

Backend wrong(Run run) {
  Backend backend = backend_of("naive-fp64");
  backend.attend = always_done(std::move(run));
  return backend;
}

Backend mishearing(const std::function<void(PagedAttentionInputs&)>& change) {
  return wrong([change](PagedAttentionInputs inputs) {
    change(inputs);
    return reference::paged_attention(inputs);
  });
}

Backend misreporting(const std::function<void(AttentionResult&)>& change) {
  return wrong([change](const PagedAttentionInputs& inputs) {
    AttentionResult result = reference::paged_attention(inputs);
    change(result);
    return result;
  });
}

Backend wrong_where(const std::function<bool(const PagedAttentionInputs&)>& when) {
  return wrong([when](const PagedAttentionInputs& inputs) {
    AttentionResult result = reference::paged_attention(inputs);
    const double away = when(inputs) ? 1.0 : 0.0;
    for (double& out : result.out) out += away;
    return result;
  });
}

Backend with_contexts(const std::function<std::int32_t(std::int32_t, std::int64_t)>& change) {
  return wrong([change](PagedAttentionInputs inputs) {
    std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
    for (std::int32_t& length : lengths) length = change(length, inputs.kv.k.block_size);
    inputs.context_length = lengths;
    return reference::paged_attention(inputs);
  });
}

Backend splitting(const Merge& merge) {
  Backend backend = backend_of("naive-fp64");
  backend.capabilities.takes_split_size = true;
  backend.attend = [merge](const PagedAttentionInputs& inputs, const CallOptions& options) {
    return Done{attend_in_splits(inputs, merge, options.split_size.value_or(0))};
  };
  backend.numerics_of = [whole = backend.numerics_of](const PagedAttentionInputs& inputs,
                                                      const CallOptions& options) {
    reference::KernelNumerics numerics = whole(inputs, options);
    numerics.split_size = options.split_size.value_or(0);
    return numerics;
  };
  return backend;
}

void expect_caught(const Law& law, const LawCase& law_case, const Backend& faulty) {
  INFO(law.name);
  REQUIRE_FALSE(law.why_not_applicable(law_case));
  for (const char* right : {"naive-fp64", "online-fp64"}) {
    const LawVerdict verdict = law.check(backend_of(right), law_case, BoundKind::kProbabilistic);
    INFO(right << ", " << verdict.what << "\n" << verdict.comparison.text());
    CHECK_FALSE(verdict.skipped);
    CHECK_FALSE(verdict.failed());
  }
  const LawVerdict verdict = law.check(faulty, law_case, BoundKind::kWorstCase);
  CHECK_FALSE(verdict.skipped);
  CHECK_FALSE(verdict.comparison.passed());
  CHECK_FALSE(verdict.what.empty());
}

void expect_caught_by(const std::string& what, const Law& law, const LawCase& law_case,
                      const Backend& faulty) {
  INFO(what);
  expect_caught(law, law_case, faulty);
  CHECK(law.check(faulty, law_case, BoundKind::kWorstCase).what == what);
}

}  // namespace recto::verify
