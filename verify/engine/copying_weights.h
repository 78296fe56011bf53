#pragma once

// Weights with a task: which tokens may follow depends only on what attention read, by a wide
// margin. So rounding to 16 bits and fp8 decides hardly any token, while a wrong key or value is
// certain to change the next token.
//
// Each token has a label and a class, both numbers modulo 4. Even heads read the current token, odd
// heads a token 1 to 3 positions before it, one key each; the feed-forward part adds the labels
// that were read (as points on the unit circle, by a product) and passes the sum to the next layer
// as its label. The last sum is the class of the next token: a lagged Fibonacci sequence through
// all layers. Which token of the class it is depends only on the current token and on noise; the
// tokens of a class have different labels, so that texts that diverge stay apart.

#include <cstdint>

#include "verify/engine/model_weights.h"

namespace recto::verify {

// Requirements beyond check_shape: a vocabulary of 8, 12 or 16; two query heads of at least 16
// numbers; a hidden size of at least 8 + 6 layers; a feed-forward part of at least 8.
ModelWeights copying_weights(const ModelShape& shape, std::uint64_t seed);

}  // namespace recto::verify
