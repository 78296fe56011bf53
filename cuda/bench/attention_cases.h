#pragma once

// Which shapes attention is measured on, by name. Host code, so that the lists are tested without a
// GPU.

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/bench/batch_shape.h"

namespace recto::bench {

enum class Rung : std::uint8_t { kByRule, kBulk, kPlain };

struct AttentionCase {
  // family/batch:64/context:4096/group:4/head_dim:128/types:bf16-bf16/block:16, in prefill with
  // rows: behind the context. A family has one rung, one layout and one kind of lengths: decode
  // and prefill are by the rule, head-major and equal; decode_bulk, decode_plain,
  // decode_token_major, decode_packed, decode_skewed and prefill_few_rows differ in what they say.
  std::string name;
  BatchShape shape;
  Rung rung = Rung::kByRule;
};

enum class CaseSet : std::uint8_t {
  kDefault,  // each axis by itself, around what serving looks like; minutes
  kFull,     // the grid of all of them; hours
};

std::vector<AttentionCase> attention_cases(CaseSet set);

}  // namespace recto::bench
