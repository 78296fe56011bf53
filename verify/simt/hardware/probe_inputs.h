#pragma once

// What probes are given.

#include <vector>

namespace recto::simt {

enum class ProbeInput {
  kBits,       // any
  kHalves,     // pairs of fp16 numbers, to be multiplied; at the end 128 fp32 numbers to add to
  kBfloat16s,  // the same in bfloat16
  kFloats,     // fp32 numbers
  // As the first two, of whole numbers so small that no way of adding them up rounds.
  kSmallHalves,
  kSmallBfloat16s,
};

// [trials, words] of numbers that are finite, different and the same in each run. In turn, those to
// be multiplied are alike in size, or spread, or far apart with zeros and subnormals among them, or
// small beside what they are added to.
std::vector<unsigned> probe_inputs(ProbeInput input, int trials, int words);

}  // namespace recto::simt
