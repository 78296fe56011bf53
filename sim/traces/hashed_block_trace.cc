#include "sim/traces/hashed_block_trace.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/random_stream.h"
#include "sim/traces/json_fields.h"

namespace recto::sim {
namespace {

struct HashedBlockSchema {
  TraceFormat format;
  std::int64_t tokens_per_id;
  int time_power;  // a timestamp counts units of 10^time_power ns
  std::string_view time_unit;
};

constexpr HashedBlockSchema kMooncakeSchema{TraceFormat::kMooncake, 512, 6, "milliseconds"};
constexpr HashedBlockSchema kBailianSchema{TraceFormat::kBailian, 16, 9, "seconds"};

// Places in kFieldNames.
enum Field : std::size_t { kTimestamp, kInputLength, kOutputLength, kHashIds, kFieldCount };
constexpr std::array<std::string_view, kFieldCount> kFieldNames = {"timestamp", "input_length",
                                                                   "output_length", "hash_ids"};

class HashedBlockRowParser final : public RowParser {
 public:
  explicit HashedBlockRowParser(const HashedBlockSchema& schema)
      : schema_(schema), seen_(kFieldNames) {}

  TraceFormat format() const override { return schema_.format; }
  TokenCount content_block_tokens() const override { return TokenCount(schema_.tokens_per_id); }

  Result<TraceRow> parse(const Line& line) override {
    seen_.clear();
    TraceRow row;
    std::vector<std::uint64_t> ids;
    RECTO_RETURN_IF_ERROR(
        json_.visit(line, [&](std::string_view name, simdjson::ondemand::value value) {
          return read_field(name, value, row, ids);
        }));
    for (std::size_t field = 0; field < kFieldCount; ++field) {
      if (!seen_.has(field)) return missing_field_error(kFieldNames[field], expected(field));
    }
    const std::int64_t ids_expected = ceil_div(row.prompt_tokens, schema_.tokens_per_id);
    if (static_cast<std::int64_t>(ids.size()) != ids_expected) {
      return Status::invalid_input(
          fmt::format("field hash_ids: expected {} ids (one per {} tokens of input_length {}), "
                      "got {}",
                      ids_expected, schema_.tokens_per_id, row.prompt_tokens, ids.size()));
    }
    row.content = to_content(ids, row.prompt_tokens);
    return row;
  }

 private:
  Status read_field(std::string_view name, simdjson::ondemand::value value, TraceRow& row,
                    std::vector<std::uint64_t>& ids) {
    const Result<std::size_t> field = seen_.claim(name);
    if (!field.is_ok()) return field.status();
    if (field.value() == kTimestamp) {
      const Result<JsonTime> time = read_time(name, value, schema_.time_power, schema_.time_unit);
      if (!time.is_ok()) return time.status();
      row.arrival_field = kFieldNames[kTimestamp];
      row.arrival_text = time.value().text;
      row.arrival_ns = time.value().ns;
    } else if (field.value() == kInputLength || field.value() == kOutputLength) {
      const Result<std::int64_t> count = read_token_count(name, value);
      if (!count.is_ok()) return count.status();
      (field.value() == kInputLength ? row.prompt_tokens : row.output_tokens) = count.value();
    } else if (field.value() == kHashIds) {
      Result<std::vector<std::uint64_t>> read = read_content_ids(name, value);
      if (!read.is_ok()) return read.status();
      ids = std::move(read).value();
    }
    return Status::ok();
  }

  std::string expected(std::size_t field) const {
    switch (field) {
      case kTimestamp:
        return fmt::format("{}, a number of at least 0", schema_.time_unit);
      case kHashIds:
        return fmt::format("an array with one id per {} tokens", schema_.tokens_per_id);
      default:
        return std::string(kExpectedTokenCount);
    }
  }

  std::shared_ptr<const TokenContent> to_content(const std::vector<std::uint64_t>& ids,
                                                 std::int64_t prompt_tokens) const {
    auto content = std::make_shared<TokenContent>();
    content->prompt_runs.reserve(ids.size());
    std::int64_t left = prompt_tokens;
    for (const std::uint64_t id : ids) {
      const std::int64_t length = std::min(left, schema_.tokens_per_id);
      content->prompt_runs.push_back({mix_bits(id), TokenCount(length)});
      left -= length;
    }
    return content;
  }

  const HashedBlockSchema& schema_;
  SeenFields seen_;
  JsonFields json_;
};

}  // namespace

std::unique_ptr<RowParser> make_mooncake_row_parser() {
  return std::make_unique<HashedBlockRowParser>(kMooncakeSchema);
}

std::unique_ptr<RowParser> make_bailian_row_parser() {
  return std::make_unique<HashedBlockRowParser>(kBailianSchema);
}

}  // namespace recto::sim
