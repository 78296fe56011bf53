#pragma once

// Engines write the K and V of thousands of tokens in one call when they compute a prompt in
// chunks. Drawn cases have few rows, so some of them get a write of such a length.

#include <cstdint>
#include <string>

#include "verify/law.h"

namespace recto::verify {

inline constexpr std::int64_t kLongWriteTokensMax = 4096;
// Elements of K and V in the added tokens; the executor's time is proportional to them.
inline constexpr std::int64_t kLongWriteElementsMax = 1 << 17;

struct LongWrite {
  LawCase law_case;
  std::string text = {};  // which sequence was lengthened, and by how much; empty if none was
};

// One case in four, as the placement's seed decides (0: never), gets a sequence lengthened by up to
// kLongWriteTokensMax tokens (kLongWriteElementsMax permitting), with as many more query rows. All
// of these tokens are new and hold mixed values of the sequence's own tokens. Queries are zeros,
// with one head per KV head, because a write reads none.
LongWrite with_long_write(const LawCase& law_case);

}  // namespace recto::verify
