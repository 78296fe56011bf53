#include "sim/traces/format_detection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/traces/json_fields.h"
#include "sim/traces/json_traces.h"
#include "sim/traces/text_fields.h"

namespace recto::sim {
namespace {

enum class ArrivalUnit : std::uint8_t { kSeconds, kDateAndTime };
enum class ZeroOutput : std::uint8_t { kIsError, kIsFailedRequest };

// Indices into CsvSchema::columns.
enum Role : std::size_t { kArrival, kPrompt, kOutput, kRoleCount };

struct CsvSchema {
  TraceFormat format;
  std::array<std::string_view, kRoleCount> columns;
  ArrivalUnit arrival_unit = ArrivalUnit::kSeconds;
  ZeroOutput zero_output = ZeroOutput::kIsError;
};

constexpr std::array kSchemas = {
    CsvSchema{.format = TraceFormat::kAzure,
              .columns = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
              .arrival_unit = ArrivalUnit::kDateAndTime},
    CsvSchema{.format = TraceFormat::kBurstGpt,
              .columns = {"Timestamp", "Request tokens", "Response tokens"},
              .zero_output = ZeroOutput::kIsFailedRequest},
    CsvSchema{.format = TraceFormat::kVidur,
              .columns = {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}},
    CsvSchema{.format = TraceFormat::kPlain,
              .columns = {"arrival_s", "prompt_tokens", "output_tokens"}},
};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view expected_arrival(ArrivalUnit unit) {
  return unit == ArrivalUnit::kSeconds ? "seconds, a decimal number of at least 0"
                                       : "a date and time such as 2023-11-16 18:15:46.6805900";
}

class CsvRowParser final : public RowParser {
 public:
  CsvRowParser(const CsvSchema& schema, const std::array<std::size_t, kRoleCount>& positions,
               std::size_t column_count)
      : schema_(schema), positions_(positions), column_count_(column_count) {}

  TraceFormat format() const override { return schema_.format; }

  Result<TraceRow> parse(const Line& line) override {
    RECTO_RETURN_IF_ERROR(fields_.split(line.text));
    if (fields_.size() != column_count_) {
      return Status::invalid_input(fmt::format("expected {} fields as in the header, got {}",
                                               column_count_, fields_.size()));
    }
    TraceRow row;
    row.arrival_field = schema_.columns[kArrival];
    row.arrival_text = field(kArrival);
    const std::optional<std::int64_t> arrival_ns = schema_.arrival_unit == ArrivalUnit::kSeconds
                                                       ? parse_scaled_decimal(row.arrival_text, 9)
                                                       : parse_timestamp(row.arrival_text);
    if (!arrival_ns) {
      return field_error(row.arrival_field, expected_arrival(schema_.arrival_unit),
                         row.arrival_text);
    }
    row.arrival_ns = *arrival_ns;

    const std::optional<std::int64_t> output = parse_integer(field(kOutput));
    if (output == 0 && schema_.zero_output == ZeroOutput::kIsFailedRequest) {
      row.outcome = RowOutcome::kFailed;
      return row;
    }
    const Result<std::int64_t> prompt_tokens =
        check_token_count(schema_.columns[kPrompt], parse_integer(field(kPrompt)), field(kPrompt));
    if (!prompt_tokens.is_ok()) return prompt_tokens.status();
    const Result<std::int64_t> output_tokens =
        check_token_count(schema_.columns[kOutput], output, field(kOutput));
    if (!output_tokens.is_ok()) return output_tokens.status();
    row.prompt_tokens = prompt_tokens.value();
    row.output_tokens = output_tokens.value();
    return row;
  }

 private:
  std::string_view field(Role role) const { return trim(fields_[positions_[role]]); }

  const CsvSchema& schema_;
  std::array<std::size_t, kRoleCount> positions_;
  std::size_t column_count_;
  CsvFields fields_;
};

// The positions of one schema's columns in a header.
struct HeaderMatch {
  std::array<std::optional<std::size_t>, kRoleCount> positions;
  std::optional<Role> duplicated;
  std::size_t found = 0;
};

HeaderMatch match_header(const CsvSchema& schema, const CsvFields& header) {
  HeaderMatch match;
  for (std::size_t role = 0; role < kRoleCount; ++role) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (trim(header[i]) != schema.columns[role]) continue;
      if (match.positions[role]) {
        match.duplicated = static_cast<Role>(role);
      } else {
        match.positions[role] = i;
        ++match.found;
      }
    }
  }
  return match;
}

std::string join_columns(const CsvSchema& schema) {
  return fmt::format("{}", fmt::join(schema.columns, ","));
}

using std::string_view_literals::operator""sv;

struct Impostor {
  std::string_view magic;
  std::string_view message;
};

