#pragma once

// A trace file as a source of requests: streamed, checked line by line, in order of arrival.
//
//   Result<std::unique_ptr<TraceReader>> trace = open_trace("azure.csv.gz", {.limit = 1000});
//   if (!trace.is_ok()) return trace.status();
//   while (true) {
//     Result<std::optional<Request>> request = trace.value()->next();
//     ...
//   }

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/traces/byte_source.h"
#include "sim/traces/line_reader.h"
#include "sim/traces/row_parser.h"
#include "sim/traces/trace_format.h"

namespace recto::sim {

enum class OnBadRow : std::uint8_t {
  kFail,  // the first bad row ends the trace with its error
  kSkip,  // bad rows are left out and counted; a damaged file is still an error
};

struct TraceOptions {
  double scale_rate = 1.0;  // arrival times are divided by it; finite, above 0
  std::optional<std::int64_t> limit = std::nullopt;  // only this many requests, from the start
  OnBadRow on_bad_row = OnBadRow::kFail;
  LineReaderOptions lines = {};  // memory bounds; the defaults suit everyone but tests
};

struct TraceCounters {
  std::int64_t rows = 0;                   // rows read, with any outcome; one ahead of the requests
  std::int64_t requests = 0;               // returned by next()
  std::int64_t failed_requests = 0;        // recorded without an answer, left out
  std::int64_t skipped_rows = 0;           // bad, left out under OnBadRow::kSkip
  std::int64_t text_bytes = 0;             // read so far, after decompression
  std::vector<std::string> skip_messages;  // reasons for the first kSkipMessagesMax skipped rows
};

inline constexpr std::size_t kSkipMessagesMax = 5;

class TraceReader final : public RequestSource {
 public:
  Result<std::optional<SimTime>> next_arrival() override;

  // Returns the next request. The first one arrives at 0, and ids count the returned requests from
  // 0. Rows may have equal arrival times. After the end, and after an error, the same result is
  // returned again. A trace without any request is an error, unless the limit is 0. O(length of the
  // line); memory O(longest line).
  Result<std::optional<Request>> next() override;

  // True as soon as the last request, or an error, has been returned: the reader reads one row
  // ahead.
  bool exhausted() const override;

  TraceFormat format() const { return parser_->format(); }

  // Tokens per content run in this format (the last run of a prompt may be shorter); zero if its
  // requests have no runs.
  TokenCount content_block_tokens() const { return parser_->content_block_tokens(); }

  const std::string& name() const { return name_; }
  TraceCounters counters() const;

  // Warnings for the user about what was left out so far, one sentence each.
  std::vector<std::string> warnings() const;

 private:
  friend Result<std::unique_ptr<TraceReader>> read_trace(std::unique_ptr<ByteSource> bytes,
                                                         std::string name,
                                                         const TraceOptions& options);

  TraceReader(std::unique_ptr<LineReader> lines, std::string name, const TraceOptions& options);

  // Recognises the format from the first line and reads the first request ahead.
  Status start();

  Result<std::optional<Request>> read_ahead();
  Result<std::optional<Line>> next_line();
  // Returns the request on `line`; nullopt for a row that holds none.
  Result<std::optional<Request>> read_row(const Line& line);
  Status check_order(const TraceRow& row) const;
  Result<SimTime> place_arrival(const TraceRow& row) const;
  Status end_without_requests() const;
  // Adds the file and the line to `problem`.
  Status located(const Status& problem, std::int64_t line_number) const;

  std::unique_ptr<LineReader> lines_;
  std::string name_;
  TraceOptions options_;
  std::unique_ptr<RowParser> parser_;
  std::optional<Line> held_line_;  // the first line, where it is a row
  TraceCounters counters_;
  std::int64_t requests_read_ = 0;

  // The arrival of the previous row, for checking the order and for its message.
  struct Arrival {
    std::int64_t ns;
    std::int64_t line_number;
    std::string text;
  };
  std::optional<Arrival> previous_;
  std::optional<std::int64_t> first_arrival_ns_;

  Result<std::optional<Request>> ahead_ = std::optional<Request>();
  enum class State : std::uint8_t { kRunning, kErrorHandedOut } state_ = State::kRunning;
};

// Opens the trace at `path`: plain text or gzip, any format; both are detected from the content.
// kInvalidInput if the file cannot be read or is not a trace, or if options are out of range;
// next() reports errors in rows.
Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path,
                                                const TraceOptions& options = {});

// The same for any bytes; messages use `name` as the file name.
Result<std::unique_ptr<TraceReader>> read_trace(std::unique_ptr<ByteSource> bytes, std::string name,
                                                const TraceOptions& options = {});

}  // namespace recto::sim
