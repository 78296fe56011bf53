#include "experiments/fragmentation/fragmentation_study.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "experiments/support/parallel.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
PoolShares FragmentationRow::mean_shares() const {
  const auto of = [this](std::string_view state) {
    return mean("figures.mean_shares." + std::string(state));
  };
  return {.used = of("used"),
          .reserved = of("reserved"),
          .over_reservation = of("over_reservation"),
          .rounding = of("rounding"),
          .tail = of("tail"),
          .out_of_window = of("out_of_window"),
          .cached = of("cached"),
          .free = of("free"),
          .overhead = of("overhead")};
}

PaperShares FragmentationRow::mean_paper_shares() const {
  const auto of = [this](std::string_view state) {
    return mean("figures.paper_shares." + std::string(state));
  };
  return {.token_states = of("token_states"),
          .reservation = of("reservation"),
          .internal_fragmentation = of("internal_fragmentation"),
          .external_and_others = of("external_and_others")};
}

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

Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs,
                                              const StudyOptions& options) {
  for (const RunConfig& config : configs) {
    RECTO_RETURN_IF_ERROR(check_seed_room(config, options.seeds));
  }
  const auto seeds = static_cast<std::size_t>(options.seeds);
  std::vector<std::optional<Result<SeedRun>>> results(configs.size() * seeds);
  for_each_index(results.size(), options.threads, [&](std::size_t index) {
    RunConfig config = configs[index / seeds];
    config.seed += static_cast<std::int64_t>(index % seeds);
    results[index] = run_seed(config);
    if (options.done) options.done(config);
  });
  std::vector<FragmentationRow> rows;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    FragmentationRow row{.config = configs[i], .runs = {}, .intervals = {}};
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      Result<SeedRun>& result = *results[i * seeds + seed];
      RECTO_RETURN_IF_ERROR(result.status().in(label_of(configs[i])));
      row.runs.push_back(std::move(result).value());
    }
    row.intervals = intervals_of(row.runs);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace recto::experiments
