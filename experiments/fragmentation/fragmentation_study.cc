#include "experiments/fragmentation/fragmentation_study.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "experiments/support/parallel.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_fields.h"
#include "experiments/support/unused_settings.h"

namespace recto::experiments {
namespace {

Result<FragmentationRow> run_one(const RunConfig& config) {
  Result<RunOutcome> outcome = run(config);
  RECTO_RETURN_IF_ERROR(outcome.status());
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  const Figures figures = make_figures(outcome.value().report, resolved.value());
  return FragmentationRow{config, std::move(outcome).value(), figures};
}

}  // namespace

std::string FragmentationRow::block_text() const {
  return is_contiguous(config) ? "-" : fmt::format("{}", config.block_size);
}

std::string FragmentationRow::label() const { return label_of(config); }

std::string label_of(const RunConfig& config) {
  if (is_contiguous(config)) return config.allocator;
  return fmt::format("{} {}", config.allocator, config.block_size);
}

std::vector<RunConfig> configs_of(const std::vector<FragmentationRow>& rows) {
  std::vector<RunConfig> configs;
  for (const FragmentationRow& row : rows) configs.push_back(row.config);
  return configs;
}

Result<std::vector<RunConfig>> expand(const FragmentationGrid& grid) {
  std::vector<RunConfig> configs;
  for (const std::string& allocator : grid.allocators) {
    RunConfig config = grid.base;
    RECTO_RETURN_IF_ERROR(
        set_field(config, *find_run_field("allocator"), allocator).in("--allocators"));
    if (is_contiguous(config)) {
      configs.push_back(config);
      continue;
    }
    for (const std::int64_t block_size : grid.block_sizes) {
      config.block_size = block_size;
      configs.push_back(config);
    }
  }
  for (const RunConfig& config : configs) {
    RECTO_RETURN_IF_ERROR(validate(config).in(label_of(config)));
  }
  RECTO_RETURN_IF_ERROR(refuse_unused(configs));
  return configs;
}

Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs, int threads,
                                              const std::function<void(const RunConfig&)>& done) {
  std::vector<std::optional<Result<FragmentationRow>>> results(configs.size());
  for_each_index(configs.size(), threads, [&](std::size_t index) {
    results[index] = run_one(configs[index]);
    done(configs[index]);
  });
  std::vector<FragmentationRow> rows;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    RECTO_RETURN_IF_ERROR(results[i]->status().in(label_of(configs[i])));
    rows.push_back(std::move(*results[i]).value());
  }
  return rows;
}

}  // namespace recto::experiments
