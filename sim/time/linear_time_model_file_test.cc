#include "sim/time/linear_time_model.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

constexpr const char* kGood =
    R"({"source": "vLLM 0.19", "fixed_ns": 17250000, "per_prefill_token_ns": 83000,
        "per_kv_token_ns": 171.5, "per_sequence_ns": 0})";

std::string failure(const std::string& text) {
  const Status status = parse_linear_time_model(text, "fit.json").status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(status.message().rfind("fit.json", 0) == 0);
  return status.message();
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string temporary_path() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "." : folder) + "/linear_time_model_file_test.json";
}

TEST_CASE("a good file") {
  const LinearCoefficients expected{17'250'000, 83'000, 171.5, 0, "vLLM 0.19"};
  CHECK(parse_linear_time_model(kGood, "fit.json").value() == expected);
  CHECK(parse_linear_time_model(std::string("\xEF\xBB\xBF") + kGood + "\r\n", "f").value() ==
        expected);
}

TEST_CASE("a field that is missing, repeated, unknown or of the wrong type is named") {
  CHECK(has(failure(replaced(kGood, R"("fixed_ns": 17250000,)", "")),
            "field 'fixed_ns': missing; expected a number of nanoseconds"));
  CHECK(has(failure(replaced(kGood, "17250000", "\"17\"")),
            "field 'fixed_ns': is string; expected a number"));
  CHECK(has(failure(replaced(kGood, "17250000", "null")), "field 'fixed_ns': is null"));
  CHECK(has(failure(replaced(kGood, "17250000", "-1")), "field 'fixed_ns': -1; expected 0 to"));
  CHECK(has(failure(replaced(kGood, "17250000", "1e15")), "field 'fixed_ns'"));
  CHECK(has(failure(replaced(kGood, "17250000", "1e999")), "out of range"));
  CHECK(has(failure(replaced(kGood, "fixed_ns\"", "fixed_us\": 1, \"fixed_ns\"")),
            "field 'fixed_us': unknown; expected only source, fixed_ns"));
  CHECK(has(failure(replaced(kGood, "fixed_ns\"", "fixed_ns\": 1, \"fixed_ns\"")),
            "field 'fixed_ns': given twice"));
}

TEST_CASE("a term for blocks may be given; it is a number like the others") {
  CHECK(parse_linear_time_model(kGood, "fit.json").value().per_kv_block_ns == 0);
  const std::string with =
      replaced(kGood, "\"fixed_ns\"", "\"per_kv_block_ns\": 12.5, \"fixed_ns\"");
  CHECK(parse_linear_time_model(with, "fit.json").value().per_kv_block_ns == 12.5);
  CHECK(has(failure(replaced(with, "12.5", "\"12.5\"")), "field 'per_kv_block_ns': is string"));
  CHECK(has(failure(replaced(with, "12.5", "-1")), "field 'per_kv_block_ns': -1; expected 0 to"));
}

TEST_CASE("a source is required, and says something") {
  CHECK(has(failure(replaced(kGood, R"("source": "vLLM 0.19",)", "")), "field 'source'"));
  CHECK(has(failure(replaced(kGood, "vLLM 0.19", "")), "field 'source'"));
  CHECK(has(failure(replaced(kGood, "\"vLLM 0.19\"", "7")), "field 'source'"));
}

TEST_CASE("what is no object is refused, with the line of a syntax error") {
  CHECK(has(failure(""), "line 1: not valid JSON"));
  CHECK(has(failure("{\n\n\"source\": }"), "line 3: not valid JSON"));
  CHECK(has(failure("[1, 2]"), "expected an object of coefficients, not array"));
  CHECK(has(failure(std::string("\0\x01\xff{", 4)), "not valid JSON"));
  CHECK(has(failure(std::string(kGood).substr(0, 60)), "not valid JSON"));
}

TEST_CASE("files are read by path; one that is missing is named") {
  const std::string path = temporary_path();
  std::ofstream(path) << kGood;
  CHECK(load_linear_time_model(path).value().source == "vLLM 0.19");
  std::remove(path.c_str());
  CHECK(has(load_linear_time_model(path).status().message(), path.c_str()));
}

}  // namespace
}  // namespace recto::sim
