// Approximate instructions: accurate by default, else off by no more than what is documented.

#include "verify/ptx/arithmetic/approximation.h"

#include <cmath>
#include <set>

#include "bazel/testing/catch.h"
#include "verify/ptx/arithmetic/rounding.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

// The results of the form for 1 + thread / 64.
std::vector<float> results_of(const std::string& form, const LaunchOptions& options) {
  const OutRun run = run_out(
      thread_kernel("cvt.rn.f32.u32 %f1, %r0;\nfma.rn.f32 %f1, %f1, 0f3C800000, 0f3F800000;\n" +
                    form + " %f2, %f1" + (form.substr(0, 3) == "div" ? ", 0f40490FDB" : "") +
                    ";\nmov.b32 %r1, %f2;"),
      64, options);
  CHECK(run.report.text() == "");
  std::vector<float> results;
  for (const std::uint64_t bits : run.out) {
    results.push_back(float_of(static_cast<std::uint32_t>(bits)));
  }
  return results;
}

TEST_CASE("perturbed approximations stay within their documented errors, by their seed") {
  struct Form {
    std::string text;
    ApproximateFunction function;
    double (*exact)(double);
  };
  const Form forms[] = {
      {"ex2.approx.f32", ApproximateFunction::kEx2, [](double x) { return std::exp2(x); }},
      {"ex2.approx.ftz.f32", ApproximateFunction::kEx2, [](double x) { return std::exp2(x); }},
      {"lg2.approx.f32", ApproximateFunction::kLg2, [](double x) { return std::log2(x); }},
      {"rcp.approx.ftz.f32", ApproximateFunction::kRcp, [](double x) { return 1 / x; }},
      {"rsqrt.approx.f32", ApproximateFunction::kRsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {"sqrt.approx.f32", ApproximateFunction::kSqrt, [](double x) { return std::sqrt(x); }},
      {"sin.approx.f32", ApproximateFunction::kSin, [](double x) { return std::sin(x); }},
      {"tanh.approx.f32", ApproximateFunction::kTanh, [](double x) { return std::tanh(x); }}};
  for (const Form& form : forms) {
    INFO(form.text);
    const std::vector<float> accurate = results_of(form.text, {});
    std::set<std::vector<float>> seen = {accurate};
    for (const std::uint32_t seed : {1U, 2U}) {
      const LaunchOptions options{.approximation = Approximation::kPerturbed,
                                  .approximation_seed = seed};
      const std::vector<float> perturbed = results_of(form.text, options);
      CHECK(results_of(form.text, options) == perturbed);
      seen.insert(perturbed);
      for (std::size_t i = 0; i < perturbed.size(); ++i) {
        const float x = 1 + static_cast<float>(i) / 64;
        const double exact = form.exact(x);
        const double bound = documented_error(form.function, x, exact);
        CHECK(std::fabs(static_cast<double>(perturbed[i]) - exact) <= bound * 1.0001 + 1e-12);
      }
    }
    CHECK(seen.size() == 3);
  }
  CHECK(results_of("div.full.f32", {}) !=
        results_of("div.full.f32", {.approximation = Approximation::kPerturbed}));
}

}  // namespace
}  // namespace recto::ptx
