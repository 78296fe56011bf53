#pragma once

// Kinds of cases with several rows of a sequence.

#include <vector>

#include "verify/serving_kind.h"

namespace recto::verify {

// "chunks": 2 to 5 sequences, one with 13 to 100 rows; "cached-prefix": at least 128 rows behind
// more than 256 tokens; "mixed-batch": 3 to 8 sequences, decodes and chunks, one of at least 129
// rows, groups of 4 and 8 over 2 to 8 KV heads; "long-prompt": at least 257 rows; "many-chunks": 33
// to 72 sequences; "wide-chunks": groups of 16 to 71; "many-head-chunks": 8 to 16 KV heads;
// "late-chunk": 13 to 64 rows behind more than 2048 tokens; "speculation": 2 to 8 rows of each of 3
// or 4 sequences, one with more than 2048 tokens; "window-chunks": 13 to 48 rows behind more than
// 1280 tokens, and a window that is longer than a block and much shorter than the context;
// "sparse-batch": 25 to 64 sequences, half of them without rows; "odd-dim-chunks": head dims that
// are no multiples of 16; "peaked-chunk": 2 to 16 rows behind more than 1024 tokens, and a key at
// either end of these that outdoes all others.
std::vector<ServingKind> chunk_kinds(const SizeLimits& limits);

}  // namespace recto::verify
