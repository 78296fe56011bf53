#include "experiments/sweep/sweep_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/contract.h"
#include "experiments/support/numbers.h"
#include "experiments/support/report_json.h"
#include "experiments/support/table.h"
#include "experiments/sweep/sweep_columns.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kTableRowsMax = 50;

// The figures of a point that the terminal shows, the most important first.
struct Headline {
  std::string_view column;
  std::string_view title;
  std::string (*text)(double value);
};
constexpr Headline kHeadlines[] = {
    {"requests_per_s", "req/s", short_number},
    {"used_share", "used %", percent},
    {"running_requests_mean", "running", short_number},
    {"ttft_mean_s", "TTFT s", short_number},
    {"tpot_mean_s", "TPOT s", short_number},
    {"latency_mean_s", "latency s", short_number},
    {"reserved_share", "reserved %", percent},
    {"internal_share", "internal %", percent},
    {"preemptions", "preempted", short_number},
};

std::size_t column_index(std::string_view name) {
  const auto columns = sweep_columns();
  const auto found = std::ranges::find(columns, name);
  RECTO_CHECK(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

// The number of points whose count in the column is above 0.
std::int64_t points_with(const std::vector<SweepPoint>& points, std::string_view column) {
  const std::size_t index = column_index(column);
  return std::ranges::count_if(points, [&](const SweepPoint& point) {
    return point.error.empty() && point.figures[index].mean > 0;
  });
}

std::vector<double> by_seed(std::span<const RunRecord> runs, std::size_t column) {
  std::vector<double> values;
  for (const RunRecord& run : runs) values.push_back(run.values[column]);
  return values;
}

std::string table_of(const SweepGrid& grid, const std::vector<SweepPoint>& points,
                     std::span<const Headline> headlines) {
  std::vector<TableColumn> columns{{"point"}};
  for (const SweepAxis& axis : grid.axes()) {
    columns.push_back({std::string(axis.field->name), Align::kLeft});
  }
  for (const Headline& headline : headlines) columns.push_back({std::string(headline.title)});
  Table table(columns);
  for (std::size_t i = 0; i < std::min(points.size(), kTableRowsMax); ++i) {
    std::vector<std::string> row{std::to_string(i)};
    row.insert(row.end(), points[i].axis_values.begin(), points[i].axis_values.end());
    for (const Headline& headline : headlines) {
      row.push_back(points[i].error.empty()
                        ? headline.text(points[i].figures[column_index(headline.column)].mean)
                        : "failed");
    }
    table.add_row(std::move(row));
  }
  return table.text();
}

}  // namespace

std::vector<SweepPoint> collect_points(const SweepGrid& grid,
                                       const std::vector<RunRecord>& records) {
  RECTO_CHECK_EQ(static_cast<std::int64_t>(records.size()), grid.run_count());
  const auto seeds = static_cast<std::size_t>(grid.seed_count());
  std::vector<SweepPoint> points;
  for (std::int64_t i = 0; i < grid.point_count(); ++i) {
    const std::span runs(records.data() + static_cast<std::size_t>(i) * seeds, seeds);
    SweepPoint point{.axis_values = grid.point_values(i),
                     .time_model = {},
                     .figures = {},
                     .by_seed = {},
                     .error = {}};
    const auto facts = time_model_facts(grid.run_config(i * grid.seed_count()));
    if (facts.is_ok()) point.time_model = facts.value();
    const auto failed = std::ranges::find_if_not(runs, &RunRecord::is_ok);
    if (failed != runs.end()) {
      point.error = failed->error;
    } else {
      for (std::size_t column = 0; column < sweep_columns().size(); ++column) {
        std::vector<double> values = by_seed(runs, column);
        point.figures.push_back(mean_with_interval(values));
        if (seeds > 1) point.by_seed.push_back(std::move(values));
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::string sweep_csv(const SweepGrid& grid, const std::vector<SweepPoint>& points) {
  const bool has_intervals = grid.seed_count() > 1;
  std::vector<std::string> row{"point"};
  for (const SweepAxis& axis : grid.axes()) row.emplace_back(axis.field->name);
  row.insert(row.end(), {"outcome", "error", "time_model", "time_model_provenance"});
  for (const std::string& column : sweep_columns()) {
    row.emplace_back(column);
    if (!has_intervals) continue;
    row.push_back(fmt::format("{}_ci95", column));
    row.push_back(fmt::format("{}_by_seed", column));
  }
  std::string csv = csv_row(row);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& point = points[i];
    row = {std::to_string(i)};
    row.insert(row.end(), point.axis_values.begin(), point.axis_values.end());
    row.insert(row.end(), {point.error.empty() ? "ok" : "failed", point.error,
                           point.time_model.name, point.time_model.provenance});
    for (std::size_t column = 0; column < sweep_columns().size(); ++column) {
      const bool is_known = point.error.empty();
      row.push_back(is_known ? csv_number_or_nothing(point.figures[column].mean) : "");
      if (!has_intervals) continue;
      row.push_back(is_known ? csv_number_or_nothing(point.figures[column].half_width) : "");
      row.push_back(is_known ? csv_numbers(point.by_seed[column]) : "");
    }
    csv += csv_row(row);
  }
  return csv;
}

std::string sweep_table(const SweepGrid& grid, const std::vector<SweepPoint>& points,
                        std::size_t columns) {
  std::span<const Headline> headlines(kHeadlines);
  std::string text = table_of(grid, points, headlines);
  while (headlines.size() > 1 && display_width(text.substr(0, text.find('\n'))) > columns) {
    headlines = headlines.first(headlines.size() - 1);
    text = table_of(grid, points, headlines);
  }
  if (points.size() > kTableRowsMax) {
    text += fmt::format("... and {} more points\n", points.size() - kTableRowsMax);
  }
  return text;
}

std::string rejected_points(const std::vector<SweepPoint>& points) {
  const std::int64_t count = points_with(points, "requests_rejected");
  if (count == 0) return "";
  return fmt::format(
      "At {} of {} points requests were rejected, because they can never fit: see "
      "requests_rejected.\n",
      count, points.size());
}

std::string skipped_points(const std::vector<SweepPoint>& points) {
  const std::int64_t count = points_with(points, "skipped_rows");
  if (count == 0) return "";
  return fmt::format("At {} of {} points bad rows of the trace were left out: see skipped_rows.\n",
                     count, points.size());
}

std::string point_name(const SweepGrid& grid, std::int64_t point) {
  const std::vector<std::string> values = grid.point_values(point);
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < values.size(); ++i) {
    settings.push_back(fmt::format("{} {}", grid.axes()[i].field->name, values[i]));
  }
  return settings.empty() ? fmt::format("point {}", point)
                          : fmt::format("point {} ({})", point, fmt::join(settings, ", "));
}

}  // namespace recto::experiments
