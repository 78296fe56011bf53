#pragma once

// Wrong references next to the right one, each with one fault that has been made somewhere. They
// show that the oracle comparison and the laws catch faults: a canary that neither catches is a
// defect of theirs.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/backend.h"

namespace recto::verify {

enum class Fault : std::uint8_t {
  kNone,
  kWindowOffByOne,    // one key too few
  kTopLeftCausal,     // the mask as if rows began at position 0
  kSoftcapAfterMask,  // caps the mask's minus infinity: masked keys weigh exp(-cap)
  kMissingRescale,    // sums are not rescaled when the maximum grows
  kWrongGroup,        // KV head = head % num_kv_heads
  kSinkLeftOutOfLogSum,
  kLastKeyDropped,
  kTailRead,  // attends to the last block's slots beyond the context
  kBase2LogSum,
  kScaleAppliedTwice,
  kBiasSign,             // slope * (i - j)
  kMergeWithoutWeights,  // normalised parts are averaged
  kConsecutiveBlocks,    // block id = the sequence's first + logical block
  kTableWithoutStride,   // rows of the block table max_blocks apart
  kSlotByMask,           // token & (block_size - 1): right for powers of two
  kKeyStridesForValues,
  kWrongPackWidth,    // of K in the packed layout: that of fp16, whatever the type
  kScaleLeftOut,      // codes of fp8 as they are
  kScaleOfFirstHead,  // for all KV heads
};

struct Canary {
  Fault fault = Fault::kNone;
  std::string name;
  std::vector<std::string> laws;  // that must catch it
};

// One of each fault, in the order of Fault.
const std::vector<Canary>& canaries();

// fp64, streaming over tiles of 16 keys; with Fault::kNone it is right.
reference::AttentionResult attend_with_fault(const PagedAttentionInputs& inputs, Fault fault);

// A backend called `name`, with the numerics of the fp64 reference, so that it is judged by the
// right bounds.
Backend canary_backend(const std::string& name, Fault fault);

}  // namespace recto::verify
