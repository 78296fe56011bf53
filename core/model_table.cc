#include "core/model_table.h"

#include <algorithm>
#include <cctype>

#include "core/refusal.h"

namespace recto {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

using enum Architecture;
using enum Embeddings;

constexpr std::nullopt_t kNoWindow = std::nullopt;

}  // namespace

// In OPT models the output head is the input embedding at every size, and parameter counts follow
// from the shape; the other models have their published counts. OPT-175B's row is from the paper,
// which prints layers, heads and width (Table 1); FFN, vocabulary and context are the family's.
// clang-format off
const std::vector<ModelSpec>& model_table() {
  static const std::vector<ModelSpec> kTable = {
    // name, architecture      layers hidden heads: q, KV dim  FFN  vocabulary  parameters
    //                         bytes of a weight, context, window, embeddings, source
    {"GPT-2-small", kGpt2,         12,   768, 12, 12,  64,  3072,  50257,     124'439'808,
                               4, TokenCount(1024), kNoWindow, kTied,
                               "huggingface.co/openai-community/gpt2, config.json"},
    {"OPT-13B", kOpt,              40,  5120, 40, 40, 128, 20480,  50272,  12'853'473'280,
                               2, TokenCount(2048), kNoWindow, kTied,
                               "huggingface.co/facebook/opt-13b, config.json"},
    {"OPT-66B", kOpt,              64,  9216, 72, 72, 128, 36864,  50272,  65'719'701'504,
                               2, TokenCount(2048), kNoWindow, kTied,
                               "huggingface.co/facebook/opt-66b, config.json"},
    {"OPT-175B", kOpt,             96, 12288, 96, 96, 128, 49152,  50272, 174'604'468'224,
                               2, TokenCount(2048), kNoWindow, kTied,
                               "OPT paper (arXiv 2205.01068), Table 1"},
    {"Llama-2-7B", kLlama,         32,  4096, 32, 32, 128, 11008,  32000,   6'738'415'616,
                               2, TokenCount(4096), kNoWindow, kSeparate,
                               "huggingface.co/meta-llama/Llama-2-7b-hf, config.json"},
    {"Llama-2-13B", kLlama,        40,  5120, 40, 40, 128, 13824,  32000,  13'015'864'320,
                               2, TokenCount(4096), kNoWindow, kSeparate,
                               "huggingface.co/meta-llama/Llama-2-13b-hf, config.json"},
    {"Llama-2-70B", kLlama,        80,  8192, 64,  8, 128, 28672,  32000,  68'976'648'192,
                               2, TokenCount(4096), kNoWindow, kSeparate,
                               "huggingface.co/meta-llama/Llama-2-70b-hf, config.json"},
    {"Llama-3.1-8B", kLlama,       32,  4096, 32,  8, 128, 14336, 128256,   8'030'261'248,
                               2, TokenCount(131072), kNoWindow, kSeparate,
                               "huggingface.co/meta-llama/Llama-3.1-8B, config.json"},
    {"Llama-3.1-70B", kLlama,      80,  8192, 64,  8, 128, 28672, 128256,  70'553'706'496,
                               2, TokenCount(131072), kNoWindow, kSeparate,
                               "huggingface.co/meta-llama/Llama-3.1-70B, config.json"},
    {"Mistral-7B", kLlama,         32,  4096, 32,  8, 128, 14336,  32000,   7'241'732'096,
                               2, TokenCount(32768), TokenCount(4096), kSeparate,
                               "huggingface.co/mistralai/Mistral-7B-v0.1, config.json"},
    {"Qwen3-0.6B", kQwen3,         28,  1024, 16,  8, 128,  3072, 151936,     596'049'920,
                               2, TokenCount(40960), kNoWindow, kTied,
                               "huggingface.co/Qwen/Qwen3-0.6B, config.json"},
    {"Qwen3-32B", kQwen3,          64,  5120, 64,  8, 128, 25600, 151936,  32'762'123'264,
                               2, TokenCount(40960), kNoWindow, kSeparate,
                               "huggingface.co/Qwen/Qwen3-32B, config.json"},
  };
  return kTable;
}
// clang-format on

Result<ModelSpec> find_model(std::string_view name) {
  const std::string wanted = lower(name.substr(name.rfind('/') + 1));
  for (const ModelSpec& model : model_table()) {
    if (lower(model.name) == wanted) return model;
  }
  return Status::invalid_input("unknown model '" + std::string(name) + "'; expected one of " +
                               list_names(model_table(), &ModelSpec::name));
}

}  // namespace recto
