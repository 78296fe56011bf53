#include "experiments/support/series_csv.h"

#include <vector>

#include "core/units.h"
#include "experiments/support/csv.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {

std::string series_csv_header() {
  std::vector<std::string> titles{"allocator", "block_size", "begin_s", "length_s"};
  for (const sim::GaugeInfo& info : sim::kGauges) titles.emplace_back(info.name);
  return csv_row(titles);
}

std::string series_csv_rows(const std::string& allocator, const sim::Report& report) {
  std::string text;
  for (const sim::SeriesWindow& window : report.series) {
    std::vector<std::string> values{allocator, std::to_string(report.block_size.value()),
                                    csv_number(seconds(window.begin)),
                                    csv_number(seconds(window.length))};
    for (const double mean : window.mean) values.push_back(csv_number(mean));
    text += csv_row(values);
  }
  return text;
}

}  // namespace recto::experiments
