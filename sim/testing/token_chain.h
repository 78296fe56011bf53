#pragma once

// What the tokens of a request are, one by one, derived from its content alone.

#include <cstdint>
#include <vector>

#include "sim/request.h"

namespace recto::sim {

// A hash of the tokens [0, position] of one of the request's sequences, given that of [0,
// position), or `kEmptyChain`. Beams are taken for one sequence: which of them goes on where is
// random.
std::uint64_t extend_chain(std::uint64_t chain, const Request& request, std::int64_t member,
                           std::int64_t position);

inline constexpr std::uint64_t kEmptyChain = 0xcbf29ce484222325u;

// After each of the first `length` tokens.
std::vector<std::uint64_t> chain_of(const Request& request, std::int64_t member,
                                    std::int64_t length);  // [length]

}  // namespace recto::sim
