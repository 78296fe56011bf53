// Prints every comparison of docs/validation.md as Markdown, from figures computed now.
//
//   ./bazelw run //experiments/validation:validate -- [FOLDER_OF_TRACES [FILE.svg]]
//
// Without the folder the replay of a real engine is left out, and said to be. Exit status 1 if a
// comparison fails.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "core/gpu_table.h"
#include "core/model_table.h"
#include "experiments/validation/curve_svg.h"
#include "experiments/validation/paper_figures.h"
#include "experiments/validation/vllm_models.h"
#include "experiments/validation/vllm_run.h"

namespace recto::experiments {
namespace {

class Validation {
 public:
  void show(const std::string& heading, const std::vector<Comparison>& rows) {
    print(std::cout, heading, rows);
    for (const Comparison& row : rows) failures_ += row.holds() ? 0 : 1;
  }

  void show_paper() {
    show("Fig. 2: where the memory goes", compare_memory_states());
    show("Fig. 13: mean batch, contiguous", compare_batch_sizes());
    show("Fig. 13: mean batch, paged", compare_paged_batch());
    show("Fig. 15a: parallel sampling", compare_parallel_sharing());
    show("Fig. 15b: beam search", compare_beam_sharing());
  }

  Status show_vllm(const std::string& folder, const std::string& svg_path) {
    const Result<VllmRun> loaded = load_vllm_run(folder);
    RECTO_RETURN_IF_ERROR(loaded.status());
    const VllmRun& run = loaded.value();
    const sim::Report fitted = replay(run, fitted_model());
    const sim::Report roofline = replay(run, roofline_model());
    show("vLLM 0.19 on an RTX 4090, fitted time model",
         compare_vllm(run, fitted, ModelKind::kFitted));
    show("vLLM 0.19 on an RTX 4090, roofline time model",
         compare_vllm(run, roofline, ModelKind::kRoofline));
    if (svg_path.empty()) return Status::ok();
    std::ofstream svg(svg_path);
    svg << curve_svg(
        "KV blocks held, by second",
        {{"vLLM, measured", "", kv_percent(run.seconds)},
         {"recto, fitted", "5 3", kv_percent(seconds_of(fitted, run.seconds.size()))},
         {"recto, roofline", "1 3", kv_percent(seconds_of(roofline, run.seconds.size()))}});
    return svg.flush() ? Status::ok() : Status::failed(svg_path + ": cannot be written");
  }

  int failures() const { return failures_; }

 private:
  static std::vector<double> kv_percent(const std::vector<VllmSecond>& seconds) {
    std::vector<double> values;
    for (const VllmSecond& second : seconds) values.push_back(second.kv_percent);
    return values;
  }

  int failures_ = 0;
};

// Under `bazel run` the caller's directory is not the process's.
std::string path_of(const std::string& given) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  return caller == nullptr || given.empty() || given.front() == '/'
             ? given
             : std::string(caller) + "/" + given;
}

int validate(const std::vector<std::string>& arguments) {
  Validation validation;
  validation.show_paper();
  if (arguments.empty()) {
    std::cout << "SKIPPED: the replay of a real engine: no folder of traces was given\n";
  } else {
    const std::string svg = arguments.size() > 1 ? path_of(arguments[1]) : "";
    const Status status = validation.show_vllm(path_of(arguments[0]), svg);
    if (!status.is_ok()) {
      std::cerr << status << "\n";
      return 2;
    }
  }
  return validation.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) { return recto::experiments::validate({argv + 1, argv + argc}); }
