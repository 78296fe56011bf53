#pragma once

// Kinds of cases with one row a sequence.

#include <vector>

#include "verify/serving_kind.h"

namespace recto::verify {

// "long-context": two sequences, more than 2048 tokens, one KV head; "wide-groups", "wider-groups"
// and "widest-groups": groups of 17 to 32, of 33 to 64 and beyond, over one KV head;
// "model-decode": as models have it, 32 or 64 query heads over 8 KV heads at 1025 tokens and more;
// "many-sequences": 33 to 72; "many-heads": 17 to 32 KV heads, and scales of each;
// "short-sequences": at least 129; "long-window": a window that begins behind 2048 of more than
// 3072 tokens; "long-heads": 2 to 8 KV heads at more than 2048 tokens, and scores that are as low
// as scores get; "serving-batch": at least 33 sequences and 96 or 128 query heads over 8 KV heads;
// "other-dims": head dims from 48 to 224, not 64 or 128, at more than 512 tokens; "odd-dims": head
// dims that are no multiples of 16; "long-peaks": a key at either end of 1025 tokens and more that
// outdoes all others.
std::vector<ServingKind> decode_kinds(const SizeLimits& limits);

}  // namespace recto::verify
