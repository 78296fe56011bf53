#pragma once

// Reads the weights of a model from a safetensors file, by the names that Llama's weights have in
// Hugging Face files.

#include <string>

#include "core/status.h"
#include "verify/engine/model_weights.h"
#include "verify/engine/safetensors.h"

namespace recto::verify {

// A file gives only the sizes of matrices; the shape gives the number of heads, and the sizes must
// agree with it. Without "lm_head.weight", the head is the embedding. Values must be finite.
Result<ModelWeights> weights_of(const SafetensorsFile& file, const ModelShape& shape);

}  // namespace recto::verify
