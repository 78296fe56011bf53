#pragma once

// The kinds of cases with sizes as in serving. Each kind is large in one way or a few, so that a
// case stays affordable; together they reach every band of sizes, with one row a sequence and with
// many.

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
  std::int64_t num_rows_max = 512;  // of one sequence
};

// Which sequences of a case have several rows.
enum class ServedRows : std::uint8_t {
  kOne,               // none: decode
  kChunks,            // some, the last one among them
  kChunksAndDecodes,  // every second one; the others decode
};

struct ServingKind {
  DrawnCases cases;
  ServedRows rows = ServedRows::kOne;
  bool has_window = false;  // each case has one, shorter than its longest context
};

// One row a sequence:
// "long-context": two sequences, more than 2048 tokens, one KV head; "model-decode": as models
// have it, 32 or 64 query heads over 8 KV heads at 1025 tokens and more; "long-heads": 2 to 8 KV
// heads at more than 2048 tokens; "long-window": a window that cuts contexts of more than 1024;
// "other-dims": head dims 80, 96 and 192 at more than 512 tokens; "wide-groups", "wider-groups"
// and "widest-groups": groups of 17 to 32, of 33 to 64 and beyond, over one KV head;
// "many-heads": 17 to 32 KV heads; "many-sequences": 33 to 72; "serving-batch": at least 33
// sequences and 96 or 128 query heads over 8 KV heads; "short-sequences": at least 129.
// Several rows:
// "chunks": 2 to 5 sequences, one with 13 to 100 rows; "mixed-batch": 3 to 8 sequences, decodes and
// chunks, one of at least 129 rows, groups of 4 and 8 over 2 to 8 KV heads; "cached-prefix": at
// least 128 rows behind more than 256 tokens; "long-prompt": at least 257 rows; "many-chunks":
// 33 to 72 sequences; "wide-chunks": groups of 16 to 71; "many-head-chunks": 8 to 16 KV heads.
std::vector<ServingKind> serving_kinds(const SizeLimits& limits);

// Restricts the domain to these sizes, including its groups.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

}  // namespace recto::verify
