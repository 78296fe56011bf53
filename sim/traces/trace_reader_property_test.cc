// Random requests, written in each format and read back unchanged, plain and compressed, for any
// division of the text into buffers.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bazel/testing/property.h"
#include "sim/traces/gzip_text.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {

struct WrittenRequest {
  std::int64_t ticks = 0;  // since the previous request, in the format's finest unit
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  std::vector<std::uint64_t> ids;  // of blocks or tokens; as many as the format uses
};

std::ostream& operator<<(std::ostream& out, const WrittenRequest& request) {
  return out << fmt::format("{{+{} ticks, {} in, {} out, ids {}}}", request.ticks,
                            request.prompt_tokens, request.output_tokens,
                            fmt::join(request.ids, " "));
}

namespace {

using recto::testing::gzip;
using recto::testing::read_text;

// 2023-11-16 18:15:46 UTC
constexpr std::int64_t kDateOfFirstNs = 1'700'158'546'000'000'000;

struct Format {
  TraceFormat format;
  std::int64_t tick_ns;
  std::int64_t tokens_per_id;  // 0: no ids, 1: token ids
};

constexpr Format kFormats[] = {
    {TraceFormat::kAzure, 100, 0},
    {TraceFormat::kBurstGpt, 10'000'000, 0},
    {TraceFormat::kVidur, 1, 0},
    {TraceFormat::kPlain, 1, 0},
    {TraceFormat::kMooncake, 1'000'000, 512},
    {TraceFormat::kBailian, 1'000'000, 16},
    {TraceFormat::kLlmServingSim, 1, 1},
};

std::string date_text(std::int64_t ns) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::nanoseconds> time{chrono::nanoseconds(kDateOfFirstNs + ns)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:07}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count() / 100);
}

std::string seconds_text(std::int64_t ns) {
  return fmt::format("{}.{:09}", ns / kNanosecondsPerSecond, ns % kNanosecondsPerSecond);
}

std::string header(TraceFormat format) {
  switch (format) {
    case TraceFormat::kAzure:
      return "TIMESTAMP,ContextTokens,GeneratedTokens";
    case TraceFormat::kBurstGpt:
      return "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";
    case TraceFormat::kVidur:
      return "arrived_at,num_prefill_tokens,num_decode_tokens";
    case TraceFormat::kPlain:
      return "arrival_s,prompt_tokens,output_tokens";
    default:
      return "";
  }
}

std::string row(const Format& format, std::int64_t ns, const WrittenRequest& request) {
  const std::int64_t in = request.prompt_tokens;
  const std::int64_t out = request.output_tokens;
  const std::string ids = fmt::format("{}", fmt::join(request.ids, ", "));
  switch (format.format) {
    case TraceFormat::kAzure:
      return fmt::format("{},{},{}", date_text(ns), in, out);
    case TraceFormat::kBurstGpt:
      return fmt::format("{},\"GPT-4, large\",{},{},{},\"\"", seconds_text(ns), in, out, in + out);
    case TraceFormat::kVidur:
    case TraceFormat::kPlain:
      return fmt::format("{},{},{}", seconds_text(ns), in, out);
    case TraceFormat::kMooncake:
      return fmt::format(
          R"({{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [{}]}})",
          ns / 1'000'000, in, out, ids);
    case TraceFormat::kBailian:
      return fmt::format(R"({{"chat_id": 1, "timestamp": {}, "input_length": {}, )"
                         R"("output_length": {}, "type": "text", "hash_ids": [{}]}})",
                         seconds_text(ns), in, out, ids);
    case TraceFormat::kLlmServingSim:
      return fmt::format(R"({{"input_toks": {}, "output_toks": {}, "arrival_time_ns": {}, )"
                         R"("input_tok_ids": [{}]}})",
                         in, out, ns, ids);
  }
  return "";
}

// Gives each request as many ids as its format needs, from its drawn ids.
void fit_ids(const Format& format, std::vector<WrittenRequest>& requests) {
  for (WrittenRequest& request : requests) {
    if (format.tokens_per_id == 0) continue;
    const auto needed =
        static_cast<std::size_t>(ceil_div(request.prompt_tokens, format.tokens_per_id));
    const std::vector<std::uint64_t> drawn = request.ids;
    request.ids.resize(needed);
    for (std::size_t i = 0; i < needed; ++i) {
      request.ids[i] = drawn.empty() ? i : drawn[i % drawn.size()];
    }
  }
}