constexpr std::array kImpostors = {
    Impostor{"\xff\xfe"sv, "is UTF-16 text: expected UTF-8"},
    Impostor{"\xfe\xff"sv, "is UTF-16 text: expected UTF-8"},
    Impostor{"\x28\xb5\x2f\xfd"sv, "is compressed with zstd: expected plain text or gzip"},
    Impostor{"\xfd\x37zXZ"sv, "is compressed with xz: expected plain text or gzip"},
    Impostor{"BZh"sv, "is compressed with bzip2: expected plain text or gzip"},
    Impostor{"PK\x03\x04"sv, "is a zip archive: expected plain text or gzip"},
    Impostor{"PAR1"sv, "is a Parquet file: expected CSV or JSON lines"},
    Impostor{"\x1f\x8b"sv, "is gzip inside gzip: expected it to be compressed once"},
    Impostor{"version https://git-lfs.github.com/"sv,
             "is a Git LFS pointer, not the file itself: fetch the file from its LFS storage"},
    Impostor{"["sv, "is a JSON array: expected one JSON object per line"},
};

Status check_text(std::string_view text) {
  for (const Impostor& impostor : kImpostors) {
    if (text.starts_with(impostor.magic)) {
      return Status::invalid_input(std::string(impostor.message));
    }
  }
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t';
  });
  if (control == text.end()) return Status::ok();
  return Status::invalid_input(
      fmt::format("is a binary file (byte 0x{:02x} in column {}): expected CSV or JSON lines",
                  static_cast<unsigned char>(*control), control - text.begin() + 1));
}

Result<DetectedFormat> detect_json(const Line& line) {
  JsonFields json;
  std::set<std::string, std::less<>> names;
  RECTO_RETURN_IF_ERROR(json.visit(line, [&](std::string_view name, simdjson::ondemand::value) {
    names.emplace(name);
    return Status::ok();
  }));
  const auto has = [&](std::string_view name) { return names.contains(name); };

  std::unique_ptr<RowParser> parser;
  if (has("input_toks") || has("sub_requests")) {
    parser = make_token_id_row_parser();
  } else if (has("input_length") && has("chat_id")) {
    parser = make_bailian_row_parser();
  } else if (has("input_length") || has("hash_ids")) {
    parser = make_mooncake_row_parser();
  } else {
    return Status::invalid_input(
        "not a known trace: expected a JSON object with input_length (Mooncake), input_length "
        "and chat_id (Qwen-Bailian) or input_toks (LLMServingSim), got " +
        quote_for_message(line.text));
  }
  return DetectedFormat{std::move(parser), FirstLine::kFirstRow};
}

}  // namespace

std::string known_csv_headers() {
  std::string headers;
  for (const CsvSchema& schema : kSchemas) {
    if (!headers.empty()) headers += " or ";
    headers += join_columns(schema);
  }
  return headers;
}

Result<std::unique_ptr<RowParser>> make_csv_row_parser(const Line& header) {
  CsvFields fields;
  RECTO_RETURN_IF_ERROR(fields.split(header.text));
  const CsvSchema* closest = nullptr;
  HeaderMatch match;
  for (const CsvSchema& schema : kSchemas) {
    HeaderMatch candidate = match_header(schema, fields);
    if (candidate.found <= match.found) continue;
    closest = &schema;
    match = std::move(candidate);
  }
  if (closest == nullptr) {
    return Status::invalid_input(
        fmt::format("not a known trace: expected JSON lines or a CSV header with {}, got {}",
                    known_csv_headers(), quote_for_message(header.text)));
  }
  if (match.duplicated) {
    return Status::invalid_input(fmt::format("column {} appears more than once in the header",
                                             closest->columns[*match.duplicated]));
  }
  std::array<std::size_t, kRoleCount> positions;
  for (std::size_t role = 0; role < kRoleCount; ++role) {
    if (!match.positions[role]) {
      return Status::invalid_input(fmt::format(
          "column {} is missing: the header of {} needs {}, got {}", closest->columns[role],
          format_name(closest->format), join_columns(*closest), quote_for_message(header.text)));
    }
    positions[role] = *match.positions[role];
  }
  return std::unique_ptr<RowParser>(
      std::make_unique<CsvRowParser>(*closest, positions, fields.size()));
}

Result<DetectedFormat> detect_format(const Line& first_line) {
  RECTO_RETURN_IF_ERROR(check_text(first_line.text));
  const std::size_t start = first_line.text.find_first_not_of(" \t");
  if (start != std::string_view::npos && first_line.text[start] == '{') {
    return detect_json(first_line);
  }
  Result<std::unique_ptr<RowParser>> parser = make_csv_row_parser(first_line);
  if (!parser.is_ok()) return parser.status();
  return DetectedFormat{std::move(parser).value(), FirstLine::kHeader};
}

}  // namespace recto::sim
