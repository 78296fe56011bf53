#pragma once

// What every trace format has in common: a line becomes a row, or a reason why it cannot.

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

// More than this in one prompt or output is taken for a damaged file.
inline constexpr std::int64_t kTokensPerRequestMax = 100'000'000;

enum class RowOutcome : std::uint8_t {
  kAnswered,
  kFailed,  // the recorded service gave no answer; nothing to replay
};

struct TraceRow {
  std::int64_t arrival_ns = 0;     // from the format's own zero
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

  // Tokens that one content id stands for; zero where the format has no such ids.
  virtual TokenCount content_block_tokens() const { return TokenCount(0); }

  // O(length). Failures are kInvalidInput, name the field, and leave the parser usable; file and
  // line number are the caller's to add.
  virtual Result<TraceRow> parse(const Line& line) = 0;
};

// "field F: expected E, got "G"", with G shortened and made printable.
Status field_error(std::string_view field, std::string_view expected, std::string_view got);

// "field F: expected E, but it is missing"
Status missing_field_error(std::string_view field, std::string_view expected);

// `text` in quotes, shortened, with what cannot be printed as \xNN.
std::string quote_for_message(std::string_view text);

inline constexpr std::string_view kExpectedTokenCount = "a whole number from 1 to 100000000";

// `tokens` if it is a length that a request may have; `field` and `got` are for the message.
Result<std::int64_t> check_token_count(std::string_view field, std::optional<std::int64_t> tokens,
                                       std::string_view got);

}  // namespace recto::sim
