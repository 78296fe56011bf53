#include "sim/traces/row_parser.h"

#include <fmt/format.h>

namespace recto::sim {
namespace {

constexpr std::size_t kQuotedBytesMax = 60;

}  // namespace

std::string quote_for_message(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kQuotedBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  if (text.size() > kQuotedBytesMax) quoted += "...";
  return quoted;
}

Status field_error(std::string_view field, std::string_view expected, std::string_view got) {
  return Status::invalid_input(
      fmt::format("field {}: expected {}, got {}", field, expected, quote_for_message(got)));
}

Status missing_field_error(std::string_view field, std::string_view expected) {
  return Status::invalid_input(
      fmt::format("field {}: expected {}, but it is missing", field, expected));
}

Result<std::int64_t> check_token_count(std::string_view field, std::optional<std::int64_t> tokens,
                                       std::string_view got) {
  if (!tokens || *tokens < 1 || *tokens > kTokensPerRequestMax) {
    return field_error(field, kExpectedTokenCount, got);
  }
  return *tokens;
}

}  // namespace recto::sim
