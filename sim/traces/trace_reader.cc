#include "sim/traces/trace_reader.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/traces/format_detection.h"

namespace recto::sim {
namespace {

// A longer trace is assumed to be damaged.
constexpr std::int64_t kTraceYearsMax = 100;
constexpr std::int64_t kTraceNsMax = kTraceYearsMax * 365 * 24 * 3600 * kNanosecondsPerSecond;

Status check_options(const TraceOptions& options) {
  if (!std::isfinite(options.scale_rate) || options.scale_rate <= 0) {
    return Status::invalid_input(
        fmt::format("scale_rate: expected a finite number above 0, got {}", options.scale_rate));
  }
  if (options.limit && *options.limit < 0) {
    return Status::invalid_input(
        fmt::format("limit: expected a whole number of at least 0, got {}", *options.limit));
  }
  if (options.lines.buffer_bytes == 0) {
    return Status::invalid_input("buffer_bytes: expected at least 1, got 0");
  }
  return Status::ok();
}

Status check_no_nul(const Line& line) {
  const std::size_t position = line.text.find('\0');
  if (position == std::string_view::npos) return Status::ok();
  return Status::invalid_input(
      fmt::format("column {}: expected text, got a NUL byte", position + 1));
}

}  // namespace

TraceReader::TraceReader(std::unique_ptr<LineReader> lines, std::string name,
                         const TraceOptions& options)
    : lines_(std::move(lines)), name_(std::move(name)), options_(options) {}

Status TraceReader::start() {
  const Result<std::optional<Line>> first_line = lines_->next();
  if (!first_line.is_ok()) return located(first_line.status(), lines_->line_number());
  if (!first_line.value()) {
    return Status::invalid_input(name_ + ": is empty: expected a trace");
  }
  const Line& line = *first_line.value();
  Result<DetectedFormat> detected = detect_format(line);
  if (!detected.is_ok()) return located(detected.status(), line.number);
  parser_ = std::move(detected.value().parser);
  if (detected.value().first_line == FirstLine::kFirstRow) held_line_ = line;
  ahead_ = read_ahead();
  return Status::ok();
}

Result<std::optional<SimTime>> TraceReader::next_arrival() {
  RECTO_RETURN_IF_ERROR(ahead_.status());
  if (!ahead_.value()) return std::optional<SimTime>();
  return std::optional<SimTime>(ahead_.value()->arrival);
}

Result<std::optional<Request>> TraceReader::next() {
  if (!ahead_.is_ok()) {
    state_ = State::kErrorHandedOut;
    return ahead_;
  }
  if (!ahead_.value()) return ahead_;
  Result<std::optional<Request>> request = std::move(ahead_);
  ++counters_.requests;
  ahead_ = read_ahead();
  return request;
}

bool TraceReader::exhausted() const {
  return ahead_.is_ok() ? !ahead_.value().has_value() : state_ == State::kErrorHandedOut;
}

Result<std::optional<Request>> TraceReader::read_ahead() {
  while (!options_.limit || requests_read_ < *options_.limit) {
    const Result<std::optional<Line>> line = next_line();
    if (!line.is_ok()) return located(line.status(), lines_->line_number());
    if (!line.value()) {
      if (requests_read_ == 0) return end_without_requests();
      break;
    }
    ++counters_.rows;
    Result<std::optional<Request>> request = read_row(*line.value());
    if (request.is_ok()) {
      if (!request.value()) continue;
      request.value()->id = requests_read_++;
      return request;
    }
    const Status problem = located(request.status(), line.value()->number);
    if (options_.on_bad_row == OnBadRow::kFail) return problem;
    ++counters_.skipped_rows;
    if (counters_.skip_messages.size() < kSkipMessagesMax) {
      counters_.skip_messages.push_back(problem.message());
    }
  }
  return std::optional<Request>();
}

Result<std::optional<Line>> TraceReader::next_line() {
  if (!held_line_) return lines_->next();
  return std::exchange(held_line_, std::nullopt);
}

Result<std::optional<Request>> TraceReader::read_row(const Line& line) {
  RECTO_RETURN_IF_ERROR(check_no_nul(line));
  Result<TraceRow> parsed = parser_->parse(line);
  if (!parsed.is_ok()) return parsed.status();
  TraceRow& row = parsed.value();
  RECTO_RETURN_IF_ERROR(check_order(row));

  std::optional<Request> request;
  if (row.outcome == RowOutcome::kFailed) {
    ++counters_.failed_requests;
  } else {
    const Result<SimTime> arrival = place_arrival(row);
    if (!arrival.is_ok()) return arrival.status();
    if (!first_arrival_ns_) first_arrival_ns_ = row.arrival_ns;
    request.emplace();
    request->arrival = arrival.value();
    request->prompt_tokens = TokenCount(row.prompt_tokens);
    request->output_tokens = TokenCount(row.output_tokens);
    request->content = std::move(row.content);
  }
  if (!previous_) previous_.emplace();
  previous_->ns = row.arrival_ns;
  previous_->line_number = line.number;
  previous_->text.assign(row.arrival_text);
  return request;
}

Status TraceReader::check_order(const TraceRow& row) const {
  if (!previous_ || row.arrival_ns >= previous_->ns) return Status::ok();
  return Status::invalid_input(
      fmt::format("field {}: time goes backwards: expected at least {} as on line {}, got {}",
                  row.arrival_field, quote_for_message(previous_->text), previous_->line_number,
                  quote_for_message(row.arrival_text)));
}

Result<SimTime> TraceReader::place_arrival(const TraceRow& row) const {
  // Never negative, because rows are in order. Only dates before 1970 can overflow.
  std::int64_t ns = 0;
  bool is_too_late =
      __builtin_sub_overflow(row.arrival_ns, first_arrival_ns_.value_or(row.arrival_ns), &ns);
  // A rate of 1 keeps every nanosecond; others are rounded once, to a double's 53 bits.
  if (!is_too_late && options_.scale_rate != 1.0) {
    const double scaled = std::round(static_cast<double>(ns) / options_.scale_rate);
    is_too_late = scaled > static_cast<double>(kTraceNsMax);
    if (!is_too_late) ns = static_cast<std::int64_t>(scaled);
  }
  if (is_too_late || ns > kTraceNsMax) {
    return field_error(row.arrival_field,
                       fmt::format("an arrival within {} years of the first one{}", kTraceYearsMax,
                                   options_.scale_rate != 1.0 ? " after scaling" : ""),
                       row.arrival_text);
  }
  return SimTime(ns);
}

Status TraceReader::end_without_requests() const {
  if (counters_.rows == 0) {
    return Status::invalid_input(name_ + ": holds no requests: expected at least one row");
  }
  return Status::invalid_input(fmt::format(
      "{}: holds no requests: of {} rows {} are failed requests and {} were skipped{}", name_,
      counters_.rows, counters_.failed_requests, counters_.skipped_rows,
      counters_.skip_messages.empty() ? "" : "; the first: " + counters_.skip_messages.front()));
}

Status TraceReader::located(const Status& problem, std::int64_t line_number) const {
  return problem.in(fmt::format("{}:{}", name_, line_number));
}

TraceCounters TraceReader::counters() const {
  TraceCounters counters = counters_;
  counters.text_bytes = lines_->bytes_read();
  return counters;
}

std::vector<std::string> TraceReader::warnings() const {
  std::vector<std::string> warnings;
  if (counters_.failed_requests > 0) {
    warnings.push_back(
        fmt::format("{}: {} of {} rows are failed requests (no output tokens) and were left out",
                    name_, counters_.failed_requests, counters_.rows));
  }
  if (counters_.skipped_rows > 0) {
    warnings.push_back(fmt::format("{}: {} of {} rows were bad and were skipped; the first: {}",
                                   name_, counters_.skipped_rows, counters_.rows,
                                   counters_.skip_messages.front()));
  }
  return warnings;
}

Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path,
                                                const TraceOptions& options) {
  Result<std::unique_ptr<ByteSource>> file = open_file_source(path);
  if (!file.is_ok()) return file.status().in(path);
  return read_trace(std::move(file).value(), path, options);
}

Result<std::unique_ptr<TraceReader>> read_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                                const TraceOptions& options) {
  RECTO_RETURN_IF_ERROR(check_options(options));
  Result<std::unique_ptr<ByteSource>> text =
      decompress_if_gzip(std::move(bytes), options.lines.buffer_bytes);
  if (!text.is_ok()) return text.status().in(name);
  auto lines = std::make_unique<LineReader>(std::move(text).value(), options.lines);
  std::unique_ptr<TraceReader> reader(new TraceReader(std::move(lines), std::move(name), options));
  RECTO_RETURN_IF_ERROR(reader->start());
  return reader;
}

}  // namespace recto::sim
