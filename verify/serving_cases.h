#pragma once

// Cases of the sizes that servers have. Each kind is large in one way, so that a case stays
// affordable, and one is large in several.

#include <cstdint>
#include <vector>

#include "verify/drawn_cases.h"

namespace recto::verify {

// Of every case, whatever its kind; each is met by some kind, so that larger ones widen what is
// drawn, and smaller ones narrow it.
struct SizeLimits {
  std::int64_t context_max = 4096;
  std::int64_t num_seqs_max = 256;
  std::int64_t num_q_heads_max = 128;
};

// "long-context", of more than 512 tokens; "many-sequences", of which there are 33 to 72;
// "many-heads", up to 128 query heads over up to 32 KV heads; "long-prompt", of 128 query rows and
// more; "serving-batch", 33 sequences and more with 32 to 128 over 8 heads; "wide-groups", 16 to
// 128 query heads over one KV head; "short-sequences", of which there are 129 and more.
// Block sizes from 16 to 512, head dims 64, 128 and 256; lengths of a batch are skewed.
std::vector<DrawnCases> serving_cases(const SizeLimits& limits);

// What the domain has of these sizes, groups among them.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

// The same with a longest sequence in the last row of a table whose rows are wider than any
// sequence takes: a wrong stride of rows, or a row's wrong end, shows in no other case.
CaseSpec with_longest_last(CaseSpec spec);

// A case of the same kinds with a few short sequences: who refuses it mostly refuses the case.
CaseSpec small_likeness(CaseSpec spec);

}  // namespace recto::verify
