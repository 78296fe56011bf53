#pragma once

// Engines write the K and V of thousands of tokens in one call, when they compute a prompt in
// chunks. Drawn cases have few rows, so some of them get a write of such a length.

#include <cstdint>
#include <string>

#include "verify/law.h"

namespace recto::verify {

inline constexpr std::int64_t kLongWriteTokensMax = 4096;
// K and V of the added tokens: what a call takes on the executor is in proportion to them.
inline constexpr std::int64_t kLongWriteElementsMax = 1 << 17;

struct LongWrite {
  LawCase law_case;
  std::string text = {};  // which sequence was made longer, and by how much; empty if none was
};

// One case in four, as the placement's seed decides (0: never), gets a sequence that is longer by
// up to kLongWriteTokensMax tokens, as many as kLongWriteElementsMax allows, and has as many more
// query rows: all of these are new. They hold values of the sequence's own tokens, mixed. Queries
// are zeros, one head for each KV head: a write reads none.
LongWrite with_long_write(const LawCase& law_case);

}  // namespace recto::verify
