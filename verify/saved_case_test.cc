// Saved cases: what was written is read again, whatever the case, and what cannot be read is named.

#include "verify/saved_case.h"

#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "bazel/testing/property.h"
#include "verify/generators/case_json.h"
#include "verify/generators/rapidcheck_case.h"

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
  rc::prop("round trip", [] {
    SavedCase saved{.law = "masked_keys", .backend = "a \"kernel\"", .spec = *arbitrary_case({})};
    saved.bound_kind = *rc::gen::element(BoundKind::kHard, BoundKind::kSharp);
    for (const CaseSpec& simpler : simpler_cases(saved.spec)) {
      SavedCase small = saved;
      small.spec = simpler;
      RC_ASSERT(parse_saved_case(saved_case_text(small)).value().spec == simpler);
    }
    const std::string text = saved_case_text(saved);
    const SavedCase read = parse_saved_case(text).value();
    RC_ASSERT(read.spec == saved.spec);
    RC_ASSERT(read.law == saved.law);
    RC_ASSERT(read.backend == saved.backend);
    RC_ASSERT(read.bound_kind == saved.bound_kind);
    RC_ASSERT(saved_case_text(read) == text);
  });
}

TEST_CASE("the file of results that a case failed in is kept with it") {
  SavedCase saved = small_case();
  CHECK((saved_case_text(saved).find("answer") == std::string::npos));
  saved.answer = "../cases/decode-01.out.npy";
  CHECK(parse_saved_case(saved_case_text(saved)).value().answer == saved.answer);
}

TEST_CASE("a case of more heads than anybody waits for is refused") {
  SavedCase saved = small_case();
  saved.spec.shape.num_q_heads = kCaseHeadsMax;
  CHECK(parse_saved_case(saved_case_text(saved)).status() == Status::ok());
  saved.spec.shape.num_q_heads = kCaseHeadsMax + 1;
  check_refused(saved_case_text(saved),
                "case.shape.num_q_heads: expected at most 65536 in 1 sequences, got 65537");
}

TEST_CASE("a saved case is small, and a line says one thing") {
  const std::string text = saved_case_text(small_case());
  CHECK((text.starts_with("{\n  \"recto_case\": 1,\n  \"law\": \"oracle\",\n")));
  CHECK((text.find("\n    \"sequences\": [{\"num_rows\":1,\"context_length\":5,\"id\":0}],\n") !=
         std::string::npos));
  CHECK(std::count(text.begin(), text.end(), '\n') == 13);
}

TEST_CASE("what a case does not name is as in the plainest one") {
  const SavedCase read = parse_saved_case(R"({"recto_case": 1, "case": {}})").value();
  CHECK(read.spec == CaseSpec{});
  CHECK(read.law.empty());
  CHECK(read.bound_kind == BoundKind::kSharp);
}

TEST_CASE("what is no JSON is refused, with its line") {
  const std::string text = saved_case_text(small_case());
  check_refused("", "line 1: expected JSON, and the text ends early");
  check_refused(text.substr(0, text.find("\"case\"")),
                "line 6: expected JSON, and the text ends early");
  check_refused("[1, 2]", "expected one JSON object");
  check_refused(replaced(text, "\"seed\":0", "\"seed\":1e999"),
                "expected numbers that a double holds");
  check_refused(replaced(text, "\"softcap\"", "\"scale\""), "'scale' stands twice in one object");
}

TEST_CASE("fields that are wrong are named, with what was expected") {
  const std::string text = saved_case_text(small_case());
  const std::pair<std::pair<std::string, std::string>, std::string> faults[] = {
      {{"\"recto_case\": 1", "\"recto_case\": 2"}, "recto_case: expected 1, found 2"},
      {{"\"recto_case\": 1", "\"law\": \"oracle\""}, "'law' stands twice in one object"},
      {{"\"bound\": \"sharp\"", "\"bound\": \"soft\""},
       "bound: expected one of hard, sharp, found 'soft'"},
      {{"\"law\": \"oracle\"", "\"law\": 3"}, "law: expected a text, found 3"},
      {{"\"num_rows\":1", "\"num_rows\":1.5"},
       "case.sequences[0].num_rows: expected an integer, found 1.5"},
      {{"\"num_rows\":1", "\"num_row\":1"},
       "case.sequences[0].num_row: expected no such field but context_length, id, num_rows, found "
       "1"},
      {{"\"causal\":true", "\"causal\":1"}, "case.options.causal: expected true or false, found 1"},
      {{"\"scale\":1.0", "\"scale\":1e60"},
       "case.options.scale: expected a number of fp32, found 1e+60"},
      {{"\"window\":3", "\"window\":\"3\""},
       "case.options.window: expected an integer, found \"3\""},
      {{"\"seed\":0", "\"seed\":-1"},
       "case.values.seed: expected an integer from 0 to 2^64 - 1, found -1"},
      {{"\"alibi\":\"none\"", "\"alibi\":\"no\""},
       "case.options.alibi: expected one of none, usual, negative, mixed, found 'no'"},
      {{"\"shape\": {", "\"shape\": [{\"\":"}, "line 7: expected JSON"},
      // What the case's own rules refuse.
      {{"\"block_size\":1", "\"block_size\":12"},
       "case: block_size: expected a power of two or a multiple of 16, got 12"},
      {{"\"head_dim_k\":1", "\"head_dim_k\":0"},
       "case: head_dim_k: expected 1 ... 16777216, got 0"}};
  for (const auto& [change, message] : faults)
    check_refused(replaced(text, change.first, change.second), message);
  check_refused("{\"recto_case\": 1}", "case: expected an object, found none");
  check_refused("{\"case\": {}}", "recto_case: expected 1, found none");
  check_refused("{\"recto_case\": 1, \"case\": {\"sequences\": 4}}",
                "case.sequences: expected a list, found 4");
}

TEST_CASE("a case that no memory holds is refused, one of half the size is not") {
  const auto of_context = [](const char* length) {
    return parse_saved_case(
               "{\"recto_case\": 1, \"case\": {\"shape\": {\"head_dim_k\": 16}, "
               "\"sequences\": [{\"context_length\": " +
               std::string(length) + "}]}}")
        .status();
  };
  CHECK(of_context("16777216").message().starts_with("case: expected at most 268435456 numbers"));
  CHECK(of_context("8388608").is_ok());
}

}  // namespace
}  // namespace recto::verify
