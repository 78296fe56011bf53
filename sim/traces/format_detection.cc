#include "sim/traces/format_detection.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/traces/csv_trace.h"
#include "sim/traces/hashed_block_trace.h"
#include "sim/traces/json_fields.h"
#include "sim/traces/token_id_trace.h"

namespace recto::sim {
namespace {

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
