#include "core/model_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace recto {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// OPT's head is its input embedding at every size; the 175B row is from the paper, which prints
// layers, heads and width (Table 1); FFN, vocabulary and context are those of the family.
ModelSpec opt(std::string name, std::int64_t layers, std::int64_t heads,
              std::int64_t parameter_count) {
  ModelSpec model;
  model.architecture = Architecture::kOpt;
  model.num_layers = layers;
  model.head_dim = 128;
  model.num_q_heads = heads;
  model.num_kv_heads = heads;
  model.hidden_size = heads * model.head_dim;
  model.ffn_size = 4 * model.hidden_size;
  model.vocabulary_size = 50272;
  model.parameter_count = parameter_count;
  model.max_context = TokenCount(2048);
  model.embeddings = Embeddings::kTied;
  model.source = name == "OPT-175B" ? "OPT paper (arXiv 2205.01068), Table 1"
                                    : "huggingface.co/facebook/" + lower(name) + ", config.json";
  model.name = std::move(name);
  return model;
}

std::vector<ModelSpec> older_models() {
  return {
      {.name = "GPT-2-small",
       .architecture = Architecture::kGpt2,
       .num_layers = 12,
       .hidden_size = 768,
       .num_q_heads = 12,
       .num_kv_heads = 12,
       .head_dim = 64,
       .ffn_size = 3072,
       .vocabulary_size = 50257,
       .parameter_count = 124'439'808,
       .weight_element_bytes = 4,
       .max_context = TokenCount(1024),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kTied,
       .source = "huggingface.co/openai-community/gpt2, config.json"},
      // Counts of the OPT rows follow from the shape; those of the others are the published ones.
      opt("OPT-13B", 40, 40, 12'853'473'280),
      opt("OPT-66B", 64, 72, 65'719'701'504),
      opt("OPT-175B", 96, 96, 174'604'468'224),
  };
}

std::vector<ModelSpec> llama_2_models() {
  return {
      {.name = "Llama-2-7B",
       .architecture = Architecture::kLlama,
       .num_layers = 32,
       .hidden_size = 4096,
       .num_q_heads = 32,
       .num_kv_heads = 32,
       .head_dim = 128,
       .ffn_size = 11008,
       .vocabulary_size = 32000,
       .parameter_count = 6'738'415'616,
       .weight_element_bytes = 2,
       .max_context = TokenCount(4096),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/meta-llama/Llama-2-7b-hf, config.json"},
      {.name = "Llama-2-13B",
       .architecture = Architecture::kLlama,
       .num_layers = 40,
       .hidden_size = 5120,
       .num_q_heads = 40,
       .num_kv_heads = 40,
       .head_dim = 128,
       .ffn_size = 13824,
       .vocabulary_size = 32000,
       .parameter_count = 13'015'864'320,
       .weight_element_bytes = 2,
       .max_context = TokenCount(4096),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/meta-llama/Llama-2-13b-hf, config.json"},
      {.name = "Llama-2-70B",
       .architecture = Architecture::kLlama,
       .num_layers = 80,
       .hidden_size = 8192,
       .num_q_heads = 64,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 28672,
       .vocabulary_size = 32000,
       .parameter_count = 68'976'648'192,
       .weight_element_bytes = 2,
       .max_context = TokenCount(4096),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/meta-llama/Llama-2-70b-hf, config.json"},
  };
}

std::vector<ModelSpec> llama_3_models() {
  return {
      {.name = "Llama-3.1-8B",
       .architecture = Architecture::kLlama,
       .num_layers = 32,
       .hidden_size = 4096,
       .num_q_heads = 32,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 14336,
       .vocabulary_size = 128256,
       .parameter_count = 8'030'261'248,
       .weight_element_bytes = 2,
       .max_context = TokenCount(131072),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/meta-llama/Llama-3.1-8B, config.json"},
      {.name = "Llama-3.1-70B",
       .architecture = Architecture::kLlama,
       .num_layers = 80,
       .hidden_size = 8192,
       .num_q_heads = 64,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 28672,
       .vocabulary_size = 128256,
       .parameter_count = 70'553'706'496,
       .weight_element_bytes = 2,
       .max_context = TokenCount(131072),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/meta-llama/Llama-3.1-70B, config.json"},
  };
}

std::vector<ModelSpec> mistral_and_qwen_models() {
  return {
      {.name = "Mistral-7B",
       .architecture = Architecture::kLlama,
       .num_layers = 32,
       .hidden_size = 4096,
       .num_q_heads = 32,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 14336,
       .vocabulary_size = 32000,
       .parameter_count = 7'241'732'096,
       .weight_element_bytes = 2,
       .max_context = TokenCount(32768),
       .sliding_window = TokenCount(4096),
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/mistralai/Mistral-7B-v0.1, config.json"},
      {.name = "Qwen3-0.6B",
       .architecture = Architecture::kQwen3,
       .num_layers = 28,
       .hidden_size = 1024,
       .num_q_heads = 16,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 3072,
       .vocabulary_size = 151936,
       .parameter_count = 596'049'920,
       .weight_element_bytes = 2,
       .max_context = TokenCount(40960),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kTied,
       .source = "huggingface.co/Qwen/Qwen3-0.6B, config.json"},
      {.name = "Qwen3-32B",
       .architecture = Architecture::kQwen3,
       .num_layers = 64,
       .hidden_size = 5120,
       .num_q_heads = 64,
       .num_kv_heads = 8,
       .head_dim = 128,
       .ffn_size = 25600,
       .vocabulary_size = 151936,
       .parameter_count = 32'762'123'264,
       .weight_element_bytes = 2,
       .max_context = TokenCount(40960),
       .sliding_window = std::nullopt,
       .embeddings = Embeddings::kSeparate,
       .source = "huggingface.co/Qwen/Qwen3-32B, config.json"},
  };
}

std::vector<ModelSpec> make_table() {
  std::vector<ModelSpec> table;
  for (const auto& family :
       {older_models(), llama_2_models(), llama_3_models(), mistral_and_qwen_models()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  return table;
}

}  // namespace

const std::vector<ModelSpec>& model_table() {
  static const std::vector<ModelSpec> kTable = make_table();
  return kTable;
}

Result<ModelSpec> find_model(std::string_view name) {
  const std::string wanted = lower(name.substr(name.rfind('/') + 1));
  std::string known;
  for (const ModelSpec& model : model_table()) {
    if (lower(model.name) == wanted) return model;
    known += (known.empty() ? "" : ", ") + model.name;
  }
  return Status::invalid_input("unknown model '" + std::string(name) + "'; expected one of " +
                               known);
}

}  // namespace recto
