// Fuzzes traces with arbitrary bytes: no crash, no endless reading, no violation of RequestSource's
// contract, and skipping bad rows never loses a row that failing would have delivered.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/contract.h"
#include "sim/traces/trace_reader.h"

namespace recto::sim {
namespace {

// Reads everything and returns how many requests came out.
std::int64_t read_all(const std::string& bytes, const TraceOptions& options) {
  auto opened = read_trace(make_memory_source(bytes), "fuzz", options);
  if (!opened.is_ok()) {
    RECTO_CHECK(opened.status().message().starts_with("fuzz:"));
    return 0;
  }
  TraceReader& trace = *opened.value();
  std::int64_t count = 0;
  SimTime last;
  while (!trace.exhausted()) {
    const Result<std::optional<Request>> next = trace.next();
    if (!next.is_ok()) {
      RECTO_CHECK(next.status().message().starts_with("fuzz:"));
      break;
    }
    RECTO_CHECK(next.value().has_value());
    const Request& request = *next.value();
    RECTO_CHECK_EQ(request.id, count);
    RECTO_CHECK_LE(last, request.arrival);
    RECTO_CHECK(count > 0 || request.arrival == SimTime());
    RECTO_CHECK_GE(request.prompt_tokens, TokenCount(1));
    RECTO_CHECK_LE(request.prompt_tokens, TokenCount(kTokensPerRequestMax));
    RECTO_CHECK_GE(request.output_tokens, TokenCount(1));
    RECTO_CHECK_LE(request.output_tokens, TokenCount(kTokensPerRequestMax));
    last = request.arrival;
    ++count;
  }
  RECTO_CHECK(trace.exhausted());
  const TraceCounters counters = trace.counters();
  RECTO_CHECK_EQ(counters.requests, count);
  RECTO_CHECK_LE(counters.skip_messages.size(), kSkipMessagesMax);
  // Every row is accounted for, except one that ended the trace.
  const std::int64_t accounted = count + counters.failed_requests + counters.skipped_rows;
  RECTO_CHECK_LE(accounted, counters.rows);
  RECTO_CHECK_LE(counters.rows, accounted + 1);
  return count;
}

}  // namespace
}  // namespace recto::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using recto::sim::OnBadRow;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // Gzip can expand a thousandfold; a short line limit bounds the memory.
  recto::sim::TraceOptions options{.lines = {.buffer_bytes = 64, .line_bytes_max = 4096}};
  const std::int64_t until_failure = recto::sim::read_all(bytes, options);
  options.lines.buffer_bytes = 7;
  RECTO_CHECK_EQ(recto::sim::read_all(bytes, options), until_failure);
  options.on_bad_row = OnBadRow::kSkip;
  RECTO_CHECK_LE(until_failure, recto::sim::read_all(bytes, options));
  return 0;
}
