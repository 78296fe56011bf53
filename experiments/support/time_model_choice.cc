// make_time_model, time_model_facts and full_pool_decode of resolved_run.h.

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/support/resolved_run.h"
#include "experiments/support/time_model_flag.h"
#include "sim/time/attention_efficiency.h"
#include "sim/time/linear_time_model.h"
#include "sim/time/linear_time_model_file.h"
#include "sim/time/measured_time_model.h"
#include "sim/time/measured_times.h"
#include "sim/time/roofline_time_model.h"
#include "sim/time/step_options.h"

namespace recto::experiments {
namespace {

// Regions need no table, and their tokens are read contiguously.
sim::AttentionCurve contiguous_curve() {
  return {.name = "contiguous",
          .points = {{1, sim::kContiguousAttentionEfficiency}},
          .provenance = sim::Provenance::kCited,
          .source = "FlashInfer (arXiv 2501.01005): 70-83 % of peak on skewed batches; the middle"};
}

// With the default curve, which a measured model replaces.
sim::RooflineSetup roofline_setup(const ResolvedRun& run) {
  return {.model = run.model,
          .gpu = run.gpu,
          .shape = run.shape,
          .constants = {},
          .host_work = run.config.host_work == "exposed" ? sim::HostWork::kExposed
                                                         : sim::HostWork::kOverlapped};
}

Result<std::unique_ptr<sim::TimeModel>> make_roofline(const ResolvedRun& run) {
  const auto curve = sim::find_attention_curve(run.config.attention_curve);
  RECTO_RETURN_IF_ERROR(curve.status().in("--attention-curve"));
  sim::RooflineSetup setup = roofline_setup(run);
  setup.curve = is_contiguous(run.config) ? contiguous_curve() : curve.value();
  Result<sim::RooflineTimeModel> model = sim::RooflineTimeModel::make(setup);
  RECTO_RETURN_IF_ERROR(model.status().in("--time-model roofline"));
  return std::unique_ptr<sim::TimeModel>(
      std::make_unique<sim::RooflineTimeModel>(std::move(model).value()));
}

Result<std::unique_ptr<sim::TimeModel>> make_linear(const TimeModelChoice& choice) {
  const auto coefficients = sim::load_linear_time_model(choice.file);
  RECTO_RETURN_IF_ERROR(coefficients.status().in("--time-model"));
  return std::unique_ptr<sim::TimeModel>(
      std::make_unique<sim::LinearTimeModel>(coefficients.value()));
}

Result<sim::MeasuredTimeModel> make_measured(const ResolvedRun& run,
                                             const TimeModelChoice& choice) {
  const auto times = sim::load_measured_times(choice.file);
  RECTO_RETURN_IF_ERROR(times.status().in("--time-model"));
  Result<sim::MeasuredTimeModel> model = sim::MeasuredTimeModel::make(
      {.roofline = roofline_setup(run),
       .placement =
           is_contiguous(run.config) ? sim::KvPlacement::kContiguous : sim::KvPlacement::kBlocks},
      times.value());
  RECTO_RETURN_IF_ERROR(model.status().in("--time-model " + run.config.time_model));
  return model;
}

Result<std::unique_ptr<sim::TimeModel>> make_plain(const ResolvedRun& run) {
  const Result<TimeModelChoice> choice = choose_time_model(run.config.time_model);
  RECTO_RETURN_IF_ERROR(choice.status());
  switch (choice.value().kind) {
    case TimeModelKind::kRoofline:
      return make_roofline(run);
    case TimeModelKind::kLinear:
      return make_linear(choice.value());
    case TimeModelKind::kMeasured: {
      Result<sim::MeasuredTimeModel> model = make_measured(run, choice.value());
      RECTO_RETURN_IF_ERROR(model.status());
      return std::unique_ptr<sim::TimeModel>(
          std::make_unique<sim::MeasuredTimeModel>(std::move(model).value()));
    }
  }
  RECTO_UNREACHABLE("kind of time model");
}

Result<std::vector<std::int64_t>> parse_graph_sizes(std::string_view text) {
  if (text == "none") return std::vector<std::int64_t>();
  if (text == "vllm") return sim::vllm_graph_batch_sizes();
  if (text == "pow2") return sim::power_of_two_graph_batch_sizes();
  std::vector<std::int64_t> sizes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(at, end, size);
    const bool is_good = error == std::errc() && (stop == end || *stop == ',') &&
                         size > (sizes.empty() ? 0 : sizes.back());
    if (!is_good) {
      return Status::invalid_input(fmt::format(
          "--graph-sizes: found '{}'; expected none, vllm, pow2 or sizes that ascend: 1,2,4",
          text));
    }
    sizes.push_back(size);
    if (stop == end) return sizes;
    at = stop + 1;
  }
}

}  // namespace

Result<TimeModelFacts> time_model_facts(const RunConfig& config) {
  const Result<TimeModelChoice> choice = choose_time_model(config.time_model);
  RECTO_RETURN_IF_ERROR(choice.status());
  if (choice.value().kind == TimeModelKind::kRoofline) {
    return TimeModelFacts{"roofline", "cited, not measured on this card"};
  }
  if (choice.value().kind == TimeModelKind::kMeasured) {
    const auto times = sim::load_measured_times(choice.value().file);
    RECTO_RETURN_IF_ERROR(times.status().in("--time-model"));
    return TimeModelFacts{.name = config.time_model,
                          .provenance = fmt::format(
                              "attention measured on {} (commit {}, {}); launches and links cited",
                              times.value().gpu, times.value().commit, times.value().date),
                          .measured_on = times.value().gpu};
  }
  const auto coefficients = sim::load_linear_time_model(choice.value().file);
  RECTO_RETURN_IF_ERROR(coefficients.status().in("--time-model"));
  return TimeModelFacts{config.time_model,
                        "fitted, as its file says, on: " + coefficients.value().source,
                        coefficients.value().per_kv_block_ns > 0};
}

Result<std::unique_ptr<sim::TimeModel>> make_time_model(const ResolvedRun& run) {
  Result<std::unique_ptr<sim::TimeModel>> plain = make_plain(run);
  RECTO_RETURN_IF_ERROR(plain.status());
  auto sizes = parse_graph_sizes(run.config.graph_sizes);
  RECTO_RETURN_IF_ERROR(sizes.status());
  sim::StepOptions options{.graph_batch_sizes = std::move(sizes).value(),
                           .stream_interference = run.config.stream_interference};
  if (options.graph_batch_sizes.empty() && !options.stream_interference) return plain;
  return sim::with_step_options(std::move(plain).value(), std::move(options));
}

Result<std::optional<sim::MeasuredDecode>> full_pool_decode(const ResolvedRun& run) {
  const Result<TimeModelChoice> choice = choose_time_model(run.config.time_model);
  RECTO_RETURN_IF_ERROR(choice.status());
  if (choice.value().kind != TimeModelKind::kMeasured) return std::optional<sim::MeasuredDecode>();
  const Result<sim::MeasuredTimeModel> model = make_measured(run, choice.value());
  RECTO_RETURN_IF_ERROR(model.status());
  return std::optional(model.value().decode(run.pool_slots));
}

}  // namespace recto::experiments
