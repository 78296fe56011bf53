#include "sim/traces/token_id_trace.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/traces/json_fields.h"

namespace recto::sim {
namespace {

constexpr std::string_view kExpectedTime = "nanoseconds, a number of at least 0";

// Places in kFieldNames. The first three are required.
enum Field : std::size_t {
  kArrival,
  kPrompt,
  kOutput,
  kPromptIds,
  kOutputIds,
  kSubRequests,
  kFieldCount
};
constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "arrival_time_ns", "input_toks",     "output_toks",
    "input_tok_ids",   "output_tok_ids", "sub_requests"};

class TokenIdRowParser final : public RowParser {
 public:
  TokenIdRowParser() : seen_(kFieldNames) {}

  TraceFormat format() const override { return TraceFormat::kLlmServingSim; }

  Result<TraceRow> parse(const Line& line) override {
    seen_.clear();
    TraceRow row;
    auto content = std::make_shared<TokenContent>();
    RECTO_RETURN_IF_ERROR(
        json_.visit(line, [&](std::string_view name, simdjson::ondemand::value value) {
          return read_field(name, value, row, *content);
        }));
    for (const Field field : {kArrival, kPrompt, kOutput}) {
      if (seen_.has(field)) continue;
      return missing_field_error(kFieldNames[field],
                                 field == kArrival ? kExpectedTime : kExpectedTokenCount);
    }
    RECTO_RETURN_IF_ERROR(
        check_id_count(kPromptIds, content->prompt_token_ids.size(), kPrompt, row.prompt_tokens));
    RECTO_RETURN_IF_ERROR(
        check_id_count(kOutputIds, content->output_token_ids.size(), kOutput, row.output_tokens));
    if (seen_.has(kPromptIds) || seen_.has(kOutputIds)) row.content = std::move(content);
    return row;
  }

 private:
  Status read_field(std::string_view name, simdjson::ondemand::value value, TraceRow& row,
                    TokenContent& content) {
    const Result<std::size_t> field = seen_.claim(name);
    if (!field.is_ok()) return field.status();
    switch (field.value()) {
      case kArrival: {
        const Result<JsonTime> time = read_time(name, value, 0, "nanoseconds");
        if (!time.is_ok()) return time.status();
        row.arrival_field = kFieldNames[kArrival];
        row.arrival_text = time.value().text;
        row.arrival_ns = time.value().ns;
        return Status::ok();
      }
      case kPrompt:
      case kOutput: {
        const Result<std::int64_t> count = read_token_count(name, value);
        if (!count.is_ok()) return count.status();
        (field.value() == kPrompt ? row.prompt_tokens : row.output_tokens) = count.value();
        return Status::ok();
      }
      case kPromptIds:
      case kOutputIds: {
        Result<std::vector<std::int32_t>> ids = read_token_ids(name, value);
        if (!ids.is_ok()) return ids.status();
        auto& target =
            field.value() == kPromptIds ? content.prompt_token_ids : content.output_token_ids;
        target = std::move(ids).value();
        return Status::ok();
      }
      case kSubRequests:
        return Status::invalid_input(
            "field sub_requests: expected one request per line; sessions are not supported");
      default:
        return Status::ok();
    }
  }

  Status check_id_count(Field ids, std::size_t id_count, Field length, std::int64_t tokens) const {
    if (!seen_.has(ids) || static_cast<std::int64_t>(id_count) == tokens) return Status::ok();
    return Status::invalid_input(fmt::format("field {}: expected {} ids ({}), got {}",
                                             kFieldNames[ids], tokens, kFieldNames[length],
                                             id_count));
  }

  SeenFields seen_;
  JsonFields json_;
};

}  // namespace

std::unique_ptr<RowParser> make_token_id_row_parser() {
  return std::make_unique<TokenIdRowParser>();
}

}  // namespace recto::sim
