#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/report/block_size_panel.h"
#include "experiments/report/headline.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/study_data.h"
#include "experiments/support/numbers.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kBlockSize = "block_size";

// "allocator paged, scale_rate 2": a point's axis values, except for the axis `left_out`.
std::string settings_text(const Json& settings, std::string_view left_out) {
  std::string text;
  for (const auto& [name, value] : settings.items()) {
    if (name == left_out) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.get<std::string>());
  }
  return text;
}

// Nulls for a failed point; includes kernel times for a point that served requests.
Result<Json> metrics_of_point(const ResultsFolder& folder, std::size_t row) {
  if (folder.table.text(row, "outcome") != "ok") return no_metrics();
  Json metrics = metrics_by_seed_json(folder, row);
  if (metrics["normalized_mean_s"].is_number()) {
    RECTO_RETURN_IF_ERROR(add_kernel_time(folder.configs[row], metrics));
  }
  return metrics;
}

// The sources of the step times of points with figures, each once.
Json time_models_of(const ResultsTable& table) {
  Json models = Json::array();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "outcome") != "ok") continue;
    const Json model = {{"name", table.text(row, "time_model")},
                        {"provenance", table.text(row, "time_model_provenance")}};
    if (std::ranges::find(models, model) == models.end()) models.push_back(model);
  }
  return models;
}

}  // namespace

Result<Json> sweep_data(const ResultsFolder& folder) {
  Json rows = Json::array();
  std::vector<std::string> families;
  for (std::size_t i = 0; i < folder.table.rows(); ++i) {
    Json settings = Json::object();
    for (const std::string& axis : folder.axes) settings[axis] = folder.table.text(i, axis);
    const Result<Json> metrics = metrics_of_point(folder, i);
    RECTO_RETURN_IF_ERROR(metrics.status());
    // The share of the seeds under which means extend to the last answer, if a request was served.
    const bool is_served = metrics.value()["normalized_mean_s"].is_number();
    const std::optional<double> drained = folder.table.number(i, "covers_drain");
    const bool has_sizes = settings.contains(kBlockSize) && !is_contiguous(folder.configs[i]);
    rows.push_back({{"label", settings.empty() ? "point 0" : settings_text(settings, "")},
                    {"settings", settings},
                    {"block_size", has_sizes ? Json(folder.configs[i].block_size) : Json()},
                    {"error", folder.table.text(i, "error")},
                    {"covers_drain", is_served && drained ? Json(*drained) : Json()},
                    {"metrics", metrics.value()}});
    families.push_back(settings_text(settings, kBlockSize));
  }
  const Throughput throughput = throughput_of(folder.configs);
  const Json panels = block_size_panels(rows, families, throughput, folder.seeds);
  for (Json& row : rows) row["metrics"].erase(kBySeed);
  return Json{{"kind", "sweep"},
              {"notes", notes_on(rows, folder.seeds)},
              {"seeds", folder.seeds},
              {"setting", counted(static_cast<std::int64_t>(folder.table.rows()), "point")},
              {"axes", folder.axes},
              {"has_limits", throughput == Throughput::kGoodput},
              {"time_models", time_models_of(folder.table)},
              {"rows", rows},
              {"panels", panels}};
}

}  // namespace recto::experiments
