#pragma once

// Cases with sizes as in serving. Each kind is large in one way, so that a case stays affordable;
// one kind is large in several.

#include <cstdint>
#include <vector>

#include "verify/drawn_cases.h"

namespace recto::verify {

// Upper limits for all cases of every kind. Some kind reaches each limit, so larger limits widen
// what is drawn, and smaller limits narrow it.
struct SizeLimits {
  std::int64_t context_max = 4096;
  std::int64_t num_seqs_max = 256;
  std::int64_t num_q_heads_max = 128;
};

// "long-context": more than 512 tokens; "many-sequences": 33 to 72 sequences; "many-heads": up to
// 128 query heads over up to 32 KV heads; "long-prompt": at least 128 query rows; "serving-batch":
// at least 33 sequences, with 32 to 128 query heads over 8 KV heads; "wide-groups": 16 to 128 query
// heads over one KV head; "short-sequences": at least 129 sequences. Block sizes from 16 to 512,
// head dims 64, 128 and 256, and skewed lengths within a batch; in "short-sequences", block sizes
// from 8 to 32 and similar lengths.
std::vector<DrawnCases> serving_cases(const SizeLimits& limits);

// Restricts the domain to these sizes, including its groups.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

// Moves a longest sequence to the last row of a table whose rows are wider than any sequence needs:
// only such a case reveals a wrong row stride or a wrong row end.
CaseSpec with_longest_last(CaseSpec spec);

// A case of the same kind with a few short sequences: a backend that refuses it mostly refuses
// `spec` too.
CaseSpec small_likeness(CaseSpec spec);

}  // namespace recto::verify
