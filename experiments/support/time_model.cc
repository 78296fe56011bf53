#include "experiments/support/time_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/support/numbers.h"
#include "experiments/support/resolved_run.h"
#include "sim/time/attention_efficiency.h"
#include "sim/time/linear_time_model.h"
#include "sim/time/measured_time_model.h"
#include "sim/time/measured_times.h"
#include "sim/time/roofline_time_model.h"
#include "sim/time/step_options.h"

namespace recto::experiments {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLinear = "linear:";
constexpr std::string_view kMeasured = "measured:";
constexpr const char* kFile = "attention.json";

fs::path results_folder() {
  const char* named = std::getenv("RECTO_GPU_RESULTS");
  return named == nullptr || *named == '\0' ? "experiments/results" : named;
}

std::vector<std::string> measured_cards(const fs::path& results) {
  std::vector<std::string> cards;
  std::error_code error;  // a missing folder has none
  for (fs::directory_iterator entry(results, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code missing;
    if (fs::exists(entry->path() / kFile, missing)) cards.push_back(entry->path().filename());
  }
  std::ranges::sort(cards);
  return cards;
}

// By folder, for reports, which know where the study's file was found.
Result<TimeModelChoice> choose_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder / kFile, error)) {
    return TimeModelChoice{TimeModelKind::kMeasured, folder / kFile};
  }
  return Status::invalid_input(
      fmt::format("--time-model measured:{}: no {} is there; expected a folder of results",
                  folder.string(), kFile));
}

Result<TimeModelChoice> choose_measured(const std::string& card) {
  if (fs::path(card).is_absolute()) return choose_folder(card);
  const fs::path results = results_folder();
  const std::vector<std::string> cards = measured_cards(results);
  if (std::ranges::find(cards, card) != cards.end()) {
    return TimeModelChoice{TimeModelKind::kMeasured, results / card / kFile};
  }
  return Status::invalid_input(
      cards.empty()
          ? fmt::format("--time-model measured:{}: no results yet: {} has no GPU/{}; expected "
                        "roofline or linear:FILE, or RECTO_GPU_RESULTS to name a folder of results",
                        card, results.string(), kFile)
          : fmt::format("--time-model measured:{}: no such results in {}; expected one of {}", card,
                        results.string(), fmt::join(cards, ", ")));
}

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

using TimeModelResult = Result<std::unique_ptr<sim::TimeModel>>;

template <typename Model>
TimeModelResult boxed(Result<Model> model) {
  RECTO_RETURN_IF_ERROR(model.status());
  return std::unique_ptr<sim::TimeModel>(std::make_unique<Model>(std::move(model).value()));
}

TimeModelResult make_roofline(const ResolvedRun& run) {
  const auto curve = sim::find_attention_curve(run.config.attention_curve);
  RECTO_RETURN_IF_ERROR(curve.status().in("--attention-curve"));
  sim::RooflineSetup setup = roofline_setup(run);
  setup.curve = is_contiguous(run.config) ? contiguous_curve() : curve.value();
  Result<sim::RooflineTimeModel> model = sim::RooflineTimeModel::make(setup);
  RECTO_RETURN_IF_ERROR(model.status().in("--time-model roofline"));
  return boxed(std::move(model));
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

TimeModelResult make_plain(const ResolvedRun& run) {
  const Result<TimeModelChoice> choice = choose_time_model(run.config.time_model);
  RECTO_RETURN_IF_ERROR(choice.status());
  if (choice.value().kind == TimeModelKind::kRoofline) return make_roofline(run);
  if (choice.value().kind == TimeModelKind::kMeasured) {
    return boxed(make_measured(run, choice.value()));
  }
  const auto coefficients = sim::load_linear_time_model(choice.value().file);
  RECTO_RETURN_IF_ERROR(coefficients.status().in("--time-model"));
  return boxed(Result(sim::LinearTimeModel(coefficients.value())));
}

Result<std::vector<std::int64_t>> parse_graph_sizes(std::string_view text) {
  if (text == "none") return std::vector<std::int64_t>();
  if (text == "vllm") return sim::vllm_graph_batch_sizes();
  if (text == "pow2") return sim::power_of_two_graph_batch_sizes();
  const Result<std::vector<std::string>> items = split_list(text);
  bool is_good = items.is_ok();
  std::vector<std::int64_t> sizes;
  for (const std::string& item : is_good ? items.value() : std::vector<std::string>()) {
    is_good = is_good && store(parse_number(item, CountRange{1}), sizes.emplace_back()).is_ok();
  }
  if (is_good && std::ranges::adjacent_find(sizes, std::greater_equal()) == sizes.end()) {
    return sizes;
  }
  return Status::invalid_input(fmt::format(
      "--graph-sizes: found '{}'; expected none, vllm, pow2 or sizes that ascend: 1,2,4", text));
}

}  // namespace

Result<TimeModelChoice> choose_time_model(std::string_view flag) {
  if (flag == "roofline") return TimeModelChoice{};
  if (flag.starts_with(kLinear) && flag.size() > kLinear.size()) {
    return TimeModelChoice{TimeModelKind::kLinear, std::string(flag.substr(kLinear.size()))};
  }
  if (flag.starts_with(kMeasured) && flag.size() > kMeasured.size()) {
    return choose_measured(std::string(flag.substr(kMeasured.size())));
  }
  return Status::invalid_input(fmt::format(
      "--time-model: found '{}'; expected roofline or linear:FILE, or measured:GPU", flag));
}

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
