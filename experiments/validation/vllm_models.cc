#include "experiments/validation/vllm_models.h"

#include "core/gpu_table.h"
#include "core/model_table.h"

namespace recto::experiments {

sim::LinearTimeModel fitted_model() {
  return sim::LinearTimeModel({.fixed_ns = 16'280'440.8,
                               .per_prefill_token_ns = 85'854.66,
                               .per_kv_token_ns = 212.3224,
                               .per_sequence_ns = 11'537.64,
                               .source = "fitted to the vLLM 0.19 run on an RTX 4090"});
}

sim::RooflineTimeModel roofline_model() {
  sim::RooflineSetup setup;
  setup.model = find_model("Llama-3.1-8B").value();
  setup.gpu = find_gpu("RTX 4090").value();
  setup.shape.block_size = TokenCount(16);
  return sim::RooflineTimeModel::make(setup).value();
}

}  // namespace recto::experiments
