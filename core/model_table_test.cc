#include "core/model_table.h"

#include <set>
#include <string>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

TEST_CASE("published parameter counts are exactly what the architecture implies") {
  for (const ModelSpec& model : model_table()) {
    INFO(model.name);
    CHECK(count_parameters(model) == model.parameter_count);
    CHECK(check_model(model) == Status::ok());
    CHECK_FALSE(model.source.empty());
  }
}

TEST_CASE("the table has every model that the project promises, once") {
  std::set<std::string> names;
  for (const ModelSpec& model : model_table()) CHECK(names.insert(model.name).second);
  CHECK(names == std::set<std::string>{"GPT-2-small", "OPT-13B", "OPT-66B", "OPT-175B",
                                       "Llama-2-7B", "Llama-2-13B", "Llama-2-70B", "Llama-3.1-8B",
                                       "Llama-3.1-70B", "Mistral-7B", "Qwen3-0.6B", "Qwen3-32B"});
}

TEST_CASE("OPT widths are those of the paper") {
  CHECK(find_model("OPT-13B").value().hidden_size == 5120);
  CHECK(find_model("OPT-66B").value().hidden_size == 9216);
  CHECK(find_model("OPT-175B").value().hidden_size == 12288);
}

TEST_CASE("the head dim of Qwen3 is not hidden size over heads") {
  const ModelSpec model = find_model("Qwen3-0.6B").value();
  CHECK(model.head_dim == 128);
  CHECK(model.hidden_size / model.num_q_heads == 64);
}

TEST_CASE("only Mistral has a window") {
  for (const ModelSpec& model : model_table()) {
    CHECK(model.sliding_window.has_value() == (model.name == "Mistral-7B"));
  }
  CHECK(find_model("mistral-7b").value().sliding_window == TokenCount(4096));
}

TEST_CASE("names are found whatever their case, with or without an organisation") {
  CHECK(find_model("llama-3.1-8b").value().name == "Llama-3.1-8B");
  CHECK(find_model("meta-llama/Llama-3.1-8B").value().name == "Llama-3.1-8B");
}

TEST_CASE("an unknown name is answered with the known ones") {
  for (const char* name : {"llama", "", "/", "Llama-3.1-8B/"}) {
    const Status status = find_model(name).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    for (const ModelSpec& model : model_table()) {
      CHECK(status.message().find(model.name) != std::string::npos);
    }
  }
}

TEST_CASE("matmul weights of Llama-3.1-8B equal those calculated by hand") {
  const ModelSpec model = find_model("Llama-3.1-8B").value();
  // Q and O 4096 x 4096, K and V 4096 x 1024, three of 4096 x 14336
  CHECK(layer_matmul_parameters(model) == 218'103'808);
  CHECK(output_head_parameters(model) == 525'336'576);
  CHECK(weight_bytes(model) == ByteCount(16'060'522'496));
}

TEST_CASE("check_model names the field that is wrong") {
  const ModelSpec good = find_model("Llama-3.1-8B").value();
  const auto message = [](const ModelSpec& model) { return check_model(model).message(); };
  ModelSpec bad = good;
  bad.num_layers = 0;
  CHECK(message(bad).find("'num_layers': 0; expected 1 to") != std::string::npos);
  bad = good;
  bad.head_dim = INT64_MAX;
  CHECK(message(bad).find("'head_dim'") != std::string::npos);
  bad = good;
  bad.num_kv_heads = 5;
  CHECK(message(bad).find("expected a divisor of num_q_heads = 32") != std::string::npos);
  bad = good;
  bad.parameter_count = 7'000'000'000;
  CHECK(message(bad).find("within 1 % of the 8030261248") != std::string::npos);
  bad = good;
  bad.sliding_window = TokenCount(0);
  CHECK(message(bad).find("'sliding_window'") != std::string::npos);
}

}  // namespace
}  // namespace recto
