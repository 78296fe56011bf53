#include "experiments/support/model_file.h"

#include <string>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

// Llama-2-7B.
std::string model_text(const std::string& extra = "", const std::string& layers = "32") {
  return R"({"name": "mine", "architecture": "llama", "num_layers": )" + layers +
         R"(, "hidden_size": 4096, "num_q_heads": 32, "num_kv_heads": 32, "head_dim": 128,
             "ffn_size": 11008, "vocabulary_size": 32000, "parameter_count": 6738415616,
             "max_context": 4096)" +
         extra + "}";
}

std::string refusal(const std::string& text) {
  const auto model = parse_model(text, "m.json");
  CHECK(model.status().code() == StatusCode::kInvalidInput);
  CHECK_THAT(model.status().message(), ContainsSubstring("m.json"));
  return model.status().message();
}

TEST_CASE("a model file is read") {
  const auto model = parse_model(model_text(R"(, "sliding_window": 1024)"), "m.json");
  REQUIRE(model.is_ok());
  CHECK(model.value().name == "mine");
  CHECK(model.value().num_layers == 32);
  CHECK(model.value().weight_element_bytes == 2);
  CHECK(model.value().sliding_window == TokenCount(1024));
}

TEST_CASE("errors in a model file are named") {
  CHECK_THAT(refusal("{"), ContainsSubstring("expected JSON"));
  CHECK_THAT(refusal(""), ContainsSubstring("expected JSON"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("one JSON object"));
  CHECK_THAT(refusal("{}"), ContainsSubstring("'num_layers' is missing"));
  CHECK_THAT(refusal(model_text("", "-1")), ContainsSubstring("'num_layers': found -1"));
  CHECK_THAT(refusal(model_text("", "1.5")), ContainsSubstring("'num_layers': found 1.5"));
  CHECK_THAT(refusal(model_text("", "\"32\"")), ContainsSubstring("expected an integer"));
  CHECK_THAT(refusal(model_text("", "1e99")), ContainsSubstring("'num_layers'"));
  CHECK_THAT(refusal(model_text("", "99999999999999999999")), ContainsSubstring("'num_layers'"));
  CHECK_THAT(refusal(model_text("", "16")), ContainsSubstring("parameter"));
  CHECK_THAT(refusal(model_text(R"(, "colour": 1)")), ContainsSubstring("'colour' is not a field"));
  CHECK_THAT(refusal(model_text(R"(, "embeddings": "both")")), ContainsSubstring("'embeddings'"));
  CHECK_THAT(load_model_file("/").status().message(), ContainsSubstring("Is a directory"));
}

TEST_CASE("each figure that memory depends on is required, and not zero") {
  for (const std::string field :
       {"num_layers", "hidden_size", "num_q_heads", "num_kv_heads", "head_dim", "ffn_size",
        "vocabulary_size", "parameter_count", "max_context"}) {
    const std::string given = "\"" + field + "\":";
    std::string text = model_text();
    const std::size_t begin = text.find(given);
    REQUIRE(begin != std::string::npos);
    const std::size_t value = begin + given.size();
    text.replace(value, text.find_first_of(",}", value) - value, " 0");
    CHECK_THAT(refusal(text), ContainsSubstring("'" + field + "': found 0; expected an integer"));
    text.replace(value, 2, " null");
    CHECK_THAT(refusal(text), ContainsSubstring("'" + field + "' is missing"));
  }
}

}  // namespace
}  // namespace recto::experiments
