#pragma once

// The named shapes on which attention is measured. Host code, so that the lists are tested without
// a GPU.

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/bench/batch_shape.h"

namespace recto::bench {

// The decode kernel of a case: that of the dispatch rule, TMA decode or reference decode.
enum class DecodeChoice : std::uint8_t { kByRule, kTma, kReference };

struct AttentionCase {
  // family/batch:64/context:4096/group:4/head_dim:128/types:bf16-bf16/block:16; in prefill with
  // rows: after the context. A family has one kernel, one layout and one kind of lengths: decode
  // and prefill use the dispatch rule, head-major caches and equal lengths; decode_tma,
  // decode_reference, decode_token_major, decode_packed, decode_skewed and prefill_few_rows differ
  // as their names say.
  std::string name;
  BatchShape shape;
  DecodeChoice decode = DecodeChoice::kByRule;
};

enum class CaseSet : std::uint8_t {
  kDefault,  // each axis by itself, around typical serving sizes; minutes
  kFull,     // the grid over all axes; hours
};

std::vector<AttentionCase> attention_cases(CaseSet set);

// The part of a decode step that is run.
enum class StepKind : std::uint8_t {
  kLaunchedLayers,  // attention of all layers, launched one by one
  kReplayedLayers,  // the same, as a CUDA graph
  kPaged,           // attention of one layer
  kPaddedGather,    // the same, after gathering all contexts into a padded batch
};

inline constexpr std::int64_t kLayers = 32;

struct StepCase {
  std::string name;  // layers_launched/batch:8/context:1024, step_paged/lengths:equal/batch:8/...
  BatchShape shape;
  StepKind kind = StepKind::kPaged;
};

// Measured with both sets; each kind beside the one that it is compared with.
std::vector<StepCase> step_cases();

}  // namespace recto::bench
