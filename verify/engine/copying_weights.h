#pragma once

// Weights with a task: which tokens may follow depends on what attention read, and on nothing else,
// by a wide margin. So 16 bits and fp8 decide hardly any token by their rounding, and a key or a
// value that is not the right one turns the next token with certainty.
//
// Each token has a label, a number modulo 4, and is of a class, another one. Even heads read the
// current token, odd ones a token 1 to 3 places before it, one key each; the feed-forward part adds
// the labels that were read (as points of the unit circle, by a product), and hands the sum to the
// next layer as its label. The last sum is the class of the next token: a lagged Fibonacci sequence
// through all layers. Which token of the class it is hangs on the current one alone, and on noise;
// tokens of a class have different labels, so that texts that part stay apart.

#include <cstdint>

#include "verify/engine/model_weights.h"

namespace recto::verify {

// What this needs beyond check_shape: a vocabulary of 8, 12 or 16; two query heads of at least 16
// numbers; a hidden size of at least 8 + 6 layers; a feed-forward part of at least 8.
ModelWeights copying_weights(const ModelShape& shape, std::uint64_t seed);

}  // namespace recto::verify
