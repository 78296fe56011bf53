#include "sim/time/measured_times.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/json.h"
#include "sim/time/json_object.h"

namespace recto::sim {
namespace {

std::vector<MeasuredPoint> merged(std::vector<MeasuredPoint> points) {
  // Also sorts by time, so that a sum does not depend on the order of the given points.
  std::ranges::sort(points, [](const MeasuredPoint& a, const MeasuredPoint& b) {
    return std::pair(a.work, a.ns) < std::pair(b.work, b.ns);
  });
  std::vector<MeasuredPoint> kept;
  for (std::size_t first = 0; first < points.size();) {
    double sum = 0;
    std::size_t last = first;
    for (; last < points.size() && points[last].work == points[first].work; ++last) {
      sum += points[last].ns;
    }
    kept.push_back({points[first].work, sum / static_cast<double>(last - first)});
    first = last;
  }
  return kept;
}

constexpr double kLargest = 1e18;  // larger values indicate a wrong unit

// Reads the fields of an object, and keeps the first mistake.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  double positive(const char* name) {
    const double value = number(name);
    if (status_.is_ok() && !(value > 0 && value < kLargest)) {
      fail(name, "is " + std::to_string(value), "a number above 0, below 1e18");
    }
    return value;
  }
  std::int64_t count(const char* name) {
    const double value = positive(name);
    if (!status_.is_ok()) return 0;
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) != value) {
      fail(name, "is " + std::to_string(value), "a whole number");
    }
    return whole;
  }
  double number(const char* name) {
    const Json* const field = object_.find(name);
    if (field != nullptr && field->is_number()) return field->get<double>();
    fail(name, found(field), "a number");
    return 0;
  }
  std::string text(const char* name) {
    const Json* const field = object_.find(name);
    if (field != nullptr && field->is_string()) return field->get<std::string>();
    fail(name, found(field), "a string");
    return {};
  }
  const Status& status() const { return status_; }

 private:
  static std::string found(const Json* field) {
    return field == nullptr ? "missing" : std::string("is ") + field->type_name();
  }
  void fail(const char* name, const std::string& found, const char* expected) {
    if (!status_.is_ok()) return;
    status_ = Status::invalid_input(where_ + ", field '" + name + "': " + found + "; expected " +
                                    expected);
  }

  const Json& object_;
  std::string where_;
  Status status_;
};

std::optional<MeasuredStage> stage_of(std::string_view name) {
  if (name.starts_with("decode/")) return MeasuredStage::kDecode;
  if (name.starts_with("prefill/")) return MeasuredStage::kPrefill;
  return std::nullopt;
}

// Google Benchmark versions mark skipped cases differently.
bool was_skipped(const Json& benchmark) {
  const Json* const error = benchmark.find("error_occurred");
  if (error != nullptr && error->is_boolean()) return error->get<bool>();
  return benchmark.contains("skipped");
}

Status add_benchmark(const Json& benchmark, const std::string& where, MeasuredTimes& times) {
  if (!benchmark.is_object()) {
    return Status::invalid_input(where + ": is " + benchmark.type_name() + "; expected an object");
  }
  Fields named(benchmark, where);
  const std::string name = named.text("name");
  RECTO_RETURN_IF_ERROR(named.status());
  const std::optional<MeasuredStage> stage = stage_of(name);
  if (!stage || was_skipped(benchmark)) return Status::ok();
  Fields fields(benchmark, where + " '" + name + "'");
  times.attention.push_back({.stage = *stage,
                             .group = fields.count("group"),
                             .head_dim = fields.count("head_dim"),
                             .kv_element_bytes = fields.count("kv_element_bytes"),
                             .block_size = fields.count("block_size"),
                             .is_contiguous = fields.number("contiguous") != 0,
                             .kv_bytes = fields.positive("kv_bytes"),
                             .flops = fields.positive("flops"),
                             .ns = fields.positive("median_us") * 1e3});
  // These are equal in all benchmarks of a run.
  times.copied_bytes_per_s = fields.positive("copy_GB_per_s") * 1e9;
  times.matrix_flops_per_s = fields.positive("matrix_TFLOP_per_s") * 1e12;
  return fields.status();
}

}  // namespace

MeasuredCurve::MeasuredCurve(std::vector<MeasuredPoint> points)
    : points_(merged(std::move(points))) {
  RECTO_CHECK(!points_.empty());
  RECTO_CHECK_GT(points_.front().work, 0.0);
  double longest = 0;
  for (MeasuredPoint& point : points_) {
    RECTO_CHECK_GT(point.ns, 0.0);
    longest = std::max(longest, point.ns);
    point.ns = longest;
  }
}

double MeasuredCurve::ns(double work) const {
  RECTO_CHECK_GE(work, 0.0);
  if (work == 0) return 0;
  const MeasuredPoint& last = points_.back();
  if (work >= last.work) return last.ns * (work / last.work);
  const auto above = std::ranges::upper_bound(points_, work, {}, &MeasuredPoint::work);
  if (above == points_.begin()) return above->ns;
  const MeasuredPoint& below = *(above - 1);
  const double share = (work - below.work) / (above->work - below.work);
  // Even with rounding, this form never decreases, and stays between both points.
  return std::min(below.ns + (above->ns - below.ns) * share, above->ns);
}

CurvePart MeasuredCurve::part(double work) const {
  RECTO_CHECK_GT(work, 0.0);
  const auto found = std::ranges::lower_bound(points_, work, {}, &MeasuredPoint::work);
  if (found == points_.end()) return CurvePart::kBeyondLast;
  if (found->work == work) return CurvePart::kAtPoint;
  return found == points_.begin() ? CurvePart::kBelowFirst : CurvePart::kBetween;
}

Result<MeasuredTimes> parse_measured_times(std::string_view text, const std::string& file_name) {
  const Result<Json> parsed = parse_json_object(text, file_name, "an object of measurements");
  if (!parsed.is_ok()) return parsed.status();
  const Json* const context = parsed.value().find("context");
  if (context == nullptr || !context->is_object()) {
    return Status::invalid_input(file_name + ", field 'context': expected an object");
  }
  Fields about(*context, file_name + ", 'context'");
  MeasuredTimes times;
  times.gpu = about.text("gpu");
  times.commit = about.text("recto_commit");
  times.date = about.text("date");
  RECTO_RETURN_IF_ERROR(about.status());
  const Json* const benchmarks = parsed.value().find("benchmarks");
  if (benchmarks == nullptr || !benchmarks->is_array()) {
    return Status::invalid_input(file_name + ", field 'benchmarks': expected a list");
  }
  for (std::size_t i = 0; i < benchmarks->size(); ++i) {
    const std::string where = file_name + ", benchmark " + std::to_string(i);
    RECTO_RETURN_IF_ERROR(add_benchmark((*benchmarks)[i], where, times));
  }
  if (times.attention.empty()) {
    return Status::invalid_input(file_name +
                                 ", field 'benchmarks': found no measured decode/ or prefill/ "
                                 "benchmark; expected at least one");
  }
  return times;
}

Result<MeasuredTimes> load_measured_times(const std::string& path) {
  const Result<std::string> text =
      read_text(path, "the JSON of cuda/bench:attention_benchmark, see experiments/results");
  if (!text.is_ok()) return text.status();
  return parse_measured_times(text.value(), path);
}

}  // namespace recto::sim
