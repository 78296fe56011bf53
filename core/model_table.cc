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

// A row of the table below.
struct Row {
  const char* name;
  Architecture architecture;
  std::int64_t num_layers;
  std::int64_t hidden_size;
  std::int64_t num_q_heads;
  std::int64_t num_kv_heads;
  std::int64_t head_dim;
  std::int64_t ffn_size;
  std::int64_t vocabulary_size;
  std::int64_t parameter_count;
  std::int64_t weight_element_bytes;
  std::int64_t max_context;
  std::int64_t sliding_window;  // 0: none
  Embeddings embeddings;
  const char* source;
};

using enum Architecture;
using enum Embeddings;

// In OPT models the output head is the input embedding at every size, and parameter counts follow
// from the shape; the other models have their published counts. OPT-175B's row is from the paper,
// which prints layers, heads and width (Table 1); FFN, vocabulary and context are the family's.
// clang-format off
constexpr Row kRows[] = {
    // name, architecture      layers hidden heads: q, KV dim  FFN  vocabulary  parameters
    //                         bytes of a weight, context, window, embeddings, source
    {"GPT-2-small", kGpt2,         12,   768, 12, 12,  64,  3072,  50257,     124'439'808,
                               4,   1024, 0,    kTied,
                               "huggingface.co/openai-community/gpt2, config.json"},
    {"OPT-13B", kOpt,              40,  5120, 40, 40, 128, 20480,  50272,  12'853'473'280,
                               2,   2048, 0,    kTied,
                               "huggingface.co/facebook/opt-13b, config.json"},
    {"OPT-66B", kOpt,              64,  9216, 72, 72, 128, 36864,  50272,  65'719'701'504,
                               2,   2048, 0,    kTied,
                               "huggingface.co/facebook/opt-66b, config.json"},
    {"OPT-175B", kOpt,             96, 12288, 96, 96, 128, 49152,  50272, 174'604'468'224,
                               2,   2048, 0,    kTied, "OPT paper (arXiv 2205.01068), Table 1"},
    {"Llama-2-7B", kLlama,         32,  4096, 32, 32, 128, 11008,  32000,   6'738'415'616,
                               2,   4096, 0,    kSeparate,
                               "huggingface.co/meta-llama/Llama-2-7b-hf, config.json"},
    {"Llama-2-13B", kLlama,        40,  5120, 40, 40, 128, 13824,  32000,  13'015'864'320,
                               2,   4096, 0,    kSeparate,
                               "huggingface.co/meta-llama/Llama-2-13b-hf, config.json"},
    {"Llama-2-70B", kLlama,        80,  8192, 64,  8, 128, 28672,  32000,  68'976'648'192,
                               2,   4096, 0,    kSeparate,
                               "huggingface.co/meta-llama/Llama-2-70b-hf, config.json"},
    {"Llama-3.1-8B", kLlama,       32,  4096, 32,  8, 128, 14336, 128256,   8'030'261'248,
                               2, 131072, 0,    kSeparate,
                               "huggingface.co/meta-llama/Llama-3.1-8B, config.json"},
    {"Llama-3.1-70B", kLlama,      80,  8192, 64,  8, 128, 28672, 128256,  70'553'706'496,
                               2, 131072, 0,    kSeparate,
                               "huggingface.co/meta-llama/Llama-3.1-70B, config.json"},
    {"Mistral-7B", kLlama,         32,  4096, 32,  8, 128, 14336,  32000,   7'241'732'096,
                               2,  32768, 4096, kSeparate,
                               "huggingface.co/mistralai/Mistral-7B-v0.1, config.json"},
    {"Qwen3-0.6B", kQwen3,         28,  1024, 16,  8, 128,  3072, 151936,     596'049'920,
                               2,  40960, 0,    kTied,
                               "huggingface.co/Qwen/Qwen3-0.6B, config.json"},
    {"Qwen3-32B", kQwen3,          64,  5120, 64,  8, 128, 25600, 151936,  32'762'123'264,
                               2,  40960, 0,    kSeparate,
                               "huggingface.co/Qwen/Qwen3-32B, config.json"},
};
// clang-format on

std::vector<ModelSpec> make_table() {
  std::vector<ModelSpec> table;
  for (const Row& row : kRows) {
    ModelSpec& model = table.emplace_back();
    model = {.name = row.name,
             .architecture = row.architecture,
             .num_layers = row.num_layers,
             .hidden_size = row.hidden_size,
             .num_q_heads = row.num_q_heads,
             .num_kv_heads = row.num_kv_heads,
             .head_dim = row.head_dim,
             .ffn_size = row.ffn_size,
             .vocabulary_size = row.vocabulary_size,
             .parameter_count = row.parameter_count,
             .weight_element_bytes = row.weight_element_bytes,
             .max_context = TokenCount(row.max_context),
             .sliding_window = std::nullopt,
             .embeddings = row.embeddings,
             .source = row.source};
    if (row.sliding_window > 0) model.sliding_window = TokenCount(row.sliding_window);
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
