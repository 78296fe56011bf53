#include "sim/time/linear_time_model.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bazel/testing/catch.h"
#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

LinearCoefficients fitted() { return {17.25e6, 83e3, 171, 8.5e3, "a test"}; }

StepLoad draw_load(Draw& draw) {
  StepLoad load;
  load.decode_sequences = draw.growing(0, 999);
  load.decode_kv_tokens = TokenCount(draw.growing(0, 9'999'999));
  load.prefill_tokens = TokenCount(draw.growing(0, 99'999));
  return load;
}

TEST_CASE("a step has the parts calculated by hand") {
  const LinearTimeModel model(fitted());
  StepLoad load;
  load.prefill_tokens = TokenCount(100);
  load.decode_sequences = 32;
  load.decode_kv_tokens = TokenCount(40'000);
  const StepCost cost = model.cost(load);
  CHECK(cost.fixed == SimDuration(17'250'000));
  CHECK(cost.linear == SimDuration(8'300'000 + 272'000));
  CHECK(cost.attention == SimDuration(6'840'000));
  CHECK(cost.copy == SimDuration(0));
  CHECK(cost.overlap == SimDuration(0));
  CHECK(cost.total() == SimDuration(32'662'000));
}

TEST_CASE("blocks cost what their coefficient says, and nothing without one") {
  StepLoad load;
  load.decode_kv_tokens = TokenCount(1000);
  load.decode_kv_blocks = BlockCount(63);
  LinearCoefficients coefficients = fitted();
  CHECK(LinearTimeModel(coefficients).cost(load).attention == SimDuration(171'000));
  CHECK(LinearTimeModel(coefficients).describe().find("KV block") == std::string::npos);
  coefficients.per_kv_block_ns = 10.5;
  CHECK(LinearTimeModel(coefficients).cost(load).attention == SimDuration(171'000 + 662));  // 661.5
  CHECK(LinearTimeModel(coefficients).describe().find("10.5 ns/KV block") != std::string::npos);
}

TEST_CASE("parts are rounded to the nearest nanosecond, halves up") {
  const LinearTimeModel model({0.4, 0, 0.25, 0, "a test"});
  StepLoad load;
  load.decode_kv_tokens = TokenCount(2);
  CHECK(model.cost(load).attention == SimDuration(1));
  load.decode_kv_tokens = TokenCount(1);
  CHECK(model.cost(load).attention == SimDuration(0));
}

TEST_CASE("an empty or free step still takes 1 ns") {
  CHECK(LinearTimeModel({0, 0, 0, 0, "a test"}).cost({}).total() == SimDuration(1));
  CHECK(LinearTimeModel({0.4, 0, 0, 0, "a test"}).cost({}).total() == SimDuration(1));
}

TEST_CASE("cost grows with each count") {
  property("monotone", [](Draw& draw) {
    const LinearTimeModel model(fitted());
    const StepLoad load = draw_load(draw);
    StepLoad more = load;
    more.decode_sequences += draw.growing(0, 9);
    more.decode_kv_tokens += TokenCount(draw.growing(0, 999));
    more.prefill_tokens += TokenCount(draw.growing(0, 999));
    RECTO_REQUIRE(model.cost(more).total() >= model.cost(load).total());
  });
}

TEST_CASE("coefficients out of range are named") {
  const auto message = [](const LinearCoefficients& coefficients) {
    return check_linear_coefficients(coefficients).message();
  };
  CHECK(message(fitted()).empty());
  LinearCoefficients bad = fitted();
  bad.per_kv_token_ns = -1;
  CHECK(message(bad).find("'per_kv_token_ns': -1; expected 0 to") != std::string::npos);
  bad = fitted();
  bad.fixed_ns = 0.0 / 0.0;
  CHECK(message(bad).find("'fixed_ns'") != std::string::npos);
}

TEST_CASE("a report says what the coefficients were fitted on") {
  CHECK(LinearTimeModel(fitted()).describe().find("(a test)") != std::string::npos);
}

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

TEST_CASE("a valid file is read, with or without a byte-order mark") {
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

TEST_CASE("the term for blocks is optional, and checked like the others") {
  CHECK(parse_linear_time_model(kGood, "fit.json").value().per_kv_block_ns == 0);
  const std::string with =
      replaced(kGood, "\"fixed_ns\"", "\"per_kv_block_ns\": 12.5, \"fixed_ns\"");
  CHECK(parse_linear_time_model(with, "fit.json").value().per_kv_block_ns == 12.5);
  CHECK(has(failure(replaced(with, "12.5", "\"12.5\"")), "field 'per_kv_block_ns': is string"));
  CHECK(has(failure(replaced(with, "12.5", "-1")), "field 'per_kv_block_ns': -1; expected 0 to"));
}

TEST_CASE("a source is required, and is a text that is not empty") {
  CHECK(has(failure(replaced(kGood, R"("source": "vLLM 0.19",)", "")), "field 'source'"));
  CHECK(has(failure(replaced(kGood, "vLLM 0.19", "")), "field 'source'"));
  CHECK(has(failure(replaced(kGood, "\"vLLM 0.19\"", "7")), "field 'source'"));
}

TEST_CASE("JSON that is not an object is refused, with the line of a syntax error") {
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
