#include "experiments/report/series_data.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <tuple>

#include "core/contract.h"
#include "experiments/report/report_metrics.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

using sim::Gauge;
using sim::SeriesWindow;

struct Line {
  const char* name;
  std::initializer_list<Gauge> gauges;  // their sum
};

const Line kLines[] = {
    {"used", {Gauge::kUsed}},
    {"reserved", {Gauge::kReserved}},
    {"internal", {Gauge::kOverReservation, Gauge::kRounding, Gauge::kTail, Gauge::kOutOfWindow}},
    {"cached", {Gauge::kCached}},
    {"free", {Gauge::kFree}},
    {"overhead", {Gauge::kOverhead}},
    {"blocked_free", {Gauge::kBlockedFree}},
    {"unplaceable_free", {Gauge::kUnplaceableFree}},
    {"running", {Gauge::kRunningRequests}},
    {"waiting", {Gauge::kWaitingRequests}},
};

double sum_of(const SeriesWindow& window, const Line& line) {
  double sum = 0;
  for (const Gauge gauge : line.gauges) sum += window.mean[static_cast<std::size_t>(gauge)];
  return sum;
}

SeriesWindow join(const SeriesWindow& a, const SeriesWindow& b) {
  SeriesWindow joined{.begin = a.begin, .length = a.length + b.length, .mean = {}};
  const auto whole = static_cast<double>(joined.length.value());
  if (whole == 0) return a;
  for (std::size_t i = 0; i < joined.mean.size(); ++i) {
    joined.mean[i] = (a.mean[i] * static_cast<double>(a.length.value()) +
                      b.mean[i] * static_cast<double>(b.length.value())) /
                     whole;
  }
  return joined;
}

// Ordered by the queue, then by held slots.
std::tuple<double, double> pressure(const SeriesWindow& window) {
  const auto mean = [&](Gauge gauge) { return window.mean[static_cast<std::size_t>(gauge)]; };
  return {mean(Gauge::kWaitingRequests), -mean(Gauge::kFree)};
}

}  // namespace

SimTime end_of(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  return report.series.back().begin + report.series.back().length;
}

SimTime busiest_moment(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  const auto busiest = std::ranges::max_element(report.series, {}, pressure);
  // Begin a fiftieth of the run earlier.
  const std::int64_t lead = (end_of(report) - SimTime()).value() / 50;
  return SimTime(std::max<std::int64_t>((busiest->begin - SimTime()).value() - lead, 0));
}

std::vector<SeriesWindow> joined_windows(const std::vector<SeriesWindow>& windows,
                                         std::size_t windows_max) {
  RECTO_CHECK_GT(windows_max, 0u);
  const std::size_t at_a_time = (windows.size() + windows_max - 1) / windows_max;
  std::vector<SeriesWindow> joined;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (i % at_a_time == 0) {
      joined.push_back(windows[i]);
    } else {
      joined.back() = join(joined.back(), windows[i]);
    }
  }
  return joined;
}

Json series_json(const sim::Report& report) {
  const std::vector<SeriesWindow> windows = joined_windows(report.series, kSeriesPointsMax);
  Json json = {{"begin_s", Json::array()}};
  for (const SeriesWindow& window : windows) {
    json["begin_s"].push_back(rounded(seconds(window.begin)));
  }
  json["end_s"] = rounded(seconds(end_of(report)));
  for (const Line& line : kLines) {
    Json values = Json::array();
    for (const SeriesWindow& window : windows) values.push_back(rounded(sum_of(window, line)));
    json[line.name] = std::move(values);
  }
  return json;
}

}  // namespace recto::experiments
