#pragma once

// The interface of all trace formats: converts a line to a row, or to an error that says what is
// wrong.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "core/units.h"
#include "sim/request.h"
#include "sim/traces/line_reader.h"
#include "sim/traces/trace_format.h"

namespace recto::sim {

// A prompt or output with more tokens than this indicates a damaged file.
inline constexpr std::int64_t kTokensPerRequestMax = 100'000'000;

enum class RowOutcome : std::uint8_t {
  kAnswered,
  kFailed,  // the recorded service gave no answer; nothing to replay
};

struct TraceRow {
  std::int64_t arrival_ns = 0;     // relative to the format's own zero
  std::string_view arrival_field;  // name and text of the field, for messages; the text is valid
  std::string_view arrival_text;   // as long as the line is
  std::int64_t prompt_tokens = 0;  // both from 1 to kTokensPerRequestMax, unless kFailed
  std::int64_t output_tokens = 0;
  RowOutcome outcome = RowOutcome::kAnswered;
  std::shared_ptr<const TokenContent> content;
};

class RowParser {
 public:
  virtual ~RowParser() = default;

  virtual TraceFormat format() const = 0;

  // Tokens that one content id stands for; zero if the format has no such ids.
  virtual TokenCount content_block_tokens() const { return TokenCount(0); }

  // Parses one line. O(length). Errors are kInvalidInput, name the field, and leave the parser
  // usable; the caller adds the file and line number.
  virtual Result<TraceRow> parse(const Line& line) = 0;
};

// "field F: expected E, got "G"", with G shortened and made printable.
Status field_error(std::string_view field, std::string_view expected, std::string_view got);

// "field F: expected E, but it is missing"
Status missing_field_error(std::string_view field, std::string_view expected);

// `text` in quotes, shortened, with unprintable bytes as \xNN.
std::string quote_for_message(std::string_view text);

inline constexpr std::string_view kExpectedTokenCount = "a whole number from 1 to 100000000";

// Returns `tokens` if it is a valid length for a request; `field` and `got` are for the message.
Result<std::int64_t> check_token_count(std::string_view field, std::optional<std::int64_t> tokens,
                                       std::string_view got);

}  // namespace recto::sim
