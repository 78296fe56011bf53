// Tests the reference against results that an independent implementation computed to thirty digits:
// each element is within the worst-case bound of fp64 arithmetic.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "reference/error_bound.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "reference/testing/golden_case.h"

namespace recto::reference {
namespace {

constexpr const char* kFolder = "reference/golden";
constexpr std::size_t kLeastCases = 40;  // guards against missing files

const std::vector<GoldenCase>& golden_cases() {
  static const Result<std::vector<GoldenCase>> kCases = load_golden_cases(kFolder);
  INFO(kCases.status());
  REQUIRE(kCases.is_ok());
  return kCases.value();
}

// found - exact| over the bound; above 1 (or NaN) the bound is violated. The exact number is itself
// known to only 64 bits, which counts against the result.
double error_ratio(double found, long double exact, double bound) {
  if (std::isinf(exact)) return found == exact ? 0.0 : INFINITY;
  const long double error = std::abs(found - exact) + 0x1p-64L * std::abs(exact);
  if (error == 0) return 0.0;
  return error <= bound ? static_cast<double>(error / bound) : INFINITY;
}

struct Ratios {
  double out = 0.0;
  double lse_ln = 0.0;
};

Ratios worst_ratios(const GoldenCase& golden, const AttentionResult& found,
                    const AttentionResult& worst_case) {
  REQUIRE(found.out.size() == golden.out.size());
  REQUIRE(found.lse_ln.size() == golden.lse_ln.size());
  Ratios worst;
  for (std::size_t i = 0; i < found.out.size(); ++i) {
    worst.out = std::max(worst.out, error_ratio(found.out[i], golden.out[i], worst_case.out[i]));
  }
  for (std::size_t i = 0; i < found.lse_ln.size(); ++i) {
    worst.lse_ln = std::max(worst.lse_ln,
                            error_ratio(found.lse_ln[i], golden.lse_ln[i], worst_case.lse_ln[i]));
  }
  return worst;
}

// Reports the used share of the bound, so that a bound that became too wide is noticed.
class WorstOfAll {
 public:
  explicit WorstOfAll(const char* of) : of_(of) {}
  ~WorstOfAll() {
    std::cout << of_ << ": " << count_ << " cases; of the worst-case bound, out used " << out_
              << " (" << out_case_ << "), lse_ln " << lse_ln_ << " (" << lse_ln_case_ << ")\n";
  }
  WorstOfAll(const WorstOfAll&) = delete;
  WorstOfAll& operator=(const WorstOfAll&) = delete;

  void check(const GoldenCase& golden, const Ratios& ratios) {
    INFO(golden.name << ": " << golden.why);
    CHECK(ratios.out <= 1.0);
    CHECK(ratios.lse_ln <= 1.0);
    ++count_;
    if (ratios.out >= out_) {
      out_ = ratios.out;
      out_case_ = golden.name;
    }
    if (ratios.lse_ln >= lse_ln_) {
      lse_ln_ = ratios.lse_ln;
      lse_ln_case_ = golden.name;
    }
  }

  std::size_t count() const { return count_; }

