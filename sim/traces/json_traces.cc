#include "sim/traces/json_traces.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/random_stream.h"
#include "sim/traces/json_fields.h"

namespace recto::sim {
namespace {

// The fields that all formats have come first, in this order, and are required.
enum CommonField : std::size_t { kArrival, kPrompt, kOutput, kCommonFields };

struct JsonSchema {
  TraceFormat format;
  std::span<const std::string_view> fields;
  int time_power;  // a time counts units of 10^time_power ns
  std::string_view time_unit;
};

class JsonRowParser : public RowParser {
 public:
  explicit JsonRowParser(const JsonSchema& schema) : schema_(schema), seen_(schema.fields) {}

  TraceFormat format() const override { return schema_.format; }

  Result<TraceRow> parse(const Line& line) override {
    seen_.clear();
    begin();
    TraceRow row;
    RECTO_RETURN_IF_ERROR(
        json_.visit(line, [&](std::string_view name, simdjson::ondemand::value value) {
          return read_field(name, value, row);
        }));
    for (std::size_t field = 0; field < kCommonFields; ++field) {
      if (seen_.has(field)) continue;
      return missing_field_error(schema_.fields[field],
                                 field == kArrival
                                     ? fmt::format("{}, a number of at least 0", schema_.time_unit)
                                     : std::string(kExpectedTokenCount));
    }
    RECTO_RETURN_IF_ERROR(finish(row));
    return row;
  }

 protected:
  // Called before the fields of a line, for each field that is not common to all formats, and after
  // all of them.
  virtual void begin() = 0;
  virtual Status read_own(std::size_t field, simdjson::ondemand::value value) = 0;
  virtual Status finish(TraceRow& row) = 0;

  std::string_view name_of(std::size_t field) const { return schema_.fields[field]; }
  bool has(std::size_t field) const { return seen_.has(field); }

 private:
  Status read_field(std::string_view name, simdjson::ondemand::value value, TraceRow& row) {
    const Result<std::size_t> field = seen_.claim(name);
    if (!field.is_ok()) return field.status();
    if (field.value() == schema_.fields.size()) return Status::ok();
    if (field.value() >= kCommonFields) return read_own(field.value(), value);
    if (field.value() == kArrival) {
      const Result<JsonTime> time = read_time(name, value, schema_.time_power, schema_.time_unit);
      if (!time.is_ok()) return time.status();
      row.arrival_field = name_of(kArrival);
      row.arrival_text = time.value().text;
      row.arrival_ns = time.value().ns;
      return Status::ok();
    }
    const Result<std::int64_t> count = read_token_count(name, value);
    if (!count.is_ok()) return count.status();
    (field.value() == kPrompt ? row.prompt_tokens : row.output_tokens) = count.value();
    return Status::ok();
  }

  JsonSchema schema_;
  SeenFields seen_;
  JsonFields json_;
};

// Stores the ids if the field was read.
template <typename Id>
Status keep(Result<std::vector<Id>> ids, std::vector<Id>& kept) {
  if (ids.is_ok()) kept = std::move(ids).value();
  return ids.status();
}

constexpr std::size_t kHashIds = kCommonFields;
constexpr std::array<std::string_view, kCommonFields + 1> kHashedBlockFields = {
    "timestamp", "input_length", "output_length", "hash_ids"};

class HashedBlockRowParser final : public JsonRowParser {
 public:
  HashedBlockRowParser(const JsonSchema& schema, std::int64_t tokens_per_id)
      : JsonRowParser(schema), tokens_per_id_(tokens_per_id) {}

  TokenCount content_block_tokens() const override { return TokenCount(tokens_per_id_); }

 private:
  void begin() override { ids_.clear(); }

  Status read_own(std::size_t, simdjson::ondemand::value value) override {
    return keep(read_content_ids(name_of(kHashIds), value), ids_);
  }

  Status finish(TraceRow& row) override {
    if (!has(kHashIds)) {
      return missing_field_error(name_of(kHashIds),
                                 fmt::format("an array with one id per {} tokens", tokens_per_id_));
    }
    const std::int64_t ids_expected = ceil_div(row.prompt_tokens, tokens_per_id_);
    if (std::ssize(ids_) != ids_expected) {
      return Status::invalid_input(
          fmt::format("field hash_ids: expected {} ids (one per {} tokens of input_length {}), "
                      "got {}",
                      ids_expected, tokens_per_id_, row.prompt_tokens, ids_.size()));
    }
    auto content = std::make_shared<TokenContent>();
    content->prompt_runs.reserve(ids_.size());
    std::int64_t left = row.prompt_tokens;
    for (const std::uint64_t id : ids_) {
      const std::int64_t length = std::min(left, tokens_per_id_);
      content->prompt_runs.push_back({mix_bits(id), TokenCount(length)});
      left -= length;
    }
    row.content = std::move(content);
    return Status::ok();
  }

  std::int64_t tokens_per_id_;
  std::vector<std::uint64_t> ids_;
};

enum TokenIdField : std::size_t { kPromptIds = kCommonFields, kOutputIds, kSubRequests, kEnd };
constexpr std::array<std::string_view, kEnd> kTokenIdFields = {"arrival_time_ns", "input_toks",
                                                               "output_toks",     "input_tok_ids",
                                                               "output_tok_ids",  "sub_requests"};

class TokenIdRowParser final : public JsonRowParser {
 public:
  using JsonRowParser::JsonRowParser;

 private:
  void begin() override { content_ = std::make_shared<TokenContent>(); }

  Status read_own(std::size_t field, simdjson::ondemand::value value) override {
    if (field == kSubRequests) {
      return Status::invalid_input(
          "field sub_requests: expected one request per line; sessions are not supported");
    }
    return keep(read_token_ids(name_of(field), value),
                field == kPromptIds ? content_->prompt_token_ids : content_->output_token_ids);
  }

  Status finish(TraceRow& row) override {
    RECTO_RETURN_IF_ERROR(
        check_id_count(kPromptIds, content_->prompt_token_ids.size(), kPrompt, row.prompt_tokens));
    RECTO_RETURN_IF_ERROR(
        check_id_count(kOutputIds, content_->output_token_ids.size(), kOutput, row.output_tokens));
    if (has(kPromptIds) || has(kOutputIds)) row.content = std::move(content_);
    return Status::ok();
  }

  Status check_id_count(std::size_t ids, std::size_t id_count, std::size_t length,
                        std::int64_t tokens) const {
    if (!has(ids) || static_cast<std::int64_t>(id_count) == tokens) return Status::ok();
    return Status::invalid_input(fmt::format("field {}: expected {} ids ({}), got {}", name_of(ids),
                                             tokens, name_of(length), id_count));
  }

  std::shared_ptr<TokenContent> content_;
};

}  // namespace

std::unique_ptr<RowParser> make_mooncake_row_parser() {
  return std::make_unique<HashedBlockRowParser>(
      JsonSchema{TraceFormat::kMooncake, kHashedBlockFields, 6, "milliseconds"}, 512);
}

std::unique_ptr<RowParser> make_bailian_row_parser() {
  return std::make_unique<HashedBlockRowParser>(
      JsonSchema{TraceFormat::kBailian, kHashedBlockFields, 9, "seconds"}, 16);
}

std::unique_ptr<RowParser> make_token_id_row_parser() {
  return std::make_unique<TokenIdRowParser>(
      JsonSchema{TraceFormat::kLlmServingSim, kTokenIdFields, 0, "nanoseconds"});
}

}  // namespace recto::sim
