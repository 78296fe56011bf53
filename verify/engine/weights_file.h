#pragma once

// The weights of a model out of a safetensors file, by the names that Llama's have in files of
// Hugging Face.

#include <string>

#include "core/status.h"
#include "verify/engine/model_weights.h"
#include "verify/engine/safetensors.h"

namespace recto::verify {

// A file tells sizes of matrices alone: how many heads they are is the shape's, which they must
// agree with. Without "lm_head.weight" the head is the embedding. Values must be finite.
Result<ModelWeights> weights_of(const SafetensorsFile& file, const ModelShape& shape);

}  // namespace recto::verify