 private:
  const char* of_;
  std::size_t count_ = 0;
  double out_ = 0.0;
  double lse_ln_ = 0.0;
  std::string out_case_;
  std::string lse_ln_case_;
};

// The numerics of the gathered form: all keys of a sequence are one tile.
KernelNumerics gathering(std::int64_t longest_context) {
  return fp64_numerics(std::max<std::int64_t>(1, longest_context));
}

AttentionResult gathering_bound(const PagedAttentionInputs& inputs) {
  const std::int64_t longest = *std::ranges::max_element(inputs.context_length);
  return bounded_attention(inputs, gathering(longest)).worst_case;
}

AttentionResult gathering_bound(const DecodeStepInputs& inputs) {
  const std::int64_t longest = *std::ranges::max_element(inputs.cached_length) + 1;
  return bounded_decode_step(inputs, gathering(longest)).worst_case;
}

TEST_CASE("Both operations have golden cases, and each case states a reason of its own") {
  std::size_t decodes = 0;
  std::vector<std::string> reasons;
  for (const GoldenCase& golden : golden_cases()) {
    decodes += golden.decode ? 1U : 0U;
    reasons.push_back(golden.why);
  }
  CHECK(golden_cases().size() >= kLeastCases);
  CHECK(decodes >= 5);
  std::ranges::sort(reasons);
  CHECK(std::ranges::adjacent_find(reasons) == reasons.end());
}

TEST_CASE("The gate lets every golden case through") {
  for (const GoldenCase& golden : golden_cases()) {
    INFO(golden.name);
    CHECK(golden.attention.has_value() != golden.decode.has_value());
    if (golden.attention) CHECK(check_contents(*golden.attention) == Status::ok());
    if (golden.decode) CHECK(check_contents(*golden.decode) == Status::ok());
  }
}

TEST_CASE("The uncertainty of the exact number counts towards the error") {
  CHECK(error_ratio(1.5, 1.0L, std::nextafter(0.5, 1.0)) <= 1.0);
  CHECK(error_ratio(1.5, 1.0L, 0.5) > 1.0);
  CHECK(error_ratio(0.0, 0.0L, 0.0) == 0.0);
  CHECK(error_ratio(NAN, 0.0L, 1.0) > 1.0);
  CHECK(error_ratio(1.0, 1.0L, NAN) > 1.0);
  CHECK(error_ratio(-INFINITY, -INFINITY, 0.0) == 0.0);
  CHECK(error_ratio(0.0, -INFINITY, 1.0) > 1.0);
}

TEST_CASE("Attention after gathering is within the bound of every golden case") {
  WorstOfAll worst("paged_attention");
  for (const GoldenCase& golden : golden_cases()) {
    if (!golden.attention) continue;
    const PagedAttentionInputs& inputs = *golden.attention;
    worst.check(golden, worst_ratios(golden, paged_attention(inputs), gathering_bound(inputs)));
  }
  CHECK(worst.count() >= kLeastCases);
}

TEST_CASE("Attention over blocks is within the bound of every golden case") {
  WorstOfAll worst("paged_attention_over_blocks");
  for (const GoldenCase& golden : golden_cases()) {
    if (!golden.attention) continue;
    const PagedAttentionInputs& inputs = *golden.attention;
    const AttentionResult worst_case =
        bounded_attention(inputs, fp64_numerics(inputs.kv.k.block_size)).worst_case;
    worst.check(golden, worst_ratios(golden, paged_attention_over_blocks(inputs), worst_case));
  }
  CHECK(worst.count() >= kLeastCases);
}

TEST_CASE("A decode step is within the bound of every golden case") {
  WorstOfAll worst("decode_step");
  for (const GoldenCase& golden : golden_cases()) {
    if (!golden.decode) continue;
    const DecodeStepInputs& inputs = *golden.decode;
    worst.check(golden, worst_ratios(golden, decode_step(inputs), gathering_bound(inputs)));
  }
  CHECK(worst.count() >= 5);
}

// A fault of an implementation: the same computation with one mistake.
struct Fault {
  const char* name;
  void (*plant)(PagedAttentionInputs&);
};

constexpr Fault kFaults[] = {
    {"half the scale", [](PagedAttentionInputs& inputs) { inputs.options.scale /= 2; }},
    {"no softcap", [](PagedAttentionInputs& inputs) { inputs.options.softcap = 0; }},
    {"always causal", [](PagedAttentionInputs& inputs) { inputs.options.causal = true; }},
    {"never causal", [](PagedAttentionInputs& inputs) { inputs.options.causal = false; }},
    {"no window", [](PagedAttentionInputs& inputs) { inputs.options.window.reset(); }},
    {"a window of one key more",
     [](PagedAttentionInputs& inputs) {
       if (inputs.options.window) ++*inputs.options.window;
     }},
    {"no bias", [](PagedAttentionInputs& inputs) { inputs.options.alibi_slopes = {}; }},
    {"no sinks", [](PagedAttentionInputs& inputs) { inputs.options.sinks = {}; }},
    {"no K scale", [](PagedAttentionInputs& inputs) { inputs.kv.k.scale = {}; }},
    {"no V scale", [](PagedAttentionInputs& inputs) { inputs.kv.v.scale = {}; }},
    {"one K scale for all heads",
     [](PagedAttentionInputs& inputs) {
       if (inputs.kv.k.scale.data != nullptr) inputs.kv.k.scale.kind = ScaleKind::kPerTensor;
     }},
    {"e4m3 read as e5m2",
     [](PagedAttentionInputs& inputs) {
       if (inputs.kv.v.type == ElementType::kE4m3) inputs.kv.v.type = ElementType::kE5m2;
     }},
    {"bf16 read as fp16",
     [](PagedAttentionInputs& inputs) {
       if (inputs.q.type == ElementType::kBf16) inputs.q.type = ElementType::kFp16;
     }},
    {"K's block stride", [](PagedAttentionInputs& inputs) { inputs.kv.k.block_stride /= 2; }},
    {"K's head stride", [](PagedAttentionInputs& inputs) { inputs.kv.k.head_stride /= 2; }},
    {"K's slot stride", [](PagedAttentionInputs& inputs) { inputs.kv.k.slot_stride /= 2; }},
    {"K's pack stride", [](PagedAttentionInputs& inputs) { inputs.kv.k.pack_stride /= 2; }},
    {"V's block stride", [](PagedAttentionInputs& inputs) { inputs.kv.v.block_stride /= 2; }},
    {"V's head stride", [](PagedAttentionInputs& inputs) { inputs.kv.v.head_stride /= 2; }},
    {"V's slot stride", [](PagedAttentionInputs& inputs) { inputs.kv.v.slot_stride /= 2; }},
    {"V's pack stride", [](PagedAttentionInputs& inputs) { inputs.kv.v.pack_stride /= 2; }},
    {"the queries' row stride", [](PagedAttentionInputs& inputs) { inputs.q.row_stride /= 2; }},
    {"the queries' head stride", [](PagedAttentionInputs& inputs) { inputs.q.head_stride /= 2; }},
};

TEST_CASE("The golden cases reveal each omitted option, each wrong stride and each wrong format") {
  for (const Fault& fault : kFaults) {
    std::size_t seen = 0;
    for (const GoldenCase& golden : golden_cases()) {
      if (!golden.attention) continue;
      PagedAttentionInputs faulty = *golden.attention;
      fault.plant(faulty);
      const Ratios ratios =
          worst_ratios(golden, paged_attention(faulty), gathering_bound(*golden.attention));
      if (ratios.out > 1.0 || ratios.lse_ln > 1.0) ++seen;
    }
    INFO(fault.name);
    CHECK(seen > 0);
    std::cout << fault.name << ": seen by " << seen << " cases\n";
  }
}

}  // namespace
}  // namespace recto::reference
