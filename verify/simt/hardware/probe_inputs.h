#pragma once

// The inputs of probes.

#include <vector>

namespace recto::simt {

enum class ProbeInput {
  kBits,       // arbitrary words
  kHalves,     // pairs of fp16 factors; at the end 128 fp32 accumulators
  kBfloat16s,  // the same in bfloat16
  kFloats,     // fp32 numbers
  // Like kHalves and kBfloat16s, but whole numbers so small that their sums are exact in any order.
  kSmallHalves,
  kSmallBfloat16s,
};

// [trials, words] of finite, varied numbers, the same in each run. The factors are, in turn:
// similar in size, spread, far apart with zeros and subnormals among them, or small compared to the
// accumulators.
std::vector<unsigned> probe_inputs(ProbeInput input, int trials, int words);

}  // namespace recto::simt
