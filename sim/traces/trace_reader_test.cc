#include "sim/traces/trace_reader.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "bazel/testing/catch.h"
#include "sim/traces/gzip_text.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {
namespace {

using recto::testing::error_of;
using recto::testing::gzip;
using recto::testing::outline;
using recto::testing::read_text;
using std::string_view_literals::operator""sv;

const std::string kHeader = "arrival_s,prompt_tokens,output_tokens\n";
const std::string kThreeRows = kHeader + "7,100,20\n7.5,5,1\n9,6,2\n";
const std::string kThreeRequests = "0 100 20; 500000000 5 1; 2000000000 6 2";

std::unique_ptr<TraceReader> open_text(const std::string& text, const TraceOptions& options = {}) {
  return std::move(read_trace(make_memory_source(text), "t", options)).value();
}

TEST_CASE("line ends, byte-order marks and compression make no difference") {
  std::string crlf;
  for (const char c : kThreeRows) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  const std::string no_end = kThreeRows.substr(0, kThreeRows.size() - 1);
  for (const std::string& text :
       {kThreeRows, crlf, no_end, "\xef\xbb\xbf" + crlf, "\n" + kThreeRows + "\n \n"}) {
    CHECK(outline(read_text(text)) == kThreeRequests);
    CHECK(outline(read_text(gzip(text))) == kThreeRequests);
    CHECK(outline(read_text(gzip(text.substr(0, 50)) + gzip(text.substr(50)))) == kThreeRequests);
  }
}

TEST_CASE("requests are numbered, and the first one arrives at 0") {
  auto trace = open_text(kThreeRows);
  CHECK(trace->format() == TraceFormat::kPlain);
  for (std::int64_t id = 0; id < 3; ++id) {
    CHECK_FALSE(trace->exhausted());
    const std::optional<Request> request = trace->next().value();
    REQUIRE(request.has_value());
    CHECK(request->id == id);
    CHECK(request->decoding == Decoding::kSingle);
    CHECK(request->content == nullptr);
  }
  CHECK(trace->exhausted());
  CHECK_FALSE(trace->next().value().has_value());
  CHECK_FALSE(trace->next().value().has_value());
  CHECK(trace->counters().rows == 3);
  CHECK(trace->counters().requests == 3);
  CHECK(trace->counters().text_bytes == static_cast<std::int64_t>(kThreeRows.size()));
  CHECK(trace->warnings().empty());
}

TEST_CASE("scaling the rate divides arrival times, and 1 keeps them exactly") {
  CHECK(outline(read_text(kThreeRows, {.scale_rate = 2})) ==
        "0 100 20; 250000000 5 1; 1000000000 6 2");
  CHECK(outline(read_text(kThreeRows, {.scale_rate = 0.5})) ==
        "0 100 20; 1000000000 5 1; 4000000000 6 2");
  CHECK(outline(read_text(kHeader + "0,1,1\n999999999.999999999,1,1\n")) ==
        "0 1 1; 999999999999999999 1 1");
}

TEST_CASE("the limit stops before later rows are looked at") {
  CHECK(outline(read_text(kThreeRows + "rubbish", {.limit = 2})) == "0 100 20; 500000000 5 1");
  CHECK(outline(read_text(kThreeRows + "rubbish", {.limit = 3})) == kThreeRequests);
  CHECK(outline(read_text(kThreeRows, {.limit = 10})) == kThreeRequests);
  auto none = open_text(kHeader, {.limit = 0});
  CHECK(none->exhausted());
  CHECK_FALSE(none->next().value().has_value());
}

TEST_CASE("options out of range are refused") {
  for (const double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(error_of(kThreeRows, {.scale_rate = rate})
              .starts_with("scale_rate: expected a finite number above 0, got "));
  }
  CHECK(error_of(kThreeRows, {.limit = -1}) ==
        "limit: expected a whole number of at least 0, got -1");
  CHECK(error_of(kThreeRows, {.lines = {.buffer_bytes = 0}}) ==
        "buffer_bytes: expected at least 1, got 0");
}

TEST_CASE("time may stand still but not go backwards") {
  CHECK(outline(read_text(kHeader + "3,1,1\n3.0,2,2\n")) == "0 1 1; 0 2 2");
  CHECK(error_of(kHeader + "3,1,1\n\n2.999999999,2,2\n") ==
        "t:4: field arrival_s: time goes backwards: expected at least \"3\" as on line 2, got "
        "\"2.999999999\"");
  CHECK(error_of("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0000001,1,1\n"
                 "2023-11-16 18:15:46,1,1\n") ==
        "t:3: field TIMESTAMP: time goes backwards: expected at least "
        "\"2023-11-16 18:15:46.0000001\" as on line 2, got \"2023-11-16 18:15:46\"");
}

TEST_CASE("an arrival absurdly late is refused") {
  CHECK(error_of(kHeader + "0,1,1\n4000000000,1,1\n") ==
        "t:3: field arrival_s: expected an arrival within 100 years of the first one, got "
        "\"4000000000\"");
  CHECK(error_of(kHeader + "0,1,1\n5,1,1\n", {.scale_rate = 1e-300}) ==
        "t:3: field arrival_s: expected an arrival within 100 years of the first one after "
        "scaling, got \"5\"");
}

TEST_CASE("a bad row ends the trace, after the good ones before it, with the same error") {
  auto trace = open_text(kHeader + "0,1,1\n1,x,1\n2,1,1\n");
  CHECK(trace->next().value()->prompt_tokens == TokenCount(1));
  CHECK_FALSE(trace->exhausted());
  const Status error = trace->next().status();
  CHECK(error == Status::invalid_input("t:3: field prompt_tokens: expected a whole number from 1 "
                                       "to 100000000, got \"x\""));
  CHECK(trace->exhausted());
  CHECK(trace->next().status() == error);
}

TEST_CASE("bad rows can be skipped; they are counted and the first few kept") {
  std::string text = kHeader + "5,10,1\n4,1,1\n6,-1,1\n";
  for (int i = 0; i < 10; ++i) text += "7,1\n";
  text += "8,\0,1\n"sv;
  text += "9,20,2\n";
  auto trace = open_text(text, {.on_bad_row = OnBadRow::kSkip});
  CHECK(trace->next().value()->prompt_tokens == TokenCount(10));
  const std::optional<Request> second = trace->next().value();
  CHECK(second->prompt_tokens == TokenCount(20));
  CHECK(second->id == 1);
  CHECK(second->arrival == SimTime(4'000'000'000));
  CHECK(trace->exhausted());
  const TraceCounters counters = trace->counters();
  CHECK(counters.rows == 15);
  CHECK(counters.skipped_rows == 13);
  REQUIRE(counters.skip_messages.size() == kSkipMessagesMax);
  CHECK(counters.skip_messages[0] ==
        "t:3: field arrival_s: time goes backwards: expected at least \"5\" as on line 2, got "
        "\"4\"");
  CHECK(trace->warnings().at(0) ==
        "t: 13 of 15 rows were bad and were skipped; the first: " + counters.skip_messages[0]);
}

TEST_CASE("failed requests are left out, counted and mentioned") {
  auto trace = open_text(
      "Timestamp,Model,Request tokens,Response tokens\n1,a,5,0\n2,a,6,1\n3,a,7,0\n4,a,8,2\n");
  CHECK(trace->next().value()->prompt_tokens == TokenCount(6));
  CHECK(trace->next().value()->arrival == SimTime(2'000'000'000));
  CHECK(trace->counters().failed_requests == 2);
  CHECK(trace->counters().skipped_rows == 0);
  CHECK(trace->warnings().at(0) ==
        "t: 2 of 4 rows are failed requests (no output tokens) and were left out");
}

TEST_CASE("a trace without requests is an error that says why") {
  CHECK(error_of(kHeader) == "t: holds no requests: expected at least one row");
  CHECK(error_of("arrival_s,prompt_tokens,output_tokens") ==
        "t: holds no requests: expected at least one row");
  CHECK(error_of("Timestamp,Request tokens,Response tokens\n1,5,0\nx,5,1\n",
                 {.on_bad_row = OnBadRow::kSkip}) ==
        "t: holds no requests: of 2 rows 1 are failed requests and 1 were skipped; the first: "
        "t:3: field Timestamp: expected seconds, a decimal number of at least 0, got \"x\"");
}

TEST_CASE("damage of the file is an error even where bad rows are skipped") {
  const TraceOptions skip{.on_bad_row = OnBadRow::kSkip};
  const std::string packed = gzip(kThreeRows);
  CHECK(error_of(packed.substr(0, packed.size() - 1), skip) ==
        "t:5: gzip data is truncated: it stops at offset " + std::to_string(packed.size() - 1) +
            " inside a member");
  CHECK(error_of(packed + "x", skip) ==
        "t:5: bytes that are not gzip follow the gzip data, from offset " +
            std::to_string(packed.size()));
  CHECK(error_of(kThreeRows + std::string(200, '9'),
                 {.on_bad_row = OnBadRow::kSkip, .lines = {.line_bytes_max = 100}}) ==
        "t:5: the line is longer than 100 bytes");
}

TEST_CASE("an embedded NUL is seen in any column") {
  CHECK(error_of("arrival_s,prompt_tokens,output_tokens,note\n1,1,1,a\0b\n"sv) ==
        "t:2: column 8: expected text, got a NUL byte");
  CHECK(error_of("{\"input_toks\": 1, \"output_toks\": 1, \"arrival_time_ns\": 0}\n{\0}\n"sv) ==
        "t:2: column 2: expected text, got a NUL byte");
}

TEST_CASE("files that cannot be opened are named") {
  CHECK(open_trace("no/such/trace.csv").status() ==
        Status::invalid_input("no/such/trace.csv: cannot be opened: No such file or directory"));
  CHECK(open_trace("/").status() ==
        Status::invalid_input("/: is a directory: expected a trace file"));
}

}  // namespace
}  // namespace recto::sim
