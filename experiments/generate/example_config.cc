#include "experiments/generate/generate_config.h"

namespace recto::experiments {

// A pool in which samples share their prompt, a prompt is found cached, and the last one gives way.
const char* example_config() {
  return R"({
  "model": {"vocabulary": 16, "hidden": 48, "layers": 2, "num_q_heads": 2, "num_kv_heads": 1,
            "head_dim": 64, "ffn": 64, "seed": 1},
  "cache": {"type": "fp16", "block_size": 4, "num_blocks": 12, "prefix_cache": true},
  "scheduler": {"max_sequences": 8, "max_batched_tokens": 16},
  "requests": [
    {"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "output_tokens": 8,
     "decoding": "parallel", "width": 2, "temperature": 1.0},
    {"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14], "output_tokens": 6, "arrival_step": 2},
    {"prompt": [15, 14, 13, 12, 11], "output_tokens": 12, "arrival_step": 3}
  ]
}
)";
}

}  // namespace recto::experiments
