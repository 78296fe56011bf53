#include "experiments/support/model_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>

#include "core/json.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

// Far beyond any model, and small enough that products of three of them do not overflow.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 20;

// Reads fields of an object; keeps the first error.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  std::int64_t count(const char* name, std::int64_t max) {
    const Json* value = find(name);
    if (value == nullptr) return fail(fmt::format("'{}' is missing", name));
    return checked(name, *value, max);
  }
  std::int64_t count_or(const char* name, std::int64_t max, std::int64_t fallback) {
    const Json* value = find(name);
    return value == nullptr ? fallback : checked(name, *value, max);
  }
  std::string text_or(const char* name, const std::string& fallback) {
    const Json* value = find(name);
    if (value == nullptr) return fallback;
    if (value->is_string()) return value->get<std::string>();
    fail(fmt::format("'{}': found {}; expected a text", name, json_text(*value)));
    return fallback;
  }
  std::int64_t fail(std::string message) {
    if (problem_.empty()) problem_ = std::move(message);
    return 1;
  }

  Status finish() {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) fail(fmt::format("'{}' is not a field of a model", key));
    }
    return problem_.empty() ? Status::ok() : Status::invalid_input(problem_);
  }

 private:
  const Json* find(const char* name) {
    known_.insert(name);
    const Json* const found = object_.find(name);
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  std::int64_t checked(const char* name, const Json& value, std::int64_t max) {
    if (value.is_number_integer()) {
      const auto number = value.get<std::int64_t>();
      if (number >= 1 && number <= max) return number;
    }
    return fail(fmt::format("'{}': found {}; expected an integer from 1 to {}", name,
                            json_text(value), max));
  }

  const Json& object_;
  std::set<std::string> known_;
  std::string problem_;
};

Architecture read_architecture(FieldReader& reader) {
  const std::string text = reader.text_or("architecture", "llama");
  if (text == "gpt2") return Architecture::kGpt2;
  if (text == "opt") return Architecture::kOpt;
  if (text == "qwen3") return Architecture::kQwen3;
  if (text != "llama") {
    reader.fail(
        fmt::format("'architecture': found '{}'; expected gpt2, opt, llama or qwen3", text));
  }
  return Architecture::kLlama;
}

Embeddings read_embeddings(FieldReader& reader) {
  const std::string text = reader.text_or("embeddings", "separate");
  if (text == "tied") return Embeddings::kTied;
  if (text != "separate") {
    reader.fail(fmt::format("'embeddings': found '{}'; expected tied or separate", text));
  }
  return Embeddings::kSeparate;
}

Result<ModelSpec> read_model(const Json& object) {
  if (!object.is_object()) return Status::invalid_input("expected one JSON object");
  FieldReader reader(object);
  ModelSpec model;
  model.name = reader.text_or("name", "model from a file");
  model.architecture = read_architecture(reader);
  model.num_layers = reader.count("num_layers", 100'000);
  model.hidden_size = reader.count("hidden_size", kLargestSize);
  model.num_q_heads = reader.count("num_q_heads", 100'000);
  model.num_kv_heads = reader.count("num_kv_heads", 100'000);
  model.head_dim = reader.count("head_dim", 100'000);
  model.ffn_size = reader.count("ffn_size", kLargestSize);
  model.vocabulary_size = reader.count("vocabulary_size", 100'000'000);
  model.parameter_count = reader.count("parameter_count", 1'000'000'000'000'000);
  model.weight_element_bytes = reader.count_or("weight_element_bytes", 8, 2);
  model.max_context = TokenCount(reader.count("max_context", 1'000'000'000));
  const std::int64_t window = reader.count_or("sliding_window", 1'000'000'000, 0);
  if (window > 0) model.sliding_window = TokenCount(window);
  model.embeddings = read_embeddings(reader);
  model.source = reader.text_or("source", "a model file");
  RECTO_RETURN_IF_ERROR(reader.finish());
  RECTO_RETURN_IF_ERROR(check_model(model));
  return model;
}

}  // namespace

Result<ModelSpec> parse_model(std::string_view text, const std::string& file_name) {
  const Result<Json> object = parse_json(text);
  if (!object.is_ok()) return Status::invalid_input(file_name + ": expected JSON");
  Result<ModelSpec> model = read_model(object.value());
  RECTO_RETURN_IF_ERROR(model.status().in(file_name));
  return model;
}

Result<ModelSpec> load_model_file(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  return parse_model(text.value(), path);
}

Result<ModelSpec> model_of(const RunConfig& config) {
  if (!config.model_file.empty()) {
    const Result<ModelSpec> model = load_model_file(config.model_file);
    RECTO_RETURN_IF_ERROR(model.status().in("--model-file"));
    return model;
  }
  const Result<ModelSpec> model = find_model(config.model);
  RECTO_RETURN_IF_ERROR(model.status().in("--model"));
  return model;
}

}  // namespace recto::experiments