std::string write_text(const Format& format, const std::vector<WrittenRequest>& requests,
                       const std::string& line_end) {
  std::string text = header(format.format);
  std::int64_t ns = 0;
  for (const WrittenRequest& request : requests) {
    ns += request.ticks * format.tick_ns;
    if (!text.empty()) text += line_end;
    text += row(format, ns, request);
  }
  return text;
}

void check_content(const Format& format, const WrittenRequest& written, const Request& read,
                   std::map<std::uint64_t, std::uint64_t>& content_ids) {
  if (format.tokens_per_id == 0) {
    RECTO_REQUIRE(read.content == nullptr);
  } else if (format.tokens_per_id == 1) {
    const std::vector<std::int32_t> ids(written.ids.begin(), written.ids.end());
    RECTO_REQUIRE(read.content->prompt_token_ids == ids);
  } else {
    const std::vector<ContentRun>& runs = read.content->prompt_runs;
    RECTO_REQUIRE(runs.size() == written.ids.size());
    std::int64_t left = written.prompt_tokens;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      RECTO_REQUIRE(runs[i].length.value() == std::min(left, format.tokens_per_id));
      left -= format.tokens_per_id;
      // Equal ids mean equal content anywhere in the trace; the caller checks that different ids
      // differ.
      const auto [entry, is_new] = content_ids.emplace(written.ids[i], runs[i].content_id);
      RECTO_REQUIRE(entry->second == runs[i].content_id);
    }
  }
}

void check_read_back(const Format& format, const std::vector<WrittenRequest>& written,
                     const Result<std::vector<Request>>& read) {
  RECTO_REQUIRE(read.status() == Status::ok());
  RECTO_REQUIRE(read.value().size() == written.size());
  std::map<std::uint64_t, std::uint64_t> content_ids;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Request& request = read.value()[i];
    if (i > 0) ns += written[i].ticks * format.tick_ns;
    RECTO_REQUIRE(request.id == static_cast<std::int64_t>(i));
    RECTO_REQUIRE(request.arrival.value() == ns);
    RECTO_REQUIRE(request.prompt_tokens.value() == written[i].prompt_tokens);
    RECTO_REQUIRE(request.output_tokens.value() == written[i].output_tokens);
    check_content(format, written[i], request, content_ids);
  }
  std::map<std::uint64_t, std::uint64_t> written_ids;
  for (const auto& [id, content_id] : content_ids) {
    RECTO_REQUIRE(written_ids.emplace(content_id, id).second);
  }
}

WrittenRequest draw_request(Draw& draw) {
  return {.ticks = draw.boolean() ? draw.growing(0, 999'999'999) : 0,
          .prompt_tokens = draw.growing(1, 2999),
          .output_tokens = draw.growing(1, kTokensPerRequestMax),
          .ids = draw.list([](Draw& id) { return id.growing<std::uint64_t>(0, 199'999); })};
}

TEST_CASE("requests written in any format are read back, plain or compressed") {
  for (const Format& format : kFormats) {
    property(std::string(format_name(format.format)), [&format](Draw& draw) {
      auto requests = draw.nonempty_list(draw_request, "requests");
      fit_ids(format, requests);
      const std::string line_end = draw.element<std::string>({"\n", "\r\n", "\n\n"});
      const std::string last_end = draw.element<std::string>({"", "\n", "\r\n"});
      const std::string mark = draw.element<std::string>({"", "\xef\xbb\xbf"});
      const auto buffer_bytes =
          draw.boolean() ? draw.growing<std::size_t>(20, 4999) : draw.growing<std::size_t>(1, 19);
      const TraceOptions options{.lines = {.buffer_bytes = buffer_bytes}};

      const std::string text = mark + write_text(format, requests, line_end) + last_end;
      check_read_back(format, requests, read_text(text, options));
      const auto cut = draw.growing<std::size_t>(0, text.size() - 1);
      const std::string two_members = gzip(text.substr(0, cut)) + gzip(text.substr(cut));
      check_read_back(format, requests, read_text(gzip(text), options));
      check_read_back(format, requests, read_text(two_members, options));
    });
  }
}

}  // namespace
}  // namespace recto::sim
