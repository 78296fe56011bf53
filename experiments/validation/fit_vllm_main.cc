// Fits the four coefficients of a linear time model to the measured vLLM run and prints them as
// JSON: Nelder & Mead's simplex ("A simplex method for function minimization", The Computer Journal
// 7(4), 1965), starting from the coefficients that the card's and the model's sizes suggest.
//
//   ./bazelw run //experiments/validation:fit_vllm -- FOLDER_OF_TRACES

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <string>

#include "core/json.h"
#include "experiments/support/program.h"
#include "experiments/validation/vllm_run.h"
#include "sim/time/linear_time_model.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kCoefficients = 4;
using Point = std::array<double, kCoefficients>;

struct Vertex {
  Point at;
  double cost = 0;
};

sim::LinearCoefficients coefficients_at(const Point& point) {
  return {.fixed_ns = point[0],
          .per_prefill_token_ns = point[1],
          .per_kv_token_ns = point[2],
          .per_sequence_ns = point[3],
          .source = "fitted to the vLLM 0.19 run by //experiments/validation:fit_vllm"};
}

// The sum of squared deviations of all comparisons, relative ones in percent.
double cost(const VllmRun& run, const Point& point) {
  if (*std::min_element(point.begin(), point.end()) < 0) return 1e12;
  const sim::LinearTimeModel model(coefficients_at(point));
  double sum = 0;
  for (const PublishedFigure& row : compare_vllm(run, replay(run, model), ModelKind::kFitted)) {
    const double unit = row.kind == Tolerance::kRelative ? 100 : 1;
    sum += std::pow(unit * row.deviation(), 2);
  }
  return sum;
}

class Simplex {
 public:
  Simplex(const VllmRun& run, const Point& start) : run_(run) {
    for (std::size_t i = 0; i < vertices_.size(); ++i) {
      Point at = start;
      if (i > 0) at[i - 1] *= 1.08;
      vertices_[i] = evaluate(at);
    }
  }

  void step() {
    std::sort(vertices_.begin(), vertices_.end(),
              [](const Vertex& a, const Vertex& b) { return a.cost < b.cost; });
    Vertex& worst = vertices_.back();
    const Vertex reflected = beyond(worst, -1);
    if (reflected.cost < vertices_.front().cost) {
      const Vertex expanded = beyond(worst, -2);
      worst = expanded.cost < reflected.cost ? expanded : reflected;
    } else if (reflected.cost < vertices_[kCoefficients - 1].cost) {
      worst = reflected;
    } else if (const Vertex contracted = beyond(worst, 0.5); contracted.cost < worst.cost) {
      worst = contracted;
    } else {
      shrink();
    }
  }

  const Vertex& best() const {
    return *std::min_element(vertices_.begin(), vertices_.end(),
                             [](const Vertex& a, const Vertex& b) { return a.cost < b.cost; });
  }

 private:
  Vertex evaluate(const Point& at) const { return {at, cost(run_, at)}; }

  // On the line from the centre of all others through `vertex`.
  Vertex beyond(const Vertex& vertex, double factor) const {
    Point at{};
    for (std::size_t i = 0; i < kCoefficients; ++i) {
      double centre = 0;
      for (std::size_t v = 0; v < kCoefficients; ++v) centre += vertices_[v].at[i] / kCoefficients;
      at[i] = centre + factor * (vertex.at[i] - centre);
    }
    return evaluate(at);
  }

  void shrink() {
    for (std::size_t v = 1; v < vertices_.size(); ++v) {
      Point at = vertices_[v].at;
      for (std::size_t i = 0; i < kCoefficients; ++i) {
        at[i] = vertices_[0].at[i] + 0.5 * (at[i] - vertices_[0].at[i]);
      }
      vertices_[v] = evaluate(at);
    }
  }

  const VllmRun& run_;
  std::array<Vertex, kCoefficients + 1> vertices_;
};

int fit(const std::string& folder) {
  const Result<VllmRun> run = load_vllm_run(folder);
  if (!run.is_ok()) {
    std::cerr << run.status().message() << "\n";
    return 2;
  }
  Simplex simplex(run.value(), {17.25e6, 83e3, 171, 8.5e3});
  for (int round = 0; round < 150; ++round) simplex.step();
  const sim::LinearCoefficients best = coefficients_at(simplex.best().at);
  print(std::cerr, "fitted",
        compare_vllm(run.value(), replay(run.value(), sim::LinearTimeModel(best)),
                     ModelKind::kFitted));
  const Json json{{"source", best.source},
                  {"fixed_ns", best.fixed_ns},
                  {"per_prefill_token_ns", best.per_prefill_token_ns},
                  {"per_kv_token_ns", best.per_kv_token_ns},
                  {"per_sequence_ns", best.per_sequence_ns}};
  std::cout << json_text(json, 2) << "\n";
  return 0;
}

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fit_vllm FOLDER_OF_TRACES\n";
    return 2;
  }
  recto::experiments::enter_callers_folder();
  return recto::experiments::fit(argv[1]);
}
