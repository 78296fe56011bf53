// Prints every comparison of docs/validation.md as Markdown, from figures computed now.
//
//   ./bazelw run //experiments/validation:validate -- [FOLDER_OF_TRACES [FILE.svg]]
//
// Without the folder, the replay of a real engine is left out, and the output says so. Exit status
// 1 if a comparison fails.

#include <fmt/format.h>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "core/gpu_table.h"
#include "core/model_table.h"
#include "experiments/support/output_file.h"
#include "experiments/support/program.h"
#include "experiments/validation/paper_figures.h"
#include "experiments/validation/published_figure.h"
#include "experiments/validation/vllm_run.h"

namespace recto::experiments {
namespace {

class Validation {
 public:
  void show(const std::string& heading, const std::vector<PublishedFigure>& rows) {
    print(std::cout, heading, rows);
    for (const PublishedFigure& row : rows) failures_ += row.holds() ? 0 : 1;
  }

  void show_paper() {
    show("Fig. 2: where the memory goes", compare_memory_states());
    show("Fig. 13: mean batch, contiguous", compare_batch_sizes());
    show("Fig. 13: mean batch, paged", compare_paged_batch());
    show("Fig. 15a: parallel sampling", compare_parallel_sharing());
    show("Fig. 15b: beam search", compare_beam_sharing());
    show_paper_fits();
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
    return write_file(
        svg_path,
        curve_svg(
            "KV blocks held, by second",
            {{"vLLM, measured", "", kv_percent(run.seconds)},
             {"recto, fitted", "5 3", kv_percent(seconds_of(fitted, run.seconds.size()))},
             {"recto, roofline", "1 3", kv_percent(seconds_of(roofline, run.seconds.size()))}}));
  }

  // Values that the paper does not state but its figures imply.
  static void show_paper_fits() {
    const auto line = [](const std::string& parameter, double value) {
      std::cout << fmt::format("| {} | {:.4g} |\n", parameter, value);
    };
    std::cout << "### Parameters that were fitted, found anew\n\n"
              << "| parameter | value |\n|---|---:|\n";
    for (const auto& [name, workload, batch] : {std::tuple("ShareGPT", "sharegpt-like", 30.42),
                                                std::tuple("Alpaca", "alpaca-like", 132.44)}) {
      line(fmt::format("{}: constant step for a batch of {} (ms)", name, batch),
           constant_step_ms(workload, batch));
      const StepTimeParts parts = mean_step_time(workload);
      line(fmt::format("{}: mean step of the model below (ms)", name), parts.total_ms);
      line(fmt::format("{}: of this, the card's (ms)", name), parts.card_ms);
    }
    line("Alpaca: beam switches per step for 37.56 % saved at width 2",
         beam_switch_probability("alpaca-like", 37.56));
    line("ShareGPT: beam switches per step for 44.3 % saved at width 2",
         beam_switch_probability("sharegpt-like", 44.3));
    for (const int width : {2, 6}) {
      line(fmt::format("ShareGPT, width {}: saved with Alpaca's parameter (%)", width),
           mean_over_seeds(beam_run("sharegpt-like", width, kAlpacaBeamSwitches), sharing_saving));
    }
    std::cout << "\n";
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

int validate(const std::vector<std::string>& arguments) {
  Validation validation;
  validation.show_paper();
  if (arguments.empty()) {
    std::cout << "SKIPPED: the replay of a real engine: no folder of traces was given\n";
  } else {
    const std::string svg = arguments.size() > 1 ? arguments[1] : "";
    const Status status = validation.show_vllm(arguments[0], svg);
    if (!status.is_ok()) {
      std::cerr << status << "\n";
      return 2;
    }
  }
  return validation.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::experiments

int main(int argc, char** argv) {
  recto::experiments::enter_callers_folder();
  return recto::experiments::validate({argv + 1, argv + argc});
}
