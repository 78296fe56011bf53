// Tests which backends get cases: all in turn, also backends that support one case in thousands;
// backends that support none get one case.

#include "experiments/verify/case_supply.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {
namespace {

using verify::Backend;

const auto kNeverLate = [] { return false; };

reference::AttentionResult no_result(const PagedAttentionInputs& /*inputs*/) { return {1, 1, 1}; }

Backend that_refuses(std::function<std::optional<std::string>(const PagedAttentionInputs&)> why) {
  Backend backend;
  backend.refusal = [why = std::move(why)](const PagedAttentionInputs& inputs,
                                           const verify::CallOptions&) { return why(inputs); };
  backend.attend = verify::always_done(no_result);
  return backend;
}

std::optional<std::string> refuses_nothing(const PagedAttentionInputs& /*inputs*/) {
  return std::nullopt;
}

// One case in some ten thousand.
std::optional<std::string> why_not_one_kind(const PagedAttentionInputs& inputs) {
  const KvTensorView& k = inputs.kv.k;
  if (inputs.q.type != ElementType::kBf16) return "q is not bf16";
  if (is_fp8(k.type)) return "an fp8 cache";
  if (k.head_dim != 128 || inputs.kv.v.head_dim != 128) return "head dims that are not 128";
  if (k.layout != KvLayout::kHeadMajor) return "not head-major";
  if (k.block_size != 16) return "blocks are not of 16";
  if (inputs.q.num_rows != std::ssize(inputs.context_length)) return "not one row a sequence";
  if (!inputs.options.alibi_slopes.empty() || inputs.options.window) return "ALiBi, or a window";
  return std::nullopt;
}

int served_of(CaseSupply& supply, const Backend& backend, int cases) {
  int served = 0;
  for (int i = 0; i < cases; ++i) {
    const auto drawn = supply.next(kNeverLate);
    REQUIRE(drawn);
    const verify::PlacedProblem placed(drawn->law_case.problem, drawn->law_case.placement);
    served += backend.why_unsupported(placed.inputs()) ? 0 : 1;
  }
  return served;
}

TEST_CASE("a kernel that serves one kind of case gets as many cases as are asked for") {
  const std::vector<Backend> backends = {that_refuses(why_not_one_kind)};
  CaseSupply supply(backends, 2026, {});
  CHECK(served_of(supply, backends[0], 20) == 20);
  std::int64_t refused = 0;
  for (const auto& [why, times] : supply.refusals()) refused += times;
  CHECK(refused > 0);
  CHECK(refused < 1000);
}

TEST_CASE("beside a backend that serves everything, a narrow one gets its share of cases") {
  const std::vector<Backend> backends = {that_refuses(refuses_nothing),
                                         that_refuses(why_not_one_kind)};
  CaseSupply supply(backends, 2026, {});
  CHECK(served_of(supply, backends[1], 12) >= 6);
}

TEST_CASE("beside a narrow backend, one that serves everything gets all kinds of cases") {
  const std::vector<Backend> backends = {that_refuses(refuses_nothing),
                                         that_refuses(why_not_one_kind)};
  CaseSupply supply(backends, 2026, {});
  int with_many_rows = 0;
  for (int i = 0; i < 24; ++i)
    with_many_rows += supply.next(kNeverLate)->law_case.problem.num_rows() > 5 ? 1 : 0;
  CHECK(with_many_rows >= 2);
}

TEST_CASE("every fifth case is of serving size, for a narrow backend as well") {
  for (const auto& refusal : {std::function(refuses_nothing), std::function(why_not_one_kind)}) {
    const std::vector<Backend> backends = {that_refuses(refusal)};
    CaseSupply supply(backends, 2026, {});
    std::int64_t large = 0;
    std::int64_t longest = 0;
    for (int i = 0; i < 20; ++i) {
      const auto drawn = supply.next(kNeverLate);
      REQUIRE(drawn);
      large += supply.is_of_serving_size() ? 1 : 0;
      longest = std::max(longest, drawn->spec->longest_context());
    }
    CHECK(large == 4);
    CHECK(longest > 512);
  }
}

bool has_one_row_each(const PagedAttentionInputs& inputs) {
  return inputs.q.num_rows == std::ssize(inputs.context_length);
}

// Sizes that a library's default run must have tried on both of its functions, and on prefill.
TEST_CASE("decode and prefill each get every kind that they serve, within a default run",
          "[.full]") {
  std::vector<Backend> backends = {
      that_refuses([](const PagedAttentionInputs& inputs) {
        return has_one_row_each(inputs) ? std::nullopt : std::optional<std::string>("rows");
      }),
      that_refuses(refuses_nothing)};
  for (const std::uint64_t seed : {1, 2026}) {
    CaseSupply supply(backends, seed, {}, library_supply());
    std::set<std::string> seen;
    const auto note = [&seen](bool is_there, const char* what) {
      if (is_there) seen.insert(what);
    };
    for (int i = 0; i < kDefaultLibraryCases; ++i) {
      const auto drawn = supply.next(kNeverLate);
      REQUIRE(drawn);
      const verify::CaseSpec& spec = *drawn->spec;
      std::int64_t rows = 0;
      for (const verify::SequenceSpec& sequence : spec.sequences)
        rows = std::max(rows, sequence.num_rows);
      const std::int64_t longest = spec.longest_context();
      note(rows == 1 && longest > 1024 && spec.shape.num_kv_heads == 8, "heads of a model");
      note(rows == 1 && spec.shape.group() > 64, "a wide group");
      note(rows == 1 && spec.sequences.size() > 128, "many sequences");
      note(rows == 1 && spec.shape.num_kv_heads > 16, "many heads");
      note(rows >= 128 && longest - rows >= 256, "a chunk behind a prefix");
      note(rows > 256, "a long prompt");
      note(rows > 128 && spec.sequences.size() > 2, "a chunk in a batch");
      note(rows > 12 && rows < 128 && supply.is_of_serving_size(), "chunks");
      note(rows > 12 && !supply.is_of_serving_size(), "small chunks");
      note(rows > 12 && longest - rows > 2048, "a chunk behind a long context");
      const std::int64_t dim = spec.shape.head_dim_k;
      note(rows == 1 && dim > 32 && dim % 16 != 0, "an odd head dim");
      note(rows > 12 && dim > 32 && dim % 16 != 0, "an odd head dim in a chunk");
    }
    CAPTURE(seed, seen);
    CHECK(seen.size() == 12);
  }
}

TEST_CASE("no context is longer than is asked for") {
  const std::vector<Backend> backends = {that_refuses(refuses_nothing)};
  CaseSupply supply(backends, 2026, {.context_max = 40});
  for (int i = 0; i < 16; ++i) CHECK(supply.next(kNeverLate)->spec->longest_context() <= 40);
}

TEST_CASE("find returns a drawn case that meets a condition, and none if no case does") {
  const std::vector<Backend> backends = {that_refuses(refuses_nothing)};
  CaseSupply supply(backends, 2026, {});
  const auto found = supply.find(backends[0], [](const verify::DescribedCase& drawn) {
    return drawn.law_case.problem.options.causal && drawn.spec->num_rows() > 8;
  });
  REQUIRE(found);
  CHECK(found->spec->num_rows() > 8);
  CHECK_FALSE(supply.find(backends[0], [](const verify::DescribedCase&) { return false; }));
}

TEST_CASE("a backend that serves nothing gets one case, whose refusal gives the reason") {
  const std::vector<Backend> backends = {
      that_refuses([](const PagedAttentionInputs&) { return std::optional<std::string>("no"); })};
  CaseSupply supply(backends, 2026, {});
  CHECK(supply.next(kNeverLate));
  CHECK_FALSE(supply.next(kNeverLate));
}

TEST_CASE("a backend that serves nothing does not end the run of the others") {
  const std::vector<Backend> backends = {
      that_refuses([](const PagedAttentionInputs&) { return std::optional<std::string>("no"); }),
      that_refuses(refuses_nothing)};
  CaseSupply supply(backends, 2026, {});
  CHECK(served_of(supply, backends[1], 5) == 5);
}

// Acts as a library that does not return from four calls: these are remembered, and no other call
// is made.
std::function<std::optional<std::string>(const PagedAttentionInputs&)> giving_up() {
  return [known = std::make_shared<std::set<std::vector<std::int64_t>>>()](
             const PagedAttentionInputs& inputs) -> std::optional<std::string> {
    if (const auto why = why_not_one_kind(inputs)) return why;
    std::vector<std::int64_t> call = {inputs.q.num_heads, inputs.kv.k.num_kv_heads,
                                      inputs.q.row_stride};
    call.insert(call.end(), inputs.context_length.begin(), inputs.context_length.end());
    if (known->contains(call)) return std::nullopt;
    if (known->size() == 4) return "given up";
    known->insert(call);
    return std::nullopt;
  };
}

TEST_CASE("a backend that gives up still gets the cases that it served before") {
  const std::vector<Backend> backends = {that_refuses(giving_up())};
  CaseSupply supply(backends, 2026, {});
  CHECK(served_of(supply, backends[0], 1) == 1);
}

TEST_CASE("backends that compute no attention take every case that is drawn") {
  Backend writer = that_refuses(refuses_nothing);
  writer.attend = {};
  const std::vector<Backend> backends = {writer};
  CaseSupply supply(backends, 2026, {});
  CHECK(served_of(supply, writer, 5) == 5);
  CHECK(supply.refusals().empty());
}

TEST_CASE("a lone backend without attention gets cases of serving size, of what it serves") {
  Backend writer = that_refuses(refuses_nothing);
  writer.attend = {};
  Backend choosy = that_refuses(why_not_one_kind);
  choosy.attend = {};
  for (const auto& [backend, is_choosy] : {std::pair(writer, false), std::pair(choosy, true)}) {
    const std::vector<Backend> backends = {backend};
    CaseSupply supply(backends, 2026, {}, library_supply());
    int large = 0;
    int served = 0;
    for (int i = 0; i < 9; ++i) {
      const auto drawn = supply.next(kNeverLate);
      REQUIRE(drawn);
      large += supply.is_of_serving_size() ? 1 : 0;
      const verify::PlacedProblem placed(drawn->law_case.problem, drawn->law_case.placement);
      served += why_not_one_kind(placed.inputs()) ? 0 : 1;
    }
    CHECK(large == 3);
    CHECK((served == 9) == is_choosy);
  }
}

TEST_CASE("equal seeds give equal cases, and no case is drawn after the deadline") {
  const std::vector<Backend> backends = {that_refuses(why_not_one_kind)};
  CaseSupply one(backends, 3, {});
  CaseSupply two(backends, 3, {});
  CaseSupply other(backends, 4, {});
  const std::string first = one.next(kNeverLate)->description;
  CHECK(two.next(kNeverLate)->description == first);
  CHECK(other.next(kNeverLate)->description != first);
  CHECK_FALSE(one.next([] { return true; }));
}

}  // namespace
}  // namespace recto::experiments
