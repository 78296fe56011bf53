// Saved cases: every case can be written and read back, and unreadable files are refused with the
// reason.

#include "verify/saved_case.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "bazel/testing/property.h"
#include "verify/cases/case_json.h"
#include "verify/cases/case_shrinker.h"
#include "verify/cases/property_case.h"

namespace recto::verify {
namespace {

SavedCase small_case() {
  SavedCase saved{.law = "oracle", .backend = "naive-fp64"};
  saved.spec.sequences = {{.num_rows = 1, .context_length = 5}};
  saved.spec.v = FloatFamily::kSmallIntegers;
  saved.spec.options.window = 3;
  return saved;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_refused(const std::string& text, const std::string& message) {
  const Result<SavedCase> read = parse_saved_case(text);
  CHECK(read.status() == Status::invalid_input(message));
}

TEST_CASE("any case that is drawn is read as it was written") {
  property("round trip", [](Draw& draw) {
    SavedCase saved{.law = "masked_keys", .backend = "a \"kernel\"", .spec = draw_case(draw, {})};
    saved.bound_kind = draw.element({BoundKind::kWorstCase, BoundKind::kProbabilistic});
    for (const CaseSpec& simpler : simpler_cases(saved.spec)) {
      SavedCase small = saved;
      small.spec = simpler;
      RECTO_REQUIRE(parse_saved_case(saved_case_text(small)).value().spec == simpler);
    }
    const std::string text = saved_case_text(saved);
    const SavedCase read = parse_saved_case(text).value();
    RECTO_REQUIRE(read.spec == saved.spec);
    RECTO_REQUIRE(read.law == saved.law);
    RECTO_REQUIRE(read.backend == saved.backend);
    RECTO_REQUIRE(read.bound_kind == saved.bound_kind);
    RECTO_REQUIRE(saved_case_text(read) == text);
  });
}

TEST_CASE("the file of results that a case failed in is kept with it") {
  SavedCase saved = small_case();
  CHECK((saved_case_text(saved).find("answer") == std::string::npos));
  saved.answer = "../cases/decode-01.out.npy";
  CHECK(parse_saved_case(saved_case_text(saved)).value().answer == saved.answer);
}

TEST_CASE("gaps are saved if there are any, and a case without the field has none") {
  SavedCase saved = small_case();
  CHECK((saved_case_text(saved).find("gaps") == std::string::npos));
  CHECK(parse_saved_case(saved_case_text(saved)).value().spec.placement.gaps == Gaps{});
  saved.spec.placement.gaps = {.q_rows = 32, .v_heads = 16};
  const std::string text = saved_case_text(saved);
  CHECK((text.find("\"gaps\":{\"q_rows\":32,\"v_heads\":16}") != std::string::npos));
  CHECK(parse_saved_case(text).value().spec == saved.spec);
  CHECK(parse_saved_case(replaced(text, "\"q_rows\":32", "\"q_rows\":31"))
            .value()
            .spec.placement.gaps == Gaps{.q_rows = 31, .v_heads = 16});
  check_refused(replaced(text, "\"q_rows\":32", "\"q_rows\":-1"),
                "case.placement.gaps.q_rows: expected 0 ... 16777216, found -1");
}

TEST_CASE("a case is kept with the cases after which it fails, in their order") {
  SavedCase saved = small_case();
  CHECK((saved_case_text(saved).find("after") == std::string::npos));
  saved.after = {saved.spec, saved.spec};
  saved.after[1].sequences[0].context_length = 7;
  const std::string text = saved_case_text(saved);
  CHECK(parse_saved_case(text).value().after == saved.after);
  CHECK(saved_case_text(parse_saved_case(text).value()) == text);
  Json odd = parse_json(text).value();
  odd["after"][0]["shape"]["num_q_heads"] = "two";
  check_refused(json_text(odd), "after[0].shape.num_q_heads: expected an integer, found \"two\"");
  Json json = parse_json(text).value();
  json["after"] = Json::array();
  check_refused(json_text(json), "after: expected a list of 1 to 1000 cases");
}

TEST_CASE("a case with more heads than the limit is refused") {
  SavedCase saved = small_case();
  saved.spec.shape.num_q_heads = kCaseHeadsMax;
  CHECK(parse_saved_case(saved_case_text(saved)).status() == Status::ok());
  saved.spec.shape.num_q_heads = kCaseHeadsMax + 1;
  check_refused(saved_case_text(saved),
                "case.shape.num_q_heads: expected at most 65536 in 1 sequences, found 65537");
}

TEST_CASE("a saved case is short, with one item per line") {
  const std::string text = saved_case_text(small_case());
  CHECK((text.starts_with("{\n  \"recto_case\": 1,\n  \"law\": \"oracle\",\n")));
  CHECK((text.find("\n    \"sequences\": [{\"num_rows\":1,\"context_length\":5,\"id\":0}],\n") !=
         std::string::npos));
  CHECK(std::count(text.begin(), text.end(), '\n') == 13);
}

// The keys and item numbers that lead to a field.
using Way = std::vector<std::string>;

// The paths of all fields of `json`, which itself is at `way`.
std::vector<Way> fields_of(const Json& json, const Way& way = {}) {
  std::vector<Way> fields;
  const auto add = [&](const std::string& step, const Json& value) {
    Way longer = way;
    longer.push_back(step);
    if (json.is_object()) fields.push_back(longer);
    std::ranges::move(fields_of(value, longer), std::back_inserter(fields));
  };
  if (json.is_object())
    for (const auto& [key, value] : json.items()) add(key, value);
  for (std::size_t i = 0; json.is_array() && i < json.size(); ++i) add(std::to_string(i), json[i]);
  return fields;
}

// The object that contains the field.
Json& owner_of(const Way& field, Json& json) {
  Json* owner = &json;
  for (std::size_t i = 0; i + 1 < field.size(); ++i)
    owner = owner->is_array() ? &(*owner)[std::stoul(field[i])] : &(*owner)[field[i]];
  return *owner;
}

// The path as in messages: case, sequences, 0, id is case.sequences[0].id.
std::string path_of(const Way& field) {
  std::string path;
  for (const std::string& step : field)
    path += step == "0" ? "[0]" : (path.empty() ? "" : ".") + step;
  return path;
}

TEST_CASE("each field that is missing, or given twice, is named") {
  SavedCase saved = small_case();
  const Json whole = parse_json(saved_case_text(saved)).value();
  const std::vector<Way> fields = fields_of(whole);
  CHECK(fields.size() > 40);
  for (const Way& field : fields) {
    Json without = whole;
    owner_of(field, without).erase(field.back());
    const Status missing = parse_saved_case(json_text(without)).status();
    INFO(path_of(field));
    CHECK(missing.code() == StatusCode::kInvalidInput);
    CHECK((missing.message().starts_with(path_of(field) + ": expected ")));
    CHECK((missing.message().ends_with(", found no such field")));
    // Invalid JSON that no library writes: a repeated field, last in its object.
    Json marked = whole;
    owner_of(field, marked)["MARK"] = 0;
    check_refused(replaced(json_text(marked), "MARK", field.back()),
                  path_of(field) + ": given twice; expected once");
  }
}

TEST_CASE("former names of bounds are read") {
  const std::string text = saved_case_text(small_case());
  const std::pair<const char*, BoundKind> names[] = {{"hard", BoundKind::kWorstCase},
                                                     {"sharp", BoundKind::kProbabilistic},
                                                     {"worst-case", BoundKind::kWorstCase},
                                                     {"probabilistic", BoundKind::kProbabilistic}};
  for (const auto& [name, kind] : names) {
    const std::string old = replaced(text, "\"probabilistic\"", "\"" + std::string(name) + "\"");
    CHECK(parse_saved_case(old).value().bound_kind == kind);
  }
}

TEST_CASE("former names of backends are read as today's names") {
  const std::string text = saved_case_text(small_case());
  const std::pair<const char*, const char*> names[] = {{"paged-decode", "reference-decode"},
                                                       {"group-decode", "gqa-decode"},
                                                       {"bulk-decode", "tma-decode"},
                                                       {"bulk-decode@gpu", "tma-decode@gpu"},
                                                       // Names of today, and of others.
                                                       {"gqa-decode", "gqa-decode"},
                                                       {"group-decode-2", "group-decode-2"},
                                                       {"mine group-decode", "mine group-decode"}};
  for (const auto& [before, now] : names) {
    const std::string old = replaced(text, "naive-fp64", before);
    CHECK(parse_saved_case(old).value().backend == now);
  }
}

TEST_CASE("answer and varied_tokens are optional") {
  SavedCase saved = small_case();
  saved.answer = "decode-01.out.npy";
  saved.spec.varied_tokens = TokenRange{1, 3};
  Json json = parse_json(saved_case_text(saved)).value();
  json.erase("answer");
  json["case"]["values"].erase("varied_tokens");
  const SavedCase read = parse_saved_case(json_text(json)).value();
  CHECK(read.answer.empty());
  CHECK(!read.spec.varied_tokens);
  json["case"]["values"]["varied_tokens"] = {{"begin", 1}};
  check_refused(json_text(json),
                "case.values.varied_tokens.end: expected an integer, found no such field");
}

TEST_CASE("a file that is not JSON is refused with its line") {
  const std::string text = saved_case_text(small_case());
  check_refused("", "line 1: expected JSON; the text ends early");
  check_refused(text.substr(0, text.find("\"case\"")),
                "line 6: expected JSON; the text ends early");
  check_refused("[1, 2]", "expected one JSON object");
  check_refused(replaced(text, "\"seed\":0", "\"seed\":1e999"),
                "expected numbers within the range of a double");
  check_refused(replaced(text, "\"softcap\"", "\"scale\""),
                "case.options.scale: given twice; expected once");
}

TEST_CASE("wrong fields are named with the expected value") {
  const std::string text = saved_case_text(small_case());
  const std::pair<std::pair<std::string, std::string>, std::string> faults[] = {
      {{"\"recto_case\": 1", "\"recto_case\": 2"}, "recto_case: expected 1, found 2"},
      {{"\"recto_case\": 1", "\"law\": \"oracle\""}, "law: given twice; expected once"},
      {{"\"bound\": \"probabilistic\"", "\"bound\": \"soft\""},
       "bound: expected one of worst-case, probabilistic, hard, sharp, found \"soft\""},
      {{"\"law\": \"oracle\"", "\"law\": 3"}, "law: expected a text, found 3"},
      {{"\"num_rows\":1", "\"num_rows\":1.5"},
       "case.sequences[0].num_rows: expected an integer, found 1.5"},
      {{"\"num_rows\":1", "\"num_rows\":1,\"num_row\":1"},
       "case.sequences[0].num_row: expected only the fields context_length, id, num_rows, found "
       "1"},
      {{"\"causal\":true", "\"causal\":1"}, "case.options.causal: expected true or false, found 1"},
      {{"\"scale\":1.0", "\"scale\":1e60"},
       "case.options.scale: expected a number of fp32, found 1e+60"},
      {{"\"window\":3", "\"window\":\"3\""},
       "case.options.window: expected an integer, found \"3\""},
      {{"\"seed\":0", "\"seed\":-1"},
       "case.values.seed: expected an integer from 0 to 2^64 - 1, found -1"},
      {{"\"alibi\":\"none\"", "\"alibi\":\"no\""},
       "case.options.alibi: expected one of none, usual, negative, mixed, found \"no\""},
      {{"\"shape\": {", "\"shape\": [{\"\":"}, "line 7: expected JSON"},
      // Refused by the case's own rules.
      {{"\"block_size\":1", "\"block_size\":12"},
       "case.placement.block_size: expected a power of two or a multiple of 16, found 12"},
      {{"\"head_dim_k\":1", "\"head_dim_k\":0"},
       "case.shape.head_dim_k: expected 1 ... 16777216, found 0"},
      {{"\"num_q_heads\":1", "\"num_q_heads\":-3"},
       "case.shape.num_q_heads: expected 1 ... 16777216, found -3"},
      {{"\"window\":3", "\"window\":0"}, "case.options.window: expected 1 ... 16777216, found 0"}};
  for (const auto& [change, message] : faults)
    check_refused(replaced(text, change.first, change.second), message);
  Json json = parse_json(text).value();
  json["case"]["sequences"] = 4;
  check_refused(json_text(json), "case.sequences: expected a list, found 4");
  json["case"] = 4;
  check_refused(json_text(json), "case: expected an object, found 4");
}

TEST_CASE("a case that is too large for memory is refused, and one of half the size is not") {
  const auto of_context = [](std::int64_t length) {
    SavedCase saved;
    saved.spec.shape.head_dim_k = 16;
    saved.spec.sequences[0].context_length = length;
    return parse_saved_case(saved_case_text(saved)).status();
  };
  CHECK(of_context(16777216).message().starts_with("case: expected at most 268435456 numbers"));
  CHECK(of_context(8388608).is_ok());
}

}  // namespace
}  // namespace recto::verify
